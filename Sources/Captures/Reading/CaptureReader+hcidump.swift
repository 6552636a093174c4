import BaseTypes

/// The state of reading the text of `hcidump --raw`.
///
/// The first line of a packet is `> 04 3E …` (received) or `< 01 …`; with `-t`, its time is at the start. Further lines
/// are indented. The heading names the device. The text can have comments, with `//` or `#`. Source: BlueZ's
/// tools/hcidump.c and lib of 5.x, `raw_dump` and `p_indent`.
///
/// The text can be that of a terminal with `hcitool lescan`, of script(1), of grep(1) with separators, or of a system
/// log, in which each line has a prefix. It can start inside a packet, which is then skipped.
struct HcidumpState {
    /// The index of the adapter that the heading names.
    var adapter: Int?
    /// The text of another program before the first line of the last packet.
    var prefix: [UInt8] = []
    /// The offset and the line of bytes before the first packet; `nil` if there are none.
    var partial: (offset: Int, line: Int)?
    /// Whether a line of `hcitool lescan` was found.
    var hasLescan = false
    /// Whether the line at the head is the rest of a line that is too long, or of a damaged packet.
    var isSkipping = false
}

extension CaptureReader {
    mutating func nextTextRecord() throws(CaptureError) -> CaptureRecord? {
        while true {
            guard let end = try lineEnd(from: 0) else {
                hasEnded = true
                if recordCount == 0 { try checkEmptiness() }
                return nil
            }
            switch HcidumpText.line(
                window.span, head, head + end, isBeforePackets: recordCount == 0, prefix: hcidump.prefix)
            {
            case .first(let time, let isReceived, let bytes, let prefix):
                if recordCount == 0 { try checkFirstPacket(end) }
                hcidump.isSkipping = false
                recordCount += 1
                if !prefix.isEmpty || !hcidump.prefix.isEmpty { hcidump.prefix = Array(window[prefix]) }
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
            case .foreign(let isLescan):
                if isLescan { hcidump.hasLescan = true }
                skipLine(end)
            case .separator: skipLine(end)
            case .further where recordCount == 0:
                if hcidump.partial == nil { hcidump.partial = (base + head, line) }
                skipLine(end)
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

    /// Throws if a text without packets is that of `hcitool lescan`. Bytes that belong to no packet are damage.
    private mutating func checkEmptiness() throws(CaptureError) {
        if let partial = hcidump.partial {
            damages.note(
                offset: partial.offset, record: 1, line: partial.line, "these bytes have no first line of a packet")
        } else if hcidump.hasLescan {
            throw unsupported(.lescanText)
        }
    }

    /// Throws if the line at the head, of `count` bytes, is a packet that btmon or hcidump without `--raw` printed.
    private func checkFirstPacket(_ count: Int) throws(CaptureError) {
        // btmon fills a line of the terminal.
        if let format = UnsupportedFormat(line: window[head..<head + min(count, 1024)]) { throw unsupported(format) }
    }

    /// Returns the length in the header of the packet at `start` of the window, of which `count` bytes are decoded
    /// (Bluetooth Core Vol 4 Part A §2 and Part E §5.4); `nil` if it is unknown.
    private func length(_ start: Int, _ count: Int) -> Int? {
        guard count > 0 else { return nil }
        switch window[start] {
        case 0x01 where count >= 4, 0x03 where count >= 4: return 4 + Int(window[start + 3])
        case 0x02 where count >= 5: return 5 + (Int(window[start + 3]) | Int(window[start + 4]) << 8)
        case 0x04 where count >= 3: return 3 + Int(window[start + 2])
        default: return nil
        }
    }

    /// Returns whether the packet at the head, of which `count` bytes are decoded, needs no more bytes.
    private func isComplete(_ count: Int) -> Bool { length(head, count).map { count >= $0 } ?? false }

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
        let bytes = unsafe text.bytes
        var place = start
        // Eight bytes at a time, until one of them is zero after the exclusive or (Hacker's Delight, 2nd edition, §6-1).
        while place + 8 <= text.count {
            let word = unsafe bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: place, as: UInt64.self)
            let difference = word ^ 0x0A0A_0A0A_0A0A_0A0A
            guard (difference &- 0x0101_0101_0101_0101) & ~difference & 0x8080_8080_8080_8080 == 0 else { break }
            place += 8
        }
        while place < text.count, text[place] != 0x0A { place += 1 }
        return place
    }

    /// Reads the adapter from a heading such as `device: hci0 snap_len: 1500 filter: 0xffffffff`, which can have a prefix.
    private mutating func readHeading(_ start: Int, _ end: Int) {
        let word = Array("device: ".utf8)
        let lastStart = min(end - word.count, start + 256)
        var place = start
        while place < lastStart, window[place] != word[0] || !window[place..<place + word.count].elementsEqual(word) {
            place += 1
        }
        guard place < lastStart else { return }
        let first = place + word.count
        var last = first
        while last < end, !HcidumpText.isBlank(window[last]) { last += 1 }
        let device = window[first..<last]
        // "any" means all devices.
        guard device.count > 3, device.starts(with: Array("hci".utf8)) else { return }
        hcidump.adapter = adapterTable.place(of: window, first..<last)
    }

    /// The lines of a packet at the head, of which the bytes are decoded.
    private struct PacketLines {
        /// The end of the last line, relative to the head.
        var end: Int
        /// The number of bytes that were decoded to the head; `nil` if a line has other text.
        var count: Int?
        /// Whether the last line ends with the input.
        var isCut = false
        /// Whether a line of another program is inside the packet, or a separator after it.
        var isInterrupted = false
    }

    /// Decodes the lines of the packet whose first line ends `lineEnd` after the head, and whose bytes start `bytes`
    /// after it. The lines must all be in the window. Their bytes replace the text from the head on.
    private mutating func decodeLines(_ bytes: Int, _ lineEnd: Int) throws(CaptureError) -> PacketLines {
        var lines = PacketLines(end: lineEnd)
        lines.count = HcidumpText.decode(&window, from: head + bytes, to: head + lineEnd, into: head)
        while true {
            guard head + lines.end < tail else {
                lines.isCut = lines.end < Self.recordBytesMax
                return lines
            }
            guard lines.end < Self.recordBytesMax, let next = try self.lineEnd(from: lines.end + 1) else {
                return lines
            }
            let kind = HcidumpText.line(
                window.span, head + lines.end + 1, head + next, isBeforePackets: false, prefix: hcidump.prefix)
            switch kind {
            case .further(let start):
                if let count = lines.count {
                    let added = HcidumpText.decode(&window, from: start, to: head + next, into: head + count)
                    lines.count = added.map { count + $0 }
                }
            case .foreign where !isComplete(lines.count ?? 0): lines.isInterrupted = true
            case .separator:
                lines.isInterrupted = true
                return lines
            default: return lines
            }
            lines.end = next
            line += 1
        }
    }

    /// Returns the packet whose first line ends `lineEnd` after the head, and whose bytes start `bytes` after it.
    ///
    /// Returns `nil` if it is damaged; the damage is recorded, and the head is after its lines.
    private mutating func packet(
        _ text: LogText.Time?, _ isReceived: Bool, _ bytes: Int, _ lineEnd: Int
    ) throws(CaptureError) -> CaptureRecord? {
        let firstLine = line
        let lines = try decodeLines(bytes, lineEnd)
        let start = head
        skipLine(lines.end)
        func note(_ reason: @autoclosure () -> String) {
            damages.note(offset: base + start, record: recordCount, line: firstLine, reason())
        }
        guard let count = lines.count else {
            note(lines.isCut ? "it is truncated" : "it is not hexadecimal bytes")
            hcidump.isSkipping = true
            return nil
        }
        guard !timesAreKnown || (text != nil) == hasTimes else {
            note(hasTimes ? "it has no time" : "it has a time, but the records before have none")
            return nil
        }
        // Only its header shows whether a packet is complete.
        let length = length(start, count)
        if lines.isInterrupted || !hcidump.prefix.isEmpty {
            // Bytes can be missing in the middle, or be those of another source.
            guard count == length else {
                note(count < length ?? .max ? "it is truncated" : "it has more bytes than its header says")
                return nil
            }
        } else if lines.isCut, count < length ?? .max {
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
