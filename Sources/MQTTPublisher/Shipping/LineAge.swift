import BaseTypes

/// How old a line is, by the timeline that it carries.
enum LineAge {
    /// Who was in view so long ago is of no use to anybody who asks who is.
    static let max: Duration = .seconds(10)

    // The key as our lines have it; it stands before anything that others could have named.
    private static let key = Array("\"monotonic\":".utf8)

    /// Whether a payload's `monotonic` lies further back than ``max``, or ahead, as that of an earlier start of the machine
    /// may; one that has none is not told to be.
    static func isStale(_ payload: ArraySlice<UInt8>, at now: Instant) -> Bool {
        guard let microseconds = monotonic(of: payload) else { return false }
        let age = now - Instant(nanoseconds: min(microseconds, .max / 1000) * 1000)
        return age > max || age < .seconds(-1)
    }

    private static func monotonic(of payload: ArraySlice<UInt8>) -> Int64? {
        var place = payload.startIndex
        while payload.endIndex - place > key.count {
            if payload[place] == key[0], payload[place..<place + key.count].elementsEqual(key) { break }
            place += 1
        }
        place += key.count
        var number: Int64 = 0
        var digits = 0
        while place < payload.endIndex, (0x30...0x39).contains(payload[place]), digits < 17 {
            number = number * 10 + Int64(payload[place] - 0x30)
            digits += 1
            place += 1
        }
        // Sixteen digits of microseconds are three hundred years.
        return (1...16).contains(digits) ? number : nil
    }
}
