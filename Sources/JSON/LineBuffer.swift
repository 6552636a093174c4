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
    var secondTexts = ContiguousArray(repeating: SecondText(), count: 64)

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
}
