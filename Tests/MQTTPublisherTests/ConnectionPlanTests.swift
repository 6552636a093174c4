import BaseTypes
import MQTTPublisher
import Testing

@Suite struct ConnectionPlanTests {
    private let start = Instant(nanoseconds: 1_000_000_000_000)

    private func plan(
        _ version: PublisherOptions.VersionChoice = .auto, hasSeenFive: Bool = false, seed: UInt64 = 7
    ) -> ConnectionPlan {
        ConnectionPlan(PublisherOptions.BackOff(), version, hasSeenFive: hasSeenFive, seed: seed, at: start)
    }

    /// Returns the delays after this number of failures in a row.
    private func delays(_ failure: BrokerError, _ count: Int, seed: UInt64 = 7) -> [Duration] {
        var plan = plan(seed: seed)
        var now = start
        return (0..<count).map { _ in
            plan.begin()
            plan.failed(failure, .five, .notReached, at: now)
            let delay = (plan.nextAttempt ?? now) - now
            now = plan.nextAttempt ?? now
            return delay
        }
    }

    @Test func `the first attempt is immediate, with MQTT 5`() {
        #expect(plan().nextAttempt == start)
        #expect(plan().version == .five)
    }

    @Test func `a temporary error is retried after 1 s, doubling up to 60 s, with a random part of at most half`() {
        let found = delays(.unreachable("a:1", "refused"), 12)
        for (index, whole) in [1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60, 60].enumerated() {
            #expect(found[index] >= .seconds(whole) / 2 && found[index] <= .seconds(whole), "\(index): \(found[index])")
        }
    }

    @Test func `an error that an operator must fix is retried after 15 s, doubling up to 300 s`() {
        let found = delays(.refused(0x87, "Not authorized"), 8)
        for (index, whole) in [15, 30, 60, 120, 240, 300, 300, 300].enumerated() {
            #expect(found[index] >= .seconds(whole) / 2 && found[index] <= .seconds(whole), "\(index): \(found[index])")
        }
    }

    @Test func `two seeds (gateways) give different delays, and one seed always gives the same delays`() {
        let failure = BrokerError.unreachable("a:1", "refused")
        #expect(delays(failure, 8, seed: 1) == delays(failure, 8, seed: 1))
        #expect(delays(failure, 8, seed: 1) != delays(failure, 8, seed: 2))
    }

    @Test func `an acknowledgement resets the delay, a connection alone does not`() {
        var plan = plan()
        for _ in 0..<6 { plan.failed(.lost("closed"), .five, .answered, at: start) }
        plan.connected(.five, at: start)
        plan.failed(.lost("closed"), .five, .answered, at: start + .seconds(1))
        // This is the seventh failure in a row.
        #expect((plan.nextAttempt ?? start) - (start + .seconds(1)) >= .seconds(30))
        plan.connected(.five, at: start)
        plan.progressed()
        plan.failed(.lost("closed"), .five, .answered, at: start + .seconds(1))
        #expect((plan.nextAttempt ?? .latest) - (start + .seconds(1)) <= .seconds(1))
    }

    @Test(arguments: [(59, false), (60, true)])
    func `a connection of 60 s, but not 59 s, resets the delay, even without lines`(_ seconds: Int, _ isGood: Bool) {
        var plan = plan()
        for _ in 0..<6 { plan.failed(.lost("closed"), .five, .answered, at: start) }
        plan.connected(.five, at: start)
        let end = start + .seconds(seconds)
        plan.failed(.lost("closed"), .five, .answered, at: end)
        #expect(((plan.nextAttempt ?? end) - end <= .seconds(1)) == isGood)
    }

    @Test func `a refused version is not a failure: 3.1.1 follows at once, and the next connection tries 5 again`() {
        var plan = plan()
        #expect(plan.failed(.versionRefused, .five, .answered, at: start) == true)
        #expect(plan.nextAttempt == start)
        #expect(plan.version == .three)
        plan.connected(.three, at: start)
        plan.failed(.lost("closed"), .three, .answered, at: start + .seconds(5))
        #expect(plan.version == .five)
        // A broker that refuses both versions must not be tried again immediately.
        plan.failed(.versionRefused, .five, .answered, at: start)
        #expect(plan.failed(.versionRefused, .three, .answered, at: start) == false)
        #expect((plan.nextAttempt ?? start) > start)
    }

    @Test func `after two attempts with 5 without an answer, a new broker is tried with 3.1.1 once`() {
        var plan = plan()
        plan.failed(.unanswered("a:1", .none), .five, .unanswered, at: start)
        #expect(plan.version == .five)
        plan.failed(.silent("no answer"), .five, .unanswered, at: start)
        #expect(plan.version == .three)
        plan.failed(.unanswered("a:1", .none), .three, .unanswered, at: start)
        #expect(plan.version == .five)
    }

    @Test func `a broker that answered only to 3.1.1 is tried with 5 once at each connection`() {
        var plan = plan()
        for _ in 0..<2 { plan.failed(.silent("no answer"), .five, .unanswered, at: start) }
        plan.connected(.three, at: start)
        plan.failed(.lost("closed"), .three, .answered, at: start)
        #expect(plan.version == .five)
        plan.failed(.silent("no answer"), .five, .unanswered, at: start)
        #expect(plan.version == .three)
    }

    @Test(arguments: [true, false])
    func `a broker that used MQTT 5 in this or an earlier process is not downgraded without an answer`(isBefore: Bool) {
        var plan = plan(hasSeenFive: isBefore)
        if !isBefore {
            plan.connected(.five, at: start)
            plan.failed(.lost("closed"), .five, .answered, at: start)
        }
        for _ in 0..<20 {
            plan.failed(.unanswered("a:1", .none), .five, .unanswered, at: start)
            #expect(plan.version == .five)
        }
        // The broker itself reports that it does not support 5 any more, because it was replaced.
        #expect(plan.failed(.versionRefused, .five, .answered, at: start) == true)
        #expect(plan.version == .three)
    }

    @Test func `failures before a broker was asked do not change the version`() {
        var plan = plan()
        for _ in 0..<20 {
            plan.failed(.unreachable("a:1", "refused"), .five, .notReached, at: start)
            #expect(plan.version == .five)
        }
    }

    @Test func `a configured version is always used, even after a refusal or without an answer`() {
        var (five, three) = (plan(.five), plan(.three))
        #expect(three.version == .three)
        #expect(five.failed(.versionRefused, .five, .answered, at: start) == false)
        for _ in 0..<4 { five.failed(.silent("no answer"), .five, .unanswered, at: start) }
        #expect(five.version == .five)
        three.failed(.versionRefused, .three, .answered, at: start)
        #expect(three.version == .three)
    }

    @Test func `refused retained messages are not a failure: immediately without them, next connection with them`() {
        var plan = plan()
        #expect(plan.failed(.retainRefused, .five, .answered, at: start) == true)
        #expect(plan.isWithoutRetained && plan.nextAttempt == start)
        // If a connection without retained messages reports this, it is a failure like others.
        #expect(plan.failed(.retainRefused, .five, .answered, wasWithoutRetained: true, at: start) == false)
        #expect(!plan.isWithoutRetained && (plan.nextAttempt ?? start) > start)
        plan.failed(.retainRefused, .five, .answered, at: start)
        plan.connected(.five, at: start)
        #expect(!plan.isWithoutRetained)
    }

    @Test func `connections in a row that end soon are counted until one lasts 60 s`() {
        var plan = plan()
        for count in 1...4 {
            plan.connected(.three, at: start)
            plan.failed(.lost("closed"), .three, .answered, at: start + .seconds(20))
            #expect(plan.soonEnds == count)
            plan.failed(.unreachable("a:1", "refused"), .three, .notReached, at: start + .seconds(21))
        }
        plan.connected(.three, at: start)
        plan.failed(.lost("closed"), .three, .answered, at: start + .seconds(60))
        #expect(plan.soonEnds == 0)
    }

    @Test(arguments: [
        (UInt8(0x03), false), (0x04, true), (0x05, true), (0x86, true), (0x87, true), (0x88, false), (0x89, false),
        (0x8A, true), (0x97, false), (0x85, true),
    ])
    func `a busy broker recovers without an operator, a refused client does not`(_ code: UInt8, _ needsSomebody: Bool) {
        #expect(BrokerError.refused(code, "x").needsSomebody == needsSomebody)
    }
}
