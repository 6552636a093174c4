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
/// If a key occurs twice, its last value counts. A record is at most 1 MiB, so there are at most 1,048,576 values of 16
/// bytes.
struct LogScanner {
    let keys: LogKeys
    /// The index of each slot's value in the last object.
    private var places = [Int32](repeating: 0, count: FieldMap.namesMax)
    /// The slots with a value in the last object other than `null`: bit n for slot n.
    private(set) var present: UInt64 = 0
    /// The number of line ends in the last object.
    private(set) var lines = 0
    private var values = ContiguousArray(repeating: JSONText.Value.none, count: 64)

    init(_ fields: FieldMap) { keys = LogKeys(fields) }

    /// Returns whether the last object has a value of the slot other than `null`.
    func isPresent(_ slot: Int) -> Bool { present >> UInt64(slot) & 1 != 0 }

    /// Returns the value of a slot that is present.
    func value(of slot: Int) -> LogValue {
        let place = Int(places[slot])
        return LogValue(value: values[place], place: place)
    }

    /// Scans the object whose opening brace is at the start of `range` in `bytes`.
    mutating func scan(_ bytes: [UInt8], _ range: Range<Int>) -> JSONScanner.Outcome {
        let text = bytes.span.extracting(0..<range.upperBound)
        present = 0
        while true {
            var lines = 0
            var target = values.mutableSpan
            let outcome = JSONScanner.scan(text, from: range.lowerBound, lines: &lines, into: &target)
            self.lines = lines
            switch outcome {
            case .whole: Self.noteMembers(values, text, keys, &places, &present)
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
}
