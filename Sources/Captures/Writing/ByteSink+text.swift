import BluetoothLE

extension ByteSink {
    private static func digit(_ nibble: UInt8) -> UInt8 { nibble < 10 ? 0x30 + nibble : 0x37 + nibble }

    func append(hexadecimal byte: UInt8) {
        append(Self.digit(byte >> 4))
        append(Self.digit(byte & 0xF))
    }

    func append(decimal number: Int) {
        if number < 0 { append(UInt8(ascii: "-")) }
        var rest = number.magnitude
        var scale: UInt = 1
        while rest / scale >= 10 { scale *= 10 }
        while scale > 0 {
            append(0x30 + UInt8(truncatingIfNeeded: rest / scale))
            rest %= scale
            scale /= 10
        }
    }

    private func append(_ number: Int, digits: Int) {
        var scale = 1
        for _ in 1..<digits { scale *= 10 }
        while scale > 0 {
            append(0x30 + UInt8(truncatingIfNeeded: number / scale % 10))
            scale /= 10
        }
    }

    /// RFC 3339 in UTC with microseconds; with nanoseconds where there are any, so that nothing is lost.
    func append(time: Instant) {
        let (seconds, fraction) = time.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        let (days, second) = Int(seconds).quotientAndRemainder(dividingBy: 86_400)
        // Years that begin with March: 1970-01-01 is day 719,468 from 0000-03-01; 400 years have 146,097 days.
        let shifted = days + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        append(era * 400 + yearOfEra + (month >= 10 ? 1 : 0), digits: 4)
        append(UInt8(ascii: "-"))
        append(month < 10 ? month + 3 : month - 9, digits: 2)
        append(UInt8(ascii: "-"))
        append(dayOfYear - (153 * month + 2) / 5 + 1, digits: 2)
        append(UInt8(ascii: "T"))
        append(second / 3600, digits: 2)
        append(UInt8(ascii: ":"))
        append(second / 60 % 60, digits: 2)
        append(UInt8(ascii: ":"))
        append(second % 60, digits: 2)
        append(UInt8(ascii: "."))
        if fraction % 1000 == 0 {
            append(Int(fraction / 1000), digits: 6)
        } else {
            append(Int(fraction), digits: 9)
        }
        append(UInt8(ascii: "Z"))
    }

    /// A JSON string (RFC 8259 §7).
    func append(quoted text: String) {
        append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                append(UInt8(ascii: "\\"))
                append(byte)
            } else if byte < 0x20 {
                append("\\u00")
                append(hexadecimal: byte)
            } else {
                append(byte)
            }
        }
        append(UInt8(ascii: "\""))
    }
}
