import BaseTypes
import BluetoothLE

/// The reason why a text does not match the schema: the expected text.
struct ScalarProblem: Error {
    let expected: String
    init(_ expected: String) { self.expected = expected }
}

/// Converts texts to the types of the schema. Types are never guessed from the text.
enum ScalarSyntax {
    typealias Text = ArraySlice<UInt8>

    /// Reads an integer in decimal digits with an optional sign. Leading zeros are ignored.
    static func integer(_ text: Text, in range: ClosedRange<Int>) throws(ScalarProblem) -> Int {
        func expected() -> String { "expected \(range.lowerBound)…\(range.upperBound)" }
        var digits = text
        let isNegative = digits.first == UInt8(ascii: "-")
        if isNegative || digits.first == UInt8(ascii: "+") { digits.removeFirst() }
        guard !digits.isEmpty, digits.allSatisfy(isDigit) else {
            throw ScalarProblem("\(expected()), a whole number in decimal digits")
        }
        var value = 0
        for digit in digits.drop(while: { $0 == 0x30 }) {
            // The value already exceeds every range.
            guard value < 1_000_000_000_000_000 else { throw ScalarProblem(expected()) }
            value = value * 10 + Int(digit - 0x30)
        }
        value = isNegative ? -value : value
        guard range.contains(value) else { throw ScalarProblem(expected()) }
        return value
    }

    /// Reads `true` or `false`. The other words of YAML 1.1 are errors.
    static func bool(_ text: Text) throws(ScalarProblem) -> Bool {
        if matches(text, "true") { return true }
        if matches(text, "false") { return false }
        guard text.count <= 5 else { throw ScalarProblem("expected true or false") }
        switch String(decoding: text, as: UTF8.self).lowercased() {
        case "yes", "on", "y", "1", "true": throw ScalarProblem("expected true or false: write true")
        case "no", "off", "n", "0", "false": throw ScalarProblem("expected true or false: write false")
        default: throw ScalarProblem("expected true or false")
        }
    }

    /// Reads a decimal number with optional sign, fraction and exponent. It must be finite.
    static func number(_ text: Text) throws(ScalarProblem) -> Double {
        let allowed = text.allSatisfy {
            isDigit($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "+")
                || $0 == UInt8(ascii: "e") || $0 == UInt8(ascii: "E")
        }
        guard allowed, text.count <= 64, let value = Double(String(decoding: text, as: UTF8.self)), value.isFinite
        else {
            throw ScalarProblem("expected a decimal number, with a point before the fraction")
        }
        return value
    }

    /// Reads 32 hexadecimal digits in either case, with all four hyphens or none.
    static func uuid(_ text: Text) throws(ScalarProblem) -> ProximityUUID {
        if let uuid = ProximityUUID(utf8: text.span) { return uuid }
        let digits = text.count { hexadecimalDigit($0) != nil }
        let form = "expected 32 hexadecimal digits, such as F7826DA6-4FA2-4E98-8024-BC5B71E0893E"
        throw ScalarProblem(digits == 32 ? "\(form), with all four hyphens or none" : "\(form); found \(digits)")
    }

    static func matches(_ text: Text, _ word: String) -> Bool { text.elementsEqual(word.utf8) }

    static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}
