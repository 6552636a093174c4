/// An HCI event that does not hold the advertising reports that it announces (rule B3: its whole reports count).
public enum AdvertisingReportError: Error, Hashable {
    /// The event's parameters are `available` octets; its header announces `declaredLength`.
    case eventTruncated(declaredLength: Int, available: Int)
    /// The event announces no report, or more than the specification allows in one event.
    case reportCountInvalid(Int)
    /// The report at `offset` of the event needs `needed` octets; `available` are left.
    case reportTruncated(offset: Int, needed: Int, available: Int)
}

extension AdvertisingReportError: CustomStringConvertible {
    /// What is wrong, and where.
    public var description: String {
        switch self {
        case .eventTruncated(let declaredLength, let available):
            "the HCI event announces \(declaredLength) octets of parameters; \(available) are there"
        case .reportCountInvalid(let count):
            "the advertising report event announces \(count) reports"
        case .reportTruncated(let offset, let needed, let available):
            "the advertising report at octet \(offset) needs \(needed) octets; \(available) are left"
        }
    }
}

/// The advertising reports of one HCI event, in order, without a copy.
///
/// Takes LE Advertising Report (subevent 0x02) and LE Extended Advertising Report (0x0D) events and gives none for every
/// other event. A cursor: it keeps how far it has read, and is handed the event at each step.
///
/// Source: Bluetooth Core Vol 4 Part E §5.4.4 (the event packet), §7.7.65.2, §7.7.65.13.
public struct AdvertisingReports: Sendable {
    @usableFromInline var offset = 0
    @usableFromInline var end = 0
    @usableFromInline var remaining = 0
    @usableFromInline var isExtended = false
    @usableFromInline var pendingError: AdvertisingReportError?

    /// The reports of `event`, an HCI event packet without its H4 octet: event code, length, parameters.
    @inlinable public init(event: Span<UInt8>) {
        // LE Meta event (0x3E), its subevent, the number of reports.
        guard event.count >= 3, event[0] == 0x3E, event[2] == 0x02 || event[2] == 0x0D else { return }
        let declared = Int(event[1])
        isExtended = event[2] == 0x0D
        end = min(event.count, 2 + declared)
        if declared > event.count - 2 {
            pendingError = .eventTruncated(declaredLength: declared, available: event.count - 2)
        }
        guard end >= 4 else {
            if pendingError == nil { pendingError = .reportTruncated(offset: 3, needed: 1, available: 0) }
            return
        }
        remaining = Int(event[3])
        offset = 4
        // 1 … 25 legacy reports, 1 … 10 extended ones.
        if remaining == 0 || remaining > (isExtended ? 0x0A : 0x19), pendingError == nil {
            pendingError = .reportCountInvalid(remaining)
        }
    }

    /// The next report of `event`; `nil` after the last.
    ///
    /// - Throws: ``AdvertisingReportError``, once and after the last whole report, where the event is not what it
    ///   announces.
    @inlinable public mutating func next(in event: Span<UInt8>) throws(AdvertisingReportError) -> AdvertisingReport? {
        guard remaining > 0 else {
            guard let error = pendingError else { return nil }
            pendingError = nil
            throw error
        }
        // What stands before the data, and the RSSI octet behind a legacy report's.
        let header = isExtended ? 24 : 9
        let trailer = isExtended ? 0 : 1
        guard end - offset >= header + trailer else { throw truncated(needed: header + trailer) }
        let length = Int(event[offset + header - 1])
        guard end - offset - header - trailer >= length else { throw truncated(needed: header + length + trailer) }
        let start = offset
        let data = start + header..<start + header + length
        offset = data.upperBound + trailer
        remaining -= 1
        guard isExtended else {
            return AdvertisingReport(
                address: DeviceAddress(littleEndianAt: start + 2, of: event, addressType: event[start + 1]),
                rssi: RSSI(reported: event[data.upperBound]),
                properties: AdvertisingReport.Properties(legacyEventType: event[start]), data: data)
        }
        let eventType = UInt16(event[start]) | UInt16(event[start + 1]) << 8
        let sid = event[start + 11]
        return AdvertisingReport(
            address: DeviceAddress(littleEndianAt: start + 3, of: event, addressType: event[start + 2]),
            rssi: RSSI(reported: event[start + 13]),
            properties: AdvertisingReport.Properties(rawValue: eventType & 0x1F),
            status: AdvertisingReport.DataStatus(rawValue: UInt8(truncatingIfNeeded: eventType >> 5 & 0x3))
                ?? .reserved,
            advertisingSID: sid <= 0x0F ? sid : nil, data: data)
    }

    @inlinable mutating func truncated(needed: Int) -> AdvertisingReportError {
        // One error an event: what was announced and cut off is one mistake, however it shows.
        let error = pendingError ?? .reportTruncated(offset: offset, needed: needed, available: end - offset)
        pendingError = nil
        remaining = 0
        return error
    }
}
