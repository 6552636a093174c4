import BaseTypes
import BluetoothLE

/// Reads values from the bytes of a possible batch. Each error has the index of the byte at which data are missing or
/// invalid.
struct BatchReader: ~Copyable {
    private let bytes: [UInt8]
    /// The index of the next byte.
    private(set) var place: Int
    // The end of the bytes that can be read.
    private let end: Int

    init(_ bytes: [UInt8], from place: Int, to end: Int) {
        self.bytes = bytes
        self.place = place
        self.end = end
    }

    /// The number of remaining bytes.
    var left: Int { end - place }

    /// Returns an error at the current byte, about the value that was read last or is read next.
    func invalid(_ what: String) -> BatchFormatError { .invalid(at: place, what) }

    mutating func byte(_ what: String) throws(BatchFormatError) -> UInt8 {
        guard place < end else { throw .short(at: place, what) }
        defer { place += 1 }
        return bytes[place]
    }

    mutating func fixed<Number: FixedWidthInteger>(
        _: Number.Type, _ what: String
    ) throws(BatchFormatError) -> Number {
        let size = Number.bitWidth / 8
        guard left >= size else { throw .short(at: place, what) }
        var number: Number = 0
        for index in stride(from: size - 1, through: 0, by: -1) {
            number = number << 8 | Number(truncatingIfNeeded: bytes[place + index])
        }
        place += size
        return number
    }

    /// Reads a number of variable size, which must have no more bytes than necessary.
    mutating func variable(_ what: String) throws(BatchFormatError) -> UInt64 {
        var number: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let byte = try byte(what)
            // The tenth byte has room for the last bit only.
            guard shift < 63 || byte <= 1 else { throw invalid("\(what) has more than 64 bits") }
            number |= UInt64(byte & 0x7F) << shift
            guard byte & 0x80 != 0 else {
                guard byte != 0 || shift == 0 else { throw invalid("\(what) has more bytes than necessary") }
                return number
            }
            shift += 7
        }
    }

    /// Reads the number of elements that follow. It must not exceed the number of elements of `bytesMin` bytes that
    /// fit into the remaining bytes.
    mutating func count(_ what: String, bytesMin: Int) throws(BatchFormatError) -> Int {
        let count = try variable("the number of \(what)")
        guard count <= UInt64(left / bytesMin) else {
            throw invalid("\(count) \(what) do not fit into the remaining bytes")
        }
        return Int(count)
    }

    /// Reads a time, as the number of microseconds after another time.
    mutating func time(_ what: String, since earlier: Instant) throws(BatchFormatError) -> Instant {
        let (sum, overflow) = try variable(what).addingReportingOverflow(earlier.microseconds)
        guard !overflow else { throw invalid("\(what) is later than any time") }
        return try instant(sum, what)
    }

    /// Reads a time in microseconds.
    mutating func time(_ what: String) throws(BatchFormatError) -> Instant {
        try instant(try fixed(UInt64.self, what), what)
    }

    private func instant(_ microseconds: UInt64, _ what: String) throws(BatchFormatError) -> Instant {
        guard microseconds <= Instant.latest.microseconds else { throw invalid("\(what) is later than any time") }
        return Instant(nanoseconds: Int64(microseconds) * 1_000)
    }

    mutating func text(_ what: String, count: Int) throws(BatchFormatError) -> String {
        guard left >= count else { throw .short(at: place, what) }
        guard let text = String(validating: bytes[place..<(place + count)], as: UTF8.self) else {
            throw invalid("\(what) is not valid UTF-8")
        }
        place += count
        return text
    }

    /// Reads the number of bytes of a text, at most 255, and the text.
    mutating func short(_ what: String) throws(BatchFormatError) -> String {
        try text(what, count: Int(try byte(what)))
    }

    /// Reads an address, whose type was read before.
    mutating func address(_ kind: UInt8) throws(BatchFormatError) -> DeviceAddress {
        guard let kind = DeviceAddress.Kind(rawValue: kind) else { throw invalid("unknown type of address: \(kind)") }
        let low = try fixed(UInt32.self, "an address")
        let high = try fixed(UInt16.self, "an address")
        return DeviceAddress(UInt64(high) << 32 | UInt64(low), kind: kind)
    }
}
