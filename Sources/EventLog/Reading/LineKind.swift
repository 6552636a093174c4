import CLinux
import Glibc

/// Finds the type of a line from its first bytes, so that most lines need no parsing.
enum LineKind {
    private static let key: StaticString = "\"type\":\""
    // In an envelope the key comes after topic, QoS and retain.
    private static let keyEndMax = 1024
    // The start of a line of the gateway, or of its payload. Between the two is the version, with one digit.
    private static let beginning: StaticString = "{\"version\":"
    private static let middle: StaticString = ",\"type\":\""
    private static let envelope: StaticString = "{\"topic\":\""

    /// Returns the type as a set: `nil` if the line has none, empty if readers cannot select its type.
    static func type(of line: Span<UInt8>) -> LogReader.Types? {
        guard let word = Self.typeWord(in: line), word + 3 < line.count else { return nil }
        return switch (line[word], line[word + 1], line[word + 2]) {
        case (UInt8(ascii: "e"), UInt8(ascii: "v"), UInt8(ascii: "e")): .event
        case (UInt8(ascii: "e"), UInt8(ascii: "v"), UInt8(ascii: "i")): .evidence
        case (UInt8(ascii: "e"), UInt8(ascii: "r"), _): .erased
        case (UInt8(ascii: "v"), _, _): .visit
        case (UInt8(ascii: "c"), UInt8(ascii: "o"), _): .condition
        case (UInt8(ascii: "c"), UInt8(ascii: "l"), _): .clock
        case (UInt8(ascii: "a"), _, _): .adapter
        case (UInt8(ascii: "g"), _, _): .gateway
        default: []
        }
    }

    /// Returns the offset of the type.
    private static func typeWord(in line: Span<UInt8>) -> Int? {
        unsafe line.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return nil }
            let end = min(bytes.count, keyEndMax)
            let digit = beginning.utf8CodeUnitCount
            let length = digit + 1 + middle.utf8CodeUnitCount
            // In most lines the type follows the first or second brace. Other lines are searched for the key.
            for from in 0..<2 {
                guard let brace = unsafe memchr(start + from, Int32(UInt8(ascii: "{")), max(end - length - from, 0))
                else {
                    break
                }
                let place = UnsafeRawPointer(brace)
                if unsafe memcmp(place, beginning.utf8Start, digit) == 0,
                    unsafe memcmp(place + digit + 1, middle.utf8Start, middle.utf8CodeUnitCount) == 0
                {
                    return unsafe place - start + length
                }
            }
            guard let place = unsafe memmem(start, end, key.utf8Start, key.utf8CodeUnitCount) else { return nil }
            return unsafe UnsafeRawPointer(place) - start + key.utf8CodeUnitCount
        }
    }

    /// Returns true if the bytes between two line ends contain the start of another line. Then the end of the first
    /// line is damaged.
    ///
    /// Quotation marks in strings are escaped, so neither start can be part of a string.
    static func holdsAnother(_ bytes: Span<UInt8>) -> Bool {
        unsafe bytes.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress, bytes.count > envelope.utf8CodeUnitCount else { return false }
            func holds(_ word: StaticString) -> Bool {
                unsafe memmem(start + 1, bytes.count - 1, word.utf8Start, word.utf8CodeUnitCount) != nil
            }
            // The payload of an envelope starts like a line without an envelope.
            let isEnveloped = unsafe memcmp(start, envelope.utf8Start, envelope.utf8CodeUnitCount) == 0
            return holds(envelope) || !isEnveloped && holds(beginning)
        }
    }
}
