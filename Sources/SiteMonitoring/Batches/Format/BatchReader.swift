import BaseTypes
import BluetoothLE

/// Takes octets off the front of what is said to be a batch; what is not there, it says at which octet.
struct BatchReader: ~Copyable {
    private let octets: [UInt8]
    /// At which octet it is.
    private(set) var place: Int
    // Where what it may read ends.
    private let end: Int

    init(_ octets: [UInt8], from place: Int, to end: Int) {
        self.octets = octets
        self.place = place
        self.end = end
    }

    /// How many octets are left.
    var left: Int { end - place }

    /// What is the matter with what was read last, or is read next.
    func invalid(_ what: String) -> BatchFormatError { .invalid(at: place, what) }

    mutating func octet(_ what: String) throws(BatchFormatError) -> UInt8 {
        guard place < end else { throw .short(at: place, what) }
        defer { place += 1 }
        return octets[place]
    }

    mutating func fixed<Number: FixedWidthInteger>(
        _: Number.Type, _ what: String
    ) throws(BatchFormatError) -> Number {
        let size = Number.bitWidth / 8
        guard left >= size else { throw .short(at: place, what) }
        var number: Number = 0
        for index in stride(from: size - 1, through: 0, by: -1) {
            number = number << 8 | Number(truncatingIfNeeded: octets[place + index])
        }
        place += size
        return number
    }

    /// A number of variable size, which has to be in as few octets as it needs.
    mutating func variable(_ what: String) throws(BatchFormatError) -> UInt64 {
        var number: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let octet = try octet(what)
            // The tenth has room for the last bit alone.
            guard shift < 63 || octet <= 1 else { throw invalid("\(what) has more than 64 bits") }
            number |= UInt64(octet & 0x7F) << shift
            guard octet & 0x80 != 0 else {
                guard octet != 0 || shift == 0 else { throw invalid("\(what) has more octets than it needs") }
                return number
            }
            shift += 7
        }
    }

    /// How many things follow, of which each takes at least so many octets: no more than there is room for.
    mutating func count(_ what: String, octetsMin: Int) throws(BatchFormatError) -> Int {
        let count = try variable("the number of \(what)")
        guard count <= UInt64(left / octetsMin) else { throw invalid("\(count) \(what) do not fit into what is left") }
        return Int(count)
    }

    /// A moment so many microseconds after another.
    mutating func time(_ what: String, since earlier: Instant) throws(BatchFormatError) -> Instant {
        let (sum, overflow) = try variable(what).addingReportingOverflow(earlier.microseconds)
        guard !overflow else { throw invalid("\(what) is later than any time") }
        return try instant(sum, what)
    }

    /// A moment as microseconds.
    mutating func time(_ what: String) throws(BatchFormatError) -> Instant {
        try instant(try fixed(UInt64.self, what), what)
    }

    private func instant(_ microseconds: UInt64, _ what: String) throws(BatchFormatError) -> Instant {
        guard microseconds <= Instant.latest.microseconds else { throw invalid("\(what) is later than any time") }
        return Instant(nanoseconds: Int64(microseconds) * 1_000)
    }

    mutating func text(_ what: String, count: Int) throws(BatchFormatError) -> String {
        guard left >= count else { throw .short(at: place, what) }
        guard let text = String(validating: octets[place..<(place + count)], as: UTF8.self) else {
            throw invalid("\(what) is no UTF-8")
        }
        place += count
        return text
    }

    /// A text of at most 255 octets behind their number.
    mutating func short(_ what: String) throws(BatchFormatError) -> String {
        try text(what, count: Int(try octet(what)))
    }

    /// An address of the type that stands before it.
    mutating func address(_ kind: UInt8) throws(BatchFormatError) -> DeviceAddress {
        guard let kind = DeviceAddress.Kind(rawValue: kind) else { throw invalid("no type of address is \(kind)") }
        let low = try fixed(UInt32.self, "an address")
        let high = try fixed(UInt16.self, "an address")
        return DeviceAddress(UInt64(high) << 32 | UInt64(low), kind: kind)
    }
}
