/// The packets on a raw HCI socket that matter to a program that controls a scan.
///
/// Source: Bluetooth Core Vol 4 Part E §5.4 (packets), §7.7.14 (Command Complete), §7.7.15 (Command Status).
enum HCIPacket: Sendable, Hashable {
    /// A command of another program to the controller.
    case command(HCICommand)
    /// The controller has completed a command. `supportsExtendedScanning` is only set for Read Local Supported
    /// Commands.
    case complete(opcode: UInt16, status: UInt8, supportsExtendedScanning: Bool?)
    /// An advertising report event. The event itself starts at the second byte of the packet, after the packet type.
    case reports
    /// Any other packet.
    case other

    // H4 packet types.
    private static let commandType: UInt8 = 0x01
    private static let eventType: UInt8 = 0x04

    /// Parses a packet. A packet that is too short becomes `other`.
    init(_ bytes: Span<UInt8>) {
        self = .other
        switch bytes.byte(at: 0) {
        case Self.commandType:
            if let opcode = bytes.number16(at: 1), let length = bytes.byte(at: 3) {
                let end = min(bytes.count, 4 + Int(length))
                self = .command(HCICommand(opcode: opcode, parameters: bytes.extracting(4..<end)))
            }
        case Self.eventType: self = Self.event(bytes)
        default: break
        }
    }

    private static func event(_ bytes: Span<UInt8>) -> HCIPacket {
        switch bytes.byte(at: 1) {
        case 0x3E:
            // LE Advertising Report and LE Extended Advertising Report.
            return bytes.byte(at: 3) == 0x02 || bytes.byte(at: 3) == 0x0D ? .reports : .other
        case 0x0E:
            guard let opcode = bytes.number16(at: 4), let status = bytes.byte(at: 6) else { return .other }
            // Supported_Commands start at 7; byte 37 has LE Set Extended Scan Parameters (bit 5) and Enable (bit 6).
            let isSupported =
                opcode == HCIOpcode.readSupportedCommands ? bytes.byte(at: 44).map { $0 & 0x60 == 0x60 } : nil
            return .complete(opcode: opcode, status: status, supportsExtendedScanning: isSupported)
        case 0x0F:
            guard let status = bytes.byte(at: 3), let opcode = bytes.number16(at: 5) else { return .other }
            // Status 0 only means that the command was started.
            return status == 0
                ? .other : .complete(opcode: opcode, status: status, supportsExtendedScanning: nil)
        default: return .other
        }
    }
}

/// The opcodes of the commands that control a scan (Core Vol 4 Part E §7.3, §7.4, §7.8).
enum HCIOpcode {
    static let reset: UInt16 = 0x0C03
    static let readSupportedCommands: UInt16 = 0x1002
    static let setScanParameters: UInt16 = 0x200B
    static let setScanEnable: UInt16 = 0x200C
    static let setExtendedScanParameters: UInt16 = 0x2041
    static let setExtendedScanEnable: UInt16 = 0x2042
}

/// A command to a controller, with the parameters that matter to a program that controls a scan.
enum HCICommand: Sendable, Hashable {
    case reset
    case readSupportedCommands
    /// Legacy or extended. For extended parameters, those of the first PHY are used.
    case setScanParameters(ScanParameters, isExtended: Bool)
    case setScanEnable(Bool, filtersDuplicates: Bool, isExtended: Bool)
    case other(UInt16)

    /// Parses the parameters of a command.
    init(opcode: UInt16, parameters: Span<UInt8>) {
        self = .other(opcode)
        switch opcode {
        case HCIOpcode.reset: self = .reset
        case HCIOpcode.readSupportedCommands: self = .readSupportedCommands
        case HCIOpcode.setScanParameters:
            if let type = parameters.byte(at: 0), let interval = parameters.number16(at: 1),
                let window = parameters.number16(at: 3), let policy = parameters.byte(at: 6)
            {
                let scan = ScanParameters(
                    isActive: type == 1, interval: interval, window: window, acceptsAll: policy & 1 == 0)
                self = .setScanParameters(scan, isExtended: false)
            }
        case HCIOpcode.setExtendedScanParameters:
            if let policy = parameters.byte(at: 1), let type = parameters.byte(at: 3),
                let interval = parameters.number16(at: 4), let window = parameters.number16(at: 6)
            {
                let scan = ScanParameters(
                    isActive: type == 1, interval: interval, window: window, acceptsAll: policy & 1 == 0)
                self = .setScanParameters(scan, isExtended: true)
            }
        case HCIOpcode.setScanEnable, HCIOpcode.setExtendedScanEnable:
            if let enable = parameters.byte(at: 0), let filter = parameters.byte(at: 1) {
                self = .setScanEnable(
                    enable != 0, filtersDuplicates: filter != 0,
                    isExtended: opcode == HCIOpcode.setExtendedScanEnable)
            }
        default: break
        }
    }

    /// The opcode of the command, OGF and OCF (Core, Vol 4, Part E, §5.4.1).
    var opcode: UInt16 {
        switch self {
        case .reset: HCIOpcode.reset
        case .readSupportedCommands: HCIOpcode.readSupportedCommands
        case .setScanParameters(_, let isExtended):
            isExtended ? HCIOpcode.setExtendedScanParameters : HCIOpcode.setScanParameters
        case .setScanEnable(_, _, let isExtended):
            isExtended ? HCIOpcode.setExtendedScanEnable : HCIOpcode.setScanEnable
        case .other(let opcode): opcode
        }
    }

    /// The packet: H4 type, opcode, length, parameters.
    var packet: [UInt8] {
        var parameters: [UInt8] = []
        switch self {
        case .reset, .readSupportedCommands, .other: break
        case .setScanParameters(let scan, let isExtended):
            let type: UInt8 = scan.isActive ? 1 : 0
            let policy: UInt8 = scan.acceptsAll ? 0 : 1
            // The own address is public. Passive scanning sends nothing; scan requests contain it.
            if isExtended {
                // The 1M PHY: all beacons except long-range ones send their primary advertisements on it, and every
                // controller supports it.
                parameters = [0, policy, 0x01, type]
            } else {
                parameters = [type]
            }
            parameters.append16(scan.interval)
            parameters.append16(scan.window)
            if !isExtended { parameters += [0, policy] }
        case .setScanEnable(let isOn, let filters, let isExtended):
            parameters = [isOn ? 1 : 0, filters ? 1 : 0]
            // Duration and period: 0 means until it is disabled.
            if isExtended { parameters += [0, 0, 0, 0] }
        }
        var packet: [UInt8] = [0x01]
        packet.append16(opcode)
        packet.append(UInt8(truncatingIfNeeded: parameters.count))
        return packet + parameters
    }
}

/// The parameters of a scan.
struct ScanParameters: Sendable, Hashable {
    /// Whether to send scan requests.
    var isActive: Bool
    /// The time from the start of one window to the next, in units of 0.625 ms.
    var interval: UInt16
    /// The length of a window, in units of 0.625 ms.
    var window: UInt16
    /// Whether all advertisers are reported, or only those on the controller's accept list.
    var acceptsAll: Bool
}
