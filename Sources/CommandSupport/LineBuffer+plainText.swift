package import EventLog
import OperatorMessages

extension LineBuffer {
    /// Appends text as the inside of a JSON string that a terminal may be shown: what is not harmless is escaped too.
    package mutating func append(plain text: String) {
        guard !text.utf8.allSatisfy(PlainText.isPlain) else { return append(escaped: text) }
        for scalar in text.unicodeScalars {
            if PlainText.isHarmless(scalar) {
                append(escaped: String(scalar))
            } else {
                for unit in String(scalar).utf16 {
                    let digits = String(unit, radix: 16, uppercase: true)
                    append(Array(("\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits).utf8))
                }
            }
        }
    }
}
