import BaseTypes

/// The values in the header of a pcap file.
///
/// Source: draft-ietf-opsawg-pcap: a 24-byte header, then records of seconds, fraction, included and original length
/// (u32 each, in the byte order of the header) and the included bytes.
struct PcapState {
    static let headerSize = 16
    static let microsecondMagic: UInt32 = 0xA1B2_C3D4
    static let nanosecondMagic: UInt32 = 0xA1B2_3C4D

    /// Returns whether a number is a magic number of pcap, in either byte order.
    static func isMagic(_ number: UInt32) -> Bool {
        switch number {
        case microsecondMagic, nanosecondMagic, microsecondMagic.byteSwapped, nanosecondMagic.byteSwapped: true
        default: false
        }
    }

    var isSwapped = false
    /// The number of nanoseconds in a unit of the fraction.
    var unit: Int64 = 1000
    var linkType = LinkType.h4
}

extension CaptureReader {
    mutating func openPcap() throws(CaptureError) {
        guard try has(24) else { throw .headerInvalid(path: name, "it is truncated") }
        var magic = load(head, as: UInt32.self).littleEndian
        pcap.isSwapped = false
        if magic != PcapState.microsecondMagic, magic != PcapState.nanosecondMagic {
            magic = magic.byteSwapped
            pcap.isSwapped = true
        }
        pcap.unit = magic == PcapState.nanosecondMagic ? 1 : 1000
        // The upper half can describe a checksum after the packets.
        let type = number32(head + 20) & 0xFFFF
        guard let linkType = LinkType(rawValue: type) else { throw .linkTypeUnsupported(path: name, type) }
        pcap.linkType = linkType
        layout = .pcap
        format = .pcap(linkType: type)
        head += 24
    }

    /// Returns a number in the byte order of the file.
    @inline(__always) private mutating func number32(_ offset: Int) -> UInt32 {
        let number = load(offset, as: UInt32.self).littleEndian
        return pcap.isSwapped ? number.byteSwapped : number
    }

    /// Records that the record at `offset` of the window is skipped, because its fraction of a second, in units of
    /// `unit` nanoseconds, is a second or more.
    @inline(never) mutating func noteFractionOfSecond(_ fraction: UInt32, unit: Int64, at offset: Int) {
        let (unit, limit) = unit == 1 ? ("nanoseconds", "999999999") : ("microseconds", "999999")
        damages.note(
            offset: base + offset, record: recordCount,
            "its time has \(fraction) \(unit) after the second; must be at most \(limit)")
    }

    @inline(__always) mutating func nextPcapRecord() throws(CaptureError) -> CaptureRecord? {
        while true {
            guard try has(PcapState.headerSize) else { return endOrCut(PcapState.headerSize) }
            if isHeader(head) { return try endOfFile(headerSize: PcapState.headerSize, "") }
            let included = Int(number32(head + 8))
            if included == 0, isZero(head..<head + PcapState.headerSize) {
                return try endOfFile(headerSize: PcapState.headerSize, "")
            }
            guard included <= Self.recordBytesMax - PcapState.headerSize else {
                return try endOfFile(
                    headerSize: PcapState.headerSize, "it claims \(included) bytes; a record has at most 1 MiB")
            }
            guard try has(PcapState.headerSize + included) else { return endOrCut(PcapState.headerSize + included) }
            let fraction = Int64(number32(head + 4)) &* pcap.unit
            // 2^32 seconds and 2^32 microseconds do not overflow.
            let nanoseconds = Int64(number32(head)) &* 1_000_000_000 &+ fraction
            let start = head + PcapState.headerSize
            head = start + included
            recordCount &+= 1
            guard fraction < 1_000_000_000 else {
                noteFractionOfSecond(
                    number32(start - PcapState.headerSize + 4), unit: pcap.unit, at: start - PcapState.headerSize)
                continue
            }
            guard nanoseconds < Self.timesEnd else {
                noteTimeOutOfRange(Int128(nanoseconds), at: start - PcapState.headerSize)
                continue
            }
            let adapter = pcap.linkType == .linuxMonitor ? nil : defaultAdapter()
            if let record = record(
                pcap.linkType, Instant(nanoseconds: nanoseconds), adapter: adapter, start..<start + included)
            {
                return record
            }
        }
    }
}
