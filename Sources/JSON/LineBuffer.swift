import BaseTypes
public import BluetoothLE

/// A buffer for output, into which lines are written without an allocation for each.
///
/// It is memory-safe: every write makes room first, and readers get only bytes that were written.
///
/// Members that other targets inline are `public`, although no product contains `JSON`. For an `@inlinable package`
/// function, Swift 6.3 does not keep a body for other targets, so each key of a line would be a call.
@safe public struct LineBuffer: ~Copyable {
    @usableFromInline var storage: UnsafeMutablePointer<UInt8>
    @usableFromInline var capacity: Int
    @usableFromInline var filled = 0
    /// Returns whether a character can be written without an escape in a JSON string; `nil` if this is so for all
    /// characters that RFC 8259 permits.
    let needsNoEscape: (@Sendable (Unicode.Scalar) -> Bool)?
    // The texts of recent seconds, including the decimal point, at the index of the low bits of the second. The dates
    // of a line, and of consecutive lines, have few different seconds.
    private var secondTexts = ContiguousArray(repeating: SecondText(), count: 64)

    /// Creates an empty buffer. It grows if a line needs more than `capacity`.
    ///
    /// - Parameters:
    ///   - capacity: the number of bytes that it can store at first.
    ///   - needsNoEscape: returns whether a character can be written without an escape in a JSON string. If it is `nil`,
    ///     this is so for all characters that RFC 8259 §7 permits.
    public init(capacity: Int = 65_536, needsNoEscape: (@Sendable (Unicode.Scalar) -> Bool)? = nil) {
        self.capacity = max(capacity, 1024)
        unsafe storage = .allocate(capacity: self.capacity)
        self.needsNoEscape = needsNoEscape
    }

    deinit { unsafe storage.deallocate() }

    /// The number of bytes in the buffer.
    @inlinable public var count: Int { filled }

    /// Calls `body` with the bytes in the buffer.
    public func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(UnsafeRawBufferPointer(start: storage, count: filled))
    }

    /// The bytes in the buffer, as an array.
    public var bytes: [UInt8] { unsafe Array(UnsafeBufferPointer(start: storage, count: filled)) }
    /// The bytes in the buffer, as text.
    public var text: String {
        unsafe String(decoding: UnsafeBufferPointer(start: storage, count: filled), as: UTF8.self)
    }

    /// Removes all bytes, and keeps the memory.
    public mutating func removeAll() { filled = 0 }

    /// Removes the first `size` bytes.
    public mutating func removeFirst(_ size: Int) {
        let size = min(max(size, 0), filled)
        guard size > 0 else { return }
        unsafe storage.update(from: storage + size, count: filled - size)
        filled -= size
    }

    /// Removes the last byte.
    public mutating func removeLast() { filled = max(0, filled - 1) }

    /// Returns whether `byte` is the last byte.
    @inlinable @inline(__always)
    func ends(with byte: UInt8) -> Bool { unsafe filled > 0 && storage[filled - 1] == byte }

    /// Makes room for `size` more bytes.
    @inlinable @inline(__always)
    mutating func reserve(_ size: Int) {
        if capacity - filled < size { grow(size) }
    }

    @usableFromInline @inline(never)
    mutating func grow(_ size: Int) {
        capacity = max(capacity * 2, filled + size)
        let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
        unsafe larger.update(from: storage, count: filled)
        unsafe storage.deallocate()
        unsafe storage = larger
    }

    // Each of the following functions writes only into memory for which `reserve` made room.

    /// Appends a text unchanged.
    @inlinable @inline(__always)
    public mutating func append(_ text: StaticString) {
        let size = text.utf8CodeUnitCount
        reserve(size)
        unsafe (storage + filled).update(from: text.utf8Start, count: size)
        filled += size
    }

    /// Appends a text unchanged.
    public mutating func append(text: String) {
        var text = text
        text.withUTF8 { bytes in
            guard let start = bytes.baseAddress else { return }
            reserve(bytes.count)
            unsafe (storage + filled).update(from: start, count: bytes.count)
            filled += bytes.count
        }
    }

    /// Appends bytes unchanged.
    public mutating func append(_ bytes: [UInt8]) {
        reserve(bytes.count)
        unsafe bytes.withUnsafeBufferPointer { source in
            guard let start = source.baseAddress else { return }
            unsafe (storage + filled).update(from: start, count: source.count)
        }
        filled += bytes.count
    }

    /// Appends the first twenty bytes of a date.
    @inline(__always)
    mutating func append(_ text: InlineArray<20, UInt8>) {
        reserve(20)
        unsafe UnsafeMutableRawPointer(storage + filled)
            .storeBytes(of: text, as: InlineArray<20, UInt8>.self)
        filled += 20
    }

    /// Appends one byte.
    @inlinable @inline(__always)
    public mutating func append(byte: UInt8) {
        reserve(1)
        unsafe storage[filled] = byte
        filled += 1
    }

    @inline(__always)
    static func digit(_ nibble: UInt8) -> UInt8 { nibble < 10 ? 0x30 + nibble : 0x37 + nibble }

    // MARK: Values

    // Calls must follow the grammar of JSON (RFC 8259). Braces, brackets, commas and quotation marks are written only
    // here. A function that opens an object or an array also closes it.

    /// Appends an object: `body` writes its members.
    @inlinable @inline(__always)
    public mutating func object(_ body: (inout LineBuffer) -> Void) {
        append(byte: UInt8(ascii: "{"))
        body(&self)
        append(byte: UInt8(ascii: "}"))
    }

    /// Appends an array: `body` writes the value of each element.
    ///
    /// - Parameters:
    ///   - elements: the elements.
    ///   - onLines: whether each element is on a separate line, for people.
    ///   - body: writes one element.
    @inlinable @inline(__always)
    public mutating func array<Element>(
        _ elements: some Sequence<Element>, onLines: Bool = false, _ body: (inout LineBuffer, Element) -> Void
    ) {
        append(byte: UInt8(ascii: "["))
        for element in elements {
            // No value ends with the byte that opens an array.
            if !ends(with: UInt8(ascii: "[")) { append(byte: UInt8(ascii: ",")) }
            if onLines { append(byte: 0x0A) }
            body(&self, element)
        }
        append(byte: UInt8(ascii: "]"))
    }

    /// Appends a string with the text that `body` appends, which must not need escapes.
    @inlinable @inline(__always)
    public mutating func quoted(_ body: (inout LineBuffer) -> Void) {
        append(byte: UInt8(ascii: "\""))
        body(&self)
        append(byte: UInt8(ascii: "\""))
    }

    /// Appends a string, with escapes.
    @inlinable @inline(__always)
    public mutating func string(_ text: String) { quoted { $0.append(escaped: text) } }

    /// Appends text as the content of a JSON string (RFC 8259 §7).
    public mutating func append(escaped text: String) {
        if needsNoEscape != nil, !text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }), let needsNoEscape {
            return append(escaped: text, unless: needsNoEscape)
        }
        var text = text
        text.withUTF8 { bytes in
            guard let first = bytes.baseAddress else { return }
            reserve(6 * bytes.count)
            let start = unsafe storage + filled
            var index = 0
            // Most names need no escapes, so they are checked and copied eight bytes at a time.
            while index + 8 <= bytes.count {
                let word = unsafe UnsafeRawPointer(first + index).loadUnaligned(as: UInt64.self)
                if Self.needsEscape(word) { break }
                unsafe UnsafeMutableRawPointer(start + index).storeBytes(of: word, as: UInt64.self)
                index += 8
            }
            while index < bytes.count, unsafe !Self.needsEscape(bytes[index]) {
                unsafe start[index] = bytes[index]
                index += 1
            }
            filled += index
            while index < bytes.count {
                unsafe appendEscaped(bytes[index])
                index += 1
            }
        }
    }

    private mutating func append(escaped text: String, unless needsNoEscape: (Unicode.Scalar) -> Bool) {
        for scalar in text.unicodeScalars {
            if needsNoEscape(scalar) {
                for byte in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter { appendEscaped(byte) }
            } else {
                for unit in UTF16.encode(scalar) ?? UTF16.encodedReplacementCharacter {
                    append("\\u")
                    append(hexadecimal: UInt8(truncatingIfNeeded: unit >> 8))
                    append(hexadecimal: UInt8(truncatingIfNeeded: unit))
                }
            }
        }
    }

    @inline(__always)
    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    /// Returns whether one of eight bytes must be escaped. The highest bit of a byte is set if it is less than 0x20, or
    /// 0 after `"` or `\` is removed from it by exclusive or.
    @inline(__always)
    private static func needsEscape(_ bytes: UInt64) -> Bool {
        let (each, highest): (UInt64, UInt64) = (0x0101_0101_0101_0101, 0x8080_8080_8080_8080)
        let quotes = bytes ^ (each &* UInt64(UInt8(ascii: "\"")))
        let backslashes = bytes ^ (each &* UInt64(UInt8(ascii: "\\")))
        let controls = (bytes &- each &* 0x20) & ~bytes
        return (controls | (quotes &- each) & ~quotes | (backslashes &- each) & ~backslashes) & highest != 0
    }

    private mutating func appendEscaped(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            append(byte: UInt8(ascii: "\\"))
            append(byte: byte)
        case 0..<0x20:
            append("\\u00")
            append(hexadecimal: byte)
        default:
            append(byte: byte)
        }
    }

    // MARK: Members

    // Each of the following functions writes only into memory for which `reserve` made room.

    /// Starts a member of the object that is being written. Its value must be written next.
    @inlinable @inline(__always)
    public mutating func key(_ key: StaticString) {
        let size = key.utf8CodeUnitCount
        reserve(size + 4)
        // No value ends with the byte that opens an object.
        if !ends(with: UInt8(ascii: "{")) {
            unsafe storage[filled] = UInt8(ascii: ",")
            filled += 1
        }
        unsafe storage[filled] = UInt8(ascii: "\"")
        unsafe (storage + filled + 1).update(from: key.utf8Start, count: size)
        unsafe storage[filled + size + 1] = UInt8(ascii: "\"")
        unsafe storage[filled + size + 2] = UInt8(ascii: ":")
        filled += size + 3
    }

    /// Appends members that were written earlier to the object that is being written: `"a":1,"b":2`.
    public mutating func append(members: [UInt8]) {
        if !ends(with: UInt8(ascii: "{")) { append(byte: UInt8(ascii: ",")) }
        append(members)
    }

    /// Starts a member whose name is not a literal. Its value must be written next.
    public mutating func key(named key: String) {
        if !ends(with: UInt8(ascii: "{")) { append(byte: UInt8(ascii: ",")) }
        string(key)
        append(byte: UInt8(ascii: ":"))
    }

    /// Writes an integer member whose name is not a literal.
    public mutating func write(named key: String, _ number: Int) {
        self.key(named: key)
        append(number)
    }

    /// Writes a text.
    @inlinable @inline(__always)
    public mutating func write(_ key: StaticString, _ text: String) {
        self.key(key)
        string(text)
    }

    /// Writes a text; writes nothing if it is `nil`, because absent values have no member.
    @inlinable @inline(__always)
    public mutating func write(_ key: StaticString, _ text: String?) {
        if let text { write(key, text) }
    }

    /// Writes a word, which must not need escapes.
    @inlinable @inline(__always)
    public mutating func write(_ key: StaticString, word: StaticString) {
        self.key(key)
        quoted { $0.append(word) }
    }

    /// Writes an integer.
    @inlinable @inline(__always)
    public mutating func write(_ key: StaticString, _ number: some FixedWidthInteger) {
        self.key(key)
        append(Int(truncatingIfNeeded: number))
    }

    /// Writes `true` or `false`.
    @inlinable @inline(__always)
    public mutating func write(_ key: StaticString, _ isSo: Bool) {
        self.key(key)
        if isSo { append("true") } else { append("false") }
    }

    /// Writes a number of seconds with microseconds. Further decimals are cut off.
    public mutating func write(_ key: StaticString, seconds duration: Duration) {
        write(key, millionths: duration.nanoseconds / 1000)
    }

    /// Writes a decimal number, given in millionths: ``append(millionths:)``.
    @inlinable @inline(__always)
    public mutating func write(_ key: StaticString, millionths: Int64) {
        self.key(key)
        append(millionths: millionths)
    }

    /// Writes a date: ``append(date:)``.
    @inlinable @inline(__always)
    public mutating func write(_ key: StaticString, date microseconds: Int64) {
        self.key(key)
        quoted { $0.append(date: microseconds) }
    }

    /// Writes an array of texts.
    public mutating func write(_ key: StaticString, _ texts: some Sequence<String>) {
        array(key, texts) { $0.string($1) }
    }

    /// Writes an object: `body` writes its members.
    @inlinable @inline(__always)
    public mutating func object(_ key: StaticString, _ body: (inout LineBuffer) -> Void) {
        self.key(key)
        object(body)
    }

    /// Writes an array: `body` writes the value of each element.
    @inlinable @inline(__always)
    public mutating func array<Element>(
        _ key: StaticString, _ elements: some Sequence<Element>, onLines: Bool = false,
        _ body: (inout LineBuffer, Element) -> Void
    ) {
        self.key(key)
        array(elements, onLines: onLines, body)
    }

    /// Writes an array of objects, one for each element.
    @inlinable @inline(__always)
    public mutating func objects<Element>(
        _ key: StaticString, _ elements: some Sequence<Element>, onLines: Bool = false,
        _ body: (inout LineBuffer, Element) -> Void
    ) {
        array(key, elements, onLines: onLines) { buffer, element in buffer.object { body(&$0, element) } }
    }

    // MARK: Numbers

    /// Appends an integer in decimal.
    @inlinable @inline(__always)
    public mutating func append(_ number: Int) {
        reserve(20)
        if number < 0 {
            unsafe storage[filled] = UInt8(ascii: "-")
            filled += 1
        }
        let magnitude = number.magnitude
        guard magnitude < 100_000_000 else { return storeLarge(magnitude) }
        storeSmall(magnitude)
    }

    /// Appends a number with at most eight digits. The caller must have made room with ``reserve(_:)``.
    @inlinable @inline(__always)
    mutating func storeSmall(_ number: UInt) {
        var digits = 1
        var bound: UInt = 10
        while number >= bound {
            digits += 1
            bound &*= 10
        }
        store(number, digits: digits)
    }

    /// Appends a number with more digits, such as a time or an identifier, eight digits at a time.
    @usableFromInline @inline(never)
    mutating func storeLarge(_ number: UInt) {
        let (high, low) = number.quotientAndRemainder(dividingBy: 100_000_000)
        if high < 100_000_000 { storeSmall(high) } else { storeLarge(high) }
        store(low, digits: 8)
    }

    /// Appends a number with exactly `digits` decimal digits, with leading zeros.
    @inlinable @inline(__always)
    public mutating func append(_ number: Int, digits: Int) {
        reserve(digits)
        store(number.magnitude, digits: digits)
    }

    /// Appends the last `digits` decimal digits of a number, two for each division. The caller must have made room with
    /// ``reserve(_:)``.
    @inlinable @inline(__always)
    mutating func store(_ number: UInt, digits: Int) {
        let start = unsafe storage + filled
        var rest = number
        var place = digits
        while place >= 2 {
            let (quotient, pair) = rest.quotientAndRemainder(dividingBy: 100)
            rest = quotient
            // For numbers below 100, this is a division by ten.
            let tens = (pair &* 103) >> 10
            place -= 2
            unsafe start[place] = 0x30 + UInt8(truncatingIfNeeded: tens)
            unsafe start[place + 1] = 0x30 + UInt8(truncatingIfNeeded: pair &- tens &* 10)
        }
        if place == 1 { unsafe start[0] = 0x30 + UInt8(truncatingIfNeeded: rest % 10) }
        filled += digits
    }

    /// Appends two hexadecimal digits in upper case.
    public mutating func append(hexadecimal byte: UInt8) {
        append(byte: Self.digit(byte >> 4))
        append(byte: Self.digit(byte & 0xF))
    }

    /// Appends a number of tenths with one decimal: `-61.5`.
    public mutating func append(tenths: Int) {
        if tenths < 0 { append(byte: UInt8(ascii: "-")) }
        append(Int(tenths.magnitude / 10))
        append(byte: UInt8(ascii: "."))
        append(Int(tenths.magnitude % 10))
    }

    /// Appends a decimal number, given in millionths, with one to six decimals and without further trailing zeros:
    /// `0.0`, `1.5`.
    ///
    /// It always has a decimal point. Some readers, such as databases that create columns from first values, derive the
    /// type of a number from its notation. For them, the type would change otherwise.
    public mutating func append(millionths: Int64) {
        if millionths < 0 { append(byte: UInt8(ascii: "-")) }
        let magnitude = millionths.magnitude
        append(Int(truncatingIfNeeded: magnitude / 1_000_000))
        var fraction = Int(truncatingIfNeeded: magnitude % 1_000_000)
        var digits = 6
        while fraction % 10 == 0, digits > 1 {
            fraction /= 10
            digits -= 1
        }
        append(byte: UInt8(ascii: "."))
        append(fraction, digits: digits)
    }

    // MARK: Dates (RFC 3339, UTC)

    /// Appends a date, given in microseconds since the start of 1970: `2026-11-21T07:46:27.123456Z`.
    public mutating func append(date microseconds: Int64) {
        let (second, rest) = Self.split(microseconds, by: 1_000_000)
        append(second: second)
        append(rest, digits: 6)
        append(byte: UInt8(ascii: "Z"))
    }

    /// Appends a date, given in nanoseconds since the start of 1970. It has nine decimals if six are not exact.
    public mutating func append(dateOfNanoseconds nanoseconds: Int64) {
        let (second, rest) = Self.split(nanoseconds, by: 1_000_000_000)
        append(second: second)
        if rest % 1000 == 0 { append(rest / 1000, digits: 6) } else { append(rest, digits: 9) }
        append(byte: UInt8(ascii: "Z"))
    }

    /// Writes a date, given in nanoseconds since the start of 1970: ``append(dateOfNanoseconds:)``.
    @inlinable @inline(__always)
    public mutating func write(_ key: StaticString, dateOfNanoseconds nanoseconds: Int64) {
        self.key(key)
        quoted { $0.append(dateOfNanoseconds: nanoseconds) }
    }

    private mutating func append(second: Int) {
        let slot = second & 63
        if secondTexts[slot].second != second { secondTexts[slot] = SecondText(second) }
        append(secondTexts[slot].text)
    }

    /// Returns the quotient of `value` and `size`, rounded down, and the remainder, which is not negative.
    package static func split(_ value: Int64, by size: Int64) -> (Int, Int) {
        let rest = value % size
        return rest < 0 ? (Int(value / size) - 1, Int(rest + size)) : (Int(value / size), Int(rest))
    }

    // MARK: Identities

    /// Appends a UUID in upper case with hyphens.
    public mutating func append(_ uuid: ProximityUUID) {
        reserve(36)
        // The groups have 8-4-4-4-12 digits. If a word contains two groups, its halves are written separately.
        let words = (
            Self.digits(uuid.high >> 32), Self.digits(uuid.high), Self.digits(uuid.low >> 32), Self.digits(uuid.low)
        )
        store(words.0, at: 0)
        store(UInt8(ascii: "-"), at: 8)
        store(UInt32(truncatingIfNeeded: words.1), at: 9)
        store(UInt8(ascii: "-"), at: 13)
        store(UInt32(truncatingIfNeeded: words.1 >> 32), at: 14)
        store(UInt8(ascii: "-"), at: 18)
        store(UInt32(truncatingIfNeeded: words.2), at: 19)
        store(UInt8(ascii: "-"), at: 23)
        store(UInt32(truncatingIfNeeded: words.2 >> 32), at: 24)
        store(words.3, at: 28)
        filled += 36
    }

    /// Returns the eight hexadecimal digits of the low 32 bits of `value` in upper case, the first digit in the lowest
    /// byte.
    @inline(__always)
    private static func digits(_ value: UInt64) -> UInt64 {
        // All eight digits are computed at once: each nibble gets its own byte, then ten and more become letters.
        var nibbles = value & 0xFFFF_FFFF
        nibbles = (nibbles | nibbles << 16) & 0x0000_FFFF_0000_FFFF
        nibbles = (nibbles | nibbles << 8) & 0x00FF_00FF_00FF_00FF
        nibbles = (nibbles | nibbles << 4) & 0x0F0F_0F0F_0F0F_0F0F
        let isLetter = (nibbles &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        return (nibbles &+ 0x3030_3030_3030_3030 &+ isLetter &* 7).bigEndian
    }

    /// Writes a value `offset` bytes after the end. The caller must have made room with ``reserve(_:)``.
    @inline(__always)
    private func store<Value: FixedWidthInteger & BitwiseCopyable>(_ value: Value, at offset: Int) {
        unsafe UnsafeMutableRawPointer(storage + filled + offset)
            .storeBytes(of: value.littleEndian, as: Value.self)
    }

    /// Appends a device address: six pairs of hexadecimal digits in upper case.
    public mutating func append(_ address: DeviceAddress) {
        reserve(17)
        let first = Self.digits(address.value >> 16)
        let last = Self.digits(address.value & 0xFFFF)
        for index in 0..<4 {
            store(UInt16(truncatingIfNeeded: first >> UInt64(16 * index)), at: 3 * index)
            store(UInt8(ascii: ":"), at: 3 * index + 2)
        }
        store(UInt16(truncatingIfNeeded: last >> 32), at: 12)
        store(UInt8(ascii: ":"), at: 14)
        store(UInt16(truncatingIfNeeded: last >> 48), at: 15)
        filled += 17
    }

    /// Appends the bytes of the beacon's `description` without allocating a string.
    package mutating func append(_ beacon: BeaconIdentity) {
        let separator = UInt8(ascii: BeaconIdentity.separator)
        append(beacon.uuid)
        append(byte: separator)
        append(Int(beacon.major))
        append(byte: separator)
        append(Int(beacon.minor))
    }

    /// Writes a UUID.
    @inlinable @inline(__always)
    public mutating func write(_ key: StaticString, _ uuid: ProximityUUID) {
        self.key(key)
        quoted { $0.append(uuid) }
    }

    /// Writes a device address.
    @inlinable @inline(__always)
    public mutating func write(_ key: StaticString, _ address: DeviceAddress) {
        self.key(key)
        quoted { $0.append(address) }
    }

    /// Writes the identity of a beacon: `uuid`, `major`, `minor`.
    @inlinable @inline(__always)
    public mutating func write(_ beacon: BeaconIdentity) {
        write(BeaconIdentity.Part.uuid.key, beacon.uuid)
        write(BeaconIdentity.Part.major.key, beacon.major)
        write(BeaconIdentity.Part.minor.key, beacon.minor)
    }

    // MARK: Copies of JSON text

    /// Appends a value of a parsed text.
    ///
    /// The result is on one line, without white space between its tokens. Strings have the escapes of this buffer, and
    /// U+FFFD for invalid UTF-8. A value that a buffer of the same kind wrote is copied byte for byte.
    ///
    /// - Parameters:
    ///   - text: the text, after a successful ``JSONText/parse()``.
    ///   - place: the place of the value; 0 is the outermost.
    package mutating func append(_ text: JSONText, at place: Int) {
        switch text.values[place].kind {
        case .object:
            object { buffer in
                text.eachMember(of: place) { key, value in
                    buffer.key(named: text.string(key) ?? "")
                    buffer.append(text, at: value)
                }
            }
        case .array: array(text.elements(of: place)) { $0.append(text, at: $1) }
        case .string: string(text.string(place) ?? "")
        case .number: append(Array(text.bytes(of: place)))
        case .yes: append("true")
        case .no: append("false")
        case .null: append("null")
        }
    }
}

/// The first bytes of a date, up to the decimal point of its second: `2026-11-21T07:46:27.`.
struct SecondText {
    /// Seconds since 1970-01-01T00:00:00Z.
    let second: Int
    let text: InlineArray<20, UInt8>

    /// Creates an empty entry, which matches no second that is written.
    init() {
        second = .min
        text = InlineArray(repeating: 0)
    }

    init(_ second: Int) {
        self.second = second
        let days = second >= 0 ? second / 86_400 : (second - 86_399) / 86_400
        let date = CivilDate(day: days)
        let rest = second - days * 86_400
        var text = InlineArray<20, UInt8>(repeating: UInt8(ascii: "-"))
        func put(_ number: Int, at place: Int) {
            let pair = UInt32(truncatingIfNeeded: number)
            let tens = pair / 10
            text[place] = 0x30 + UInt8(truncatingIfNeeded: tens)
            text[place + 1] = 0x30 + UInt8(truncatingIfNeeded: pair &- tens &* 10)
        }
        let ofDay = UInt32(truncatingIfNeeded: rest)
        put(date.year / 100 % 100, at: 0)
        put(date.year % 100, at: 2)
        put(date.month, at: 5)
        put(date.day, at: 8)
        put(Int(ofDay / 3600), at: 11)
        put(Int(ofDay / 60 % 60), at: 14)
        put(Int(ofDay % 60), at: 17)
        text[10] = UInt8(ascii: "T")
        text[13] = UInt8(ascii: ":")
        text[16] = UInt8(ascii: ":")
        text[19] = UInt8(ascii: ".")
        self.text = text
    }
}

extension DeviceAddress.Kind {
    /// The address type in lines and in the advertisement log; `nil` if the source did not report it.
    package var word: StaticString? {
        switch self {
        case .public: "public"
        case .random: "random"
        case .publicIdentity: "publicIdentity"
        case .randomIdentity: "randomIdentity"
        case .unresolved: "unresolved"
        case .unspecified: nil
        }
    }
}
