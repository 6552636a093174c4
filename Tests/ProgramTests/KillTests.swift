import BaseTypes
import Foundation
import ProgramSupport
import TestSupport
import Testing

@testable import BeaconMonitoring
@testable import BluetoothLE
@testable import EventLog

/// Kills a process with SIGKILL many times, on a real file system.
///
/// `BEACON_KILLS` is the number of kills, and `BEACON_SEED` defines the events before each. After each kill, all lines
/// are read, so a new folder is used after 100 kills.
@Suite struct KillTests {
    private static let writer = URL(fileURLWithPath: Gateway.path).deletingLastPathComponent()
        .appendingPathComponent("journal-writer").path

    @Test func `N3, N4: after kills at random moments, no line is torn, lost or repeated, and all states are restored`()
        throws
    {
        let kills = environment("BEACON_KILLS", default: 60)
        let first = SeededGenerator.seed
        for life in 0..<(kills + 99) / 100 {
            try Self.live(seed: first &+ UInt64(life), kills: min(100, kills - life * 100))
        }
    }

    private static func live(seed: UInt64, kills: Int) throws {
        var random = SeededGenerator(state: seed)
        let scratch = try Scratch()
        var (acknowledged, start) = (0, 1000)
        for kill in 0..<kills {
            let process = try SpawnedProcess(
                writer, [scratch.url.path, "\(seed &* 1000 &+ UInt64(kill))", "\(start)"], output: .pipe)
            let output = try #require(process.output)
            // The process is killed after it has reported this number of lines, whatever it is doing then.
            var left = Int(random.next() % 40)
            var said = Data()
            while left > 0 {
                let chunk = output.availableData
                if chunk.isEmpty { break }
                said += chunk
                left -= chunk.count { $0 == 0x0A }
            }
            process.signal(SIGKILL)
            said += output.readDataToEndOfFile()
            try #require(process.wait() == -SIGKILL, "the process ended before the kill")
            if let last = said.split(separator: 0x0A).last.flatMap({ Int(String(decoding: $0, as: UTF8.self)) }) {
                acknowledged = max(acknowledged, last)
            }
            let (lines, last) = try lines(scratch)
            let numbers = lines.compactMap(\.sequence)
            try #require(numbers == Array(1...max(1, numbers.count)) || numbers.isEmpty, "seed \(seed), kill \(kill)")
            try #require((numbers.last ?? 0) >= acknowledged, "seed \(seed), kill \(kill)")
            start = max(start, Int(last / 1_000_000)) + Int(random.next() % 8)
            try check(scratch, lines, at: start, "seed \(seed), kill \(kill)")
        }
        #expect(acknowledged > kills)
    }

    private struct Line {
        var sequence: Int?
        var entry: LogLine.Entry
    }

    /// Returns all complete lines, and the time of the last one on the timeline, in microseconds.
    private static func lines(_ scratch: Scratch) throws -> ([Line], Int64) {
        var lines: [Line] = []
        var last: Int64 = 0
        guard FileManager.default.fileExists(atPath: scratch.path("events")) else { return ([], 0) }
        var reader = try LogReader([.init(scratch.path("events"))])
        try reader.read([.event, .visit, .condition, .adapter, .clock]) { line in
            lines.append(Line(sequence: line.sequence, entry: line.entry))
            last = line.time.nanoseconds / 1000
            return true
        }
        #expect(reader.damagedLines == 0)
        return (lines, last)
    }

    /// Checks that a start finds the states that the last line of each subject has.
    private static func check(_ scratch: Scratch, _ lines: [Line], at start: Int, _ comment: Comment) throws {
        var states: [BeaconIdentity?: BeaconMonitor.Event.State] = [:]
        for line in lines {
            switch line.entry {
            case .condition: states[nil] = .unknown
            case .event(let event):
                let subject = event.scope == .beacon ? event.refinement : nil
                states[subject] = event.state == .unsatisfied && subject != nil ? nil : event.state
            default: break
            }
        }
        var options = JournalOptions(
            directory: .init(scratch.path("events")), stateDirectory: .init(scratch.path("state")),
            gateway: try Identifier("g"))
        options.rotateSize = 20_000
        let journal = try Journal(
            options, boot: BootID(machine: "aaaaaaaa", process: 0),
            now: Instant(nanoseconds: Int64(start) * 1_000_000_000), clockOffset: .zero, isClockSynchronized: true)
        var found: [BeaconIdentity?: BeaconMonitor.Event.State] = [:]
        for condition in journal.recovery.snapshot?.conditions ?? [] {
            found[nil] = condition.own.state
            for beacon in condition.beacons { found[beacon.beacon] = beacon.state }
        }
        // The states are compared only if the numbers continue after the last line. If numbers are skipped, lines can
        // be missing.
        if journal.recovery.sequence == lines.last?.sequence ?? 0 { try #require(found == states, comment) }
        let last = lines.last {
            if case .event(let event) = $0.entry { return event.scope == .condition }
            return false
        }
        if case .event(let event)? = last?.entry, journal.recovery.sequence == lines.last?.sequence {
            #expect(journal.record(for: try Identifier("staff"))?.lastEvent.state == event.state, comment)
        }
    }
}
