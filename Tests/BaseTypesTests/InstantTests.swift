import BaseTypes
import Testing

@Suite struct InstantTests {
    @Test(
        arguments: [
            (-1, 0), (0, 0), (1, 1), (8_999_999_999_999_999_999, 8_999_999_999_999_999_999),
            (9_000_000_000_000_000_000, 9_000_000_000_000_000_000),
            (9_000_000_000_000_000_001, 9_000_000_000_000_000_000),
            (Int64.max, 9_000_000_000_000_000_000), (Int64.min, 0),
        ] as [(Int64, Int64)])
    func `an instant outside of the bounds becomes the nearest bound`(given: Int64, kept: Int64) {
        #expect(Instant(nanoseconds: given).nanoseconds == kept)
    }

    @Test func `a sum or difference beyond a bound becomes the bound`() {
        #expect(Instant.latest + .nanoseconds(1) == .latest)
        #expect(Instant.latest + .seconds(Int64.max) == .latest)
        #expect(Instant.earliest - .nanoseconds(1) == .earliest)
        #expect(Instant.earliest - .seconds(Int64.max) == .earliest)
        #expect(Instant.earliest + .seconds(Int64.min) == .earliest)
        #expect(Instant.latest - .seconds(Int64.min) == .latest)
        #expect(Instant.latest + .nanoseconds(-1) == Instant(nanoseconds: 8_999_999_999_999_999_999))
        #expect(Instant.earliest + .nanoseconds(1) == Instant(nanoseconds: 1))
        #expect(Instant(nanoseconds: 5) - .nanoseconds(5) == .earliest)
    }

    @Test func `the time between two instants is exact between the bounds, whichever is earlier`() {
        #expect(Instant.latest - Instant.earliest == .nanoseconds(9_000_000_000_000_000_000))
        #expect(Instant.earliest - Instant.latest == .nanoseconds(-9_000_000_000_000_000_000))
        #expect(Instant(nanoseconds: 7) - Instant(nanoseconds: 7) == .zero)
        #expect(Instant.earliest < Instant.latest)
    }

    @Test(
        arguments: [
            (.zero, 0), (.seconds(1), 1_000_000_000), (.nanoseconds(-1), -1), (.milliseconds(-1500), -1_500_000_000),
            (.seconds(Int64.max), .max), (.seconds(Int64.min), .min),
            (.seconds(9_223_372_036), 9_223_372_036_000_000_000),
            (.seconds(9_223_372_037), .max), (.seconds(-9_223_372_037), .min),
            (Duration(secondsComponent: 0, attosecondsComponent: 1_999_999_999), 1),
            (Duration(secondsComponent: 0, attosecondsComponent: -1_999_999_999), -1),
            (Duration(secondsComponent: 9_223_372_036, attosecondsComponent: 854_775_807_000_000_000), .max),
            (Duration(secondsComponent: 9_223_372_036, attosecondsComponent: 854_775_808_000_000_000), .max),
            (Duration(secondsComponent: -9_223_372_036, attosecondsComponent: -854_775_808_000_000_000), .min),
            (Duration(secondsComponent: -9_223_372_036, attosecondsComponent: -854_775_809_000_000_000), .min),
        ] as [(Duration, Int64)])
    func `a duration in nanoseconds is truncated to whole ones and stops at the bounds`(
        duration: Duration, nanoseconds: Int64
    ) {
        #expect(duration.nanoseconds == nanoseconds)
    }
}
