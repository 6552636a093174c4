/// A command to the kernel's Bluetooth management, as a value.
///
/// Source: Linux include/net/bluetooth/mgmt.h, MGMT_OP_*; BlueZ doc/mgmt-api.txt.
enum ManagementCommand: Sendable, Hashable {
    /// Which commands and events this kernel knows and this socket may use. For no adapter.
    case readSupportedCommands
    /// Which adapters there are. For no adapter.
    case readIndexList
    case readInformation
    case setPowered(Bool)
    case setLowEnergy
    case readConfiguration
    case setConfiguration(ScanConfiguration)
    case readMonitorFeatures
    case addMonitor(MonitorKind)
    case removeMonitor(UInt16)

    /// The operation's number, which its reply repeats.
    var opcode: UInt16 {
        switch self {
        case .readSupportedCommands: 0x0002
        case .readIndexList: 0x0003
        case .readInformation: 0x0004
        case .setPowered: 0x0005
        case .setLowEnergy: 0x000D
        case .readConfiguration: 0x004B
        case .setConfiguration: 0x004C
        case .readMonitorFeatures: 0x0051
        case .addMonitor: 0x0052
        case .removeMonitor: 0x0053
        }
    }

    /// The packet for the adapter at `index`: struct mgmt_hdr (opcode, index, length) and the parameters.
    func packet(for index: UInt16) -> [UInt8] {
        let parameters = self.parameters
        var packet: [UInt8] = []
        packet.reserveCapacity(6 + parameters.count)
        packet.append16(opcode)
        packet.append16(index)
        packet.append16(UInt16(truncatingIfNeeded: parameters.count))
        packet += parameters
        return packet
    }

    private var parameters: [UInt8] {
        switch self {
        case .readSupportedCommands, .readIndexList, .readInformation, .readConfiguration, .readMonitorFeatures: []
        case .setPowered(let isOn): [isOn ? 1 : 0]
        case .setLowEnergy: [1]
        case .setConfiguration(let configuration): configuration.parameters
        case .addMonitor(let kind): kind.parameters
        case .removeMonitor(let handle): [UInt8(truncatingIfNeeded: handle), UInt8(truncatingIfNeeded: handle >> 8)]
        }
    }
}

/// The operations whose numbers are asked for.
enum ManagementOpcode {
    /// In the list of an untrusted socket there is none of the commands that change something.
    static let setPowered: UInt16 = 0x0005
    static let addMonitor: UInt16 = 0x0052
    static let removeMonitor: UInt16 = 0x0053
    static let readConfiguration: UInt16 = 0x004B
}

/// What a monitor that is put up matches, where the controller matches at all: without that, all reports come.
enum MonitorKind: Sendable, Hashable {
    /// Apple's iBeacon: AD type 0xFF whose data begin with 4C 00 02 15 (rule B1).
    case beacons
    /// Flags of the values that are in use, one of which nearly every advertisement has; beacons too.
    case flags

    /// struct mgmt_cp_add_adv_patterns_monitor: the number of patterns, at most 16, and of each its AD type, offset, length
    /// and 31 octets.
    fileprivate var parameters: [UInt8] {
        let patterns: [(type: UInt8, value: [UInt8])]
        switch self {
        case .beacons:
            patterns = [(0xFF, [0x4C, 0x00, 0x02, 0x15])]
        case .flags:
            // Limited or general discoverable or neither; BR/EDR not supported or both at once (Core Supplement Part A §1.3).
            let values: [UInt8] = [0x06, 0x04, 0x05, 0x02, 0x01, 0x00, 0x1A, 0x1B, 0x18, 0x19, 0x0A, 0x0E, 0x12, 0x16]
            patterns = values.map { (0x01, [$0]) }
        }
        var parameters = [UInt8(patterns.count)]
        for pattern in patterns {
            parameters += [pattern.type, 0, UInt8(pattern.value.count)]
            parameters += pattern.value
            parameters += [UInt8](repeating: 0, count: 31 - pattern.value.count)
        }
        return parameters
    }
}
