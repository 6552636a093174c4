/// A command to the kernel's Bluetooth management.
///
/// Source: Linux include/net/bluetooth/mgmt.h, MGMT_OP_*; BlueZ doc/mgmt-api.txt.
enum ManagementCommand: Sendable, Hashable {
    /// Read the commands and events that this kernel supports on this socket. Sent without an adapter.
    case readSupportedCommands
    /// Read the list of adapters. Sent without an adapter.
    case readIndexList
    case readInformation
    case setPowered(Bool)
    case setLowEnergy
    case readConfiguration
    case setConfiguration(ScanConfiguration)
    case readMonitorFeatures
    case addMonitor(MonitorKind)
    case removeMonitor(UInt16)

    /// The operation code, which the reply repeats.
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

    /// Returns the packet for the adapter at `index`: struct mgmt_hdr (opcode, index, length) and the parameters.
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

/// The operation codes that are checked by number.
enum ManagementOpcode {
    /// The list of an untrusted socket contains no commands that change something.
    static let setPowered: UInt16 = 0x0005
    static let addMonitor: UInt16 = 0x0052
    static let removeMonitor: UInt16 = 0x0053
    static let readConfiguration: UInt16 = 0x004B
}

/// The patterns of a monitor. They matter only if the controller can match patterns; otherwise all reports are
/// delivered.
enum MonitorKind: Sendable, Hashable {
    /// iBeacons: AD type 0xFF whose data start with 4C 00 02 15 (rule B1).
    case beacons
    /// The values in use of the Flags structure (AD type 0x01). Nearly every advertisement has one of them, also those
    /// of beacons.
    case flags

    /// struct mgmt_cp_add_adv_patterns_monitor: the number of patterns, at most 16, then for each its AD type, offset,
    /// length and 31 bytes.
    fileprivate var parameters: [UInt8] {
        let patterns: [(type: UInt8, value: [UInt8])]
        switch self {
        case .beacons:
            patterns = [(0xFF, [0x4C, 0x00, 0x02, 0x15])]
        case .flags:
            // Limited or general discoverable or neither; BR/EDR not supported or both at once (Core Supplement Part A
            // §1.3).
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
