import BaseTypes

/// Decodes the lines of `hcidump --raw`.
enum HcidumpText {
    enum Line {
        /// The first line of a packet; its bytes start at this place.
        case first(time: LogText.Time?, isReceived: Bool, bytes: Int)
        /// A line with further bytes of a packet.
        case further
        /// The first line of a packet whose date or time does not exist; its text is in this range.
        case invalidTime(Range<Int>)
        case heading, blank, other
    }

    /// Returns the kind of the line in `start..<end` of `text`. Before the first packet, any text is accepted as a
    /// heading.
    static func line(_ text: Span<UInt8>, _ start: Int, _ end: Int, isBeforePackets: Bool) -> Line {
        var place = start
        while place < end, isBlank(text[place]) { place += 1 }
        guard place < end else { return .blank }
        if isByte(text, place, end) { return place > start ? .further : .other }
        if isArrow(text, place, end) {
            return .first(time: nil, isReceived: text[place] == UInt8(ascii: ">"), bytes: place + 1)
        }
        if let (time, next) = time(text, place, end), isArrow(text, next, end) {
            return .first(time: time, isReceived: text[next] == UInt8(ascii: ">"), bytes: next + 1)
        }
        if let invalid = invalidTime(text, place, end) { return .invalidTime(invalid) }
        return isBeforePackets || isHeading(text, place, end) ? .heading : .other
    }

    static var expectedTime: String { "must exist and have the form 2026-11-21 07:46:27.123456" }

    /// Returns the text before an arrow and a byte if it has the characters of a time; for lines without a valid time
    /// there.
    private static func invalidTime(_ text: Span<UInt8>, _ start: Int, _ end: Int) -> Range<Int>? {
        var place = start
        var last = start
        while place < end, isOfTime(text[place]) || isBlank(text[place]) {
            if !isBlank(text[place]) { last = place + 1 }
            place += 1
        }
        guard last > start, isArrow(text, place, end) else { return nil }
        var next = place + 1
        while next < end, isBlank(text[next]) { next += 1 }
        return isByte(text, next, end) ? start..<last : nil
    }

    /// Returns whether a byte is a digit, or separates or ends the parts of a time: `-:.,+TtZz`.
    private static func isOfTime(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x2B...0x2E, 0x30...0x3A, 0x54, 0x5A, 0x74, 0x7A: true
        default: false
        }
    }

    @inline(__always) static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }

    private static func isArrow(_ text: Span<UInt8>, _ place: Int, _ end: Int) -> Bool {
        place < end && (text[place] == UInt8(ascii: ">") || text[place] == UInt8(ascii: "<"))
            && (place + 1 == end || isBlank(text[place + 1]))
    }

    /// Returns whether there are two hexadecimal digits, followed by a blank or the end.
    private static func isByte(_ text: Span<UInt8>, _ place: Int, _ end: Int) -> Bool {
        place + 2 <= end && LogText.nibble(text[place]) <= 0xF && LogText.nibble(text[place + 1]) <= 0xF
            && (place + 2 == end || isBlank(text[place + 2]))
    }

    /// Returns a time and the place after it: `2023-11-14 22:13:20.123456` (local, because hcidump uses localtime(3)),
    /// or seconds since 1970.
    private static func time(_ text: Span<UInt8>, _ start: Int, _ end: Int) -> (LogText.Time, Int)? {
        var place = start
        var seconds = 0
        let isLocal = end - start >= 20 && text[start + 4] == UInt8(ascii: "-")
        if isLocal {
            guard let year = LogText.number(text, start, 4), let month = LogText.number(text, start + 5, 2),
                text[start + 7] == UInt8(ascii: "-"), let day = LogText.number(text, start + 8, 2),
                let clock = LogText.clock(text, start + 11),
                let days = CivilDate.existingDay(year: year, month: month, day: day)
            else { return nil }
            seconds = days * 86_400 + clock
            place = start + 19
        } else {
            while place < end, text[place] &- 0x30 < 10, place - start < 11 {
                seconds = seconds * 10 + Int(text[place] &- 0x30)
                place += 1
            }
            guard place > start else { return nil }
        }
        var nanoseconds = 0
        if place < end, text[place] == UInt8(ascii: ".") {
            place += 1
            var scale = 100_000_000
            while place < end, text[place] &- 0x30 < 10 {
                nanoseconds += Int(text[place] &- 0x30) * scale
                scale /= 10
                place += 1
            }
        } else if !isLocal {
            return nil
        }
        while place < end, isBlank(text[place]) { place += 1 }
        return (LogText.Time(seconds: seconds, nanoseconds: nanoseconds, isLocal: isLocal), place)
    }

    private static func isHeading(_ text: Span<UInt8>, _ start: Int, _ end: Int) -> Bool {
        begins(text, start, end, "HCI sniffer") || begins(text, start, end, "device:")
            || begins(text, start, end, "//") || begins(text, start, end, "#")
    }

    private static func begins(_ text: Span<UInt8>, _ start: Int, _ end: Int, _ word: StaticString) -> Bool {
        let count = word.utf8CodeUnitCount
        return end - start >= count && LogWords.is(text.extracting(start..<start + count), word)
    }

    /// Decodes the bytes of the text in `start..<end` to `target`. Returns their number; `nil` for other text.
    static func decode(
        _ bytes: inout [UInt8], from start: Int, to end: Int, into target: Int
    ) -> Int? {
        var text = bytes.mutableSpan
        var count = 0
        var place = start
        while place < end {
            let byte = text[place]
            if isBlank(byte) || byte == 0x0A {
                place += 1
                continue
            }
            guard place + 2 <= end else { return nil }
            let high = LogText.nibble(byte)
            let low = LogText.nibble(text[place + 1])
            guard high | low <= 0xF, place + 2 == end || isBlank(text[place + 2]) || text[place + 2] == 0x0A else {
                return nil
            }
            // Writing never reaches characters that have not been read, because a byte needs three of them.
            text[target + count] = high << 4 | low
            count += 1
            place += 2
        }
        return count
    }
}
