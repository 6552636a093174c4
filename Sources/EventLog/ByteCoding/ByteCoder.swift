/// A value that is stored as bytes over restarts. One function names its parts, for writing and for reading.
package protocol ByteCoded {
    /// The value that reading starts with.
    static var blank: Self { get }
    /// Passes each part to `octets`, always in the same order.
    ///
    /// - Throws: ``ByteCoder/Damage`` if the bytes that are read are not valid.
    mutating func pass(_ octets: inout ByteCoder) throws(ByteCoder.Damage)
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
    package private(set) var octets: [UInt8]
    private let isReading: Bool
    private var place = 0

    /// Creates an empty buffer for writing.
    package init() { (octets, isReading) = ([], false) }

    /// Creates a reader of bytes.
    package init(reading octets: [UInt8]) { (self.octets, isReading) = (octets, true) }

    /// Whether everything was read.
    package var isAtEnd: Bool { place == octets.count }

    /// Returns a digest that detects damage but not intended changes: FNV-1a with 64 bits.
    package static func digest(_ octets: ArraySlice<UInt8>) -> UInt64 {
        var digest: UInt64 = 0xCBF2_9CE4_8422_2325
        for octet in octets { digest = (digest ^ UInt64(octet)) &* 0x100_0000_01B3 }
        return digest
    }

    /// Passes a number, in as few bytes as possible (LEB128).
    package mutating func pass(_ value: inout UInt64) throws(Damage) {
        if isReading {
            value = 0
            for shift in stride(from: UInt64(0), to: 64, by: 7) {
                let octet = try next()
                value |= UInt64(octet & 0x7F) << shift
                if octet < 0x80 { return }
            }
            throw Damage()
        }
        var rest = value
        while rest >= 0x80 {
            octets.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        octets.append(UInt8(truncatingIfNeeded: rest))
    }

    /// Passes a signed number. A number near zero takes few bytes, with either sign (zigzag).
    package mutating func pass(_ value: inout Int64) throws(Damage) {
        var folded = UInt64(bitPattern: value << 1 ^ value >> 63)
        try pass(&folded)
        value = Int64(bitPattern: folded >> 1) ^ -Int64(bitPattern: folded & 1)
    }

    /// Passes an `Int` as 64 bits.
    package mutating func pass(_ value: inout Int) throws(Damage) {
        var number = Int64(value)
        try pass(&number)
        value = Int(number)
    }

    /// Passes a Boolean value.
    package mutating func pass(_ value: inout Bool) throws(Damage) {
        var number: UInt64 = value ? 1 : 0
        try pass(&number)
        guard number < 2 else { throw Damage() }
        value = number == 1
    }

    /// Passes a value of an enumeration by its number.
    package mutating func pass<Value: RawRepresentable<UInt8>>(_ value: inout Value) throws(Damage) {
        var number = UInt64(value.rawValue)
        try pass(&number)
        guard let raw = UInt8(exactly: number), let known = Value(rawValue: raw) else { throw Damage() }
        value = known
    }

    /// Passes a text.
    package mutating func pass(_ value: inout String) throws(Damage) {
        let count = try passCount(value.utf8.count)
        guard isReading else { return octets.append(contentsOf: value.utf8) }
        guard let text = String(validating: octets[place..<place + count], as: UTF8.self) else { throw Damage() }
        value = text
        place += count
    }

    /// Passes a value that consists of parts.
    package mutating func pass<Value: ByteCoded>(_ value: inout Value) throws(Damage) { try value.pass(&self) }

    /// Passes an optional value.
    package mutating func pass<Value: ByteCoded>(_ value: inout Value?) throws(Damage) {
        var isThere = value != nil
        try pass(&isThere)
        guard isThere else { return value = nil }
        var part = value ?? .blank
        try part.pass(&self)
        value = part
    }

    /// Passes an array, in its order.
    package mutating func pass<Value: ByteCoded>(_ values: inout [Value]) throws(Damage) {
        let count = try passCount(values.count)
        if isReading { values = [] }
        for index in 0..<count {
            var part = isReading ? .blank : values[index]
            try part.pass(&self)
            if isReading { values.append(part) }
        }
    }

    /// Passes a set. Equal sets give the same bytes.
    package mutating func pass<Value: ByteCoded & Hashable>(_ values: inout Set<Value>) throws(Damage) {
        let count = try passCount(values.count)
        guard isReading else { return try write(values) { part, octets throws(Damage) in try octets.pass(&part) } }
        values = []
        for _ in 0..<count {
            var part = Value.blank
            try part.pass(&self)
            values.insert(part)
        }
    }

    /// Passes a dictionary. Equal dictionaries give the same bytes.
    package mutating func pass<Key: ByteCoded & Hashable, Value: ByteCoded>(_ values: inout [Key: Value]) throws(Damage)
    {
        let count = try passCount(values.count)
        guard isReading else {
            return try write(values) { part, octets throws(Damage) in
                try octets.pass(&part.key)
                try octets.pass(&part.value)
            }
        }
        values = [:]
        for _ in 0..<count {
            var (key, value) = (Key.blank, Value.blank)
            try key.pass(&self)
            try value.pass(&self)
            values[key] = value
        }
    }

    private mutating func write<Parts: Sequence>(
        _ parts: Parts, _ body: (inout Parts.Element, inout ByteCoder) throws(Damage) -> Void
    ) throws(Damage) {
        var written: [[UInt8]] = []
        for part in parts {
            var (part, octets) = (part, ByteCoder())
            try body(&part, &octets)
            written.append(octets.octets)
        }
        written.sort { $0.lexicographicallyPrecedes($1) }
        for part in written { octets += part }
    }

    /// Passes the number of elements. Each element takes at least one byte, so a count above the remaining bytes is
    /// refused.
    private mutating func passCount(_ count: Int) throws(Damage) -> Int {
        var number = UInt64(count)
        try pass(&number)
        guard !isReading || number <= UInt64(octets.count - place) else { throw Damage() }
        return Int(number)
    }

    private mutating func next() throws(Damage) -> UInt8 {
        guard place < octets.count else { throw Damage() }
        defer { place += 1 }
        return octets[place]
    }
}
