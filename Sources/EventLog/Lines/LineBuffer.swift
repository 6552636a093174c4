public import BluetoothLE

/// Octets of output on their way to a file: what lines are written into, without allocating for each.
///
/// Safe to use: every write makes room first, and what is handed out are the octets written.
@safe public struct LineBuffer: ~Copyable {
    private var storage: UnsafeMutablePointer<UInt8>
    private var capacity: Int
    /// How many octets wait.
    public private(set) var count = 0
    // The text of seconds that were written lately, up to and with the decimal point, by the second's low bits: the
    // dates of a line, and of lines that follow one another, share few.
    var secondTexts = ContiguousArray(repeating: SecondText(), count: 64)

    /// An empty buffer; it grows where one line needs more than `capacity`.
    public init(capacity: Int = 65_536) {
        self.capacity = max(capacity, 1024)
        unsafe storage = .allocate(capacity: self.capacity)
    }

    deinit { unsafe storage.deallocate() }

    /// The octets that wait.
    public func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(UnsafeRawBufferPointer(start: storage, count: count))
    }

    /// The octets that wait, as an array.
    public var bytes: [UInt8] { unsafe Array(UnsafeBufferPointer(start: storage, count: count)) }

    /// Forgets what waits and keeps the memory.
    public mutating func removeAll() { count = 0 }

    /// Forgets the first `size` octets that wait.
    mutating func removeFirst(_ size: Int) {
        let size = min(max(size, 0), count)
        guard size > 0 else { return }
        unsafe storage.update(from: storage + size, count: count - size)
        count -= size
    }

    /// Takes back the octet that was appended last.
    mutating func dropLast() { count -= 1 }

    /// Makes room for `size` octets more.
    @inline(__always)
    private mutating func reserve(_ size: Int) {
        if capacity - count < size { grow(size) }
    }

    @inline(never)
    private mutating func grow(_ size: Int) {
        capacity = max(capacity * 2, count + size)
        let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
        unsafe larger.update(from: storage, count: count)
        unsafe storage.deallocate()
        unsafe storage = larger
    }

    // Each writes only where `reserve` made room.

    /// Appends text that needs no escaping.
    @inline(__always)
    public mutating func append(_ text: StaticString) {
        let size = text.utf8CodeUnitCount
        reserve(size)
        unsafe (storage + count).update(from: text.utf8Start, count: size)
        count += size
    }

    /// Appends octets as they are.
    public mutating func append(_ octets: [UInt8]) {
        reserve(octets.count)
        unsafe octets.withUnsafeBufferPointer { source in
            guard let start = source.baseAddress else { return }
            unsafe (storage + count).update(from: start, count: source.count)
        }
        count += octets.count
    }

    /// Appends the twenty octets that a date begins with.
    @inline(__always)
    mutating func append(_ text: InlineArray<20, UInt8>) {
        reserve(20)
        unsafe UnsafeMutableRawPointer(storage + count)
            .storeBytes(of: text, as: InlineArray<20, UInt8>.self)
        count += 20
    }

    /// Appends one octet.
    @inline(__always)
    public mutating func append(octet: UInt8) {
        reserve(1)
        unsafe storage[count] = octet
        count += 1
    }

    /// Appends `text` as the inside of a JSON string (RFC 8259 §7).
    public mutating func append(escaped text: String) {
        var text = text
        text.withUTF8 { octets in
            reserve(6 * octets.count)
            var index = 0
            // Most names hold nothing to escape: they are copied as they are looked at.
            while index < octets.count, unsafe !Self.needsEscape(octets[index]) {
                unsafe storage[count + index] = octets[index]
                index += 1
            }
            count += index
            while index < octets.count {
                unsafe appendEscaped(octets[index])
                index += 1
            }
        }
    }

    @inline(__always)
    private static func needsEscape(_ octet: UInt8) -> Bool {
        octet < 0x20 || octet == UInt8(ascii: "\"") || octet == UInt8(ascii: "\\")
    }

    private mutating func appendEscaped(_ octet: UInt8) {
        switch octet {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            append(octet: UInt8(ascii: "\\"))
            append(octet: octet)
        case 0..<0x20:
            append("\\u00")
            append(octet: Self.digit(octet >> 4))
            append(octet: Self.digit(octet & 0xF))
        default:
            append(octet: octet)
        }
    }

    /// Appends a number in decimal.
    @inline(__always)
    public mutating func append(_ number: Int) {
        reserve(20)
        if number < 0 {
            unsafe storage[count] = UInt8(ascii: "-")
            count += 1
        }
        var rest = number.magnitude
        var digits = 1
        var bound: UInt = 10
        while rest >= bound, digits < 20 {
            digits += 1
            let (next, overflow) = bound.multipliedReportingOverflow(by: 10)
            if overflow { break }
            bound = next
        }
        var place = count + digits
        count = place
        while digits > 0 {
            place -= 1
            digits -= 1
            unsafe storage[place] = 0x30 + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
    }

    /// Appends a number of exactly `digits` decimal digits, zeros in front.
    @inline(__always)
    public mutating func append(_ number: Int, digits: Int) {
        reserve(digits)
        var rest = number.magnitude
        var place = count + digits
        while place > count {
            place -= 1
            unsafe storage[place] = 0x30 + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
        count += digits
    }

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
        count += 36
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
        unsafe UnsafeMutableRawPointer(storage + count + offset)
            .storeBytes(of: value.littleEndian, as: Value.self)
    }

    /// Appends a device address: six pairs of upper-case hexadecimal digits.
    public mutating func append(_ address: DeviceAddress) {
        reserve(17)
        for index in 0..<6 {
            if index > 0 {
                unsafe storage[count] = UInt8(ascii: ":")
                count += 1
            }
            appendUnchecked(octet: UInt8(truncatingIfNeeded: address.value >> UInt64(40 - 8 * index)))
        }
    }

    @inline(__always)
    private mutating func appendUnchecked(octet: UInt8) {
        unsafe storage[count] = Self.digit(octet >> 4)
        unsafe storage[count + 1] = Self.digit(octet & 0xF)
        count += 2
    }

    @inline(__always)
    private static func digit(_ nibble: UInt8) -> UInt8 { nibble < 10 ? 0x30 + nibble : 0x37 + nibble }
}
