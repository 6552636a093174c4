import BluetoothLE

/// The HCI events that carry one advertising report, one after another.
///
/// LE Advertising Report where that can say it all, else LE Extended Advertising Reports, the data in fragments.
/// Source: Bluetooth Core Vol 4 Part E §7.7.65.2, §7.7.65.13.
struct AdvertisingEvents {
    /// A legacy report's data.
    private static let legacyBytesMax = 31
    /// An extended report's: 255 octets of parameters without subevent, number of reports and 24 of the report.
    private static let fragmentBytesMax = 229
    // What the Event_Type octets of legacy reports say in an extended one's bits, in the order of the octets.
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
        // No address, or one whose type a legacy report has no number for, needs an extended one.
        let canBeLegacy =
            report.properties.contains(.legacy) && dataCount <= Self.legacyBytesMax
            && report.status == .complete && report.address.map { $0.kind.rawValue <= 3 } ?? false
        // A combination that no legacy report has says only "legacy", as ADV_NONCONN_IND does.
        legacyType = canBeLegacy ? UInt8(type ?? 3) : nil
    }

    /// The next event, without its H4 octet, in place of what `event` holds; `false` after the last.
    mutating func next(_ data: Span<UInt8>, into event: inout [UInt8]) -> Bool {
        guard !isDone else { return false }
        event.removeAll(keepingCapacity: true)
        if let legacyType {
            isDone = true
            event += [0x3E, UInt8(12 + dataCount), 0x02, 1, legacyType, report.address?.kind.rawValue ?? 0]
            append(report.address?.value ?? 0, to: &event)
            event.append(UInt8(dataCount))
            for index in 0..<dataCount { event.append(data[index]) }
            event.append(RSSI.octet(report.rssi))
            return true
        }
        let count = min(dataCount - offset, Self.fragmentBytesMax)
        isDone = offset + count == dataCount
        let status: UInt16 = isDone ? UInt16(report.status == .complete ? 0 : 2) : 1
        // A legacy report whose data are longer than one can carry is an extended one.
        let isLegacy = report.properties.contains(.legacy) && dataCount <= Self.legacyBytesMax
        let type = report.properties.rawValue & (isLegacy ? 0x1F : 0x0F) | status << 5
        event += [
            0x3E, UInt8(26 + count), 0x0D, 1, UInt8(truncatingIfNeeded: type), UInt8(truncatingIfNeeded: type >> 8),
        ]
        event.append(report.address?.kind.rawValue ?? 0xFF)
        append(report.address?.value ?? 0, to: &event)
        // Primary PHY 1M, no secondary one; the SID or "none"; transmit power unknown; RSSI; no periodic advertising; no
        // target address.
        event += [1, isLegacy ? 0 : 1, report.advertisingSID ?? 0xFF, 0x7F, RSSI.octet(report.rssi), 0, 0, 0]
        event += [0, 0, 0, 0, 0, 0, UInt8(count)]
        for index in offset..<offset + count { event.append(data[index]) }
        offset += count
        return true
    }

    private func append(_ address: UInt64, to event: inout [UInt8]) {
        for octet in 0..<6 { event.append(UInt8(truncatingIfNeeded: address >> UInt64(octet * 8))) }
    }
}
