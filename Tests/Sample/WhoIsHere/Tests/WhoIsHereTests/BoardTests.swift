import BeaconMonitoringFoundation
import BeaconMonitoringTesting
import BeaconScanning
import Foundation
import Testing

@testable import WhoIsHere

@Suite(.timeLimit(.minutes(1))) struct BoardTests {
    /// The script starts on 30 November 2026 at 08:00 in Berlin.
    private let script = ScriptedSightings(clock: ManualClock(Instant(nanoseconds: 1_796_022_000_000_000_000)))
    private let ada = BeaconIdentity(uuid: Self.staff, major: 1, minor: 7)
    private let bob = BeaconIdentity(uuid: Self.staff, major: 1, minor: 8)

    private static let staff = ProximityUUID(high: 0xF782_6DA6_4FA2_4E98, low: 0x8024_BC5B_71E0_893E)

    /// Performs the script with a monitor of Ada and Bob, and returns the board at its end.
    private func board(_ name: String, _ perform: () async -> Void) async throws -> [String] {
        let monitor = try BeaconMonitor(name, scanning: .scripted(script))
        let badges = try ["\(bob)=Bob Moore", "\(ada)=Ada"].map { try WhoIsHere.Badge($0) }
        try await monitor.setConditions(badges.map { try $0.condition })
        var board = Board(await monitor.records, zone: try #require(TimeZone(identifier: "Europe/Berlin")))
        let events = monitor.subscribe()
        async let running: Void = monitor.run()
        await perform()
        script.finish()
        try await running
        for try await event in events { board.show(event) }
        return board.lines
    }

    @Test func `before the first advertisement, each person is unknown`() async throws {
        let lines = try await board("start") {}
        #expect(
            lines == [
                "0 of 2 present",
                "Ada        unknown since 2026-11-30 08:00",
                "Bob Moore  unknown since 2026-11-30 08:00",
            ])
    }

    @Test func `a person is present from the first sighting until two minutes after the last one`() async throws {
        let lines = try await board("visit") {
            await script.receive(ada)
            for _ in 0..<10 {
                await script.wait(.seconds(60))
                await script.receive(bob)
            }
        }
        #expect(
            lines == [
                "1 of 2 present",
                "Ada        absent since 2026-11-30 08:02",
                "Bob Moore  present since 2026-11-30 08:01",
            ])
    }

    @Test func `if the adapter is unplugged, the people become unknown, not absent`() async throws {
        let lines = try await board("outage") {
            await script.receive(ada)
            await script.wait(.seconds(90))
            await script.stopListening(because: "unplugged")
            await script.waitInSilence(.seconds(3600))
        }
        #expect(
            lines == [
                "0 of 2 present",
                "Ada        unknown since 2026-11-30 08:02, was present",
                "Bob Moore  unknown since 2026-11-30 08:00",
            ])
    }

    @Test func `the diagnostics of the machine are below the people`() {
        var board = Board([])
        board.diagnostics = [.scannerUnavailable]
        #expect(board.lines == ["0 of 0 present", "Diagnostics: [scannerUnavailable]"])
    }

    /// Returns the record of a person.
    private func record(_ person: String, _ state: BeaconMonitor.Event.State) throws -> BeaconMonitor.Record {
        let condition = try WhoIsHere.Badge("\(ada)=\(person)").condition.condition
        let event = BeaconMonitor.Event(
            monitor: "board", identifier: person, scope: .condition, state: state, time: script.manualClock.now,
            clockOffset: .zero, condition: condition, refinement: nil, previous: nil, sighting: nil, lastSeen: nil,
            diagnostics: [])
        return BeaconMonitor.Record(condition: condition, lastEvent: event)
    }

    @Test func `people are sorted as a person would sort them, and aligned`() throws {
        let board = Board(try ["Bob 10", "Rene\u{301}", "ada", "Bob 9"].map { try record($0, .unmonitored) })
        #expect(
            board.lines == [
                "0 of 4 present",
                "ada     not monitored",
                "Bob 9   not monitored",
                "Bob 10  not monitored",
                "Rene\u{301}    not monitored",
            ])
    }

    @Test func `an event of a person who is not monitored any more is not shown`() throws {
        var board = Board([try record("Ada", .unknown)])
        board.show(try record("Bob", .satisfied).lastEvent)
        #expect(board.lines.first == "0 of 1 present")
    }

    @Test(arguments: ["", "Ada", "\(staff)/1=Ada", "\(staff)/1/7", "\(staff)/1/7=", "\(staff)/1/65536=Ada"])
    func `a badge without a person or a number is an error`(text: String) {
        #expect(throws: (any Error).self) { try WhoIsHere.Badge(text) }
    }
}
