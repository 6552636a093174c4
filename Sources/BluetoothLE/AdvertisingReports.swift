/// An HCI event that does not hold the advertising reports that it announces (rule B3: its whole reports count).
public enum AdvertisingReportError: Error, Hashable {
    /// The event's parameters are `available` octets; its header announces `declaredLength`.
    case eventTruncated(declaredLength: Int, available: Int)
    /// The event announces no report, or more than the specification allows in one event.
    case reportCountInvalid(Int)
    /// The report at `offset` of the event needs `needed` octets; `available` are left.
    case reportTruncated(offset: Int, needed: Int, available: Int)
}

extension AdvertisingReportError {
    /// What it is counted as.
    public var malformation: Malformation {
        switch self {
        case .eventTruncated: .eventTruncated
        case .reportCountInvalid: .reportCountInvalid
        case .reportTruncated: .reportTruncated
        }
    }
}

extension AdvertisingReportError: CustomStringConvertible {
    /// What is wrong, and where.
    public var description: String {
        switch self {
        case .eventTruncated(let declaredLength, let available):
            "the HCI event declares \(declaredLength) bytes of parameters, but has \(available)"
        case .reportCountInvalid(let count):
            "the advertising report event declares \(count) reports"
        case .reportTruncated(let offset, let needed, let available):
            "the advertising report at byte \(offset) needs \(needed) bytes, but \(available) are left"
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
    @usableFromInline var offset = 4
    @usableFromInline var end = 0
    @usableFromInline var remaining = 0
    // 1 in an extended event, 0 in a legacy one: a number, so that what differs is computed. Which one comes next is
    // random to a processor, and a wrong guess costs it more than the rest of a report.
    @usableFromInline var extended = 0
    // What to say after the last whole report.
    @usableFromInline var flaw: Flaw?

    @usableFromInline enum Flaw: Sendable {
        case eventTruncated, reportCountMissing, reportCountInvalid
    }

    /// The reports of `event`, an HCI event packet without its H4 octet: event code, length, parameters.
    @inlinable @inline(__always) public init(event: Span<UInt8>) {
        // LE Meta event (0x3E), its subevent, the number of reports.
        guard event.count >= 3, event[0] == 0x3E, event[2] == 0x02 || event[2] == 0x0D else { return }
        let declared = Int(event[1])
        extended = event[2] == 0x0D ? 1 : 0
        end = min(event.count, 2 + declared)
        if declared > event.count - 2 { flaw = .eventTruncated }
        guard end >= 4 else {
            // An event without parameters has no subevent: what stands behind it is not its own.
            if end == 3, flaw == nil { flaw = .reportCountMissing }
            return
        }
        remaining = Int(event[3])
        // 1 … 25 legacy reports, 1 … 10 extended ones.
        if remaining == 0 || remaining > 25 &- 15 &* extended, flaw == nil { flaw = .reportCountInvalid }
    }

    /// Whether nothing follows, no error either.
    @inlinable var isAtEnd: Bool { remaining == 0 && flaw == nil }

    /// The next report of `event`; `nil` after the last.
    ///
    /// - Throws: ``AdvertisingReportError``, once and after the last whole report, where the event is not what it
    ///   announces.
    @inlinable @inline(__always)
    public mutating func next(in event: Span<UInt8>) throws(AdvertisingReportError) -> AdvertisingReport? {
        guard remaining > 0 else {
            guard flaw != nil else { return nil }
            throw error(of: event)
        }
        let start = offset
        // Whoever hands in another event than before gets nonsense, but never what stands behind its end.
        let available = min(end, event.count) &- start
        // What stands before the data, their length last; and the RSSI octet behind a legacy report's.
        let header = 9 &+ 15 &* extended
        let trailer = 1 &- extended
        guard available >= header &+ trailer else { throw truncated(needed: header + trailer, of: event) }
        let raw = unsafe event.bytes
        // Every load up to the data lies within the header and trailer checked above: at least 10 octets, or 24.
        let length = Int(unsafe raw.unsafeLoad(fromUncheckedByteOffset: start &+ header &- 1, as: UInt8.self))
        guard available >= header &+ trailer &+ length else {
            throw truncated(needed: header + length + trailer, of: event)
        }
        let data = unsafe Range(uncheckedBounds: (start &+ header, start &+ header &+ length))
        offset = data.upperBound &+ trailer
        remaining &-= 1
        // Event_Type (1 octet, or 2), Address_Type (1), Address (6); then, legacy: Data_Length (1), Data, RSSI; extended:
        // PHYs (2), SID (1), TX power (1), RSSI (1), interval (2), direct address (7), Data_Length (1), Data.
        let eventType = unsafe UInt16(
            littleEndian: raw.unsafeLoadUnaligned(fromUncheckedByteOffset: start, as: UInt16.self))
        let address = unsafe UInt64(
            littleEndian: raw.unsafeLoadUnaligned(fromUncheckedByteOffset: start &+ 2 &+ extended, as: UInt64.self))
        let addressType = unsafe raw.unsafeLoad(fromUncheckedByteOffset: start &+ 1 &+ extended, as: UInt8.self)
        // The last octet of a legacy report, which was checked to be there, or the fourteenth of an extended one.
        let rssi = unsafe raw.unsafeLoad(
            fromUncheckedByteOffset: extended == 0 ? data.upperBound : start &+ 13, as: UInt8.self)
        let sid = unsafe raw.unsafeLoad(fromUncheckedByteOffset: start &+ 11 &* extended, as: UInt8.self)
        let legacyProperties = AdvertisingReport.Properties(legacyEventType: UInt8(truncatingIfNeeded: eventType))
        return AdvertisingReport(
            packedAddress: DeviceAddress.packed(address, addressType: addressType),
            reportedRSSI: rssi,
            properties: extended == 0 ? legacyProperties : AdvertisingReport.Properties(rawValue: eventType & 0x1F),
            statusBits: extended == 0 ? 0 : UInt8(truncatingIfNeeded: eventType >> 5 & 0x3),
            reportedSID: extended == 0 ? 0xFF : sid,
            data: data)
    }

    /// One error an event: what was announced and cut off is one mistake, however it shows.
    @inline(never) @usableFromInline
    mutating func truncated(needed: Int, of event: Span<UInt8>) -> AdvertisingReportError {
        remaining = 0
        guard flaw == nil else { return error(of: event) }
        return .reportTruncated(offset: offset, needed: needed, available: min(end, event.count) - offset)
    }

    @inline(never) @usableFromInline
    mutating func error(of event: Span<UInt8>) -> AdvertisingReportError {
        defer { flaw = nil }
        switch flaw {
        case .eventTruncated where event.count >= 2:
            return .eventTruncated(declaredLength: Int(event[1]), available: event.count - 2)
        case .reportCountInvalid where event.count >= 4:
            return .reportCountInvalid(Int(event[3]))
        default:
            return .reportTruncated(offset: 3, needed: 1, available: 0)
        }
    }
}
