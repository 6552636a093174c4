/// A JSON text (RFC 8259) and the places of its values, in the order of the text.
///
/// If it is used again for each line, it allocates only for a line that has more values than all lines before it. A text that
/// is not JSON in every part is refused, so an incomplete line is never taken for a complete one.
package struct JSONText: Sendable {
    package enum Kind: UInt8, Sendable { case object, array, string, number, yes, no, null }

    /// A value: the place of its bytes, without the quotation marks of a string.
    package struct Value: Sendable, Hashable {
        package var kind: Kind
        /// Whether it is a string or a key that has escapes.
        package var hasEscapes = false
        package var start: Int32
        package var end: Int32
        /// The place of the value that follows it and all that is in it.
        package var next: Int32

        package static let none = Value(.null, 0, 0, next: 0)

        @inline(__always)
        init(_ kind: Kind, _ start: Int, _ end: Int, next: Int) {
            self.kind = kind
            self.start = Int32(truncatingIfNeeded: start)
            self.end = Int32(truncatingIfNeeded: end)
            self.next = Int32(truncatingIfNeeded: next)
        }
    }

    /// The longest text: places are 32 bits wide.
    package static let sizeMax = 1 << 30
    // A line of ours has some fifty.
    private static let valuesFirst = 256

    /// The text. Whoever changes it parses it anew.
    package var bytes: [UInt8] = []
    /// The values, the outermost first; an object's are its keys and what they stand for, in turn.
    package private(set) var values: ContiguousArray<Value> = []
    /// How many of them are this text's.
    package private(set) var used = 0
    /// This text's.
    package var all: ContiguousArray<Value>.SubSequence { values[..<used] }

    package init() {}

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Puts another text in place of this one.
    package mutating func replace(with octets: Span<UInt8>) {
        bytes.removeAll(keepingCapacity: true)
        bytes.append(octets)
    }

    /// Where the last place is at which the octets of `beginning` stand.
    package func last(_ beginning: StaticString) -> Int? {
        let count = beginning.utf8CodeUnitCount
        var place = bytes.count - count
        while place >= 0 {
            if unsafe bytes[place...].prefix(count).elementsEqual(
                UnsafeBufferPointer(start: beginning.utf8Start, count: count))
            {
                return place
            }
            place -= 1
        }
        return nil
    }

    /// Finds the values of the text.
    ///
    /// - Returns: Whether it is one JSON value and white space.
    package mutating func parse() -> Bool {
        used = 0
        guard bytes.count <= Self.sizeMax else { return false }
        // Taken out while they are filled, for exclusivity; their memory stays.
        var values: ContiguousArray<Value> = []
        swap(&values, &self.values)
        defer { swap(&values, &self.values) }
        if values.isEmpty { values = ContiguousArray(repeating: Value.none, count: Self.valuesFirst) }
        while true {
            var target = values.mutableSpan
            var lines = 0
            switch JSONScanner.scan(bytes.span, from: 0, lines: &lines, into: &target) {
            case .whole(let count, let end):
                guard bytes[end...].allSatisfy({ JSONScanner.isSpace($0) }) else { return false }
                used = count
                return true
            case .incomplete, .malformed: return false
            case .full: values.append(contentsOf: repeatElement(Value.none, count: values.count))
            }
        }
    }
}
