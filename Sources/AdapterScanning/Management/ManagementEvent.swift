import BluetoothLE

/// What the kernel's Bluetooth management says, but for the reports: those are a `ManagementReport`.
///
/// Source: Linux include/net/bluetooth/mgmt.h, MGMT_EV_*; BlueZ doc/mgmt-api.txt.
enum ManagementEvent: Sendable, Hashable {
    /// A command has come to its end; `result` is what it gave.
    case reply(opcode: UInt16, status: ManagementStatus, result: Result)
    /// The adapter met an error that it can't tell more of.
    case controllerError(UInt8)
    case indexAdded
    case indexRemoved
    /// Somebody else changed the adapter's settings: all of them, as they are now.
    case settings(ControllerSettings)
    /// Somebody's discovery began or ended.
    case discovering(Bool)
    /// Another client's, or the machine's own: the handle; 0 where all were removed.
    case monitorRemoved(UInt16)
    /// The machine is about to sleep: the controller's state, 0 where it goes on.
    case suspended(state: UInt8)
    case resumed
    /// One that nothing follows from.
    case other(UInt16)

    /// What a command gave.
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

/// What Read Controller Information gives (0x0004), as far as it matters.
struct ControllerInformation: Sendable, Hashable, CustomStringConvertible {
    /// The public device address; zero where the controller has none.
    var address: UInt64
    /// The HCI version, as the Assigned Numbers have it.
    var version: UInt8
    /// The maker's company identifier.
    var manufacturer: UInt16
    var supported: ControllerSettings
    var current: ControllerSettings

    /// Its address, where it has one.
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

/// What Read Advertisement Monitor Features gives (0x0051), as far as it matters.
struct MonitorFeatures: Sendable, Hashable {
    /// Whether the controller itself matches the patterns, so that nothing but what matches is reported.
    var isOffloaded: Bool
    /// How many monitors fit.
    var handlesMax: UInt16
    /// The monitors that stand, everybody's.
    var handles: [UInt16]
}
