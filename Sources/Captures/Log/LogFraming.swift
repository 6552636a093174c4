import JSON

/// The place between the objects of an advertisement log: in arrays, and on lines with a text before the object.
struct LogFraming {
    /// The part of an array that can follow.
    enum Expectation {
        case value
        /// A value, or the end of an array that is empty so far.
        case valueOrEnd
        case separator
    }

    /// The maximum length of a text before an object in bytes: that of an MQTT topic (MQTT 3.1.1 §1.5.3) and a blank.
    static let prefixBytesMax = 65_536

    /// Whether lines can have a text before the object, such as the topic that `mosquitto_sub -v` prints.
    var hasPrefixes = false
    /// The number of open arrays.
    private(set) var depth = 0
    private var expected = Expectation.value
    /// Whether damage was skipped inside an array. Until all arrays are closed, brackets and commas are not checked.
    private var isUncertain = false

    /// Whether an array is open whose end is certainly missing at the end of the log.
    var lacksEnd: Bool { depth > 0 && !isUncertain }

    /// The problem if a value, such as an array, starts here; `nil` if it can.
    var problem: String? {
        depth > 0 && expected == .separator && !isUncertain ? "a comma or a closing bracket is expected" : nil
    }

    /// Notes a value of an array, or outside of all arrays.
    mutating func takeValue() { expected = .separator }

    /// Notes that damage was skipped.
    mutating func lose() { isUncertain = depth > 0 }

    /// Closes all arrays, because the next message starts.
    mutating func closeAll() { (depth, isUncertain) = (0, false) }

    /// Takes a bracket or a comma between values. Returns `false` if it cannot be there.
    mutating func take(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "["):
            depth += 1
            expected = .valueOrEnd
        case UInt8(ascii: "]"):
            guard depth > 0, isUncertain || expected != .value else { return false }
            depth -= 1
            expected = .separator
            if depth == 0 { isUncertain = false }
        case UInt8(ascii: ","):
            guard depth > 0, isUncertain || expected == .separator else { return false }
            expected = .value
        default: return false
        }
        return true
    }
}

extension CaptureReader {
    /// Returns the next record of an advertisement log; `nil` at its end.
    mutating func nextObject() throws(CaptureError) -> CaptureRecord? {
        while true {
            guard try log.scanner.hasElements ? nextElement() : log.table == nil ? nextWhole() : nextRow() else {
                if hasEnded { return nil }
                continue
            }
            do {
                return try record()
            } catch {
                if log.table != nil, isBetweenTables() { continue }
                damages.note(offset: base + log.start, record: recordCount, line: log.line, error.description)
                log.damagedLine = log.line
            }
        }
    }

    /// Reads the next element of a payload. Returns `false` if it is not an object.
    private mutating func nextElement() -> Bool {
        recordCount += 1
        if log.nextElement(&window) { return true }
        damages.note(
            offset: base + log.start, record: recordCount, line: log.line, "an element of its payload is not an object")
        return false
    }

    /// Reads the next object. Returns `false` if there is none, or something else was skipped, or the elements of its
    /// payload are the records.
    @inline(__always) private mutating func nextWhole() throws(CaptureError) -> Bool {
        guard try skipBlanks() else {
            if log.framing.lacksEnd { noteAtHead("the array is truncated") }
            hasEnded = true
            return false
        }
        guard window[head] == UInt8(ascii: "{") else {
            try skipOther()
            return false
        }
        if log.framing.depth > 0 {
            checkSeparator()
            log.framing.takeValue()
        }
        guard let end = try valueAtHead() else { return false }
        log.start = head
        log.line = line
        head = end
        line &+= log.scanner.lines
        log.endLine = line
        if log.hasInner, !log.openInner(&window) { return false }
        recordCount += 1
        return true
    }

    @inline(never) private mutating func noteAtHead(_ reason: String) {
        damages.note(offset: base + head, record: recordCount + 1, line: line, reason)
    }

    /// Notes that the comma before the value at the head is missing, if that is so.
    private mutating func checkSeparator() {
        guard let problem = log.framing.problem else { return }
        noteAtHead(problem)
        log.framing.lose()
    }

    /// Skips one part of the log at the head that is not an object.
    @inline(never) private mutating func skipOther() throws(CaptureError) {
        let byte = window[head]
        // A topic can start with a bracket.
        var isPrefix = byte == UInt8(ascii: "[") && log.framing.hasPrefixes
        if isPrefix { isPrefix = try !startsArray() }
        if !isPrefix {
            if byte == UInt8(ascii: "[") { checkSeparator() }
            if log.framing.take(byte) {
                head += 1
                return
            }
        }
        if log.framing.hasPrefixes, line != log.endLine,
            let prefix = try prefix(from: 0, bytesMax: LogFraming.prefixBytesMax)
        {
            if log.framing.lacksEnd { noteAtHead("the array before it is truncated") }
            log.framing.closeAll()
            head += prefix.length
            return
        }
        guard log.framing.depth > 0 else {
            noteAtHead("an object is expected")
            return try skipText()
        }
        guard byte != UInt8(ascii: "]"), byte != UInt8(ascii: ",") else {
            noteAtHead("an object is expected")
            log.framing.lose()
            _ = log.framing.take(byte)
            head += 1
            return
        }
        checkSeparator()
        log.framing.takeValue()
        guard let end = try valueAtHead() else { return }
        noteAtHead("an object is expected")
        recordCount += 1
        head = end
        line += log.scanner.lines
    }

    /// Scans the value at the head. Returns its end; `nil` if it is damaged and was skipped.
    private mutating func valueAtHead() throws(CaptureError) -> Int? {
        while true {
            switch log.scanner.scan(window, head..<tail) {
            case .whole(_, let end):
                guard end == tail, window[head] != UInt8(ascii: "{"), tail - head < Self.recordBytesMax else {
                    return end
                }
                // More digits of a number can follow. The bytes can have moved also if none do.
                guard try refill(tail - head + 1) else { return tail }
            case .malformed(let place, let reason):
                try skipDamage("\(reason)", at: place)
                return nil
            case .incomplete, .full:
                guard tail - head < Self.recordBytesMax else {
                    try skipDamage("it is longer than 1 MiB", at: head)
                    return nil
                }
                guard try refill(tail - head + 1) else {
                    if source.problem == nil { noteAtHead("it is truncated") }
                    recordCount += 1
                    if log.framing.depth > 0 { try skipValue(damagedAt: head) } else { head = tail }
                    return nil
                }
            }
        }
    }

    /// Notes the damage of the value at the head and skips the value.
    private mutating func skipDamage(_ reason: String, at place: Int) throws(CaptureError) {
        damages.note(
            offset: base + place, record: recordCount + 1, line: line + lines(in: head..<place), reason)
        recordCount += 1
        try skipValue(damagedAt: place)
    }

    /// Skips the damaged value at the head: up to the bracket that closes it, or the separator after it in an array. If
    /// its brackets are incomplete, the next value starts on one of the next lines, without indentation; if lines can
    /// have a text before the object, on one after the damage.
    private mutating func skipValue(damagedAt place: Int) throws(CaptureError) {
        // White space before the damage can contain the end of the line that is incomplete.
        var last = place
        while last > head, JSONScanner.isSpace(window[last - 1]) { last -= 1 }
        let damage = base + last
        var (nesting, isInString, isEscaped) = (0, false, false)
        var before = UInt8(ascii: " ")
        repeat {
            while head < tail {
                let byte = window[head]
                if before == 0x0A, base + head > damage || !log.framing.hasPrefixes, startsLine(byte) {
                    log.framing.lose()
                    if byte != UInt8(ascii: "{") { log.framing.closeAll() }
                    return
                }
                if nesting == 0, !isInString, log.framing.depth > 0,
                    byte == UInt8(ascii: ",") || byte == UInt8(ascii: "]")
                {
                    return
                }
                head += 1
                before = byte
                switch byte {
                case 0x0A:
                    line += 1
                    // A string ends with its line.
                    (isInString, isEscaped) = (false, false)
                case _ where isEscaped: isEscaped = false
                case UInt8(ascii: "\\"): isEscaped = isInString
                case UInt8(ascii: "\""): isInString.toggle()
                case _ where isInString: break
                case UInt8(ascii: "{"), UInt8(ascii: "["): nesting += 1
                case UInt8(ascii: "}"), UInt8(ascii: "]"):
                    nesting -= 1
                    if nesting <= 0 { return }
                default: break
                }
            }
        } while try refill(1)
        log.framing.lose()
    }

    /// Returns whether a line that starts with this byte can be the next value, or the next message.
    private func startsLine(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") || log.framing.hasPrefixes && canStartPrefix(byte)
    }

    /// Returns whether a text before an object can start with this byte. The lines of an object that spans several
    /// cannot.
    private func canStartPrefix(_ byte: UInt8) -> Bool {
        byte > 0x20 && !"\"{}],:".utf8.contains(byte)
    }

    /// Returns the number of line ends in a part of the window that was not decoded in place.
    private func lines(in range: Range<Int>) -> Int { window[range].count { $0 == 0x0A } }

    @inline(__always) private mutating func skipBlanks() throws(CaptureError) -> Bool {
        while true {
            while head < tail, JSONScanner.isSpace(window[head]) {
                if window[head] == 0x0A { line &+= 1 }
                head += 1
            }
            if head < tail { return true }
            guard try refill(1) else { return false }
        }
    }

    /// Skips a text at the head that is not an object: up to the next brace that starts a line or follows an object; if
    /// lines can have a text before the object, up to the next line.
    private mutating func skipText() throws(CaptureError) {
        var mayBegin = false
        repeat {
            while head < tail {
                let byte = window[head]
                if byte == UInt8(ascii: "{"), mayBegin { return }
                head += 1
                if byte == 0x0A {
                    line += 1
                    if log.framing.hasPrefixes { return }
                    mayBegin = true
                } else if byte == UInt8(ascii: "}") {
                    mayBegin = true
                } else if !JSONScanner.isSpace(byte) {
                    mayBegin = false
                }
            }
        } while try refill(1)
    }

    // MARK: Recognition. It reads no further than necessary, so that the lines of a pipe are read as they arrive.

    /// Returns whether an object or an array of objects is at the head.
    mutating func isLog() throws(CaptureError) -> Bool {
        if window[head] == UInt8(ascii: "{") { return true }
        return try window[head] == UInt8(ascii: "[") ? startsArray() : false
    }

    /// Returns whether the array at the head is empty or has an object as its first element, also in further arrays.
    private mutating func startsArray() throws(CaptureError) -> Bool {
        for place in 0..<UnsupportedFormat.lookahead {
            guard try has(place + 1) else { return false }
            let byte = window[head + place]
            if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "]") { return true }
            guard byte == UInt8(ascii: "[") || JSONScanner.isSpace(byte) else { return false }
        }
        return false
    }

    /// Returns the offset of the object after a text, such as the topic that `mosquitto_sub -v` prints, on the line at an
    /// offset from the head; `nil` if the line does not show that the input is a log. If the text has blanks, the
    /// object must have an advertisement or a message.
    mutating func objectAfterPrefix(from offset: Int) throws(CaptureError) -> Int? {
        guard let prefix = try prefix(from: offset, bytesMax: UnsupportedFormat.lookahead) else { return nil }
        while true {
            switch log.scanner.scan(window, head + prefix.object..<tail) {
            case .whole:
                let isRecord = log.hasContent || log.hasInnerContent(window)
                return isRecord || !prefix.hasBlanks ? prefix.object : nil
            case .malformed: return nil
            case .incomplete, .full:
                guard tail - head < Self.recordBytesMax, try refill(tail - head + 1) else { return nil }
            }
        }
    }

    /// A text before an object or an array of objects.
    private struct Prefix {
        /// The length with the blank after it.
        var length: Int
        /// The offset of the object from the head.
        var object: Int
        var hasBlanks: Bool
    }

    /// Returns the text before an object or an array of objects on the line at an offset from the head; `nil` if the line
    /// has none.
    private mutating func prefix(from offset: Int, bytesMax: Int) throws(CaptureError) -> Prefix? {
        guard try has(offset + 1), canStartPrefix(window[head + offset]) else { return nil }
        var hasBlanks = false
        var place = offset
        while place - offset < bytesMax, try has(place + 1) {
            let byte = window[head + place]
            guard byte >= 0x20 || byte == 0x09, byte != 0x7F else { return nil }
            if place > offset, window[head + place - 1] == UInt8(ascii: " ") {
                if let object = try objectStart(at: place) {
                    return Prefix(length: place - offset, object: object, hasBlanks: hasBlanks)
                }
                hasBlanks = true
            }
            // A damaged object is not a text before the object in it.
            guard byte != UInt8(ascii: "{") else { return nil }
            place += 1
        }
        return nil
    }

    /// Returns the offset of the object if an object, or an array of objects, starts at an offset from the head; after
    /// the first line with a text before an object, also if it is empty.
    private mutating func objectStart(at offset: Int) throws(CaptureError) -> Int? {
        let acceptsEmpty = log.framing.hasPrefixes
        var before = UInt8(ascii: " ")
        var object = offset
        for place in offset..<offset + 256 {
            guard try has(place + 1) else { return nil }
            let byte = window[head + place]
            if JSONScanner.isSpace(byte), place > offset { continue }
            switch (before, byte) {
            case (UInt8(ascii: "{"), UInt8(ascii: "\"")): return object
            case (UInt8(ascii: "{"), UInt8(ascii: "}")): return acceptsEmpty ? object : nil
            case (UInt8(ascii: "["), UInt8(ascii: "]")): return acceptsEmpty ? offset : nil
            case (UInt8(ascii: " "), UInt8(ascii: "{")), (UInt8(ascii: "["), UInt8(ascii: "{")): object = place
            case (UInt8(ascii: " "), UInt8(ascii: "[")), (UInt8(ascii: "["), UInt8(ascii: "[")): break
            default: return nil
            }
            before = byte
        }
        return nil
    }
}
