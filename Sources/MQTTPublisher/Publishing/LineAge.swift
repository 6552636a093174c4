import BaseTypes

/// The age of a line, by the `monotonic` time in its payload.
enum LineAge {
    /// The maximum age. Older lists of beacons in view are useless to a subscriber that needs the current one.
    static let max: Duration = .seconds(10)

    // The key as the gateway writes it. It precedes all texts that other parties can choose, so the first match is the
    // right one.
    private static let key = Array("\"monotonic\":".utf8)

    /// Returns whether the `monotonic` time of a payload is more than ``max`` in the past, or more than a second in the
    /// future. The latter is possible for a line from an earlier start of the machine. A payload without this time is
    /// not stale.
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
        // Sixteen digits of microseconds are about 300 years, so a valid time has no more.
        return (1...16).contains(digits) ? number : nil
    }
}
