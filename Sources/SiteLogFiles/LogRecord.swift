import BluetoothLE
import SiteLog

/// A batch or an event as it stands in a file: the length of its body, that once more with each bit the other way, the check
/// of the body (``CRC32``), 32 bits each; the body. That is when it was stored, nanoseconds in 64 bits; a batch's key (the length of the gateway's name in 8 bits, the
/// name, the boot in 128 bits, the sequence in 64); the octets. Numbers have their lowest octet first.
struct LogRecord {
    /// What stands before each body.
    static let headOctets = 12
    // A batch's key at its longest, and the time.
    private static let bodyExtraMax = 8 + 1 + LogName.octetsMax + 16 + 8
    // No log takes anything bigger; a length beyond it is damage.
    private static let bodyMax = 8 << 20

    var stored: Instant
    var key: BatchKey?
    var octets: [UInt8]

    /// As it is written.
    var encoded: [UInt8] {
        var body: [UInt8] = []
        body.reserveCapacity(octets.count + Self.bodyExtraMax)
        body.append(number: UInt64(bitPattern: stored.nanoseconds))
        if let key {
            let name = Array(key.gateway.description.utf8)
            body.append(UInt8(name.count))
            body += name
            body.append(number: key.boot)
            body.append(number: key.sequence)
        }
        body += octets
        var record: [UInt8] = []
        record.reserveCapacity(Self.headOctets + body.count)
        record.append(number: UInt32(body.count))
        // A length that is damaged must not be taken for a record that a power cut has shortened.
        record.append(number: ~UInt32(body.count))
        record.append(number: CRC32.of(body))
        return record + body
    }

    /// How long a body is, by its head; absent where that can't be.
    static func bodyLength(_ head: ArraySlice<UInt8>) -> Int? {
        var head = head
        guard let length = head.takeNumber(UInt32.self), let other = head.takeNumber(UInt32.self), length == ~other,
            length >= 8, length <= bodyMax
        else { return nil }
        return Int(length)
    }

    /// What a head and its body say; absent where the body is not what was written.
    static func parse(_ record: ArraySlice<UInt8>, hasKey: Bool) -> LogRecord? {
        var rest = record
        guard rest.takeNumber(UInt64.self) != nil, let check = rest.takeNumber(UInt32.self), CRC32.of(rest) == check,
            let stored = rest.takeNumber(UInt64.self)
        else { return nil }
        var key: BatchKey?
        if hasKey {
            guard let length = rest.popFirst(), rest.count >= Int(length) else { return nil }
            let text = String(decoding: rest.prefix(Int(length)), as: UTF8.self)
            rest = rest.dropFirst(Int(length))
            guard let boot = rest.takeNumber(UInt128.self), let sequence = rest.takeNumber(UInt64.self) else {
                return nil
            }
            do throws(LogTrouble) {
                key = BatchKey(gateway: try LogName(text), boot: boot, sequence: sequence)
            } catch { return nil }
        }
        return LogRecord(
            stored: Instant(nanoseconds: Int64(bitPattern: stored)), key: key, octets: Array(rest))
    }
}

extension [UInt8] {
    /// Appends a number, its lowest octet first.
    mutating func append<Number: FixedWidthInteger>(number: Number) {
        for shift in stride(from: 0, to: Number.bitWidth, by: 8) { append(UInt8(truncatingIfNeeded: number >> shift)) }
    }
}

extension ArraySlice<UInt8> {
    /// Takes a number off the front, its lowest octet first; absent where too little is there.
    mutating func takeNumber<Number: FixedWidthInteger>(_: Number.Type) -> Number? {
        let size = Number.bitWidth / 8
        guard count >= size else { return nil }
        defer { self = dropFirst(size) }
        return prefix(size).reversed().reduce(0) { $0 << 8 | Number(truncatingIfNeeded: $1) }
    }
}
