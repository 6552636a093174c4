import TestSupport
import Testing

@testable import BeaconMonitoring

/// `setConditions` sets all conditions at once, and `requestState` returns the state of one.
@Suite struct ConditionSetTests {
    private static func wanted(
        _ condition: Condition, _ identifier: String, assuming: BeaconMonitor.Event.State = .unsatisfied,
        exit: Duration = .seconds(30)
    ) throws -> MonitorSetup.Condition {
        var settings = ConditionSettings()
        settings.exitTimeout = exit
        return try MonitorSetup.Condition(condition, identifier: identifier, assuming: assuming, settings: settings)
    }

    private static func brief(_ changes: [ConditionChange]) -> [String] {
        changes.map { "\($0.kind) \($0.identifier)" }
    }

    @Test func `a condition that stays keeps its state, record and place, and is not among the changes`() async throws {
        let site = try await Site("set stays")
        let lobby = try Self.wanted(.anyA, "lobby")
        #expect(
            Self.brief(try await site.monitor.setConditions([try Self.wanted(.anyB, "depot"), lobby]))
                == ["added depot", "added lobby"])
        await site.sighted(at: .seconds(1))
        let entered = await site.monitor.record(for: "lobby")
        #expect(entered?.lastEvent.state == .satisfied)
        var events = site.monitor.events.makeAsyncIterator()
        site.clock.set(.seconds(2))
        let changes = try await site.monitor.setConditions([try Self.wanted(.a(9), "gate"), lobby])
        #expect(Self.brief(changes) == ["removed depot", "added gate"])
        #expect(await site.monitor.record(for: "lobby") == entered)
        #expect(await site.monitor.identifiers == ["lobby", "gate"])
        #expect(try await site.monitor.setConditions([lobby, try Self.wanted(.a(9), "gate")]) == [])
        await site.sighted(at: .seconds(40))
        #expect(try await events.next()?.brief == .unsatisfied(at: .seconds(31)))
    }

    @Test func `other settings only move deadlines, another identity restarts a condition`() async throws {
        let site = try await Site("set changes")
        try await site.monitor.setConditions([try Self.wanted(.anyA, "lobby"), try Self.wanted(.a(1), "gate")])
        await site.sighted(at: .zero)
        let changes = try await site.monitor.setConditions([
            try Self.wanted(.anyA, "lobby", exit: .seconds(5)), try Self.wanted(.a(2), "gate"),
        ])
        #expect(Self.brief(changes) == ["changed lobby", "replaced gate"])
        #expect(try await site.monitor.requestState(for: "lobby") == .satisfied)
        #expect(try await site.monitor.requestState(for: "gate") == .unsatisfied)
        await site.received(at: .seconds(5))
        #expect(try await site.monitor.requestState(for: "lobby") == .unsatisfied)
    }

    @Test func `if one of the conditions is invalid, nothing changes`() async throws {
        let site = try await Site("set refused")
        try await site.lobby()
        let gate = try Self.wanted(.a(1), "gate")
        for (refused, reason) in [
            ([gate, gate], MonitorError.identifierRepeated("gate")),
            (
                [gate, try Self.wanted(.a(2), "late", exit: .seconds(31 * 86_400))],
                .settingInvalid("exit_timeout is \(Duration.seconds(31 * 86_400))", "expected 1ms…30d")
            ),
            (
                [gate, try Self.wanted(.a(2), "odd", assuming: .unmonitored)],
                .settingInvalid("assuming is unmonitored", "expected unknown, satisfied or unsatisfied")
            ),
        ] {
            await #expect(throws: reason) { try await site.monitor.setConditions(refused) }
            #expect(await site.monitor.identifiers == ["lobby"])
        }
        await site.monitor.end()
        await #expect(throws: MonitorError.ended("set refused")) { try await site.monitor.setConditions([]) }
    }

    @Test func `C4: no condition gets a place only to lose it at once`() async throws {
        let ours = try await Ours.open("set limit", limit: 1)
        for number in 1...3 as ClosedRange<UInt16> { try await ours.add(number) }
        var events = ours.monitor.events.makeAsyncIterator()
        // 2 and 3 wait for a place. If 1 were removed first, 2 would get its place for a moment.
        let changes = try await ours.monitor.setConditions([
            try Self.wanted(.a(3), "3"), try Self.wanted(.a(4), "4"),
        ])
        #expect(Self.brief(changes) == ["removed 2", "removed 1", "added 4"])
        await ours.end()
        #expect(try await events.next()?.brief == .unknown("3", at: .zero))
        #expect(try await events.next()?.brief == .unmonitored("4", at: .zero))
        #expect(try await events.next() == nil)
    }

    @Test func `random sets are applied as requested, and only conditions that differ are changed`() async throws {
        let seed = SeededGenerator.seed
        var random = SeededGenerator(state: seed)
        let site = try await Site("set random")
        var present: [String: MonitorSetup.Condition] = [:]
        for round in 0..<300 {
            site.clock.set(.seconds(round))
            var next: [String: MonitorSetup.Condition] = [:]
            for _ in 0..<Int.random(in: 0..<12, using: &random) {
                let identifier = "c\(Int.random(in: 0..<12, using: &random))"
                next[identifier] = try Self.wanted(
                    .a(UInt16(Int.random(in: 0..<3, using: &random))), identifier,
                    exit: .seconds(1000 + Int.random(in: 0..<2, using: &random)))
            }
            await site.sighted(.a(UInt16(Int.random(in: 0..<3, using: &random))), at: .seconds(round))
            let stay = next.filter { present[$0.key]?.condition == $0.value.condition }.keys
            var records: [String: BeaconMonitor.Record] = [:]
            for identifier in stay { records[identifier] = await site.monitor.record(for: identifier) }
            let changes = try await site.monitor.setConditions(next.values.sorted { $0.identifier < $1.identifier })
            #expect(await Set(site.monitor.identifiers) == Set(next.keys), "seed \(seed)")
            let differ = Set(present.keys).union(next.keys).filter { present[$0] != next[$0] }
            #expect(changes.map(\.identifier).sorted() == differ.sorted(), "seed \(seed)")
            for identifier in stay {
                #expect(await site.monitor.record(for: identifier) == records[identifier], "seed \(seed)")
            }
            present = next
        }
    }

    // MARK: Requests

    @Test func `requestState returns the state at once, also unknown, and before the record has it`() async throws {
        let site = try await Site("state")
        try await site.monitor.add(.anyA, identifier: "lobby")
        var events = site.monitor.events.makeAsyncIterator()
        #expect(try await site.monitor.requestState(for: "lobby") == .unknown)
        await site.sighted(at: .zero)
        #expect(try await site.monitor.requestState(for: "lobby") == .satisfied)
        #expect(await site.monitor.record(for: "lobby")?.lastEvent.state == .unknown)
        #expect(try await events.next()?.brief == .satisfied(at: .zero))
        // A request is not an event and handles none: deadlines must wait for reports that the scanners have not
        // delivered yet (rule T5).
        site.clock.set(.seconds(30))
        #expect(try await site.monitor.requestState(for: "lobby") == .satisfied)
        await site.sighted(at: .seconds(29))
        site.clock.set(.seconds(59))
        await site.received(at: .seconds(59))
        #expect(try await site.monitor.requestState(for: "lobby") == .unsatisfied)
        #expect(try await events.next()?.brief == .unsatisfied(at: .seconds(59)))
    }

    @Test func `requestState fails if the identifier is unknown or the monitor has ended`() async throws {
        let site = try await Site("state nobody")
        await #expect(throws: MonitorError.identifierUnknown("lobby")) {
            try await site.monitor.requestState(for: "lobby")
        }
        await site.monitor.end()
        await #expect(throws: MonitorError.ended("state nobody")) {
            try await site.monitor.requestState(for: "lobby")
        }
    }

    // MARK: Flags

    @Test func `each flag of an event is a Boolean property with the name of the flag`() async throws {
        let booleans: [(String, KeyPath<BeaconMonitor.Event, Bool>)] = [
            ("authorizationDenied", \.authorizationDenied),
            ("authorizationDeniedGlobally", \.authorizationDeniedGlobally),
            ("authorizationRequestInProgress", \.authorizationRequestInProgress),
            ("authorizationRestricted", \.authorizationRestricted), ("insufficientlyInUse", \.insufficientlyInUse),
            ("serviceSessionRequired", \.serviceSessionRequired), ("serviceUnavailable", \.serviceUnavailable),
            ("scannerUnavailable", \.scannerUnavailable), ("locationUnavailable", \.locationUnavailable),
            ("accuracyLimited", \.accuracyLimited), ("conditionLimitExceeded", \.conditionLimitExceeded),
            ("conditionUnsupported", \.conditionUnsupported), ("trackingLimitExceeded", \.trackingLimitExceeded),
            ("persistenceUnavailable", \.persistenceUnavailable), ("clockUnsynchronized", \.clockUnsynchronized),
        ]
        #expect(booleans.map(\.0) == Diagnostics.names)
        let site = try await Site("flags")
        var events = site.monitor.events.makeAsyncIterator()
        for raised in booleans.indices {
            try await site.lobby()
            await site.monitor.setAmbientDiagnostics(Diagnostics(rawValue: 1 << UInt32(raised)))
            await site.sighted(at: .zero)
            let event = try #require(await events.next())
            for (bit, boolean) in booleans.enumerated() { #expect(event[keyPath: boolean.1] == (bit == raised)) }
            await site.monitor.remove("lobby")
        }
    }
}
