import BluetoothLE

/// Encodes one advertising report as HCI events.
///
/// It is one LE Advertising Report if possible, otherwise LE Extended Advertising Reports with the data in fragments.
/// Source: Bluetooth Core Vol 4 Part E §7.7.65.2, §7.7.65.13.
struct AdvertisingEvents {
    /// The maximum data bytes of a legacy report.
    private static let legacyBytesMax = 31
    /// The maximum data bytes of an extended report: 255 bytes of parameters minus the subevent, the number of reports,
    /// and 24 bytes of the report.
    private static let fragmentBytesMax = 229
    // The bits of an extended report for the Event_Type values of legacy reports, in their order.
    private static let legacyTypes: [UInt16] = [0x13, 0x15, 0x12, 0x10, 0x1B]

    private let report: AdvertisingReport
    private let legacyType: UInt8?
    private let dataCount: Int
    private var offset = 0
    private var isDone = false

    init(_ report: AdvertisingReport, dataCount: Int) {
        self.report = report
        self.dataCount = dataCount
        let type = Self.legacyTypes.firstIndex(of: report.properties.rawValue & 0x1F)
        // A report without an address, or with an address type that legacy reports do not have, must be extended.
        let canBeLegacy =
            report.properties.contains(.legacy) && dataCount <= Self.legacyBytesMax
            && report.status == .complete && report.address.map { $0.kind.rawValue <= 3 } ?? false
        // A combination of bits that no legacy report has becomes ADV_NONCONN_IND, which says only "legacy".
        legacyType = canBeLegacy ? UInt8(type ?? 3) : nil
    }

    /// Replaces `event` by the next event without its H4 byte; returns `false` after the last one.
    mutating func next(_ data: Span<UInt8>, into event: inout [UInt8]) -> Bool {
        guard !isDone else { return false }
        event.removeAll(keepingCapacity: true)
        if let legacyType {
            isDone = true
            event += [0x3E, UInt8(12 + dataCount), 0x02, 1, legacyType, report.address?.kind.rawValue ?? 0]
            append(report.address?.value ?? 0, to: &event)
            event.append(UInt8(dataCount))
            for index in 0..<dataCount { event.append(data[index]) }
            event.append(RSSI.byte(report.rssi))
            return true
        }
        let count = min(dataCount - offset, Self.fragmentBytesMax)
        isDone = offset + count == dataCount
        let status: UInt16 = isDone ? UInt16(report.status == .complete ? 0 : 2) : 1
        // A legacy report with more data than a legacy report can have becomes an extended one.
        let isLegacy = report.properties.contains(.legacy) && dataCount <= Self.legacyBytesMax
        let type = report.properties.rawValue & (isLegacy ? 0x1F : 0x0F) | status << 5
        event += [
            0x3E, UInt8(26 + count), 0x0D, 1, UInt8(truncatingIfNeeded: type), UInt8(truncatingIfNeeded: type >> 8),
        ]
        event.append(report.address?.kind.rawValue ?? 0xFF)
        append(report.address?.value ?? 0, to: &event)
        // Primary PHY 1M, no secondary PHY; the SID or "none"; transmit power unknown; RSSI; no periodic advertising;
        // no target address.
        event += [1, isLegacy ? 0 : 1, report.advertisingSID ?? 0xFF, 0x7F, RSSI.byte(report.rssi), 0, 0, 0]
        event += [0, 0, 0, 0, 0, 0, UInt8(count)]
        for index in offset..<offset + count { event.append(data[index]) }
        offset += count
        return true
    }

    private func append(_ address: UInt64, to event: inout [UInt8]) {
        for index in 0..<6 { event.append(UInt8(truncatingIfNeeded: address >> UInt64(index * 8))) }
    }
}
