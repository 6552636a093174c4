/// An HCI event whose reports are not as declared: some are missing, or their number is invalid. Its complete reports
/// still count (rule B3).
public enum AdvertisingReportError: Error, Hashable {
    /// The header declares `declaredLength` bytes of parameters, but the event has only `available`.
    case eventTruncated(declaredLength: Int, available: Int)
    /// The event declares no report, or more than the specification allows in one event.
    case reportCountInvalid(Int)
    /// The report at `offset` of the event needs `needed` bytes, but only `available` are left.
    case reportTruncated(offset: Int, needed: Int, available: Int)
}

extension AdvertisingReportError {
    /// The kind of malformation to count.
    public var malformation: Malformation {
        switch self {
        case .eventTruncated: .eventTruncated
        case .reportCountInvalid: .reportCountInvalid
        case .reportTruncated: .reportTruncated
        }
    }
}

extension AdvertisingReportError: CustomStringConvertible {
    /// A text with the error and its place.
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

/// Reads the advertising reports of one HCI event in order, without copying it.
///
/// Supports LE Advertising Report (subevent 0x02) and LE Extended Advertising Report (0x0D); all other events have no
/// reports. A cursor: it stores only the current offset. Each call must get the same event.
///
///     var reports = AdvertisingReports(event: event)
///     while let report = try reports.next(in: event) {
///         strengths.append(report.rssi)
///     }
///
/// Source: Bluetooth Core Vol 4 Part E §5.4.4 (the event packet), §7.7.65.2, §7.7.65.13.
public struct AdvertisingReports: Sendable {
    @usableFromInline var offset = 4
    @usableFromInline var end = 0
    @usableFromInline var remaining = 0
    // 1 in an extended event, 0 in a legacy event. It is a number so that offsets are computed without a branch: the
    // two kinds of event alternate at random, and a wrong branch prediction costs more than the rest of a report.
    @usableFromInline var extended = 0
    // The error to throw after the last complete report.
    @usableFromInline var flaw: Flaw?

    @usableFromInline enum Flaw: Sendable {
        case eventTruncated, reportCountMissing, reportCountInvalid
    }

    /// Creates a cursor at the first report of `event`: an HCI event packet without its H4 byte (event code, length,
    /// parameters).
    @inlinable @inline(__always) public init(event: Span<UInt8>) {
        // The LE Meta event (0x3E), its subevent code, and the number of reports.
        guard event.count >= 3, event[0] == 0x3E, event[2] == 0x02 || event[2] == 0x0D else { return }
        let declared = Int(event[1])
        extended = event[2] == 0x0D ? 1 : 0
        end = min(event.count, 2 + declared)
        if declared > event.count - 2 { flaw = .eventTruncated }
        guard end >= 4 else {
            // An event without parameters has no subevent code; the byte after it does not belong to the event.
            if end == 3, flaw == nil { flaw = .reportCountMissing }
            return
        }
        remaining = Int(event[3])
        // The limits of the specification are 1 … 25 legacy reports and 1 … 10 extended reports.
        if remaining == 0 || remaining > 25 &- 15 &* extended, flaw == nil { flaw = .reportCountInvalid }
    }

    /// Whether no report and no error is left.
    @inlinable var isAtEnd: Bool { remaining == 0 && flaw == nil }

    /// Returns the next report of `event`; `nil` after the last one.
    ///
    /// - Throws: ``AdvertisingReportError`` once, after the last complete report, if reports are missing or their
    ///   number is invalid.
    @inlinable @inline(__always)
    public mutating func next(in event: Span<UInt8>) throws(AdvertisingReportError) -> AdvertisingReport? {
        guard remaining > 0 else {
            guard flaw != nil else { return nil }
            throw error(of: event)
        }
        let start = offset
        // If a caller passes another event than before, the reports are wrong, but no byte after its end is read.
        let available = min(end, event.count) &- start
        // The bytes before the data, of which the length of the data is the last; and the RSSI byte after a legacy
        // report's data.
        let header = 9 &+ 15 &* extended
        let trailer = 1 &- extended
        guard available >= header &+ trailer else { throw truncated(needed: header + trailer, of: event) }
        let raw = unsafe event.bytes
        // All loads up to the data are inside the header and trailer that were checked above: at least 10 or 24 bytes.
        let length = Int(unsafe raw.unsafeLoad(fromUncheckedByteOffset: start &+ header &- 1, as: UInt8.self))
        guard available >= header &+ trailer &+ length else {
            throw truncated(needed: header + length + trailer, of: event)
        }
        let data = unsafe Range(uncheckedBounds: (start &+ header, start &+ header &+ length))
        offset = data.upperBound &+ trailer
        remaining &-= 1
        // Event_Type (1 or 2 bytes), Address_Type (1), Address (6). Then, in a legacy report: Data_Length (1), Data,
        // RSSI. In an extended report: PHYs (2), SID (1), TX power (1), RSSI (1), interval (2), direct address (7),
        // Data_Length (1), Data.
        let eventType = unsafe UInt16(
            littleEndian: raw.unsafeLoadUnaligned(fromUncheckedByteOffset: start, as: UInt16.self))
        let address = unsafe UInt64(
            littleEndian: raw.unsafeLoadUnaligned(fromUncheckedByteOffset: start &+ 2 &+ extended, as: UInt64.self))
        let addressType = unsafe raw.unsafeLoad(fromUncheckedByteOffset: start &+ 1 &+ extended, as: UInt8.self)
        // The last byte of a legacy report, which was checked above, or byte 13 of an extended report.
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

    /// Returns the error to throw, at most one per event: a truncated event also truncates a report, which counts once.
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
