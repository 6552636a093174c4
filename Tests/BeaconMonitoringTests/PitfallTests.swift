import Testing

@testable import BeaconMonitoring

/// Problems of Core Location that its users have to work around. Most checks also run against the naive design, which
/// must fail them, so these checks can fail.
@Suite struct PitfallTests {
    @Test func `a second monitor with the same name is refused with an error`() async throws {
        #expect(try await Self.secondIsRefused(Ours.self, "pitfall second"))
    }

    @Test func `in the naive design, a second monitor with the same name crashes the process`() async {
        await #expect(processExitsWith: .failure) { _ = try await Self.secondIsRefused(Naive.self, "pitfall second") }
    }

    @Test func `a monitor can be created again with the same name as soon as the old one is released`() async throws {
        #expect(try await Self.isMadeAgain(Ours.self, "pitfall again"))
    }

    @Test func `in the naive design, a monitor that its own task keeps alive cannot be created again at once`() async {
        await #expect(processExitsWith: .failure) { _ = try await Self.isMadeAgain(Naive.self, "pitfall again") }
    }

    @Test func `a second subscription gets events after the task of the first was canceled`() async throws {
        #expect(try await Self.secondSubscriptionGoesOn(Ours.self, "pitfall subscription"))
        #expect(try await !Self.secondSubscriptionGoesOn(Naive.self, "pitfall subscription"))
    }

    @Test func `two subscribers each get all events`() async throws {
        #expect(try await Self.bothGetAll(Ours.self, "pitfall two"))
        #expect(try await !Self.bothGetAll(Naive.self, "pitfall two"))
    }

    @Test func `a canceled iteration can be resumed, and another subscriber continues meanwhile`() async throws {
        #expect(try await Self.isResumed(Ours.self, "pitfall resumed"))
        #expect(try await !Self.isResumed(Naive.self, "pitfall resumed"))
    }

    @Test func `while a subscriber handles an event, the record still has the event before it`() async throws {
        #expect(try await Self.priorIsThere(Ours.self, "pitfall prior"))
        #expect(try await !Self.priorIsThere(Naive.self, "pitfall prior"))
    }

    @Test func `a condition beyond the limit gets an event and becomes unmonitored`() async throws {
        #expect(try await Self.excessIsReported(Ours.self, "pitfall limit"))
        #expect(try await !Self.excessIsReported(Naive.self, "pitfall limit"))
    }

    @Test func `C4: an excess condition's event has conditionLimitExceeded; a free place gives unknown`() async throws {
        let ours = try await Ours.open("pitfall flag", limit: 1)
        var events = ours.monitor.events.makeAsyncIterator()
        for number in 1...2 as ClosedRange<UInt16> { try await ours.add(number) }
        let excess = try #require(await events.next())
        #expect(excess.identifier == "2" && excess.state == .unmonitored && excess.conditionLimitExceeded)
        #expect(try await ours.monitor.requestState(for: "2") == .unmonitored)
        await ours.monitor.remove("1")
        let promoted = try #require(await events.next())
        #expect(promoted.identifier == "2" && promoted.state == .unknown && !promoted.conditionLimitExceeded)
    }

    // MARK: The checks

    private static func secondIsRefused<D: Design>(_: D.Type, _ name: String) async throws -> Bool {
        let first = try await D.open(name, limit: 0)
        let isRefused: Bool
        do {
            _ = try await D.open(name, limit: 0)
            isRefused = false
        } catch {
            isRefused = true
        }
        await first.end()
        return isRefused
    }

    private static func isMadeAgain<D: Design>(_: D.Type, _ name: String) async throws -> Bool {
        for _ in 0..<100 {
            let monitor = try await D.open(name, limit: 0)
            try await monitor.add(1)
        }
        return true
    }

    private static func secondSubscriptionGoesOn<D: Design>(_: D.Type, _ name: String) async throws -> Bool {
        let monitor = try await D.open(name, limit: 0)
        for number in 1...2 as ClosedRange<UInt16> { try await monitor.add(number) }
        let task = Task { [entries = monitor.entries] in
            for try await _ in entries { withUnsafeCurrentTask { $0?.cancel() } }
        }
        task.cancel()
        try await task.value
        var second = monitor.entries.makeAsyncIterator()
        await monitor.enter(2)
        let received = try await second.next()
        await monitor.end()
        return received == Entered(2)
    }

    private static func bothGetAll<D: Design>(_: D.Type, _ name: String) async throws -> Bool {
        let monitor = try await D.open(name, limit: 0)
        let numbers = Array(1...9 as ClosedRange<UInt16>)
        for number in numbers { try await monitor.add(number) }
        var (one, two) = (monitor.entries.makeAsyncIterator(), monitor.entries.makeAsyncIterator())
        for number in numbers { await monitor.enter(number) }
        await monitor.end()
        var (left, right): ([UInt16], [UInt16]) = ([], [])
        while let entry = try await one.next() { left.append(entry.number) }
        while let entry = try await two.next() { right.append(entry.number) }
        return left == numbers && right == numbers
    }

    private static func isResumed<D: Design>(_: D.Type, _ name: String) async throws -> Bool {
        let monitor = try await D.open(name, limit: 0)
        for number in 1...3 as ClosedRange<UInt16> { try await monitor.add(number) }
        var remaining = monitor.entries.makeAsyncIterator()
        await monitor.enter(1)
        guard try await remaining.next() == Entered(1) else { return false }
        let entries = monitor.entries
        for number in 2...3 as ClosedRange<UInt16> {
            let cancelled = Task { for try await _ in entries {} }
            cancelled.cancel()
            try await cancelled.value
            var resumed = entries.makeAsyncIterator()
            await monitor.enter(number)
            guard try await resumed.next() == Entered(number), try await remaining.next() == Entered(number) else {
                return false
            }
        }
        await monitor.end()
        return true
    }

    private static func priorIsThere<D: Design>(_: D.Type, _ name: String) async throws -> Bool {
        let monitor = try await D.open(name, limit: 0)
        try await monitor.add(1)
        var entries = monitor.entries.makeAsyncIterator()
        await monitor.enter(1)
        guard try await entries.next() == Entered(1) else { return false }
        let prior = await monitor.state(1)
        await monitor.end()
        _ = try await entries.next()
        let after = await monitor.state(1)
        return prior == .unsatisfied && after == .satisfied
    }

    private static func excessIsReported<D: Design>(_: D.Type, _ name: String) async throws -> Bool {
        let monitor = try await D.open(name, limit: 2)
        var entries = monitor.entries.makeAsyncIterator()
        for number in 1...3 as ClosedRange<UInt16> { try await monitor.add(number) }
        await monitor.end()
        var reported: [Entered] = []
        while let next = try await entries.next() { reported.append(next) }
        let state = await monitor.state(3)
        return reported == [Entered(3, .unmonitored)] && state == .unmonitored
    }
}
