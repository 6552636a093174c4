import BaseTypes
import BluetoothLE
import Testing

@testable import AdapterScanning

@Suite struct SuspendDetectorTests {
    private let second: Int64 = 1_000_000_000

    @Test func `L6: a suspension lasts from the last time the process ran to the present, and is returned once`() {
        var detector = SuspendDetector(now: at(10), suspended: 5)
        #expect(detector.check(now: at(11), suspended: 5) == nil)
        let stretch = detector.check(now: at(111), suspended: 5 + 90 * second)
        #expect(stretch?.start == at(11))
        #expect(stretch?.end == at(111))
        #expect(stretch?.suspended == .seconds(90))
        #expect(detector.check(now: at(112), suspended: 5 + 90 * second) == nil)
    }

    @Test func `a difference of 20 ms between the clocks is a suspension, 1 ns less is not`() {
        var detector = SuspendDetector(now: at(10), suspended: 0)
        #expect(detector.check(now: at(11), suspended: 19_999_999) == nil)
        #expect(detector.check(now: at(12), suspended: 20_000_000)?.suspended == .milliseconds(20))
    }

    @Test func `readings that are too large at random do not add up to a suspension`() {
        var detector = SuspendDetector(now: at(0), suspended: 0)
        for second in 1...1_000 {
            #expect(detector.check(now: at(Double(second)), suspended: Int64(second % 2) * 15_000_000) == nil)
        }
    }

    @Test func `a suspension is detected after a reading that was too large`() {
        var detector = SuspendDetector(now: at(0), suspended: 15_000_000)
        #expect(detector.check(now: at(1), suspended: 0) == nil)
        #expect(detector.check(now: at(2), suspended: 25_000_000)?.suspended == .milliseconds(25))
    }

    @Test(arguments: [Int64.min, -1, .max])
    func `extreme readings do not trap, and later readings are checked as usual`(reading: Int64) {
        var detector = SuspendDetector(now: at(1), suspended: reading)
        let stretches = [
            detector.check(now: at(0), suspended: 0), detector.check(now: at(2), suspended: .max),
            detector.check(now: at(3), suspended: .min),
        ].compactMap(\.self)
        #expect(stretches.allSatisfy { $0.start <= $0.end && $0.suspended >= SuspendDetector.shortest })
        // The smallest reading is the most accurate one.
        #expect(detector.check(now: at(4), suspended: .min + 30_000_000)?.suspended == .milliseconds(30))
        #expect(detector.check(now: at(5), suspended: .min + 30_000_000) == nil)
    }
}

@Suite struct CanaryWatchTests {
    private let canary = Canary(uuid: ProximityUUID(high: 1, low: 2), major: 3)

    private func watch() -> CanaryWatch { CanaryWatch(canary, deafAfter: .seconds(10)) }

    @Test func `a canary matches its UUID, and its major and minor if they are set`() {
        let uuid = ProximityUUID(high: 1, low: 2)
        #expect(canary.matches(BeaconIdentity(uuid: uuid, major: 3, minor: 9)))
        #expect(!canary.matches(BeaconIdentity(uuid: uuid, major: 4, minor: 9)))
        #expect(!canary.matches(BeaconIdentity(uuid: ProximityUUID(high: 1, low: 3), major: 3, minor: 9)))
        #expect(!Canary(uuid: uuid, major: 3, minor: 8).matches(BeaconIdentity(uuid: uuid, major: 3, minor: 9)))
    }

    @Test func `an adapter counts as not scanning after deaf_after without the canary, not 1 ns earlier`() {
        var watch = watch()
        watch.listening(0, at: at(0))
        #expect(watch.received(on: 0, at: at(1)) == [])
        #expect(watch.nextDeadline == at(11))
        #expect(watch.advance(to: at(11) - .nanoseconds(1)) == [])
        #expect(watch.advance(to: at(11)) == [.init(adapter: 0, since: at(1))])
        #expect(watch.isDeaf(0))
        #expect(watch.nextDeadline == nil)
        #expect(watch.received(on: 0, at: at(12)) == [0])
        #expect(!watch.isDeaf(0))
    }

    @Test func `an adapter that counts as not scanning stays so when its scan is restarted`() {
        var watch = watch()
        watch.listening(0, at: at(0))
        _ = watch.received(on: 0, at: at(1))
        _ = watch.advance(to: at(11))
        watch.stopped(0)
        watch.listening(0, at: at(12))
        #expect(watch.isDeaf(0))
    }

    @Test func `time in which the adapter does not scan does not count as silence of the canary`() {
        var watch = watch()
        watch.listening(0, at: at(0))
        _ = watch.received(on: 0, at: at(1))
        watch.stopped(0)
        #expect(watch.advance(to: at(100)) == [])
        watch.listening(0, at: at(100))
        #expect(watch.advance(to: at(109)) == [])
        #expect(watch.advance(to: at(110)) == [.init(adapter: 0, since: at(100))])
    }

    @Test func `an adapter that has received the canary is checked by itself, whatever another one receives`() {
        var watch = watch()
        for adapter in 0..<2 {
            watch.listening(adapter, at: at(0))
            _ = watch.received(on: adapter, at: at(1))
        }
        _ = watch.received(on: 1, at: at(10))
        #expect(watch.advance(to: at(11)) == [.init(adapter: 0, since: at(1))])
        #expect(watch.isJudged(1))
    }

    @Test func `an adapter that never received the canary is checked only as long as none has`() {
        var watch = watch()
        watch.listening(0, at: at(0))
        watch.listening(1, at: at(0))
        #expect(watch.isJudged(0))
        #expect(Set(watch.advance(to: at(10)).map(\.adapter)) == [0, 1])
        #expect(Set(watch.received(on: 0, at: at(20))) == [0, 1])
        #expect(!watch.isJudged(1))
        #expect(watch.isJudged(0))
        #expect(watch.advance(to: at(25)) == [])
        #expect(watch.advance(to: at(30)).map(\.adapter) == [0])
    }

    @Test func `L6: a suspension does not count as silence of the canary`() {
        var watch = watch()
        watch.listening(0, at: at(0))
        _ = watch.received(on: 0, at: at(1))
        watch.resumed(at: at(500))
        #expect(watch.nextDeadline == at(510))
    }
}
