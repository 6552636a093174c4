import BaseTypes
import Testing

@Suite struct DurationTextTests {
    private static let second: Int64 = 1_000_000_000

    @Test(arguments: [
        (0, "0.0 s"), (3_290_000_000, "3.2 s"), (60 * second - 1, "59.9 s"), (60 * second, "1 min"),
        (7200 * second - 1, "119 min"), (7200 * second, "2 h"), (172_800 * second - 1, "47 h"),
        (172_800 * second, "2 d"),
    ])
    func `a duration in words has one unit`(nanoseconds: Int64, text: String) {
        #expect(Duration.nanoseconds(nanoseconds).inWords == text)
    }

    @Test(arguments: [
        (0, "0 s", "0 s"), (1, "0 s", "0.001 s"), (1_250_000_000, "1.25 s", "1.25 s"), (30 * second, "30 s", "30 s"),
        (3600 * second - 1, "3599.999 s", "1 h"), (3600 * second, "1 h", "1 h"),
        (7380 * second, "2 h 3 min", "2 h 3 min"), (7380 * second + 1, "2 h 3 min", "2 h 4 min"),
    ])
    func `a duration in exact words is truncated or rounded up`(nanoseconds: Int64, exact: String, roundedUp: String) {
        #expect(Duration.nanoseconds(nanoseconds).inExactWords == exact)
        #expect(Duration.nanoseconds(nanoseconds).inExactWordsRoundedUp == roundedUp)
    }

    @Test(arguments: [
        (0, "0:00:00"), (1534, "0:25:34"), (11_527, "3:12:07"), (86_399, "23:59:59"), (187_800, "2d 04:10:00"),
    ])
    func `a duration as a clock has hours, minutes and seconds, and days if it is long`(seconds: Int64, text: String) {
        #expect(Duration.seconds(seconds).asClock == text)
    }

    @Test(arguments: [
        (0, "0.0", "0"), (99_999_999, "0.0", "0"), (100_000_000, "0.1", "0.1"), (2_590_000_000, "2.5", "2.5"),
        (12 * second, "12.0", "12"), (120 * second, "120.0", "120"),
    ])
    func `seconds have one decimal, or none if it is zero`(nanoseconds: Int64, tenths: String, seconds: String) {
        #expect(Duration.nanoseconds(nanoseconds).inTenths == tenths)
        #expect(Duration.nanoseconds(nanoseconds).inSeconds == seconds)
    }

    @Test(arguments: [
        (0, "0ms"), (1_500_000, "1.5ms"), (500_000_000, "500ms"), (1_500_000_000, "1500ms"), (30 * second, "30s"),
        (90 * second, "90s"), (120 * second, "2m"), (3600 * second, "1h"), (86_400 * second, "1d"),
    ])
    func `a setting has the largest unit that gives a whole number`(nanoseconds: Int64, text: String) {
        #expect(Duration.nanoseconds(nanoseconds).setting == text)
    }
}
