import BluetoothLE

/// A message of the kernel's Bluetooth management, except reports, which are `ManagementReport` values.
///
/// Source: Linux include/net/bluetooth/mgmt.h, MGMT_EV_*; BlueZ doc/mgmt-api.txt.
enum ManagementEvent: Sendable, Hashable {
    /// A command has ended, with this result.
    case reply(opcode: UInt16, status: ManagementStatus, result: Result)
    /// The controller had an error without further details.
    case controllerError(UInt8)
    case indexAdded
    case indexRemoved
    /// Another program changed the adapter's settings. The value is the complete present settings.
    case settings(ControllerSettings)
    /// A discovery of any program started or ended.
    case discovering(Bool)
    /// Another program or the kernel removed the monitor with this handle; 0: all monitors.
    case monitorRemoved(UInt16)
    /// The machine is about to suspend. The state of the controller: 0 if it continues to run.
    case suspended(state: UInt8)
    case resumed
    /// An event that is ignored.
    case other(UInt16)

    /// The result of a command.
    enum Result: Sendable, Hashable {
        case none
        case commands(Set<UInt16>)
        case indexes([UInt16])
        case information(ControllerInformation)
        case settings(ControllerSettings)
        case configuration(ScanConfiguration)
        case features(MonitorFeatures)
        case handle(UInt16)
    }
}

/// Bits of an adapter's Supported_Settings and Current_Settings.
struct ControllerSettings: OptionSet, Sendable, Hashable {
    let rawValue: UInt32
    static let powered = ControllerSettings(rawValue: 1 << 0)
    static let lowEnergy = ControllerSettings(rawValue: 1 << 9)
}

/// The result of Read Controller Information (0x0004), as far as it is needed.
struct ControllerInformation: Sendable, Hashable, CustomStringConvertible {
    /// The public device address; zero if the controller has none.
    var address: UInt64
    /// The HCI version (Assigned Numbers §2.1).
    var version: UInt8
    /// The company identifier of the manufacturer.
    var manufacturer: UInt16
    var supported: ControllerSettings
    var current: ControllerSettings

    /// The address, if the controller has one.
    var deviceAddress: DeviceAddress? { address == 0 ? nil : DeviceAddress(address, kind: .public) }

    /// The address, the Bluetooth version (Assigned Numbers §2.1) and the manufacturer's number.
    var description: String {
        let versions: [UInt8: String] = [
            6: "4.0", 7: "4.1", 8: "4.2", 9: "5.0", 10: "5.1", 11: "5.2", 12: "5.3", 13: "5.4", 14: "6.0", 15: "6.1",
        ]
        let name = versions[version].map { "Bluetooth \($0)" } ?? "HCI version \(version)"
        return "\(DeviceAddress(address, kind: .public)), \(name), company \(manufacturer)"
    }
}

/// The result of Read Advertisement Monitor Features (0x0051), as far as it is needed.
struct MonitorFeatures: Sendable, Hashable {
    /// Whether the controller matches patterns itself, so that only matching advertisements are reported.
    var isOffloaded: Bool
    /// The maximum number of monitors.
    var handlesMax: UInt16
    /// The handles of all present monitors, of any program.
    var handles: [UInt16]
}
