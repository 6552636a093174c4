import BluetoothLE
import MQTTPublishing
import Testing

@Suite struct ConnectionPlanTests {
    private let start = Instant(nanoseconds: 1_000_000_000_000)

    private func plan(seed: UInt64 = 7) -> ConnectionPlan {
        ConnectionPlan(PublisherOptions.BackOff(), seed: seed, at: start)
    }

    /// The delay after each of some failures, one after the other.
    private func delays(_ trouble: BrokerTrouble, _ count: Int, seed: UInt64 = 7) -> [Duration] {
        var plan = plan(seed: seed)
        var now = start
        return (0..<count).map { _ in
            plan.begin()
            plan.failed(trouble, .five, wasAnswered: false, at: now)
            let delay = (plan.nextAttempt ?? now) - now
            now = plan.nextAttempt ?? now
            return delay
        }
    }

    @Test func `the first attempt is due at once`() {
        #expect(plan().nextAttempt == start)
        #expect(plan().version(at: start) == .five)
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
        for _ in 0..<6 { plan.failed(.lost("closed"), .five, wasAnswered: true, at: start) }
        plan.connected(.five, at: start)
        plan.failed(.lost("closed"), .five, wasAnswered: true, at: start + .seconds(1))
        // The seventh in a row.
        #expect((plan.nextAttempt ?? start) - (start + .seconds(1)) >= .seconds(30))
        plan.connected(.five, at: start)
        plan.progressed()
        plan.failed(.lost("closed"), .five, wasAnswered: true, at: start + .seconds(1))
        #expect((plan.nextAttempt ?? .latest) - (start + .seconds(1)) <= .seconds(1))
    }

    @Test(arguments: [(59, false), (60, true)])
    func `a connection that held for a minute was a good one, even without lines`(_ seconds: Int, _ isGood: Bool) {
        var plan = plan()
        for _ in 0..<6 { plan.failed(.lost("closed"), .five, wasAnswered: true, at: start) }
        plan.connected(.five, at: start)
        let end = start + .seconds(seconds)
        plan.failed(.lost("closed"), .five, wasAnswered: true, at: end)
        #expect(((plan.nextAttempt ?? end) - end <= .seconds(1)) == isGood)
    }

    @Test func `a refused version is no failure: 3.1.1 at once, and for a day`() {
        var plan = plan()
        plan.failed(.versionRefused, .five, wasAnswered: true, at: start)
        #expect(plan.nextAttempt == start)
        #expect(plan.version(at: start) == .three)
        plan.connected(.three, at: start)
        plan.failed(.lost("closed"), .three, wasAnswered: true, at: start + .seconds(5))
        #expect(plan.version(at: start + .seconds(86_399)) == .three)
        #expect(plan.version(at: start + .seconds(86_400)) == .five)
    }

    @Test func `a broker that hangs up twice at version 5 without a word is tried once with 3.1.1`() {
        var plan = plan()
        plan.failed(.lost("closed"), .five, wasAnswered: false, at: start)
        #expect(plan.version(at: start) == .five)
        plan.failed(.lost("closed"), .five, wasAnswered: false, at: start)
        #expect(plan.version(at: start) == .three)
        plan.failed(.lost("closed"), .three, wasAnswered: false, at: start)
        #expect(plan.version(at: start) == .five)
    }

    @Test(arguments: [
        (UInt8(0x03), false), (0x04, true), (0x05, true), (0x86, true), (0x87, true), (0x88, false), (0x89, false),
        (0x8A, true), (0x97, false), (0x85, true),
    ])
    func `a broker that is busy passes, one that does not know us does not`(_ code: UInt8, _ needsSomebody: Bool) {
        #expect(BrokerTrouble.refused(code, "x").needsSomebody == needsSomebody)
    }
}
