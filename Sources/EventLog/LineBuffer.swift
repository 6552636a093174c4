public import BluetoothLE

/// Octets of output on their way to a file: what lines are written into, without allocating for each.
///
/// Safe to use: every write makes room first, and what is handed out are the octets written.
@safe public struct LineBuffer: ~Copyable {
    private var storage: UnsafeMutableBufferPointer<UInt8>
    /// How many octets wait.
    public private(set) var count = 0

    /// An empty buffer; it grows where one line needs more than `capacity`.
    public init(capacity: Int = 65_536) {
        unsafe storage = .allocate(capacity: max(capacity, 1024))
    }

    deinit { unsafe storage.deallocate() }

    /// The octets that wait.
    public func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(UnsafeRawBufferPointer(start: storage.baseAddress, count: count))
    }

    /// The octets that wait, as an array.
    public var bytes: [UInt8] { unsafe Array(storage[..<count]) }

    /// Forgets what waits and keeps the memory.
    public mutating func removeAll() { count = 0 }

    /// Takes back the octet that was appended last.
    mutating func dropLast() { count -= 1 }

    /// Makes room for `size` octets more.
    @inline(__always)
    private mutating func reserve(_ size: Int) {
        if unsafe storage.count - count < size { grow(size) }
    }

    @inline(never)
    private mutating func grow(_ size: Int) {
        let larger = unsafe UnsafeMutableBufferPointer<UInt8>.allocate(capacity: max(storage.count * 2, count + size))
        _ = unsafe larger.update(fromContentsOf: storage[..<count])
        unsafe storage.deallocate()
        unsafe storage = larger
    }

    // Each writes only where `reserve` made room.

    /// Appends text that needs no escaping.
    @inline(__always)
    public mutating func append(_ text: StaticString) {
        let size = text.utf8CodeUnitCount
        reserve(size)
        unsafe (storage.baseAddress! + count).update(from: text.utf8Start, count: size)
        count += size
    }

    /// Appends octets as they are.
    public mutating func append(_ octets: [UInt8]) {
        reserve(octets.count)
        unsafe octets.withUnsafeBufferPointer { source in
            guard let start = source.baseAddress else { return }
            unsafe (storage.baseAddress! + count).update(from: start, count: source.count)
        }
        count += octets.count
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
            for index in 0..<octets.count {
                let octet = unsafe octets[index]
                switch octet {
                case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                    unsafe storage[count] = UInt8(ascii: "\\")
                    unsafe storage[count + 1] = octet
                    count += 2
                case 0..<0x20:
                    append("\\u00")
                    append(octet: Self.digit(octet >> 4))
                    append(octet: Self.digit(octet & 0xF))
                default:
                    unsafe storage[count] = octet
                    count += 1
                }
            }
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
        for octet in 0..<16 {
            if octet == 4 || octet == 6 || octet == 8 || octet == 10 {
                unsafe storage[count] = UInt8(ascii: "-")
                count += 1
            }
            let half = octet < 8 ? uuid.high : uuid.low
            appendUnchecked(octet: UInt8(truncatingIfNeeded: half >> UInt64(56 - (octet & 7) * 8)))
        }
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
