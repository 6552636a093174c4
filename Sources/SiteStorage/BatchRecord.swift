import BaseTypes
import SiteMonitoring

/// A batch as stored in a file.
///
/// The record is the length of its body, the same with all bits inverted, the CRC-32 of the body, 32 bits each, and the
/// body. The body is when the batch was stored, nanoseconds in 64 bits, and the batch. Numbers are little-endian.
struct BatchRecord {
    /// The size of the head before each body, in bytes.
    static let headBytes = 12
    /// The maximum size of a batch, in bytes. A greater length is damage.
    static let bytesMax = 8 << 20
    private static let timeBytes = 8

    let stored: Instant
    let bytes: [UInt8]

    init(stored: Instant, bytes: [UInt8]) {
        self.stored = stored
        self.bytes = bytes
    }

    /// Parses a head and its body; `nil` if the body does not match its check or is too short.
    init?(_ record: ArraySlice<UInt8>) {
        var rest = record
        guard rest.takeNumber(UInt64.self) != nil, let check = rest.takeNumber(UInt32.self), CRC32.of(rest) == check,
            let stored = rest.takeNumber(UInt64.self)
        else { return nil }
        self.init(stored: Instant(nanoseconds: Int64(bitPattern: stored)), bytes: Array(rest))
    }

    /// The encoded record.
    var encoded: [UInt8] {
        var body: [UInt8] = []
        body.reserveCapacity(Self.timeBytes + bytes.count)
        body.append(number: UInt64(bitPattern: stored.nanoseconds))
        body += bytes
        var record: [UInt8] = []
        record.reserveCapacity(Self.headBytes + body.count)
        record.append(number: UInt32(body.count))
        // Without the inverted length, a damaged length would look like a record that a power failure shortened.
        record.append(number: ~UInt32(body.count))
        record.append(number: CRC32.of(body))
        return record + body
    }

    /// Returns the length of a body from its head; `nil` if the head is damaged.
    static func bodyLength(_ head: ArraySlice<UInt8>) -> Int? {
        var head = head
        guard let length = head.takeNumber(UInt32.self), let other = head.takeNumber(UInt32.self), length == ~other,
            length >= timeBytes, length <= timeBytes + bytesMax
        else { return nil }
        return Int(length)
    }
}

extension [UInt8] {
    /// Appends a number, its lowest byte first.
    mutating func append<Number: FixedWidthInteger>(number: Number) {
        for shift in stride(from: 0, to: Number.bitWidth, by: 8) { append(UInt8(truncatingIfNeeded: number >> shift)) }
    }
}

extension ArraySlice<UInt8> {
    /// Removes and returns a number from the front, its lowest byte first; `nil` if there are too few bytes.
    mutating func takeNumber<Number: FixedWidthInteger>(_: Number.Type) -> Number? {
        let size = Number.bitWidth / 8
        guard count >= size else { return nil }
        defer { self = dropFirst(size) }
        return prefix(size).reversed().reduce(0) { $0 << 8 | Number(truncatingIfNeeded: $1) }
    }
}
