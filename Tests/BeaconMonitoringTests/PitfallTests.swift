import Testing

@testable import BeaconMonitoring

/// What Core Location's users have learnt to work around, each claim held against the design that is written first too:
/// there it is false, so it is a claim that can be.
@Suite struct PitfallTests {
    @Test func `a second monitor of a name is an error that is thrown`() async throws {
        #expect(try await Self.secondIsRefused(Ours.self, "pitfall second"))
    }

    @Test func `a second monitor of a name is a crash where the name is claimed by a precondition`() async {
        await #expect(processExitsWith: .failure) { _ = try await Self.secondIsRefused(Naive.self, "pitfall second") }
    }

    @Test func `a monitor that was discarded can be made again at once`() async throws {
        #expect(try await Self.isMadeAgain(Ours.self, "pitfall again"))
    }

    @Test func `a monitor that its own task keeps alive can't be made again at once`() async {
        await #expect(processExitsWith: .failure) { _ = try await Self.isMadeAgain(Naive.self, "pitfall again") }
    }

    @Test func `a second subscription after a first does not end at once`() async throws {
        #expect(try await Self.secondSubscriptionGoesOn(Ours.self, "pitfall subscription"))
        #expect(try await !Self.secondSubscriptionGoesOn(Naive.self, "pitfall subscription"))
    }

    @Test func `two subscribers take nothing from each other`() async throws {
        #expect(try await Self.bothGetAll(Ours.self, "pitfall two"))
        #expect(try await !Self.bothGetAll(Naive.self, "pitfall two"))
    }

    @Test func `an iteration that was cancelled can be resumed, and another's goes on meanwhile`() async throws {
        #expect(try await Self.isResumed(Ours.self, "pitfall resumed"))
        #expect(try await !Self.isResumed(Naive.self, "pitfall resumed"))
    }

    @Test func `the record still holds the event before the one that is being handled`() async throws {
        #expect(try await Self.priorIsThere(Ours.self, "pitfall prior"))
        #expect(try await !Self.priorIsThere(Naive.self, "pitfall prior"))
    }

    @Test func `a condition past the limit is said to be unmonitored`() async throws {
        #expect(try await Self.excessIsTold(Ours.self, "pitfall limit"))
        #expect(try await !Self.excessIsTold(Naive.self, "pitfall limit"))
    }

    @Test func `C4: past the limit the event has the flag by its name, and a place that frees is told of`() async throws
    {
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

    // MARK: The claims

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
        let task = Task { [news = monitor.news] in
            for try await _ in news { withUnsafeCurrentTask { $0?.cancel() } }
        }
        task.cancel()
        try await task.value
        var second = monitor.news.makeAsyncIterator()
        await monitor.enter(2)
        let heard = try await second.next()
        await monitor.end()
        return heard == Entered(2)
    }

    private static func bothGetAll<D: Design>(_: D.Type, _ name: String) async throws -> Bool {
        let monitor = try await D.open(name, limit: 0)
        let numbers = Array(1...9 as ClosedRange<UInt16>)
        for number in numbers { try await monitor.add(number) }
        var (one, two) = (monitor.news.makeAsyncIterator(), monitor.news.makeAsyncIterator())
        for number in numbers { await monitor.enter(number) }
        await monitor.end()
        var (left, right): ([UInt16], [UInt16]) = ([], [])
        while let news = try await one.next() { left.append(news.number) }
        while let news = try await two.next() { right.append(news.number) }
        return left == numbers && right == numbers
    }

    private static func isResumed<D: Design>(_: D.Type, _ name: String) async throws -> Bool {
        let monitor = try await D.open(name, limit: 0)
        for number in 1...3 as ClosedRange<UInt16> { try await monitor.add(number) }
        var stays = monitor.news.makeAsyncIterator()
        await monitor.enter(1)
        guard try await stays.next() == Entered(1) else { return false }
        let news = monitor.news
        for number in 2...3 as ClosedRange<UInt16> {
            let cancelled = Task { for try await _ in news {} }
            cancelled.cancel()
            try await cancelled.value
            var resumed = news.makeAsyncIterator()
            await monitor.enter(number)
            guard try await resumed.next() == Entered(number), try await stays.next() == Entered(number) else {
                return false
            }
        }
        await monitor.end()
        return true
    }

    private static func priorIsThere<D: Design>(_: D.Type, _ name: String) async throws -> Bool {
        let monitor = try await D.open(name, limit: 0)
        try await monitor.add(1)
        var news = monitor.news.makeAsyncIterator()
        await monitor.enter(1)
        guard try await news.next() == Entered(1) else { return false }
        let prior = await monitor.state(1)
        await monitor.end()
        _ = try await news.next()
        let after = await monitor.state(1)
        return prior == .unsatisfied && after == .satisfied
    }

    private static func excessIsTold<D: Design>(_: D.Type, _ name: String) async throws -> Bool {
        let monitor = try await D.open(name, limit: 2)
        var news = monitor.news.makeAsyncIterator()
        for number in 1...3 as ClosedRange<UInt16> { try await monitor.add(number) }
        await monitor.end()
        var told: [Entered] = []
        while let next = try await news.next() { told.append(next) }
        let state = await monitor.state(3)
        return told == [Entered(3, .unmonitored)] && state == .unmonitored
    }
}
