import BaseTypes
import BeaconMonitoringTesting
import EventLog
import Foundation
import Synchronization
import SystemPackage
import Testing

@testable import BeaconMonitoring

/// A program that forgets `run()` can see it: in records, in events, and in one remark.
@Suite(.timeLimit(.minutes(6))) struct RunStateTests {
    /// A clock of the machine whose time a test sets.
    private struct LiveClock: MonitorClock {
        let clock = ManualClock(Fixture.start)
        var now: Instant { clock.now }
        var offset: ClockOffset { clock.offset }
        var isLive: Bool { true }
        func sleep(until instant: Instant) async throws { try await clock.sleep(until: instant) }
    }

    private final class Handler: Sendable {
        private let list = Mutex<[MonitorRemark]>([])
        var remarks: [MonitorRemark] { list.withLock { $0 } }
        func add(_ remark: MonitorRemark) { list.withLock { $0.append(remark) } }
    }

    private func isFlagged(_ monitor: BeaconMonitor) async throws -> Bool {
        try #require(await monitor.record(for: "lobby")).lastEvent.monitorNotRunning
    }

    @Test func `a record shows that a monitor with a source does not run`() async throws {
        let script = ScriptedSightings()
        let monitor = try BeaconMonitor("never run record", source: script)
        try await monitor.add(.anyA, identifier: "lobby")
        #expect(try await isFlagged(monitor))
        #expect(await monitor.record(for: "lobby")?.lastEvent.diagnostics.description == "[monitorNotRunning]")
        async let running: Void = monitor.run()
        await script.receive(.a(7))
        #expect(try await !isFlagged(monitor))
        script.finish()
        try await running
        // The monitor has ended, so it does not need to run.
        #expect(try await !isFlagged(monitor))
        #expect(await monitor.record(for: "lobby")?.lastEvent.state == .satisfied)
    }

    @Test func `events that are made while the monitor does not run have a flag, which no line and no store has`()
        async throws
    {
        var settings = EngineSettings()
        settings.conditionLimit = 1
        let script = ScriptedSightings()
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("run-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let monitor = try BeaconMonitor(
            "never run event", source: script, engine: settings, service: ServiceRegistry(),
            store: FileRecordStore(directory: FilePath(folder.path)))
        var events = monitor.subscribe().makeAsyncIterator()
        for identifier in ["lobby", "yard"] { try await monitor.add(.anyA, identifier: identifier) }
        let excess = try #require(await events.next())
        #expect(excess.diagnostics == [.conditionLimitExceeded, .monitorNotRunning])
        let coded = try JSONEncoder().encode(excess)
        #expect(!String(decoding: coded, as: UTF8.self).contains("NotRunning"))
        let decoded = try JSONDecoder().decode(BeaconMonitor.Event.self, from: coded)
        #expect(decoded.diagnostics == [.conditionLimitExceeded])
        #expect(await monitor.record(for: "yard")?.lastEvent.monitorNotRunning == true)
        let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
        let stored = try files.compactMap { $0 as? URL }.filter { $0.pathExtension == "jsonl" }
            .map { try String(contentsOf: $0, encoding: .utf8) }
        #expect(stored.count == 2)
        for text in stored { #expect(text.contains("conditionLimitExceeded") && !text.contains("NotRunning")) }
        async let running: Void = monitor.run()
        await script.receive(.a(7))
        let entry = try #require(await events.next())
        #expect(entry.state == .satisfied && !entry.monitorNotRunning)
        // This event was made before, but the monitor runs now.
        #expect(await monitor.record(for: "yard")?.lastEvent.diagnostics == [.conditionLimitExceeded])
        script.finish()
        try await running
    }

    @Test func `a monitor with the clock of the machine needs to run, also after its task was cancelled`() async throws
    {
        let clock = LiveClock()
        let monitor = try BeaconMonitor("never run live", clock: clock)
        try await monitor.add(.anyA, identifier: "lobby")
        #expect(try await isFlagged(monitor))
        let loop = Task { try await monitor.run() }
        await clock.clock.waitForSleeper(at: .seconds(60))
        #expect(try await !isFlagged(monitor))
        loop.cancel()
        await #expect(throws: CancellationError.self) { try await loop.value }
        #expect(try await isFlagged(monitor))
        await monitor.end()
        #expect(try await !isFlagged(monitor))
    }

    @Test func `a monitor to which a test passes sightings and time does not need to run`() async throws {
        let site = try await Site("never run test")
        try await site.lobby()
        #expect(try await !isFlagged(site.monitor))
        await site.sighted(at: .seconds(1))
        #expect(try await !isFlagged(site.monitor))
    }

    @Test(arguments: ["events", "visits", "rangings"])
    func `a program that waits for a monitor that it never runs gets one remark`(_ sequence: String) async throws {
        let clock = ManualClock(Fixture.start)
        let monitor = try BeaconMonitor("never run \(sequence)", source: ScriptedSightings(clock: clock))
        try await monitor.add(.anyA, identifier: "lobby")
        let (remarks, input) = AsyncStream.makeStream(of: MonitorRemark.self)
        await monitor.onRemark { input.yield($0) }
        let loops = (0..<2).map { _ in
            Task {
                switch sequence {
                case "events": for try await _ in monitor.events {}
                case "visits": for try await _ in monitor.visits {}
                default: for await _ in monitor.ranging(for: BeaconMonitor.BeaconIdentityCondition(uuid: .a)) {}
                }
            }
        }
        await clock.waitForSleeper(at: .seconds(5))
        clock.set(.seconds(5))
        var remark = remarks.makeAsyncIterator()
        #expect(await remark.next() == .notRunning)
        #expect(MonitorRemark.notRunning.description.contains("run() has not been called"))
        await monitor.end()
        for loop in loops { try await loop.value }
        input.finish()
        #expect(await remark.next() == nil)
    }

    @Test func `the remark is made once, at the earliest 5 seconds after a request, and never after run()`() {
        let handler = Handler()
        let remarks = Remarks(standard: { _ in Issue.record("a handler replaces the standard one") })
        remarks.add { handler.add($0) }
        let clock = ManualClock()
        func state(isNeeded: Bool = true, _ change: (RunState) -> Void = { _ in }) -> RunState {
            let state = RunState(isNeeded: isNeeded, on: clock, remarks)
            state.ask()
            change(state)
            return state
        }
        let others = [
            state { $0.run() }, state { $0.end() },
            state {
                $0.run()
                $0.stop()
            }, state(isNeeded: false),
        ]
        // The monitor exists for a long time before the program asks for something.
        let never = RunState(isNeeded: true, on: clock, remarks)
        clock.advance(by: .seconds(600))
        never.ask()
        clock.advance(by: .seconds(5) - .nanoseconds(1))
        never.ask()
        #expect(handler.remarks == [])
        for _ in 0..<3 {
            clock.advance(by: .nanoseconds(1))
            never.ask()
        }
        #expect(handler.remarks == [.notRunning])
        for state in others { state.ask() }
        #expect(handler.remarks == [.notRunning])
    }

    @Test func `the remark is made also if events arrive all the time, or if only states are requested`() async throws {
        for name in ["events", "states"] {
            let clock = LiveClock()
            let monitor = try BeaconMonitor("never run often \(name)", clock: clock)
            let handler = Handler()
            await monitor.onRemark { handler.add($0) }
            try await monitor.add(.anyA, identifier: "lobby", assuming: .unsatisfied)
            let adapter = try await monitor.adapter(named: "hci0")
            var events = monitor.subscribe().makeAsyncIterator()
            for second in stride(from: 0, through: 60, by: 2) {
                clock.clock.set(.seconds(second))
                try await monitor.add(.a(UInt16(second)), identifier: "lobby", assuming: .unsatisfied)
                await monitor.sighted(
                    Sighting(
                        time: clock.now, adapter: adapter, beacon: .a(UInt16(second)), measuredPower: -59, rssi: nil))
                if name == "events" {
                    #expect(try await events.next()?.state == .satisfied)
                } else {
                    _ = try await monitor.requestState(for: "lobby")
                }
            }
            #expect(handler.remarks == [.notRunning])
        }
    }

    @Test func `a handler that is added late gets the remark`() async throws {
        let clock = LiveClock()
        let monitor = try BeaconMonitor("never run late", clock: clock)
        _ = await monitor.record(for: "lobby")
        clock.clock.set(.seconds(7))
        _ = await monitor.record(for: "lobby")
        let handler = Handler()
        await monitor.onRemark { handler.add($0) }
        #expect(handler.remarks == [.notRunning])
    }

    @Test func `a subscriber does not keep a discarded monitor alive while its remark is due`() async throws {
        let clock = ManualClock(Fixture.start)
        var monitor: BeaconMonitor? = try BeaconMonitor("never run discarded", source: ScriptedSightings(clock: clock))
        let events = try #require(monitor).subscribe()
        let loop = Task { for try await _ in events {} }
        await clock.waitForSleeper(at: .seconds(5))
        monitor = nil
        try await loop.value
        #expect(clock.sleepers == 0)
        _ = try BeaconMonitor("never run discarded", clock: ManualClock())
    }
}
