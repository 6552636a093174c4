import JSON

/// A value of an object.
struct LogValue {
    let value: JSONText.Value
    /// The index among the values of the object.
    let place: Int

    var kind: JSONText.Kind { value.kind }
    // Patterns, because `==` of an enumeration in another module is a function call.
    var isString: Bool { if case .string = value.kind { true } else { false } }
    var isNumber: Bool { if case .number = value.kind { true } else { false } }
    var isNull: Bool { if case .null = value.kind { true } else { false } }
    /// `true` or `false`; `nil` for other values.
    var bool: Bool? {
        switch value.kind {
        case .yes: true
        case .no: false
        default: nil
        }
    }
    /// The start, without the quotation mark of a string.
    var start: Int { Int(value.start) }
    var end: Int { Int(value.end) }
}

/// Finds the values of the fields in one JSON object after another, without copying them.
///
/// If a key occurs twice, its last value counts. A record is at most 1 MiB, so it has at most 1,048,576 values of 16
/// bytes; the texts of objects inside it are shorter than the record.
struct LogScanner {
    let keys: LogKeys
    /// The index of each slot's value in the last object.
    private var places = [Int32](repeating: 0, count: FieldMap.namesMax)
    /// The slots with a value in the last object other than `null`: bit n for slot n.
    private(set) var present: UInt64 = 0
    /// The number of line ends in the last object.
    private(set) var lines = 0
    private var values = ContiguousArray(repeating: JSONText.Value.none, count: 64)
    /// The number of ``values`` that are used.
    private var used = 0
    /// The strings whose text was scanned: the index of the string, and that of the object or array in it, -1 if there
    /// is none.
    private var scannedTexts: [(string: Int, content: Int)] = []
    /// The object that has the members of the record: the outermost one, its payload, or an element of its payload.
    private(set) var object = 0
    /// The elements of a payload that have not been read.
    private var elements = 0..<0
    /// The state before the elements. An element has the values of these slots that it lacks.
    private var outer: (places: [Int32], present: UInt64, used: Int, texts: Int) = ([], 0, 0, 0)

    init(_ fields: FieldMap) { keys = LogKeys(fields) }

    /// Returns whether the last object has a value of the slot other than `null`.
    func isPresent(_ slot: Int) -> Bool { present >> UInt64(slot) & 1 != 0 }

    /// Returns whether a value is that of a slot that is present.
    func isValue(_ value: LogValue, of slot: Int) -> Bool { isPresent(slot) && Int(places[slot]) == value.place }

    /// Returns the value of a slot that is present.
    func value(of slot: Int) -> LogValue {
        let place = Int(places[slot])
        return LogValue(value: values[place], place: place)
    }

    /// Scans the object whose opening brace is at the start of `range` in `bytes`.
    mutating func scan(_ bytes: [UInt8], _ range: Range<Int>) -> JSONScanner.Outcome {
        let text = bytes.span.extracting(0..<range.upperBound)
        present = 0
        object = 0
        if !scannedTexts.isEmpty { scannedTexts.removeAll(keepingCapacity: true) }
        while true {
            var lines = 0
            var target = values.mutableSpan
            let outcome = JSONScanner.scan(text, from: range.lowerBound, lines: &lines, into: &target)
            self.lines = lines
            switch outcome {
            case .whole(let count, _):
                used = count
                Self.noteMembers(values, text, keys, &places, &present)
            case .full:
                values.append(contentsOf: repeatElement(JSONText.Value.none, count: values.count))
                continue
            case .incomplete, .malformed: break
            }
            return outcome
        }
    }

    // A static function of the parts, so that the places can change while the values are borrowed.
    @inline(__always) private static func noteMembers(
        _ values: borrowing ContiguousArray<JSONText.Value>, _ text: Span<UInt8>, _ keys: borrowing LogKeys,
        _ places: inout [Int32], _ present: inout UInt64
    ) {
        var places = places.mutableSpan
        let values = values.span
        let end = Int(values[0].next)
        guard end <= values.count else { return }
        var place = 1
        // Each key has a value after it, so `place + 1` is below `end`.
        while place < end {
            let key = unsafe values[unchecked: place]
            let value = LogValue(value: unsafe values[unchecked: place &+ 1], place: place &+ 1)
            let range = Int(key.start)..<Int(key.end)
            if let slot = key.hasEscapes ? slotUnescaped(text, range, keys) : keys.slot(of: text, range) {
                let bit: UInt64 = 1 &<< UInt64(truncatingIfNeeded: slot)
                places[slot] = Int32(truncatingIfNeeded: value.place)
                present = value.isNull ? present & ~bit : present | bit
            }
            place = Int(value.value.next)
        }
    }

    @inline(never) private static func slotUnescaped(
        _ text: Span<UInt8>, _ range: Range<Int>, _ keys: borrowing LogKeys
    ) -> Int? {
        let key = unescaped(text, range)
        return keys.slot(of: key.span, 0..<key.count)
    }

    private static func unescaped(_ text: Span<UInt8>, _ range: Range<Int>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(text.extracting(range))
        var span = bytes.mutableSpan
        bytes.removeLast(range.count - JSONText.unescape(&span, 0, range.count))
        return bytes
    }

    /// Calls `body` for each member of an object in the last object, with the key without quotation marks and escapes.
    func forEachMember(
        of object: Int, in text: Span<UInt8>, _ body: (_ key: [UInt8], _ value: LogValue) -> Void
    ) {
        var place = object + 1
        let end = Int(values[object].next)
        while place < end {
            let key = values[place]
            body(
                Self.unescaped(text, Int(key.start)..<Int(key.end)),
                LogValue(value: values[place + 1], place: place + 1))
            place = Int(values[place + 1].next)
        }
    }

    /// Returns all values of a key in an object of the last object, in their order. The elements of an array are values of
    /// its key.
    func values(of key: StaticString, in object: Int, _ text: Span<UInt8>) -> [LogValue] {
        var found: [LogValue] = []
        var place = object + 1
        let end = Int(values[object].next)
        while place < end {
            let name = values[place]
            let value = LogValue(value: values[place + 1], place: place + 1)
            place = Int(value.value.next)
            guard LogWords.is(text.extracting(Int(name.start)..<Int(name.end)), key) else { continue }
            guard value.kind == .array else {
                found.append(value)
                continue
            }
            var element = value.place + 1
            while element < place {
                found.append(LogValue(value: values[element], place: element))
                element = Int(values[element].next)
            }
        }
        return found
    }

    /// Returns the object `layers` of the last object, or of the object `_source` in it, which has the protocols of a packet in
    /// Wireshark's JSON; `nil` if there is none.
    func layers(in text: Span<UInt8>) -> Int? {
        var object = 0
        if let source = values(of: "_source", in: 0, text).first, source.kind == .object { object = source.place }
        guard let layers = values(of: "layers", in: object, text).first, layers.kind == .object else { return nil }
        return layers.place
    }

    /// Changes the end of a string after its escapes were replaced in place.
    mutating func setEnd(_ end: Int, ofUnescaped place: Int) {
        values[place].end = Int32(truncatingIfNeeded: end)
        values[place].hasEscapes = false
    }

    // MARK: Objects inside objects

    /// Returns the index of the object or array in the member `payload` of the last object, in which programs for MQTT
    /// have the message: as JSON, or as a text of JSON. `nil` if there is none.
    mutating func payload(in bytes: inout [UInt8]) -> Int? {
        guard let member = member(Array("payload".utf8)[...], of: 0, in: bytes.span) else { return nil }
        return content(of: member, in: &bytes)
    }

    /// Returns whether the last object has a member `payload`.
    func hasPayload(in text: Span<UInt8>) -> Bool { member(Array("payload".utf8)[...], of: 0, in: text) != nil }

    /// Returns whether a value is an array.
    func isArray(_ place: Int) -> Bool { values[place].kind == .array }

    /// Adds the members of a payload to those of the last object, and replaces those with the same key.
    mutating func open(object: Int, in bytes: inout [UInt8]) {
        addMembers(of: object, in: bytes.span)
        followPaths(in: object, &bytes)
    }

    /// Makes the elements of an array the next records. Each has the values of the last object that it lacks, but not
    /// those of the slots in `content`.
    mutating func open(array: Int, without content: UInt64) {
        elements = array + 1..<Int(values[array].next)
        outer = (places, present & ~content, used, scannedTexts.count)
    }

    /// Whether a payload has elements that have not been read.
    var hasElements: Bool { elements.lowerBound < elements.upperBound }

    /// Makes the next element of the payload the last object. Returns `false` if it is not an object.
    mutating func nextElement(of bytes: inout [UInt8]) -> Bool {
        let place = elements.lowerBound
        elements = Int(values[place].next)..<elements.upperBound
        lines = 0
        for slot in places.indices { places[slot] = outer.places[slot] }
        (present, used) = (outer.present, outer.used)
        scannedTexts.removeSubrange(outer.texts...)
        guard let content = content(of: place, in: &bytes), values[content].kind == .object else { return false }
        open(object: content, in: &bytes)
        return true
    }

    /// Adds the members of an object to those of the last object.
    private mutating func addMembers(of object: Int, in text: Span<UInt8>) {
        self.object = object
        var place = object + 1
        let end = Int(values[object].next)
        while place < end {
            let key = values[place]
            let range = Int(key.start)..<Int(key.end)
            if let slot = key.hasEscapes ? Self.slotUnescaped(text, range, keys) : keys.slot(of: text, range) {
                if values[place + 1].kind != .null {
                    note(place + 1, for: slot)
                } else if isPresent(slot), places[slot] > object {
                    // The last value of a key counts. A value of the outer object stays.
                    present &= ~(1 << UInt64(slot))
                }
            }
            place = Int(values[place + 1].next)
        }
    }

    private mutating func note(_ place: Int, for slot: Int) {
        places[slot] = Int32(truncatingIfNeeded: place)
        present |= 1 << UInt64(slot)
    }

    /// Finds the values of names that are paths, from an object on. A value at a path replaces an earlier one.
    mutating func followPaths(in object: Int, _ bytes: inout [UInt8]) {
        for slot in keys.paths where !isPresent(slot) || object > 0 {
            guard let place = value(at: keys.utf8(of: slot), in: object, &bytes), values[place].kind != .null else {
                continue
            }
            note(place, for: slot)
        }
    }

    /// Returns the index of the value at a path in an object; `nil` if there is none. A key can have full stops, so a
    /// longer key precedes a shorter one.
    private mutating func value(at path: ArraySlice<UInt8>, in object: Int, _ bytes: inout [UInt8]) -> Int? {
        if let place = member(path, of: object, in: bytes.span) { return place }
        var end = path.endIndex
        while let dot = path[..<end].lastIndex(of: UInt8(ascii: ".")) {
            end = dot
            if let place = member(path[..<dot], of: object, in: bytes.span),
                let content = content(of: place, in: &bytes), values[content].kind == .object,
                let found = value(at: path[(dot + 1)...], in: content, &bytes)
            {
                return found
            }
        }
        return nil
    }

    /// Returns the index of the last value of a key in an object; `nil` if there is none.
    private func member(_ name: ArraySlice<UInt8>, of object: Int, in text: Span<UInt8>) -> Int? {
        var found: Int?
        var place = object + 1
        let end = Int(values[object].next)
        while place < end {
            let key = values[place]
            let (start, end) = (Int(key.start), Int(key.end))
            if key.hasEscapes {
                if Self.unescaped(text, start..<end)[...] == name { found = place + 1 }
            } else if end - start == name.count,
                !name.indices.contains(where: { name[$0] != text[start + $0 - name.startIndex] })
            {
                found = place + 1
            }
            place = Int(values[place + 1].next)
        }
        return found
    }

    /// Returns the index of the object or array that a value is, or whose text it is; `nil` if it is another value.
    ///
    /// The escapes of a text are replaced in place.
    private mutating func content(of place: Int, in bytes: inout [UInt8]) -> Int? {
        switch values[place].kind {
        case .object, .array: return place
        case .string: break
        default: return nil
        }
        if let known = scannedTexts.first(where: { $0.string == place }) {
            return known.content < 0 ? nil : known.content
        }
        let content = scanText(of: place, in: &bytes)
        scannedTexts.append((place, content ?? -1))
        return content
    }

    /// Scans the text of a string. Returns the index of the object or array in it.
    private mutating func scanText(of place: Int, in bytes: inout [UInt8]) -> Int? {
        let start = Int(values[place].start)
        var end = Int(values[place].end)
        if values[place].hasEscapes {
            var text = bytes.mutableSpan
            end = JSONText.unescape(&text, start, end)
            setEnd(end, ofUnescaped: place)
        }
        let text = bytes.span.extracting(0..<end)
        guard let first = (start..<end).first(where: { !JSONScanner.isSpace(text[$0]) }),
            text[first] == UInt8(ascii: "{") || text[first] == UInt8(ascii: "[")
        else { return nil }
        let content = used
        while true {
            var lines = 0
            var target = values.mutableSpan
            switch JSONScanner.scan(text, from: first, lines: &lines, into: &target, at: content) {
            case .whole(let next, let last):
                guard !(last..<end).contains(where: { !JSONScanner.isSpace(text[$0]) }) else { return nil }
                used = next
                return content
            case .full: values.append(contentsOf: repeatElement(JSONText.Value.none, count: values.count))
            case .incomplete, .malformed: return nil
            }
        }
    }
}
