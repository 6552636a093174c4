import BaseTypes

/// Decodes the lines of `hcidump --raw`.
enum HcidumpText {
    enum Line {
        /// The first line of a packet; its bytes start at `bytes`. `prefix` is the place of the text of another
        /// program before it, such as a system log.
        case first(time: LogText.Time?, isReceived: Bool, bytes: Int, prefix: Range<Int>)
        /// A line with further bytes of a packet, from this place on.
        case further(bytes: Int)
        /// The first line of a packet whose date or time does not exist; its text is in this range.
        case invalidTime(Range<Int>)
        /// A line of `hcitool lescan`, or the first or last line of script(1). Both can write to the terminal of hcidump,
        /// also inside a packet.
        case foreign(isLescan: Bool)
        /// A line between the groups of lines that grep(1) prints.
        case separator
        case heading, blank, other
    }

    /// Returns the kind of the line in `start..<end` of `text`. Before the first packet, any text is accepted as a
    /// heading. `prefix` is the text of another program before the first line of the present packet.
    static func line(
        _ text: Span<UInt8>, _ start: Int, _ end: Int, isBeforePackets: Bool, prefix: [UInt8] = []
    ) -> Line {
        var place = start
        while place < end, isBlank(text[place]) { place += 1 }
        guard place < end else { return .blank }
        if !prefix.isEmpty { return line(text, place, end, after: prefix) }
        if isByte(text, place, end), place > start { return .further(bytes: place) }
        if let packet = packet(text, place, end) { return packet }
        return isBeforePackets || isHeading(text, place, end) ? .heading : .other
    }

    /// Returns the kind of a line that other programs can have written, except for a heading or further bytes.
    private static func packet(_ text: Span<UInt8>, _ place: Int, _ end: Int) -> Line? {
        if isArrow(text, place, end) {
            return .first(time: nil, isReceived: isReceived(text[place]), bytes: place + 1, prefix: place..<place)
        }
        // The name of a device can look like a packet.
        if let foreign = foreign(text, place, end) { return foreign }
        if let (time, next) = time(text, place, end), isArrow(text, next, end) {
            return .first(time: time, isReceived: isReceived(text[next]), bytes: next + 1, prefix: place..<place)
        }
        if let invalid = invalidTime(text, place, end) { return .invalidTime(invalid) }
        return prefixed(text, place, end)
    }

    /// Returns the kind of a line in a log of several programs, in which the last packet had this prefix.
    private static func line(_ text: Span<UInt8>, _ place: Int, _ end: Int, after prefix: [UInt8]) -> Line {
        guard var content = contentStart(text, place, end, after: prefix) else {
            // A line of another program, or the first packet of another source.
            return packet(text, place, end) ?? .foreign(isLescan: false)
        }
        while content < end, isBlank(text[content]) { content += 1 }
        guard content < end else { return .foreign(isLescan: false) }
        if areBytes(text, content, end) { return .further(bytes: content) }
        if let foreign = foreign(text, content, end) { return foreign }
        if isHeading(text, content, end) { return .heading }
        // Only a damaged packet starts with an arrow. Other text is that of other programs with the same prefix.
        return packet(text, place, end) ?? (isArrow(text, content, end) ? .other : .foreign(isLescan: false))
    }

    /// Returns the kind of a line of hcitool, script or grep; `nil` for other lines.
    @inline(__always) private static func foreign(_ text: Span<UInt8>, _ place: Int, _ end: Int) -> Line? {
        // Most lines start with a digit of a date.
        switch text[place] {
        case UInt8(ascii: "-"): return isSeparator(text, place, end) ? .separator : nil
        case UInt8(ascii: "S"), UInt8(ascii: "^"):
            let isOfTerminal =
                begins(text, place, end, "Script started on ") || begins(text, place, end, "Script done on ")
                || begins(text, place, end, "^C")
            return isOfTerminal ? .foreign(isLescan: false) : nil
        default: return isLescan(text, place, end) ? .foreign(isLescan: true) : nil
        }
    }

    /// Returns whether a line is a packet with bytes in hexadecimal.
    static func isPacket(_ text: Span<UInt8>, _ start: Int, _ end: Int) -> Bool {
        guard case .first(_, _, let bytes, _) = line(text, start, end, isBeforePackets: true) else { return false }
        return areBytes(text, bytes, end)
    }

    /// Returns the first line of a packet after the text of another program. It must have an arrow between blanks, the
    /// type of a packet (Bluetooth Core Vol 4 Part A §2), and more bytes. A time of hcidump can be before the arrow. If
    /// other text follows the first bytes, the packet is damaged.
    private static func prefixed(_ text: Span<UInt8>, _ start: Int, _ end: Int) -> Line? {
        let placesMax = 256
        var arrow = start + 1
        let last = min(end, start + placesMax)
        while arrow < last, !isBlank(text[arrow - 1]) || !isPacketStart(text, arrow, end) { arrow += 1 }
        guard arrow < last else { return nil }
        guard areBytes(text, arrow + 1, end) else { return .other }
        let isReceived = isReceived(text[arrow])
        // A time has one or two words.
        let word = wordStart(text, start, before: arrow)
        for candidate in [wordStart(text, start, before: word), word] {
            guard let (time, next) = time(text, candidate, end), next == arrow else { continue }
            return .first(time: time, isReceived: isReceived, bytes: arrow + 1, prefix: start..<candidate)
        }
        return .first(time: nil, isReceived: isReceived, bytes: arrow + 1, prefix: start..<arrow)
    }

    /// Returns whether there are an arrow, the type of a packet, and two more bytes.
    private static func isPacketStart(_ text: Span<UInt8>, _ arrow: Int, _ end: Int) -> Bool {
        guard arrow + 10 <= end, isArrow(text, arrow, end), text[arrow + 2] == UInt8(ascii: "0") else { return false }
        let type = text[arrow + 3]
        return 0x31...0x35 ~= type && [2, 5, 8].allSatisfy { isByte(text, arrow + $0, end) }
    }

    /// Returns the start of the last word before a place; `start` if there is none.
    private static func wordStart(_ text: Span<UInt8>, _ start: Int, before place: Int) -> Int {
        var place = place
        while place > start, isBlank(text[place - 1]) { place -= 1 }
        while place > start, !isBlank(text[place - 1]) { place -= 1 }
        return place
    }

    /// Returns the place after the words of `prefix` in a line; `nil` if the line has other words. The words must be the
    /// same, but those of a date or time can differ.
    private static func contentStart(
        _ text: Span<UInt8>, _ start: Int, _ end: Int, after prefix: [UInt8]
    ) -> Int? {
        let prefix = prefix.span
        var (place, index) = (start, 0)
        var isAfterMonth = false
        while true {
            while index < prefix.count, isBlank(prefix[index]) { index += 1 }
            guard index < prefix.count else { return place }
            while place < end, isBlank(text[place]) { place += 1 }
            let (word, expected) = (place, index)
            while place < end, !isBlank(text[place]) { place += 1 }
            while index < prefix.count, !isBlank(prefix[index]) { index += 1 }
            let isEqual =
                place - word == index - expected
                && (0..<index - expected).allSatisfy { text[word + $0] == prefix[expected + $0] }
            if !isEqual {
                let isDay = isAfterMonth && isDayNumber(text, word, place) && isDayNumber(prefix, expected, index)
                guard isDay || isOfDate(text, word, place) && isOfDate(prefix, expected, index) else { return nil }
            }
            isAfterMonth = isName(prefix, expected, index)
        }
    }

    /// Returns whether a word is a date or time in a system log: a month, a day of the week, a time such as
    /// `08:00:00.5` or `2025-11-24T08:00:00+00:00`, or a date such as `[2025-11-24`. An address has more colons or dots.
    private static func isOfDate(_ text: Span<UInt8>, _ start: Int, _ end: Int) -> Bool {
        if isName(text, start, end) { return true }
        var (colons, hyphens, dots) = (0, 0, 0)
        for place in start..<end {
            let byte = text[place]
            guard isDigit(byte) || isOfTime(byte) || [0x2F, 0x5B, 0x5D].contains(byte) else { return false }
            guard place > start, place + 1 < end, isDigit(text[place - 1]), isDigit(text[place + 1]) else { continue }
            switch byte {
            case UInt8(ascii: ":"): colons += 1
            case UInt8(ascii: "-"), UInt8(ascii: "/"): hyphens += 1
            case UInt8(ascii: "."): dots += 1
            default: break
            }
        }
        return dots <= 1 && (1...3 ~= colons || colons == 0 && hyphens == 2)
    }

    /// Returns whether a word is the short name of a month or of a day of the week.
    private static func isName(_ text: Span<UInt8>, _ start: Int, _ end: Int) -> Bool {
        guard end - start == 3 else { return false }
        let names = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec Mon Tue Wed Thu Fri Sat Sun"
        return names.utf8.split(separator: 0x20).contains { name in
            zip(start..<end, name).allSatisfy { text[$0] == $1 }
        }
    }

    private static func isDayNumber(_ text: Span<UInt8>, _ start: Int, _ end: Int) -> Bool {
        1...2 ~= end - start && (start..<end).allSatisfy { isDigit(text[$0]) }
    }

    /// Returns whether there are only bytes and blanks, with at least one byte.
    private static func areBytes(_ text: Span<UInt8>, _ start: Int, _ end: Int) -> Bool {
        var place = start
        var count = 0
        while place < end {
            if isBlank(text[place]) {
                place += 1
            } else if isByte(text, place, end) {
                place += 2
                count += 1
            } else {
                return false
            }
        }
        return count > 0
    }

    private static func isSeparator(_ text: Span<UInt8>, _ place: Int, _ end: Int) -> Bool {
        guard begins(text, place, end, "--") else { return false }
        var next = place + 2
        while next < end, isBlank(text[next]) { next += 1 }
        return next == end
    }

    /// Returns whether a line is the heading of `hcitool lescan`, or an address and a name, which can be empty (BlueZ's
    /// `tools/hcitool.c`).
    private static func isLescan(_ text: Span<UInt8>, _ place: Int, _ end: Int) -> Bool {
        if text[place] == UInt8(ascii: "L") { return begins(text, place, end, "LE Scan ...") }
        guard end - place == 17 || end - place > 17 && isBlank(text[place + 17]) else { return false }
        for index in 0..<17 {
            let byte = text[place + index]
            guard index % 3 == 2 ? byte == UInt8(ascii: ":") : LogText.nibble(byte) <= 0xF else { return false }
        }
        return true
    }

    private static func isReceived(_ arrow: UInt8) -> Bool { arrow == UInt8(ascii: ">") }

    private static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }

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
