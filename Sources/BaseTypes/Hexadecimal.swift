/// The number that `digits` hexadecimal digits of `text` spell, either bare or with one of `separators` before each
/// digit whose index is in `groups`; `nil` for anything else. At most 32 digits.
package func hexadecimal(
    _ text: some StringProtocol, digits: Int, groups: Set<Int>, separators: Set<Character>
) -> UInt128? {
    var value: UInt128 = 0
    var count = 0
    var separated = 0
    var expectsDigit = true
    for character in text {
        if let digit = character.hexDigitValue, character.isASCII {
            guard count < digits else { return nil }
            value = value << 4 | UInt128(digit)
            count += 1
            expectsDigit = false
        } else {
            guard separators.contains(character), groups.contains(count), !expectsDigit else { return nil }
            separated += 1
            expectsDigit = true
        }
    }
    guard count == digits, separated == 0 || separated == groups.count, !expectsDigit else { return nil }
    return value
}
