import BaseTypes
import BluetoothLE
import Testing

@testable import AdapterScanning

@Suite struct SuspendDetectorTests {
    private let second: Int64 = 1_000_000_000

    @Test func `L6: the stretch goes from the last time the process ran to the present`() {
        var detector = SuspendDetector(now: at(10), suspended: 5)
        #expect(detector.check(now: at(11), suspended: 5) == nil)
        let stretch = detector.check(now: at(111), suspended: 5 + 90 * second)
        #expect(stretch?.start == at(11))
        #expect(stretch?.end == at(111))
        #expect(stretch?.suspended == .seconds(90))
        #expect(detector.check(now: at(112), suspended: 5 + 90 * second) == nil)
    }

    @Test func `what is shorter than 20 ms is no suspension, what is as long is one`() {
        var detector = SuspendDetector(now: at(10), suspended: 0)
        #expect(detector.check(now: at(11), suspended: 19_999_999) == nil)
        #expect(detector.check(now: at(12), suspended: 20_000_000)?.suspended == .milliseconds(20))
    }

    @Test func `readings that are too large by accident do not add up to a suspension`() {
        var detector = SuspendDetector(now: at(0), suspended: 0)
        for second in 1...1_000 {
            #expect(detector.check(now: at(Double(second)), suspended: Int64(second % 2) * 15_000_000) == nil)
        }
    }

    @Test func `a suspension is found behind a reading that was too large`() {
        var detector = SuspendDetector(now: at(0), suspended: 15_000_000)
        #expect(detector.check(now: at(1), suspended: 0) == nil)
        #expect(detector.check(now: at(2), suspended: 25_000_000)?.suspended == .milliseconds(25))
    }

    @Test(arguments: [Int64.min, -1, .max])
    func `readings out of this world do not trap, and those that follow are judged as ever`(reading: Int64) {
        var detector = SuspendDetector(now: at(1), suspended: reading)
        let stretches = [
            detector.check(now: at(0), suspended: 0), detector.check(now: at(2), suspended: .max),
            detector.check(now: at(3), suspended: .min),
        ].compactMap(\.self)
        #expect(stretches.allSatisfy { $0.start <= $0.end && $0.suspended >= SuspendDetector.shortest })
        // The smallest reading is the truest.
        #expect(detector.check(now: at(4), suspended: .min + 30_000_000)?.suspended == .milliseconds(30))
        #expect(detector.check(now: at(5), suspended: .min + 30_000_000) == nil)
    }
}

@Suite struct CanaryWatchTests {
    private let canary = Canary(uuid: ProximityUUID(high: 1, low: 2), major: 3)

    private func watch() -> CanaryWatch { CanaryWatch(canary, deafAfter: .seconds(10)) }

    @Test func `a canary is its UUID, with its major and minor where they are named`() {
        let uuid = ProximityUUID(high: 1, low: 2)
        #expect(canary.matches(BeaconIdentity(uuid: uuid, major: 3, minor: 9)))
        #expect(!canary.matches(BeaconIdentity(uuid: uuid, major: 4, minor: 9)))
        #expect(!canary.matches(BeaconIdentity(uuid: ProximityUUID(high: 1, low: 3), major: 3, minor: 9)))
        #expect(!Canary(uuid: uuid, major: 3, minor: 8).matches(BeaconIdentity(uuid: uuid, major: 3, minor: 9)))
    }

    @Test func `silence of the canary's for deaf_after makes deaf, a nanosecond less does not`() {
        var watch = watch()
        watch.listening(0, at: at(0))
        #expect(watch.heard(on: 0, at: at(1)) == [])
        #expect(watch.nextDeadline == at(11))
        #expect(watch.advance(to: at(11) - .nanoseconds(1)) == [])
        #expect(watch.advance(to: at(11)) == [.init(adapter: 0, since: at(1))])
        #expect(watch.isDeaf(0))
        #expect(watch.nextDeadline == nil)
        #expect(watch.heard(on: 0, at: at(12)) == [0])
        #expect(!watch.isDeaf(0))
    }

    @Test func `a scan that was begun anew does not end deafness`() {
        var watch = watch()
        watch.listening(0, at: at(0))
        _ = watch.heard(on: 0, at: at(1))
        _ = watch.advance(to: at(11))
        watch.stopped(0)
        watch.listening(0, at: at(12))
        #expect(watch.isDeaf(0))
    }

    @Test func `time in which the adapter did not listen is no silence of the canary's`() {
        var watch = watch()
        watch.listening(0, at: at(0))
        _ = watch.heard(on: 0, at: at(1))
        watch.stopped(0)
        #expect(watch.advance(to: at(100)) == [])
        watch.listening(0, at: at(100))
        #expect(watch.advance(to: at(109)) == [])
        #expect(watch.advance(to: at(110)) == [.init(adapter: 0, since: at(100))])
    }

    @Test func `an adapter that has heard it is judged by itself, whatever its neighbour hears`() {
        var watch = watch()
        for adapter in 0..<2 {
            watch.listening(adapter, at: at(0))
            _ = watch.heard(on: adapter, at: at(1))
        }
        _ = watch.heard(on: 1, at: at(10))
        #expect(watch.advance(to: at(11)) == [.init(adapter: 0, since: at(1))])
        #expect(watch.isJudged(1))
    }

    @Test func `an adapter that never heard it is judged only while none has`() {
        var watch = watch()
        watch.listening(0, at: at(0))
        watch.listening(1, at: at(0))
        #expect(watch.isJudged(0))
        #expect(Set(watch.advance(to: at(10)).map(\.adapter)) == [0, 1])
        #expect(Set(watch.heard(on: 0, at: at(20))) == [0, 1])
        #expect(!watch.isJudged(1))
        #expect(watch.isJudged(0))
        #expect(watch.advance(to: at(25)) == [])
        #expect(watch.advance(to: at(30)).map(\.adapter) == [0])
    }

    @Test func `L6: a suspension is no silence of the canary's`() {
        var watch = watch()
        watch.listening(0, at: at(0))
        _ = watch.heard(on: 0, at: at(1))
        watch.resumed(at: at(500))
        #expect(watch.nextDeadline == at(510))
    }
}
