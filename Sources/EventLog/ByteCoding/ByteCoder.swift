/// A value that is stored as bytes over restarts. One function names its parts, for writing and for reading.
package protocol ByteCoded {
    /// The value that reading starts with.
    static var blank: Self { get }
    /// Writes or reads each part with `coder`, always in the same order.
    ///
    /// - Throws: ``ByteCoder/Damage`` if the bytes that are read are not valid.
    mutating func code(with coder: inout ByteCoder) throws(ByteCoder.Damage)
}

/// Writes or reads the bytes of a ``ByteCoded`` value. The caller must store the version of the format with them, and a
/// digest to detect damage. Invalid bytes never trap, and reading takes no more memory than the bytes themselves.
package struct ByteCoder {
    /// The error for bytes that are not valid.
    package struct Damage: Error, Hashable {
        /// Creates the error. Everything that was read must be discarded.
        package init() {}
    }

    /// All bytes.
    package private(set) var bytes: [UInt8]
    private let isReading: Bool
    private var place = 0

    /// Creates an empty buffer for writing.
    package init() { (bytes, isReading) = ([], false) }

    /// Creates a reader of bytes.
    package init(reading bytes: [UInt8]) { (self.bytes, isReading) = (bytes, true) }

    /// Whether everything was read.
    package var isAtEnd: Bool { place == bytes.count }

    /// Returns a digest that detects damage but not intended changes: FNV-1a with 64 bits.
    package static func digest(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        var digest: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in bytes { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return digest
    }

    /// Writes or reads a number, in as few bytes as possible (LEB128).
    package mutating func code(_ value: inout UInt64) throws(Damage) {
        if isReading {
            value = 0
            for shift in stride(from: UInt64(0), to: 64, by: 7) {
                let byte = try next()
                value |= UInt64(byte & 0x7F) << shift
                if byte < 0x80 { return }
            }
            throw Damage()
        }
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    /// Writes or reads a signed number. A number near zero takes few bytes, with either sign (zigzag).
    package mutating func code(_ value: inout Int64) throws(Damage) {
        var folded = UInt64(bitPattern: value << 1 ^ value >> 63)
        try code(&folded)
        value = Int64(bitPattern: folded >> 1) ^ -Int64(bitPattern: folded & 1)
    }

    /// Writes or reads an `Int` as 64 bits.
    package mutating func code(_ value: inout Int) throws(Damage) {
        var number = Int64(value)
        try code(&number)
        value = Int(number)
    }

    /// Writes or reads a Boolean value.
    package mutating func code(_ value: inout Bool) throws(Damage) {
        var number: UInt64 = value ? 1 : 0
        try code(&number)
        guard number < 2 else { throw Damage() }
        value = number == 1
    }

    /// Writes or reads a value of an enumeration by its number.
    package mutating func code<Value: RawRepresentable<UInt8>>(_ value: inout Value) throws(Damage) {
        var number = UInt64(value.rawValue)
        try code(&number)
        guard let raw = UInt8(exactly: number), let known = Value(rawValue: raw) else { throw Damage() }
        value = known
    }

    /// Writes or reads a text.
    package mutating func code(_ value: inout String) throws(Damage) {
        let count = try codeCount(value.utf8.count)
        guard isReading else { return bytes.append(contentsOf: value.utf8) }
        guard let text = String(validating: bytes[place..<place + count], as: UTF8.self) else { throw Damage() }
        value = text
        place += count
    }

    /// Writes or reads a value that consists of parts.
    package mutating func code<Value: ByteCoded>(_ value: inout Value) throws(Damage) { try value.code(with: &self) }

    /// Writes or reads an optional value.
    package mutating func code<Value: ByteCoded>(_ value: inout Value?) throws(Damage) {
        var isThere = value != nil
        try code(&isThere)
        guard isThere else { return value = nil }
        var part = value ?? .blank
        try part.code(with: &self)
        value = part
    }

    /// Writes or reads an array, in its order.
    package mutating func code<Value: ByteCoded>(_ values: inout [Value]) throws(Damage) {
        let count = try codeCount(values.count)
        if isReading { values = [] }
        for index in 0..<count {
            var part = isReading ? .blank : values[index]
            try part.code(with: &self)
            if isReading { values.append(part) }
        }
    }

    /// Writes or reads a set. Equal sets give the same bytes.
    package mutating func code<Value: ByteCoded & Hashable>(_ values: inout Set<Value>) throws(Damage) {
        let count = try codeCount(values.count)
        guard isReading else { return try write(values) { part, coder throws(Damage) in try coder.code(&part) } }
        values = []
        for _ in 0..<count {
            var part = Value.blank
            try part.code(with: &self)
            values.insert(part)
        }
    }

    /// Writes or reads a dictionary. Equal dictionaries give the same bytes.
    package mutating func code<Key: ByteCoded & Hashable, Value: ByteCoded>(_ values: inout [Key: Value]) throws(Damage)
    {
        let count = try codeCount(values.count)
        guard isReading else {
            return try write(values) { part, coder throws(Damage) in
                try coder.code(&part.key)
                try coder.code(&part.value)
            }
        }
        values = [:]
        for _ in 0..<count {
            var (key, value) = (Key.blank, Value.blank)
            try key.code(with: &self)
            try value.code(with: &self)
            values[key] = value
        }
    }

    private mutating func write<Parts: Sequence>(
        _ parts: Parts, _ body: (inout Parts.Element, inout ByteCoder) throws(Damage) -> Void
    ) throws(Damage) {
        var written: [[UInt8]] = []
        for part in parts {
            var (part, coder) = (part, ByteCoder())
            try body(&part, &coder)
            written.append(coder.bytes)
        }
        written.sort { $0.lexicographicallyPrecedes($1) }
        for part in written { bytes += part }
    }

    /// Writes or reads the number of elements. Each element takes at least one byte, so a count above the remaining
    /// bytes is refused.
    private mutating func codeCount(_ count: Int) throws(Damage) -> Int {
        var number = UInt64(count)
        try code(&number)
        guard !isReading || number <= UInt64(bytes.count - place) else { throw Damage() }
        return Int(number)
    }

    private mutating func next() throws(Damage) -> UInt8 {
        guard place < bytes.count else { throw Damage() }
        defer { place += 1 }
        return bytes[place]
    }
}
