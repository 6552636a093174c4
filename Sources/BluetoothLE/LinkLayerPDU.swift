/// A sniffer's result of checking the CRC of a frame.
public enum FrameCheck: UInt8, Sendable {
    case valid, invalid
    /// The sniffer did not check it. The CRC follows the PDU.
    case unchecked
}

/// An advertising frame from which no report can be decoded (rule B4). Count it by its ``malformation``.
public enum LinkLayerError: Error, Hashable {
    /// The CRC is wrong.
    case badCRC
    /// The PDU needs `needed` bytes at `offset` of the given bytes, but only `available` are there.
    case pduTruncated(offset: Int, needed: Int, available: Int)

    /// The kind of malformation to count.
    public var malformation: Malformation {
        switch self {
        case .badCRC: .badCRC
        case .pduTruncated: .pduTruncated
        }
    }
}

extension LinkLayerError: CustomStringConvertible {
    /// A text with the error and its place.
    public var description: String {
        switch self {
        case .badCRC:
            "the frame's CRC is wrong"
        case .pduTruncated(let offset, let needed, let available):
            "the advertising PDU needs \(needed) bytes at byte \(offset), but has \(available)"
        }
    }
}

/// Decodes advertising PDUs of the link layer, as captured by sniffers.
///
/// A frame is the access address (4 bytes, little endian), the header of the PDU (2), its payload, and the CRC (3).
///
///     let report = try LinkLayerPDU.advertisingReport(
///         of: frame.span, in: 0..<frame.count, rssi: RSSI(dBm: -60), check: .valid)
///     #expect(report?.properties == [.legacy])
///
/// Source: Bluetooth Core Vol 6 Part B §2.1 (frames), §2.3 (advertising PDUs), §3.1.1 (CRC).
public enum LinkLayerPDU {
    /// The access address of advertising (Core Vol 6 Part B §2.1.2). Other addresses belong to connections, periodic
    /// advertising and broadcast streams.
    public static let advertisingAccessAddress: UInt32 = 0x8E89_BED6

    /// Returns the advertising report of the frame in `range` of `bytes`; `nil` if the frame is not advertising (rule
    /// B4).
    ///
    /// ADV_IND, ADV_DIRECT_IND, ADV_NONCONN_IND, ADV_SCAN_IND, SCAN_RSP and the extended PDUs give a report. An
    /// extended PDU that points to another PDU has the status ``AdvertisingReport/DataStatus/moreToCome`` if it has
    /// data itself. If it only points (ADV_EXT_IND), it is complete and empty.
    /// - Parameters:
    ///   - bytes: the bytes that will contain the report's `data`.
    ///   - range: the range of the frame in `bytes`. Bytes after its CRC are ignored.
    ///   - rssi: the signal strength that the sniffer measured.
    ///   - check: the sniffer's result for the CRC. If it is ``FrameCheck/unchecked``, the CRC is computed here.
    /// - Returns: the report; `nil` if the frame is not advertising.
    /// - Throws: ``LinkLayerError`` if an advertising frame has a wrong CRC or is truncated.
    public static func advertisingReport(
        of bytes: Span<UInt8>, in range: Range<Int>, rssi: RSSI?, check: FrameCheck
    ) throws(LinkLayerError) -> AdvertisingReport? {
        let range = range.clamped(to: 0..<bytes.count)
        var fields = Fields(next: range.lowerBound, end: range.upperBound)
        // A frame that is too short for an access address is counted as truncated: it is unknown whether it is
        // advertising.
        let start = try fields.take(4)
        let access =
            UInt32(bytes[start]) | UInt32(bytes[start + 1]) << 8 | UInt32(bytes[start + 2]) << 16
            | UInt32(bytes[start + 3]) << 24
        guard access == advertisingAccessAddress else { return nil }
        // Checked before any byte of the PDU is used, including its length.
        if check == .invalid { throw .badCRC }
        let header = try fields.take(2)
        let payload = try fields.take(Int(bytes[header + 1]))
        let payloadEnd = fields.next
        if check == .unchecked {
            let crc = try fields.take(3)
            let received = UInt32(bytes[crc]) | UInt32(bytes[crc + 1]) << 8 | UInt32(bytes[crc + 2]) << 16
            guard received == LinkLayerCRC.advertising(of: bytes, in: header..<crc) else { throw .badCRC }
        }
        let isRandom = bytes[header] & 0x40 != 0
        fields = Fields(next: payload, end: payloadEnd)
        let properties: AdvertisingReport.Properties
        switch bytes[header] & 0x0F {
        case 0x0: properties = [.legacy, .connectable, .scannable]  // ADV_IND
        case 0x1: properties = [.legacy, .connectable, .directed]  // ADV_DIRECT_IND
        case 0x2: properties = [.legacy]  // ADV_NONCONN_IND
        case 0x4: properties = [.legacy, .connectable, .scannable, .scanResponse]  // SCAN_RSP
        case 0x6: properties = [.legacy, .scannable]  // ADV_SCAN_IND
        case 0x7: return try extendedReport(of: bytes, fields: &fields, rssi: rssi, isRandom: isRandom)
        default: return nil
        }
        let address = address(at: try fields.take(6), of: bytes, isRandom: isRandom)
        // The other field of an ADV_DIRECT_IND is the address of its target.
        if properties.contains(.directed) { fields.next = try fields.take(6) + 6 }
        let data = properties.contains(.directed) ? fields.next..<fields.next : fields.next..<fields.end
        return AdvertisingReport(address: address, rssi: rssi, properties: properties, data: data)
    }

    /// Decodes the Common Extended Advertising Payload Format (Core Vol 6 Part B §2.3.4).
    private static func extendedReport(
        of bytes: Span<UInt8>, fields: inout Fields, rssi: RSSI?, isRandom: Bool
    ) throws(LinkLayerError) -> AdvertisingReport {
        let first = bytes[try fields.take(1)]
        let start = try fields.take(Int(first & 0x3F))
        let data = fields.next..<fields.end
        var header = Fields(next: start, end: fields.next)
        var report = AdvertisingReport(address: nil, rssi: rssi, properties: .linkLayer, data: data)
        // AdvMode; the value 3 is reserved and sets neither bit.
        switch first >> 6 {
        case 1: report.properties.insert(.connectable)
        case 2: report.properties.insert(.scannable)
        default: break
        }
        // The extended header can be absent, including its flags.
        guard header.next < header.end else { return report }
        let flags = bytes[try header.take(1)]
        if flags & 0x01 != 0 {  // AdvA
            report.address = address(at: try header.take(6), of: bytes, isRandom: isRandom)
        }
        if flags & 0x02 != 0 {  // TargetA
            _ = try header.take(6)
            report.properties.insert(.directed)
        }
        if flags & 0x04 != 0 { _ = try header.take(1) }  // CTEInfo
        if flags & 0x08 != 0 {  // ADI: DID (12 bits), SID (4)
            let offset = try header.take(2)
            let information = UInt16(bytes[offset]) | UInt16(bytes[offset + 1]) << 8
            report.advertisingSID = UInt8(truncatingIfNeeded: information >> 12)
            report.advertisingDataID = information & 0x0FFF
        }
        if flags & 0x10 != 0 {  // AuxPtr: channel, clock accuracy, units (8 bits), AUX Offset (13), PHY (3)
            let offset = try header.take(3)
            let isSent = bytes[offset + 1] != 0 || bytes[offset + 2] & 0x1F != 0
            // An AUX Offset of zero means that the advertiser did not send the PDU that it points to.
            if !data.isEmpty { report.status = isSent ? .moreToCome : .truncated }
        }
        if flags & 0x20 != 0 { _ = try header.take(18) }  // SyncInfo
        if flags & 0x40 != 0 { _ = try header.take(1) }  // TxPower
        // The rest of the header is ACAD, which belongs to the controllers and is not data of the advertiser.
        return report
    }

    private static func address(at offset: Int, of bytes: Span<UInt8>, isRandom: Bool) -> DeviceAddress {
        var value: UInt64 = 0
        for index in 0..<6 { value |= UInt64(bytes[offset + index]) << UInt64(8 * index) }
        return DeviceAddress(value, kind: isRandom ? .random : .public)
    }

    /// Reads consecutive fields up to an end.
    private struct Fields {
        var next: Int
        let end: Int

        /// Returns the offset of the next field and skips it.
        ///
        /// - Throws: ``LinkLayerError/pduTruncated(offset:needed:available:)`` if fewer than `count` bytes are left.
        mutating func take(_ count: Int) throws(LinkLayerError) -> Int {
            guard count <= end - next else { throw .pduTruncated(offset: next, needed: count, available: end - next) }
            defer { next += count }
            return next
        }
    }
}
