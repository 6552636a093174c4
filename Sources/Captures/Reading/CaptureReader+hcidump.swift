import BaseTypes

/// The state of reading the text of `hcidump --raw`.
///
/// The first line of a packet is `> 04 3E …` (received) or `< 01 …`; with `-t`, its time is at the start. Further lines
/// are indented. The heading names the device. The text can have comments, with `//` or `#`. Source: BlueZ's
/// tools/hcidump.c and lib of 5.x, `raw_dump` and `p_indent`.
struct HcidumpState {
    /// The index of the adapter that the heading names.
    var adapter: Int?
    /// Whether the line at the head is the rest of a line that is too long, or of a damaged packet.
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
                if recordCount == 0 { try checkFirstPacket(end) }
                hcidump.isSkipping = false
                recordCount += 1
                if let record = try packet(time, isReceived, bytes - head, end) { return record }
            case .invalidTime(let range):
                recordCount += 1
                damages.note(
                    offset: base + head, record: recordCount, line: line,
                    "its time is \(LogProblem.quoted(window[range], bytesMax: 40)); \(HcidumpText.expectedTime)")
                hcidump.isSkipping = true
                skipLine(end)
            case .heading:
                readHeading(head, head + end)
                skipLine(end)
            case .blank: skipLine(end)
            case .further, .other:
                // The further lines of a damaged packet are skipped with it.
                if !hcidump.isSkipping {
                    damages.note(
                        offset: base + head, record: recordCount + 1, line: line,
                        "a line that is not a packet of hcidump --raw")
                }
                hcidump.isSkipping = true
                skipLine(end)
            }
        }
    }

    /// Throws if the line at the head, of `count` bytes, is a packet that btmon or hcidump without `--raw` printed.
    private func checkFirstPacket(_ count: Int) throws(CaptureError) {
        // btmon fills a line of the terminal.
        if let format = UnsupportedFormat(line: window[head..<head + min(count, 1024)]) { throw unsupported(format) }
    }

    private mutating func skipLine(_ end: Int) {
        if head + end < tail, window[head + end] == 0x0A { line += 1 }
        head = min(head + end + 1, tail)
    }

    /// Returns the end of the line that starts `offset` after the head, relative to the head; `nil` if nothing follows.
    ///
    /// A line that is too long for the window ends at the end of the window.
    private mutating func lineEnd(from offset: Int) throws(CaptureError) -> Int? {
        var scanned = offset
        while true {
            scanned = newline(from: scanned)
            if head + scanned < tail { return scanned }
            if scanned >= Self.recordBytesMax { return scanned }
            if try !refill(scanned + 1) { return scanned > offset ? scanned : nil }
        }
    }

    /// Returns the place of the next line end, relative to the head; that of the tail if there is none.
    private func newline(from start: Int) -> Int {
        let text = window.span.extracting(head..<tail)
        var place = start
        while place < text.count, text[place] != 0x0A { place += 1 }
        return place
    }

    /// Reads the adapter from a heading such as `device: hci0 snap_len: 1500 filter: 0xffffffff`.
    private mutating func readHeading(_ start: Int, _ end: Int) {
        let word = Array("device: ".utf8)
        guard end - start > word.count, window[start..<start + word.count].elementsEqual(word) else { return }
        let first = start + word.count
        var last = first
        while last < end, !HcidumpText.isBlank(window[last]) { last += 1 }
        let device = window[first..<last]
        // "any" means all devices.
        guard device.count > 3, device.starts(with: Array("hci".utf8)) else { return }
        hcidump.adapter = adapterTable.place(of: window, first..<last)
    }

    /// Returns the packet whose first line ends `lineEnd` after the head, and whose bytes start `bytes` after it.
    ///
    /// Returns `nil` if it is damaged; the damage is recorded, and the head is after its lines.
    private mutating func packet(
        _ text: LogText.Time?, _ isReceived: Bool, _ bytes: Int, _ lineEnd: Int
    ) throws(CaptureError) -> CaptureRecord? {
        // The further lines, which must all be in the window.
        var end = lineEnd
        var isCut = false
        let firstLine = line
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
            line += 1
        }
        let (from, to, target) = (head + bytes, head + end, head)
        let count = HcidumpText.decode(&window, from: from, to: to, into: target)
        let start = head
        skipLine(end)
        func note(_ reason: @autoclosure () -> String) {
            damages.note(offset: base + start, record: recordCount, line: firstLine, reason())
        }
        guard let count else {
            note(isCut ? "it is truncated" : "it is not hexadecimal bytes")
            hcidump.isSkipping = true
            return nil
        }
        guard !timesAreKnown || (text != nil) == hasTimes else {
            note(hasTimes ? "it has no time" : "it has a time, but the records before have none")
            return nil
        }
        // At the end of the text, only its length field shows whether a packet is complete.
        if isCut, count >= 3, window[start] == 0x04, Int(window[start + 2]) + 3 > count {
            note("it is truncated")
        }
        var time: Instant?
        if let text {
            guard let seconds = text.isLocal ? localTimes.instant(of: text.seconds) : text.seconds else {
                note(
                    "its time does not exist in \(localTimes.zone?.name ?? "UTC"): the clocks went forward at this time"
                )
                return nil
            }
            time = Self.instant(seconds: seconds, nanoseconds: text.nanoseconds)
            guard time != nil else {
                note("its time is \(Self.date(of: Int128(seconds) * 1_000_000_000)); must be within 1970…2100")
                return nil
            }
            if text.isLocal { localTimes.follow(seconds, isLocal: true, line: firstLine) }
        }
        return h4Record(time, hcidump.adapter ?? defaultAdapter(), start..<start + count, isReceived: isReceived)
    }
}
