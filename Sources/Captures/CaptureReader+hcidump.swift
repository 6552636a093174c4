import BluetoothLE

/// What the text of `hcidump --raw` said so far.
///
/// A packet's first line is `> 04 3E …` (received) or `< 01 …`, with `-t` behind its time; further lines are indented.
/// The heading names the device. Source: BlueZ's tools/hcidump.c and lib of 5.x, `raw_dump` and `p_indent`.
struct HcidumpState {
    /// The place of the adapter that the heading names.
    var adapter: Int?
    /// The line at the head is what is left of one that is too long, or of a packet that is damaged.
    var isSkipping = false
}

extension CaptureReader {
    private enum Line {
        /// A packet's first bytes are at this place.
        case first(time: Int128?, isReceived: Bool, bytes: Int)
        /// A packet's further bytes are at this place.
        case further(bytes: Int)
        case heading, blank, other
    }

    mutating func nextTextRecord() throws(CaptureError) -> CaptureRecord? {
        while true {
            guard let end = try lineEnd(from: 0) else {
                hasEnded = true
                return nil
            }
            switch line(head, head + end) {
            case .first(let time, let isReceived, let bytes):
                hcidump.isSkipping = false
                recordCount += 1
                if let record = try packet(time, isReceived, bytes - head, end) { return record }
            case .heading:
                takeHeading(head, head + end)
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

    private func line(_ start: Int, _ end: Int) -> Line {
        var place = start
        while place < end, isBlank(window[place]) { place += 1 }
        guard place < end else { return .blank }
        if isByte(place, end) { return place > start ? .further(bytes: place) : .other }
        if isArrow(place, end) {
            return .first(time: nil, isReceived: window[place] == UInt8(ascii: ">"), bytes: place + 1)
        }
        if let (time, next) = time(place, end), isArrow(next, end) {
            return .first(time: time, isReceived: window[next] == UInt8(ascii: ">"), bytes: next + 1)
        }
        return recordCount == 0 || startsWithHeading(place, end) ? .heading : .other
    }

    private func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }

    private func isArrow(_ place: Int, _ end: Int) -> Bool {
        place < end && (window[place] == UInt8(ascii: ">") || window[place] == UInt8(ascii: "<"))
            && (place + 1 == end || isBlank(window[place + 1]))
    }

    private func isByte(_ place: Int, _ end: Int) -> Bool {
        place + 2 <= end && LogText.nibble(window[place]) <= 0xF && LogText.nibble(window[place + 1]) <= 0xF
            && (place + 2 == end || isBlank(window[place + 2]))
    }

    /// A time, `2023-11-14 22:13:20.123456` (UTC) or seconds since 1970, and where the line goes on behind it.
    private func time(_ start: Int, _ end: Int) -> (Int128, Int)? {
        let text = window.span
        var place = start
        var seconds: Int
        if end - start >= 20, text[start + 4] == UInt8(ascii: "-") {
            guard let year = LogText.number(text, start, 4), let month = LogText.number(text, start + 5, 2),
                text[start + 7] == UInt8(ascii: "-"), let day = LogText.number(text, start + 8, 2),
                let clock = LogText.clock(text, start + 11), let days = LogText.daysSince1970(year, month, day)
            else { return nil }
            seconds = days * 86_400 + clock
            place = start + 19
        } else {
            seconds = 0
            while place < end, text[place] &- 0x30 < 10, place - start < 11 {
                seconds = seconds * 10 + Int(text[place] &- 0x30)
                place += 1
            }
            guard place > start else { return nil }
        }
        var nanoseconds = 0
        guard place < end, text[place] == UInt8(ascii: ".") else { return nil }
        place += 1
        var scale = 100_000_000
        while place < end, text[place] &- 0x30 < 10 {
            nanoseconds += Int(text[place] &- 0x30) * scale
            scale /= 10
            place += 1
        }
        while place < end, isBlank(text[place]) { place += 1 }
        return (Int128(seconds) * 1_000_000_000 + Int128(nanoseconds), place)
    }

    private static var headings: [[UInt8]] { [Array("HCI sniffer".utf8), Array("device:".utf8)] }

    private func startsWithHeading(_ start: Int, _ end: Int) -> Bool {
        Self.headings.contains { $0.count <= end - start && window[start..<start + $0.count].elementsEqual($0) }
    }

    /// `device: hci0 snap_len: 1500 filter: 0xffffffff` names the adapter.
    private mutating func takeHeading(_ start: Int, _ end: Int) {
        let word = Array("device: ".utf8)
        guard end - start > word.count, window[start..<start + word.count].elementsEqual(word) else { return }
        let first = start + word.count
        var last = first
        while last < end, !isBlank(window[last]) { last += 1 }
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
            guard case .further = line(head + end + 1, head + next) else { break }
            end = next
        }
        let count = decode(bytes, end)
        let start = head
        skipLine(end)
        guard let count else {
            damages.note(
                offset: base + start, record: recordCount, isCut ? "it is cut off" : "it is not made of octets")
            hcidump.isSkipping = true
            return nil
        }
        guard recordCount == 1 || (nanoseconds != nil) == hasTimes else {
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

    /// Puts the octets that the text from `bytes` to `end` (behind the head) spells to the head; how many there are, or
    /// `nil` where it spells something else.
    private mutating func decode(_ bytes: Int, _ end: Int) -> Int? {
        var target = head
        var place = head + bytes
        let end = head + end
        while place < end {
            let byte = window[place]
            if isBlank(byte) || byte == 0x0A {
                place += 1
                continue
            }
            guard isByteOrLineEnd(place, end) else { return nil }
            // What is written stands before what was read: three characters make an octet.
            window[target] = LogText.nibble(byte) << 4 | LogText.nibble(window[place + 1])
            target += 1
            place += 2
        }
        return target - head
    }

    private func isByteOrLineEnd(_ place: Int, _ end: Int) -> Bool {
        isByte(place, end) || place + 2 < end && window[place + 2] == 0x0A && isByte(place, place + 2)
    }
}
