/// A message of the management socket that is shorter than its header announces.
struct ManagementMessageError: Error, Sendable, Hashable {
    /// The event code; `nil` if the header is incomplete.
    var code: UInt16?
    /// The number of bytes in the message.
    var available: Int
}

/// One message of the management socket: struct mgmt_hdr (event code, index, length) and its parameters.
struct ManagementMessage: Sendable, Hashable {
    /// The kernel's number of the adapter; ``none`` if the message belongs to no adapter.
    var index: UInt16
    var event: ManagementEvent

    /// MGMT_INDEX_NONE.
    static let none: UInt16 = 0xFFFF
    // No controller has more entries than this; a list that announces more is damaged.
    private static let listMax = 1024

    /// Creates a message.
    init(index: UInt16, event: ManagementEvent) {
        self.index = index
        self.event = event
    }

    /// Parses a message.
    ///
    /// - Throws: ``ManagementMessageError`` if it is too short. Bytes after the announced length are ignored. A known
    ///   event can be longer than in earlier kernels.
    init(_ bytes: Span<UInt8>) throws(ManagementMessageError) {
        guard let code = bytes.number16(at: 0), let index = bytes.number16(at: 2), let length = bytes.number16(at: 4)
        else { throw ManagementMessageError(code: nil, available: bytes.count) }
        let flaw = ManagementMessageError(code: code, available: bytes.count)
        guard bytes.count - 6 >= Int(length) else { throw flaw }
        self.index = index
        guard let event = Self.event(code, bytes.extracting(6..<6 + Int(length))) else { throw flaw }
        self.event = event
    }

    private static func event(_ code: UInt16, _ body: Span<UInt8>) -> ManagementEvent? {
        switch code {
        case 0x0001, 0x0002:
            guard let opcode = body.number16(at: 0), let status = body.byte(at: 2) else { return nil }
            // Only a successful Command Complete has a result.
            guard code == 0x0001, status == 0 else {
                return .reply(opcode: opcode, status: ManagementStatus(rawValue: status), result: .none)
            }
            guard let result = result(of: opcode, body.extracting(3..<body.count)) else { return nil }
            return .reply(opcode: opcode, status: .success, result: result)
        case 0x0003: return body.byte(at: 0).map { .controllerError($0) }
        case 0x0004: return .indexAdded
        case 0x0005: return .indexRemoved
        case 0x0006: return body.number32(at: 0).map { .settings(ControllerSettings(rawValue: $0)) }
        case 0x0013: return body.byte(at: 1).map { .discovering($0 != 0) }
        case 0x002C: return body.number16(at: 0).map { .monitorRemoved($0) }
        case 0x002D: return body.byte(at: 0).map { .suspended(state: $0) }
        case 0x002E: return .resumed
        default: return .other(code)
        }
    }

    private static func result(of opcode: UInt16, _ body: Span<UInt8>) -> ManagementEvent.Result? {
        switch opcode {
        case 0x0002:
            guard let count = body.number16(at: 0), let list = numbers(count, at: 4, of: body) else { return nil }
            return .commands(Set(list))
        case 0x0003:
            guard let count = body.number16(at: 0), let list = numbers(count, at: 2, of: body) else { return nil }
            return .indexes(list)
        case 0x0004: return information(body).map { .information($0) }
        case 0x0005, 0x000D: return body.number32(at: 0).map { .settings(ControllerSettings(rawValue: $0)) }
        case 0x004B: return .configuration(ScanConfiguration(parameters: body))
        case 0x0051:
            guard let supported = body.number32(at: 0), let handlesMax = body.number16(at: 8),
                let count = body.number16(at: 11), let handles = numbers(count, at: 13, of: body)
            else { return nil }
            return .features(
                MonitorFeatures(isOffloaded: supported & 1 != 0, handlesMax: handlesMax, handles: handles))
        case 0x0052: return body.number16(at: 0).map { .handle($0) }
        default: return ManagementEvent.Result.none
        }
    }

    private static func information(_ body: Span<UInt8>) -> ControllerInformation? {
        guard let address = body.address48(at: 0), let version = body.byte(at: 6),
            let manufacturer = body.number16(at: 7), let supported = body.number32(at: 9),
            let current = body.number32(at: 13)
        else { return nil }
        return ControllerInformation(
            address: address, version: version, manufacturer: manufacturer,
            supported: ControllerSettings(rawValue: supported), current: ControllerSettings(rawValue: current))
    }

    private static func numbers(_ count: UInt16, at offset: Int, of body: Span<UInt8>) -> [UInt16]? {
        guard count <= listMax, offset + 2 * Int(count) <= body.count else { return nil }
        return (0..<Int(count)).compactMap { body.number16(at: offset + 2 * $0) }
    }
}
