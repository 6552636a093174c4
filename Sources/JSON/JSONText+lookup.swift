import Glibc

// Looking things up.
extension JSONText {
    /// The place of what stands for `key` in the object at `object`.
    package func find(_ key: StaticString, in object: Int) -> Int? {
        guard object < used, values[object].kind == .object else { return nil }
        var place = object + 1
        let end = Int(values[object].next)
        while place < end {
            let value = Int(values[place].next)
            if isEqual(Int(values[place].start), Int(values[place].end), key) { return value }
            place = Int(values[value].next)
        }
        return nil
    }

    /// Shows each key of the object at `object` by its place, with the place of what stands for it.
    @inline(__always)
    package func eachMember(of object: Int, _ body: (_ key: Int, _ value: Int) -> Void) {
        guard object < used, values[object].kind == .object else { return }
        var place = object + 1
        let end = Int(values[object].next)
        while place < end {
            body(place, place + 1)
            place = Int(values[place + 1].next)
        }
    }

    /// The number of members of the object at `object`.
    package func memberCount(of object: Int) -> Int {
        var count = 0
        eachMember(of: object) { _, _ in count += 1 }
        return count
    }

    /// The places of what an array holds.
    package func elements(of array: Int?) -> [Int] {
        guard let array, array < used, values[array].kind == .array else { return [] }
        var places: [Int] = []
        var place = array + 1
        while place < values[array].next {
            places.append(place)
            place = Int(values[place].next)
        }
        return places
    }

    /// How many octets a value has in the text, a string without its quotation marks.
    package func length(_ place: Int) -> Int { Int(values[place].end - values[place].start) }

    /// Whether the string at `place` is `text`, which needs no escapes.
    package func isText(_ text: StaticString, at place: Int?) -> Bool {
        guard let place, values[place].kind == .string else { return false }
        return isEqual(Int(values[place].start), Int(values[place].end), text)
    }

    /// The same, of octets.
    package func isText(_ octets: [UInt8], at place: Int) -> Bool {
        guard values[place].kind == .string else { return false }
        let start = Int(values[place].start)
        guard Int(values[place].end) - start == octets.count else { return false }
        return unsafe bytes.withUnsafeBytes { text in
            guard let text = text.baseAddress else { return octets.isEmpty }
            return unsafe octets.withUnsafeBytes { octets in
                unsafe octets.baseAddress.map { unsafe memcmp(text + start, $0, octets.count) == 0 } ?? true
            }
        }
    }

    package func bool(_ place: Int?) -> Bool? {
        guard let place else { return nil }
        switch values[place].kind {
        case .yes: return true
        case .no: return false
        default: return nil
        }
    }

    /// A whole number that fits.
    package func integer(_ place: Int?) -> Int? {
        guard let place, values[place].kind == .number else { return nil }
        var index = Int(values[place].start)
        let end = Int(values[place].end)
        let isNegative = bytes[index] == UInt8(ascii: "-")
        if isNegative { index += 1 }
        var number = 0
        while index < end {
            let octet = bytes[index]
            guard (0x30...0x39).contains(octet) else { return nil }
            let (tens, overflow) = number.multipliedReportingOverflow(by: 10)
            let (sum, overflowed) = tens.subtractingReportingOverflow(Int(octet - 0x30))
            if overflow || overflowed { return nil }
            number = sum
            index += 1
        }
        // Counted downwards, since there is one more number below zero than above.
        return isNegative ? number : (number == .min ? nil : -number)
    }

    package func integer<Number: FixedWidthInteger>(_ place: Int?, as type: Number.Type) -> Number? {
        integer(place).flatMap { Number(exactly: $0) }
    }

    /// A decimal number of seconds in microseconds, what is finer cut off.
    package func microseconds(_ place: Int?) -> Int64? {
        guard let place, values[place].kind == .number else { return nil }
        var index = Int(values[place].start)
        let end = Int(values[place].end)
        let isNegative = bytes[index] == UInt8(ascii: "-")
        if isNegative { index += 1 }
        var number: Int64 = 0
        var decimals = -1
        while index < end, decimals < 6 {
            let octet = bytes[index]
            index += 1
            if octet == UInt8(ascii: ".") {
                decimals = 0
                continue
            }
            guard (0x30...0x39).contains(octet) else { return nil }
            let (tens, overflow) = number.multipliedReportingOverflow(by: 10)
            let (sum, overflowed) = tens.addingReportingOverflow(Int64(octet - 0x30))
            if overflow || overflowed { return nil }
            number = sum
            if decimals >= 0 { decimals += 1 }
        }
        for _ in max(decimals, 0)..<6 {
            let (tens, overflow) = number.multipliedReportingOverflow(by: 10)
            if overflow { return nil }
            number = tens
        }
        return isNegative ? -number : number
    }

    package func double(_ place: Int?) -> Double? {
        guard let place, values[place].kind == .number else { return nil }
        return Double(String(decoding: bytes[Int(values[place].start)..<Int(values[place].end)], as: UTF8.self))
    }

    @inline(__always)
    private func isEqual(_ start: Int, _ end: Int, _ text: StaticString) -> Bool {
        let count = text.utf8CodeUnitCount
        // Most keys are not the one that is looked for, and differ in length or in their first octet.
        guard end - start == count, end <= bytes.count, count > 0, unsafe bytes[start] == text.utf8Start[0] else {
            return false
        }
        return unsafe bytes.withUnsafeBytes { octets in
            guard let first = octets.baseAddress else { return false }
            return unsafe memcmp(first + start, text.utf8Start, count) == 0
        }
    }
}
