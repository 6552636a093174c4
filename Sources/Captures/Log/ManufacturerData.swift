import BluetoothLE

/// The bytes of Manufacturer Specific Data (Bluetooth Core Specification Supplement Part A §1.4) without their AD
/// structure.
enum ManufacturerData {
    /// The company identifier of Apple.
    static let apple: UInt16 = 0x004C
    /// The number of bytes of an iBeacon after the company identifier.
    static let beaconBytes = IBeacon.manufacturerDataLength - 2

    /// Returns whether `bytes` are an iBeacon without its company identifier. No company has the identifier 0x1502.
    static func isBeaconWithoutCompany(_ bytes: Span<UInt8>) -> Bool {
        bytes.count >= beaconBytes && bytes[0] == 0x02 && bytes[1] == 0x15
    }

    /// Returns whether `bytes` are an iBeacon's manufacturer data, with or without the company identifier, and not AD
    /// structures.
    ///
    /// As AD structures, they would be damaged: 0x4C bytes of type 0x00, or service solicitation UUIDs of one byte.
    @inline(__always) static func isAlone(_ bytes: Span<UInt8>) -> Bool {
        guard bytes.count >= beaconBytes, bytes[0] == 0x4C || bytes[0] == 0x02 else { return false }
        if bytes[0] == 0x02 { return bytes[1] == 0x15 && bytes.count == beaconBytes }
        return bytes.count <= 0x4C && isBeacon(bytes)
    }

    /// Returns whether `bytes` start like an iBeacon with its company identifier.
    static func isBeacon(_ bytes: Span<UInt8>) -> Bool {
        bytes.count >= 4 && bytes[0] == 0x4C && bytes[1] == 0x00 && bytes[2] == 0x02 && bytes[3] == 0x15
    }

    /// Returns whether `bytes` are an iBeacon whose company identifier has the wrong byte order. No company has 0x4C00.
    static func isBeaconWithSwappedCompany(_ bytes: Span<UInt8>) -> Bool {
        bytes.count >= IBeacon.manufacturerDataLength && bytes[0] == 0x00 && bytes[1] == 0x4C && bytes[2] == 0x02
            && bytes[3] == 0x15
    }

    /// Returns whether `bytes` are AD structures with an iBeacon, and not manufacturer data.
    static func isStructures(_ bytes: Span<UInt8>) -> Bool {
        var structures = ADStructures()
        return (try? structures.nextBeacon(in: bytes)) != nil
    }

    /// Returns the company identifier of a key: decimal digits, or hexadecimal digits after `0x`.
    static func company(_ key: [UInt8]) -> UInt16? {
        let text = String(decoding: key, as: UTF8.self)
        let isHexadecimal = text.hasPrefix("0x") || text.hasPrefix("0X")
        let digits = isHexadecimal ? text.dropFirst(2) : text[...]
        guard digits.allSatisfy(\.isHexDigit) else { return nil }
        return UInt16(digits, radix: isHexadecimal ? 16 : 10)
    }

    /// Writes the AD structure of manufacturer data, and returns the place after it.
    ///
    /// The data are in `bytes`, at `place` or after it. If `company` is `nil`, they start with the company identifier.
    /// The structure can reach up to four bytes beyond them.
    static func write(
        _ data: Range<Int>, of company: UInt16?, to place: Int, in bytes: inout [UInt8]
    ) throws(LogProblem) -> Int {
        let header = company == nil ? 2 : 4
        let length = data.count + header - 1
        guard length <= UInt8.max else {
            throw LogProblem(.manufacturerData, "has \(data.count) bytes; must be at most \(256 - header)")
        }
        let target = place + header
        if target > data.lowerBound {
            for index in (0..<data.count).reversed() { bytes[target + index] = bytes[data.lowerBound + index] }
        } else {
            for index in 0..<data.count { bytes[target + index] = bytes[data.lowerBound + index] }
        }
        bytes[place] = UInt8(length)
        bytes[place + 1] = ADStructure.manufacturerSpecificData
        if let company {
            bytes[place + 2] = UInt8(truncatingIfNeeded: company)
            bytes[place + 3] = UInt8(truncatingIfNeeded: company >> 8)
        }
        return target + data.count
    }
}
