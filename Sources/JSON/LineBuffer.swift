import BaseTypes
public import BluetoothLE

/// Octets of output on their way to a file: what lines are written into, without allocating for each.
///
/// Safe to use: every write makes room first, and what is handed out are the octets written.
///
/// Members that other targets inline are `public`, although no product contains `JSON`: for an `@inlinable package` function,
/// Swift 6.3 keeps no body for other targets, so each key of a line would be a call.
@safe public struct LineBuffer: ~Copyable {
    @usableFromInline var storage: UnsafeMutablePointer<UInt8>
    @usableFromInline var capacity: Int
    @usableFromInline var filled = 0
    /// Whether a character may stand in a JSON string as it is, where not all may that RFC 8259 lets.
    let mayStand: (@Sendable (Unicode.Scalar) -> Bool)?
    // The text of seconds that were written lately, up to and with the decimal point, by the second's low bits: the
    // dates of a line, and of lines that follow one another, share few.
    private var secondTexts = ContiguousArray(repeating: SecondText(), count: 64)

    /// An empty buffer; it grows where one line needs more than `capacity`.
    ///
    /// - Parameters:
    ///   - capacity: how many octets it holds at first.
    ///   - mayStand: which characters stand in JSON strings as they are; the others are escaped. Without it, all that
    ///     RFC 8259 §7 lets.
    public init(capacity: Int = 65_536, mayStand: (@Sendable (Unicode.Scalar) -> Bool)? = nil) {
        self.capacity = max(capacity, 1024)
        unsafe storage = .allocate(capacity: self.capacity)
        self.mayStand = mayStand
    }

    deinit { unsafe storage.deallocate() }

    /// How many octets wait.
    @inlinable public var count: Int { filled }

    /// The octets that wait.
    public func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(UnsafeRawBufferPointer(start: storage, count: filled))
    }

    /// The octets that wait, as an array.
    public var bytes: [UInt8] { unsafe Array(UnsafeBufferPointer(start: storage, count: filled)) }
    /// The octets that wait, as text.
    public var text: String {
        unsafe String(decoding: UnsafeBufferPointer(start: storage, count: filled), as: UTF8.self)
    }

    /// Forgets what waits and keeps the memory.
    public mutating func removeAll() { filled = 0 }

    /// Forgets the first `size` octets that wait.
    public mutating func removeFirst(_ size: Int) {
        let size = min(max(size, 0), filled)
        guard size > 0 else { return }
        unsafe storage.update(from: storage + size, count: filled - size)
        filled -= size
    }

    /// Takes back the octet that was appended last.
    public mutating func removeLast() { filled = max(0, filled - 1) }

    /// Whether `octet` was appended last.
    @inlinable @inline(__always)
    func ends(with octet: UInt8) -> Bool { unsafe filled > 0 && storage[filled - 1] == octet }

    /// Makes room for `size` octets more.
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

    // Each writes only where `reserve` made room.

    /// Appends text as it is.
    @inlinable @inline(__always)
    public mutating func append(_ text: StaticString) {
        let size = text.utf8CodeUnitCount
        reserve(size)
        unsafe (storage + filled).update(from: text.utf8Start, count: size)
        filled += size
    }

    /// Appends text as it is.
    public mutating func append(text: String) {
        var text = text
        text.withUTF8 { octets in
            guard let start = octets.baseAddress else { return }
            reserve(octets.count)
            unsafe (storage + filled).update(from: start, count: octets.count)
            filled += octets.count
        }
    }

    /// Appends octets as they are.
    public mutating func append(_ octets: [UInt8]) {
        reserve(octets.count)
        unsafe octets.withUnsafeBufferPointer { source in
            guard let start = source.baseAddress else { return }
            unsafe (storage + filled).update(from: start, count: source.count)
        }
        filled += octets.count
    }

    /// Appends the twenty octets that a date begins with.
    @inline(__always)
    mutating func append(_ text: InlineArray<20, UInt8>) {
        reserve(20)
        unsafe UnsafeMutableRawPointer(storage + filled)
            .storeBytes(of: text, as: InlineArray<20, UInt8>.self)
        filled += 20
    }

    /// Appends one octet.
    @inlinable @inline(__always)
    public mutating func append(octet: UInt8) {
        reserve(1)
        unsafe storage[filled] = octet
        filled += 1
    }

    @inline(__always)
    static func digit(_ nibble: UInt8) -> UInt8 { nibble < 10 ? 0x30 + nibble : 0x37 + nibble }

    // MARK: Values

    // JSON is written in its order (RFC 8259). Braces, brackets, commas and quotation marks are written only here. A function
    // that opens an object or an array also closes it.

    /// Appends an object: `body` writes its members.
    @inlinable @inline(__always)
    public mutating func object(_ body: (inout LineBuffer) -> Void) {
        append(octet: UInt8(ascii: "{"))
        body(&self)
        append(octet: UInt8(ascii: "}"))
    }

    /// Appends an array: `body` writes the value of each element.
    ///
    /// - Parameters:
    ///   - elements: the elements.
    ///   - onLines: whether each stands on a line of its own, for people.
    ///   - body: writes one.
    @inlinable @inline(__always)
    public mutating func array<Element>(
        _ elements: some Sequence<Element>, onLines: Bool = false, _ body: (inout LineBuffer, Element) -> Void
    ) {
        append(octet: UInt8(ascii: "["))
        for element in elements {
            // No value ends with what an array begins with.
            if !ends(with: UInt8(ascii: "[")) { append(octet: UInt8(ascii: ",")) }
            if onLines { append(octet: 0x0A) }
            body(&self, element)
        }
        append(octet: UInt8(ascii: "]"))
    }

    /// Appends a string of what `body` appends, which needs no escapes.
    @inlinable @inline(__always)
    public mutating func quoted(_ body: (inout LineBuffer) -> Void) {
        append(octet: UInt8(ascii: "\""))
        body(&self)
        append(octet: UInt8(ascii: "\""))
    }

    /// Appends a string.
    @inlinable @inline(__always)
    public mutating func string(_ text: String) { quoted { $0.append(escaped: text) } }

    /// Appends text as the inside of a JSON string (§7).
    public mutating func append(escaped text: String) {
        if mayStand != nil, !text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }), let mayStand {
            return append(escaped: text, unless: mayStand)
        }
        var text = text
        text.withUTF8 { octets in
            guard let first = octets.baseAddress else { return }
            reserve(6 * octets.count)
            let start = unsafe storage + filled
            var index = 0
            // Most names hold nothing to escape: they are copied as they are looked at, eight octets at once.
            while index + 8 <= octets.count {
                let word = unsafe UnsafeRawPointer(first + index).loadUnaligned(as: UInt64.self)
                if Self.needsEscape(word) { break }
                unsafe UnsafeMutableRawPointer(start + index).storeBytes(of: word, as: UInt64.self)
                index += 8
            }
            while index < octets.count, unsafe !Self.needsEscape(octets[index]) {
                unsafe start[index] = octets[index]
                index += 1
            }
            filled += index
            while index < octets.count {
                unsafe appendEscaped(octets[index])
                index += 1
            }
        }
    }

    private mutating func append(escaped text: String, unless mayStand: (Unicode.Scalar) -> Bool) {
        for scalar in text.unicodeScalars {
            if mayStand(scalar) {
                for octet in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter { appendEscaped(octet) }
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
    private static func needsEscape(_ octet: UInt8) -> Bool {
        octet < 0x20 || octet == UInt8(ascii: "\"") || octet == UInt8(ascii: "\\")
    }

    /// Whether one of eight octets has to be escaped: in each octet the highest bit is told of what is less than 0x20,
    /// or 0 once `"` or `\` is taken from it.
    @inline(__always)
    private static func needsEscape(_ octets: UInt64) -> Bool {
        let (each, highest): (UInt64, UInt64) = (0x0101_0101_0101_0101, 0x8080_8080_8080_8080)
        let quotes = octets ^ (each &* UInt64(UInt8(ascii: "\"")))
        let backslashes = octets ^ (each &* UInt64(UInt8(ascii: "\\")))
        let controls = (octets &- each &* 0x20) & ~octets
        return (controls | (quotes &- each) & ~quotes | (backslashes &- each) & ~backslashes) & highest != 0
    }

    private mutating func appendEscaped(_ octet: UInt8) {
        switch octet {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            append(octet: UInt8(ascii: "\\"))
            append(octet: octet)
        case 0..<0x20:
            append("\\u00")
            append(hexadecimal: octet)
        default:
            append(octet: octet)
        }
    }

    // MARK: Members

    // Each writes only where `reserve` made room.

    /// Begins a member of the object that is being written; its value comes next.
    @inlinable @inline(__always)
    public mutating func key(_ key: StaticString) {
        let size = key.utf8CodeUnitCount
        reserve(size + 4)
        // No value ends with what an object begins with.
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

    /// Appends members of the object that is being written as they were written before: `"a":1,"b":2`.
    public mutating func append(members: [UInt8]) {
        if !ends(with: UInt8(ascii: "{")) { append(octet: UInt8(ascii: ",")) }
        append(members)
    }

    /// The same under a name that is no literal.
    public mutating func key(named key: String) {
        if !ends(with: UInt8(ascii: "{")) { append(octet: UInt8(ascii: ",")) }
        string(key)
        append(octet: UInt8(ascii: ":"))
    }

    /// Writes a whole number under a name that is no literal.
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

    /// Writes a text; nothing where there is none: absent is absent.
    @inlinable @inline(__always)
    public mutating func write(_ key: StaticString, _ text: String?) {
        if let text { write(key, text) }
    }

    /// Writes a word, which needs no escapes.
    @inlinable @inline(__always)
    public mutating func write(_ key: StaticString, word: StaticString) {
        self.key(key)
        quoted { $0.append(word) }
    }

    /// Writes a whole number.
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

    /// Writes a number of seconds, exact to the microsecond; what is finer is cut off.
    public mutating func write(_ key: StaticString, seconds duration: Duration) {
        write(key, millionths: duration.nanoseconds / 1000)
    }

    /// Writes a decimal number of so many millionths: ``append(millionths:)``.
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

    /// Writes texts.
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

    /// Appends a number in decimal.
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

    /// Appends a number of eight digits at most, for which ``reserve(_:)`` made room.
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

    /// The same of more digits, as times and identifiers have them: eight after eight.
    @usableFromInline @inline(never)
    mutating func storeLarge(_ number: UInt) {
        let (high, low) = number.quotientAndRemainder(dividingBy: 100_000_000)
        if high < 100_000_000 { storeSmall(high) } else { storeLarge(high) }
        store(low, digits: 8)
    }

    /// Appends a number of exactly `digits` decimal digits, zeros in front.
    @inlinable @inline(__always)
    public mutating func append(_ number: Int, digits: Int) {
        reserve(digits)
        store(number.magnitude, digits: digits)
    }

    /// Appends the last `digits` decimal digits of a number, for which ``reserve(_:)`` made room: two with each division.
    @inlinable @inline(__always)
    mutating func store(_ number: UInt, digits: Int) {
        let start = unsafe storage + filled
        var rest = number
        var place = digits
        while place >= 2 {
            let (quotient, pair) = rest.quotientAndRemainder(dividingBy: 100)
            rest = quotient
            // Of less than a hundred this is the tenth.
            let tens = (pair &* 103) >> 10
            place -= 2
            unsafe start[place] = 0x30 + UInt8(truncatingIfNeeded: tens)
            unsafe start[place + 1] = 0x30 + UInt8(truncatingIfNeeded: pair &- tens &* 10)
        }
        if place == 1 { unsafe start[0] = 0x30 + UInt8(truncatingIfNeeded: rest % 10) }
        filled += digits
    }

    /// Appends two hexadecimal digits, upper case.
    public mutating func append(hexadecimal octet: UInt8) {
        append(octet: Self.digit(octet >> 4))
        append(octet: Self.digit(octet & 0xF))
    }

    /// Appends a number of tenths with its decimal: `-61.5`.
    public mutating func append(tenths: Int) {
        if tenths < 0 { append(octet: UInt8(ascii: "-")) }
        append(Int(tenths.magnitude / 10))
        append(octet: UInt8(ascii: "."))
        append(Int(tenths.magnitude % 10))
    }

    /// Appends a decimal number of so many millionths, of one to six decimals, without more trailing zeros: `0.0`, `1.5`.
    ///
    /// Always with a decimal point, since readers that take a number's type from how it is written (databases that make
    /// columns of first values) would have it change.
    public mutating func append(millionths: Int64) {
        if millionths < 0 { append(octet: UInt8(ascii: "-")) }
        let magnitude = millionths.magnitude
        append(Int(truncatingIfNeeded: magnitude / 1_000_000))
        var fraction = Int(truncatingIfNeeded: magnitude % 1_000_000)
        var digits = 6
        while fraction % 10 == 0, digits > 1 {
            fraction /= 10
            digits -= 1
        }
        append(octet: UInt8(ascii: "."))
        append(fraction, digits: digits)
    }

    // MARK: Dates (RFC 3339, UTC)

    /// Appends the date so many microseconds after the beginning of 1970: `2026-11-21T07:46:27.123456Z`.
    public mutating func append(date microseconds: Int64) {
        let (second, rest) = Self.split(microseconds, by: 1_000_000)
        append(second: second)
        append(rest, digits: 6)
        append(octet: UInt8(ascii: "Z"))
    }

    /// The same of nanoseconds, of which a date has nine digits where six don't say all.
    public mutating func append(dateOfNanoseconds nanoseconds: Int64) {
        let (second, rest) = Self.split(nanoseconds, by: 1_000_000_000)
        append(second: second)
        if rest % 1000 == 0 { append(rest / 1000, digits: 6) } else { append(rest, digits: 9) }
        append(octet: UInt8(ascii: "Z"))
    }

    /// Writes the date so many nanoseconds after the beginning of 1970: ``append(dateOfNanoseconds:)``.
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

    /// The whole parts of `size` in a value, and what is left, which is not negative.
    package static func split(_ value: Int64, by size: Int64) -> (Int, Int) {
        let rest = value % size
        return rest < 0 ? (Int(value / size) - 1, Int(rest + size)) : (Int(value / size), Int(rest))
    }

    // MARK: Identities

    /// Appends a UUID: upper case with hyphens.
    public mutating func append(_ uuid: ProximityUUID) {
        reserve(36)
        // 8-4-4-4-12 digits: where two groups share a word its halves are written apart.
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

    /// The eight hexadecimal digits of the low 32 bits of `value`, the first in the lowest octet, upper case.
    @inline(__always)
    private static func digits(_ value: UInt64) -> UInt64 {
        // Each nibble to an octet of its own, then ten and more to the letters: all eight at once.
        var nibbles = value & 0xFFFF_FFFF
        nibbles = (nibbles | nibbles << 16) & 0x0000_FFFF_0000_FFFF
        nibbles = (nibbles | nibbles << 8) & 0x00FF_00FF_00FF_00FF
        nibbles = (nibbles | nibbles << 4) & 0x0F0F_0F0F_0F0F_0F0F
        let isLetter = (nibbles &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        return (nibbles &+ 0x3030_3030_3030_3030 &+ isLetter &* 7).bigEndian
    }

    /// Writes a value `offset` octets on, for which ``reserve(_:)`` made room.
    @inline(__always)
    private func store<Value: FixedWidthInteger & BitwiseCopyable>(_ value: Value, at offset: Int) {
        unsafe UnsafeMutableRawPointer(storage + filled + offset)
            .storeBytes(of: value.littleEndian, as: Value.self)
    }

    /// Appends a device address: six pairs of upper-case hexadecimal digits.
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
        append(octet: separator)
        append(Int(beacon.major))
        append(octet: separator)
        append(Int(beacon.minor))
    }

    /// Writes a UUID.
    @inlinable @inline(__always)
    public mutating func write(_ key: StaticString, _ uuid: ProximityUUID) {
        self.key(key)
        quoted { $0.append(uuid) }
    }

    /// Writes a device's address.
    @inlinable @inline(__always)
    public mutating func write(_ key: StaticString, _ address: DeviceAddress) {
        self.key(key)
        quoted { $0.append(address) }
    }

    /// Writes what tells a beacon from others: `uuid`, `major`, `minor`.
    @inlinable @inline(__always)
    public mutating func write(_ beacon: BeaconIdentity) {
        write(BeaconIdentity.Part.uuid.key, beacon.uuid)
        write(BeaconIdentity.Part.major.key, beacon.major)
        write(BeaconIdentity.Part.minor.key, beacon.minor)
    }

    // MARK: Copies of JSON text

    /// Appends a value of a parsed text.
    ///
    /// It is on one line, without white space between its tokens. Strings have this buffer's escapes, and U+FFFD for invalid
    /// UTF-8. A value that a buffer of the same kind wrote is copied byte for byte.
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
        case .number: append(Array(text.octets(place)))
        case .yes: append("true")
        case .no: append("false")
        case .null: append("null")
        }
    }
}

/// A second as dates begin: `2026-11-21T07:46:27.`.
struct SecondText {
    /// Seconds since 1970-01-01T00:00:00Z.
    let second: Int
    let text: InlineArray<20, UInt8>

    /// No second's.
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
    /// The type as lines and the advertisement log spell it; `nil` where the source did not say.
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
