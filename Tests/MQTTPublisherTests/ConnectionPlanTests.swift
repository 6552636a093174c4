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

    /// The delay after each of some failures, one after the other.
    private func delays(_ trouble: BrokerTrouble, _ count: Int, seed: UInt64 = 7) -> [Duration] {
        var plan = plan(seed: seed)
        var now = start
        return (0..<count).map { _ in
            plan.begin()
            plan.failed(trouble, .five, .nobody, at: now)
            let delay = (plan.nextAttempt ?? now) - now
            now = plan.nextAttempt ?? now
            return delay
        }
    }

    @Test func `the first attempt is due at once`() {
        #expect(plan().nextAttempt == start)
        #expect(plan().version == .five)
    }

    @Test func `what may pass by itself is tried after one second, then twice as long, up to a minute, less at random`()
    {
        let found = delays(.unreachable("a:1", "refused"), 12)
        for (index, whole) in [1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60, 60].enumerated() {
            #expect(found[index] >= .seconds(whole) / 2 && found[index] <= .seconds(whole), "\(index): \(found[index])")
        }
    }

    @Test func `what somebody has to mend is tried after 15 seconds, then up to five minutes`() {
        let found = delays(.refused(0x87, "Not authorized"), 8)
        for (index, whole) in [15, 30, 60, 120, 240, 300, 300, 300].enumerated() {
            #expect(found[index] >= .seconds(whole) / 2 && found[index] <= .seconds(whole), "\(index): \(found[index])")
        }
    }

    @Test func `two gateways do not come back at one moment, and one seed gives one sequence`() {
        let trouble = BrokerTrouble.unreachable("a:1", "refused")
        #expect(delays(trouble, 8, seed: 1) == delays(trouble, 8, seed: 1))
        #expect(delays(trouble, 8, seed: 1) != delays(trouble, 8, seed: 2))
    }

    @Test func `an acknowledgement ends the history, a connection alone does not`() {
        var plan = plan()
        for _ in 0..<6 { plan.failed(.lost("closed"), .five, .answered, at: start) }
        plan.connected(.five, at: start)
        plan.failed(.lost("closed"), .five, .answered, at: start + .seconds(1))
        // The seventh in a row.
        #expect((plan.nextAttempt ?? start) - (start + .seconds(1)) >= .seconds(30))
        plan.connected(.five, at: start)
        plan.progressed()
        plan.failed(.lost("closed"), .five, .answered, at: start + .seconds(1))
        #expect((plan.nextAttempt ?? .latest) - (start + .seconds(1)) <= .seconds(1))
    }

    @Test(arguments: [(59, false), (60, true)])
    func `a connection that held for a minute was a good one, even without lines`(_ seconds: Int, _ isGood: Bool) {
        var plan = plan()
        for _ in 0..<6 { plan.failed(.lost("closed"), .five, .answered, at: start) }
        plan.connected(.five, at: start)
        let end = start + .seconds(seconds)
        plan.failed(.lost("closed"), .five, .answered, at: end)
        #expect(((plan.nextAttempt ?? end) - end <= .seconds(1)) == isGood)
    }

    @Test func `a refused version is no failure: 3.1.1 at once, and 5 is tried again at the next connection`() {
        var plan = plan()
        #expect(plan.failed(.versionRefused, .five, .answered, at: start) == true)
        #expect(plan.nextAttempt == start)
        #expect(plan.version == .three)
        plan.connected(.three, at: start)
        plan.failed(.lost("closed"), .three, .answered, at: start + .seconds(5))
        #expect(plan.version == .five)
        // Nor does it go round at once: what refuses both waits.
        plan.failed(.versionRefused, .five, .answered, at: start)
        #expect(plan.failed(.versionRefused, .three, .answered, at: start) == false)
        #expect((plan.nextAttempt ?? start) > start)
    }

    @Test func `a broker never heard in 5 that gives no answer twice is tried with 3.1.1, once`() {
        var plan = plan()
        plan.failed(.unanswered("a:1", .none), .five, .unanswered, at: start)
        #expect(plan.version == .five)
        plan.failed(.silent("no answer"), .five, .unanswered, at: start)
        #expect(plan.version == .three)
        plan.failed(.unanswered("a:1", .none), .three, .unanswered, at: start)
        #expect(plan.version == .five)
    }

    @Test func `a broker that answered 3.1.1 alone is tried with 5 at each connection, once`() {
        var plan = plan()
        for _ in 0..<2 { plan.failed(.silent("no answer"), .five, .unanswered, at: start) }
        plan.connected(.three, at: start)
        plan.failed(.lost("closed"), .three, .answered, at: start)
        #expect(plan.version == .five)
        plan.failed(.silent("no answer"), .five, .unanswered, at: start)
        #expect(plan.version == .three)
    }

    @Test(arguments: [true, false])
    func `a broker that has spoken 5 is not downgraded by silence, here or in a process before`(isBefore: Bool) {
        var plan = plan(hasSeenFive: isBefore)
        if !isBefore {
            plan.connected(.five, at: start)
            plan.failed(.lost("closed"), .five, .answered, at: start)
        }
        for _ in 0..<20 {
            plan.failed(.unanswered("a:1", .none), .five, .unanswered, at: start)
            #expect(plan.version == .five)
        }
        // It says itself that it speaks 5 no more: it was replaced.
        #expect(plan.failed(.versionRefused, .five, .answered, at: start) == true)
        #expect(plan.version == .three)
    }

    @Test func `what comes to nothing before a broker was asked says nothing of its version`() {
        var plan = plan()
        for _ in 0..<20 {
            plan.failed(.unreachable("a:1", "refused"), .five, .nobody, at: start)
            #expect(plan.version == .five)
        }
    }

    @Test func `a version that is set is the one that is spoken`() {
        var (five, three) = (plan(.five), plan(.three))
        #expect(three.version == .three)
        #expect(five.failed(.versionRefused, .five, .answered, at: start) == false)
        for _ in 0..<4 { five.failed(.silent("no answer"), .five, .unanswered, at: start) }
        #expect(five.version == .five)
        three.failed(.versionRefused, .three, .answered, at: start)
        #expect(three.version == .three)
    }

    @Test func `no retained messages is no failure: without them at once, and with them at the next connection`() {
        var plan = plan()
        #expect(plan.failed(.retainRefused, .five, .answered, at: start) == true)
        #expect(plan.isWithoutRetained && plan.nextAttempt == start)
        // Said of a connection that did without them, it is a failure like others.
        #expect(plan.failed(.retainRefused, .five, .answered, wasWithoutRetained: true, at: start) == false)
        #expect(!plan.isWithoutRetained && (plan.nextAttempt ?? start) > start)
        plan.failed(.retainRefused, .five, .answered, at: start)
        plan.connected(.five, at: start)
        #expect(!plan.isWithoutRetained)
    }

    @Test func `connections that are closed soon, one after the other, are counted until one holds`() {
        var plan = plan()
        for count in 1...4 {
            plan.connected(.three, at: start)
            plan.failed(.lost("closed"), .three, .answered, at: start + .seconds(20))
            #expect(plan.soonEnds == count)
            plan.failed(.unreachable("a:1", "refused"), .three, .nobody, at: start + .seconds(21))
        }
        plan.connected(.three, at: start)
        plan.failed(.lost("closed"), .three, .answered, at: start + .seconds(60))
        #expect(plan.soonEnds == 0)
    }

    @Test(arguments: [
        (UInt8(0x03), false), (0x04, true), (0x05, true), (0x86, true), (0x87, true), (0x88, false), (0x89, false),
        (0x8A, true), (0x97, false), (0x85, true),
    ])
    func `a broker that is busy passes, one that does not know us does not`(_ code: UInt8, _ needsSomebody: Bool) {
        #expect(BrokerTrouble.refused(code, "x").needsSomebody == needsSomebody)
    }
}
