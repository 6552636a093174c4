import BluetoothLE

/// What the text of `hcidump --raw` said so far.
///
/// A packet's first line is `> 04 3E …` (received) or `< 01 …`, with `-t` behind its time; further lines are indented.
/// The heading names the device. People write comments into it, with `//` or `#`. Source: BlueZ's tools/hcidump.c and lib of 5.x, `raw_dump` and `p_indent`.
struct HcidumpState {
    /// The place of the adapter that the heading names.
    var adapter: Int?
    /// The line at the head is what is left of one that is too long, or of a packet that is damaged.
    var isSkipping = false
}

extension CaptureReader {
    mutating func nextTextRecord() throws(CaptureError) -> CaptureRecord? {
        while true {
            guard let end = try lineEnd(from: 0) else {
                hasEnded = true
                return nil
            }
            switch HcidumpText.line(window.span, head, head + end, isBeforePackets: recordCount == 0) {
            case .first(let time, let isReceived, let bytes):
                hcidump.isSkipping = false
                recordCount += 1
                if let record = try packet(time, isReceived, bytes - head, end) { return record }
            case .heading:
                readHeading(head, head + end)
                skipLine(end)
            case .blank: skipLine(end)
            case .further, .other:
                // The further lines of a damaged packet go with it.
                if !hcidump.isSkipping {
                    damages.note(
                        offset: base + head, record: recordCount + 1, "a line that is no packet of hcidump --raw")
                }
                hcidump.isSkipping = true
                skipLine(end)
            }
        }
    }

    private mutating func skipLine(_ end: Int) { head = min(head + end + 1, tail) }

    /// Where the line ends that begins `offset` behind the head, from the head on; `nil` where nothing follows.
    ///
    /// A line that is too long for the window ends where the window does.
    private mutating func lineEnd(from offset: Int) throws(CaptureError) -> Int? {
        var scanned = offset
        while true {
            while head + scanned < tail {
                if window[head + scanned] == 0x0A { return scanned }
                scanned += 1
            }
            if scanned >= Self.recordBytesMax { return scanned }
            if try !refill(scanned + 1) { return scanned > offset ? scanned : nil }
        }
    }

    /// `device: hci0 snap_len: 1500 filter: 0xffffffff` names the adapter.
    private mutating func readHeading(_ start: Int, _ end: Int) {
        let word = Array("device: ".utf8)
        guard end - start > word.count, window[start..<start + word.count].elementsEqual(word) else { return }
        let first = start + word.count
        var last = first
        while last < end, !HcidumpText.isBlank(window[last]) { last += 1 }
        let device = window[first..<last]
        // "any" is every device at once.
        guard device.count > 3, device.starts(with: Array("hci".utf8)) else { return }
        hcidump.adapter = adapterTable.place(of: window, first..<last)
    }

    /// The packet whose first line ends `lineEnd` behind the head and whose bytes begin `bytes` behind it.
    ///
    /// `nil` where it is damaged; it is noted, and the head stands behind its lines.
    private mutating func packet(
        _ nanoseconds: Int128?, _ isReceived: Bool, _ bytes: Int, _ lineEnd: Int
    ) throws(CaptureError) -> CaptureRecord? {
        // Its further lines, all of which must stand in the window.
        var end = lineEnd
        var isCut = false
        while true {
            guard head + end < tail else {
                isCut = end < Self.recordBytesMax
                break
            }
            guard end < Self.recordBytesMax, let next = try self.lineEnd(from: end + 1) else { break }
            guard
                case .further = HcidumpText.line(window.span, head + end + 1, head + next, isBeforePackets: false)
            else { break }
            end = next
        }
        let (from, to, target) = (head + bytes, head + end, head)
        let count = HcidumpText.decode(&window, from: from, to: to, into: target)
        let start = head
        skipLine(end)
        guard let count else {
            damages.note(
                offset: base + start, record: recordCount, isCut ? "it is cut off" : "it is not made of octets")
            hcidump.isSkipping = true
            return nil
        }
        guard !timesAreKnown || (nanoseconds != nil) == hasTimes else {
            damages.note(
                offset: base + start, record: recordCount,
                hasTimes ? "it has no time" : "it has a time, and those before have not")
            return nil
        }
        // At the end of the text nothing but its own length tells that a packet is whole.
        if isCut, count >= 3, window[start] == 0x04, Int(window[start + 2]) + 3 > count {
            damages.note(offset: base + start, record: recordCount, "it is cut off")
        }
        let time = nanoseconds.map { instant($0) }
        return h4Record(time, hcidump.adapter ?? defaultAdapter(), start..<start + count, isReceived: isReceived)
    }
}
