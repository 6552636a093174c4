import BaseTypes
import Foundation
import JSON
import ProgramSupport
import Testing

@testable import BeaconMonitoring
@testable import BluetoothLE
@testable import EventLog

/// Explanations of events, from sightings that were recorded in real rooms.
@Suite struct ExplainTests {
    /// Returns the sightings of one adapter in a real recording.
    private static func sightings() throws -> [(time: Instant, beacon: BeaconIdentity, rssi: RSSI?)] {
        let replayed = try Gateway.replay([
            "--sightings", "--reorder", "10s", "--fields", Fixtures.roomFields, Fixtures.path(Fixtures.rooms[2]),
        ])
        let all = try replayed.lines.map { line in
            let sighting = try #require(Self.sighting(line), "\(line)")
            return sighting
        }
        let adapter = try #require(all.first).adapter
        return all.filter { $0.adapter == adapter }.map { ($0.time, $0.beacon, $0.rssi) }
    }

    private static func sighting(
        _ line: String
    ) -> (time: Instant, beacon: BeaconIdentity, rssi: RSSI?, adapter: String)? {
        var sighting = JSONText(Array(line.utf8))
        guard sighting.parse(), let date = sighting.string(sighting.find("time", in: 0)) else { return nil }
        // The time is cut to whole microseconds, because some times have nanoseconds.
        var time = JSONText(Array("\"\(date.prefix(26))Z\"".utf8))
        guard time.parse(), let micro = time.date(0)?.microseconds, let beacon = sighting.beacon(0),
            let adapter = sighting.string(sighting.find("adapter", in: 0))
        else { return nil }
        return (Instant(nanoseconds: micro * 1000), beacon, sighting.rssi(sighting.find("rssi", in: 0)), adapter)
    }

    /// A gateway with a journal in a folder. The test passes the sightings to it.
    private struct Site {
        var engine: MonitorEngine
        let journal: Journal
        var recorder = EvidenceRecorder()
        let adapter: AdapterID
        let directory: String
        /// Held here because the folder exists as long as this value.
        let scratch: Scratch
        var actions = ActionBuffer()
        init(_ scratch: Scratch, start: Instant, _ change: (inout ConditionSettings) -> Void) throws {
            self.scratch = scratch
            directory = scratch.path("events")
            let options = JournalOptions(
                directory: .init(directory), stateDirectory: .init(scratch.path("state")), gateway: try Identifier("g"))
            journal = try Journal(
                options, boot: BootID(machine: "aaaaaaaa", process: 1), now: start, clockOffset: .zero,
                isClockSynchronized: true)
            engine = MonitorEngine(start: start)
            var settings = ConditionSettings()
            change(&settings)
            adapter = try engine.adapter(named: "hci0", at: start, into: &actions)
            let uuid = try #require(try ExplainTests.sightings().first).beacon.uuid
            let setup = MonitorSetup(
                name: try Identifier("site"),
                conditions: [
                    MonitorSetup.Condition(
                        identifier: try Identifier("room"),
                        condition: .beacon(BeaconMonitor.BeaconIdentityCondition(uuid: uuid)),
                        assuming: .unsatisfied, settings: settings)
                ])
            try engine.begin([setup], from: nil, at: start, into: &actions)
            engine.listening(ListeningChange(.started, adapter: adapter), at: start, into: &actions)
            deliver()
        }

        mutating func deliver() {
            journal.append(actions, evidence: &recorder)
            actions.removeAll()
            journal.commit(at: engine.now)
        }

        mutating func sighted(_ sighting: (time: Instant, beacon: BeaconIdentity, rssi: RSSI?)) {
            engine.advance(to: sighting.time, into: &actions)
            deliver()
            engine.sighted(
                Sighting(
                    time: sighting.time, adapter: adapter, beacon: sighting.beacon, measuredPower: -59,
                    rssi: sighting.rssi), into: &actions)
            recorder.sighted(sighting.beacon, by: adapter, rssi: sighting.rssi, at: sighting.time)
            deliver()
        }

        /// The paths of the event files, in order.
        var files: [String] {
            get throws {
                try FileManager.default.contentsOfDirectory(atPath: directory).filter { $0.hasPrefix("events-") }
                    .sorted()
                    .map { directory + "/" + $0 }
            }
        }

        /// Replaces all matches in the event files.
        func replace(_ pattern: Regex<Substring>, with text: String) throws {
            for path in try files {
                let lines = try String(contentsOfFile: path, encoding: .utf8).replacing(pattern, with: text)
                try Data(lines.utf8).write(to: URL(fileURLWithPath: path))
            }
        }

        /// Returns the explanation of the last event with this state.
        func explain(_ state: String) throws -> String {
            var last: Int?
            for path in try files {
                let text = try String(contentsOfFile: path, encoding: .utf8)
                let numbered = text.split(separator: "\n").filter { $0.contains("\"sequence\"") }
                for payload in try payloads(numbered.map(String.init), type: "event")
                where payload["state"] as? String == state {
                    last = payload["sequence"] as? Int
                }
            }
            let ending = try Gateway.run("explain", "--utc", "\(try #require(last))", directory)
            #expect(ending.status == 0, "\(ending.errors)")
            return ending.text
        }
    }

    @Test func `an exit by silence is explained by the timeout, the last sightings, the gaps and the adapters`() throws
    {
        let sightings = try Self.sightings()
        var site = try Site(try Scratch(), start: sightings[0].time) { $0.exitTimeout = .seconds(5) }
        for sighting in sightings { site.sighted(sighting) }
        site.engine.advance(to: site.engine.now + .seconds(60), into: &site.actions)
        site.deliver()
        let text = try site.explain("unsatisfied")
        #expect(text.contains("no adapter that held it received it during 5 s of scanning (rule X2)"))
        #expect(text.contains("5 s earlier"))
        #expect(text.contains("hci0: last received it at"))
        #expect(text.contains("has scanned for 5 s since then"))
        #expect(text.contains("Its earlier gaps between sightings:"))
        #expect(text.contains("It has not returned since"))
        #expect(text.contains("hci0: listening since"))
    }

    @Test func `if the beacon returned after the exit, explain has the exit_timeout that would have avoided it`() throws
    {
        let sightings = try Self.sightings()
        var site = try Site(try Scratch(), start: sightings[0].time) { $0.exitTimeout = .seconds(5) }
        for sighting in sightings.prefix(30) { site.sighted(sighting) }
        var again = sightings[29]
        let last = again.time
        again.time = last + .milliseconds(12_500)
        site.sighted(again)
        let text = try site.explain("unsatisfied")
        #expect(text.contains("7.5 s later. An exit_timeout above 12.5 s would have avoided this exit."), "\(text)")
        #expect(try site.explain("satisfied").contains("hci0 received"))
    }

    @Test func `the absence of a badge for a night is not counted as a gap`() throws {
        let first = try #require(try Self.sightings().first)
        var site = try Site(try Scratch(), start: first.time) { $0.exitTimeout = .seconds(30) }
        var sighting = first
        for day in 0..<2 {
            for second in 0..<60 {
                sighting.time = first.time + .seconds(day * 57_660 + second)
                site.sighted(sighting)
            }
        }
        site.engine.advance(to: site.engine.now + .seconds(60), into: &site.actions)
        site.deliver()
        let text = try site.explain("unsatisfied")
        #expect(text.contains("Its earlier gaps between sightings:") && text.contains("the longest 1 s."), "\(text)")
        #expect(text.contains("\nNone of 118 gaps was longer than 30 s (exit_timeout).\n"), "\(text)")
    }

    /// Returns a site whose beacon was received once a second, except for `silences` gaps of 6 s. It exits at the end,
    /// after an `exit_timeout` of 5 s.
    private func site(silences: Int, sightings: Int) throws -> Site {
        var sighting = try #require(try Self.sightings().first)
        var site = try Site(try Scratch(), start: sighting.time) { $0.exitTimeout = .seconds(5) }
        for number in 0..<sightings {
            site.sighted(sighting)
            let isLong = number % 20 == 9 && number / 20 < silences
            sighting.time = sighting.time + .seconds(isLong ? 6 : 1)
        }
        site.engine.advance(to: site.engine.now + .seconds(60), into: &site.actions)
        site.deliver()
        return site
    }

    private static let weak = "This is 1 in 100 or more: the beacon or the radio is too weak for this exit_timeout.\n\n"

    @Test(arguments: [
        (0, 101, "None of 100 gaps was longer than 5 s (exit_timeout).\n\n"),
        // The last gap is the long one.
        (1, 11, "1 of 10 gaps was longer than 5 s (exit_timeout).\n\n"),
        (1, 21, "1 of 20 gaps was longer than 5 s (exit_timeout).\n\n"),
        (1, 102, "1 of 101 gaps was longer than 5 s (exit_timeout).\n\n"),
        (3, 10_701, "3 of 10,700 gaps were longer than 5 s (exit_timeout).\n\n"),
        (2, 102, "2 of 101 gaps were longer than 5 s (exit_timeout).\n\(weak)"),
    ])
    func `explain states how many gaps were longer than the exit timeout`(
        silences: Int, sightings: Int, words: String
    ) throws {
        let text = try site(silences: silences, sightings: sightings).explain("unsatisfied")
        #expect(text.contains(words) && !text.contains("usual"), "\(text)")
    }

    @Test(arguments: [
        (1, 21, "Of these gaps, at least 1 of 20 was longer than 5 s (exit_timeout).\n"),
        (1, 103, "Of these gaps, at most 1 in 100 was longer than 5 s (exit_timeout).\n"),
        (0, 103, "the longest 1 s.\n\n"),
    ])
    func `for lines of earlier versions, explain gives the bound that follows from their figures`(
        silences: Int, sightings: Int, words: String
    ) throws {
        let site = try site(silences: silences, sightings: sightings)
        try site.replace(#/,"longerThanTimeout":{"count":[0-9]+,"total":[0-9]+}/#, with: "")
        #expect(try site.explain("unsatisfied").contains(words))
    }

    @Test(arguments: [
        (#"{"count":0,"total":-1}"#, false), (#"{"count":-1,"total":1}"#, false), (#"{"count":2,"total":1}"#, false),
        (#"{"count":0,"total":0}"#, false), (#"{"count":1}"#, false), ("7", false),
        (#"{"count":92233720368547758,"total":9223372036854775807}"#, true),
        (#"{"count":9223372036854775807,"total":9223372036854775807}"#, true),
    ])
    func `a damaged count of longer gaps ends no report, and a valid one is used`(share: String, isValid: Bool) throws {
        let site = try site(silences: 1, sightings: 21)
        try site.replace(#/"longerThanTimeout":{[^}]*}/#, with: "\"longerThanTimeout\":\(share)")
        #expect(try Gateway.run("visits", site.directory).status == 0)
        let text = try site.explain("unsatisfied")
        #expect(text.contains("9,223,372,036,854,775,807 gaps") == isValid, "\(text)")
        #expect(text.contains("Of these gaps, at least 1 of 20") != isValid)
    }

    @Test func `gaps are compared with four different exit timeouts, whatever the order in which they are set`()
        throws
    {
        var sighting = try #require(try Self.sightings().first)
        var site = try Site(try Scratch(), start: sighting.time) { $0.exitTimeout = .seconds(5) }
        // The first four timeouts are 5, 1, 2 and 3 s. Then 4 s, 60 s and finally 6 s replace those that no condition
        // has any more.
        for (name, seconds) in [
            ("c0", 1), ("c1", 1), ("c2", 2), ("c3", 3), ("c4", 4), ("c0", 4), ("c1", 4), ("c0", 2), ("c1", 2),
            ("c4", 60),
            ("room", 6),
        ] {
            var settings = ConditionSettings()
            settings.exitTimeout = .seconds(seconds)
            site.recorder.know(try Identifier(name), settings)
        }
        for _ in 0..<12 {
            site.sighted(sighting)
            sighting.time = sighting.time + .seconds(1)
        }
        site.engine.advance(to: sighting.time + .seconds(60), into: &site.actions)
        site.deliver()
        let lines = try String(contentsOfFile: #require(try site.files.first), encoding: .utf8).split(separator: "\n")
        let evidence = try #require(lines.last { $0.contains(#""type":"evidence""#) })
        #expect(evidence.contains(#""longerThanTimeout":{"count":0,"total":11}}"#), "\(evidence)")
    }

    @Test func `gaps are compared with a changed exit timeout from the change on`() throws {
        var sighting = try #require(try Self.sightings().first)
        var site = try Site(try Scratch(), start: sighting.time) { $0.exitTimeout = .seconds(5) }
        for second in [0, 1, 4, 5, 6, 7, 11, 12, 13] {
            if second == 6 {
                var settings = ConditionSettings()
                settings.exitTimeout = .seconds(3)
                site.recorder.know(try Identifier("room"), settings)
            }
            var next = sighting
            next.time = sighting.time + .seconds(second)
            site.sighted(next)
        }
        sighting.time = sighting.time + .seconds(13)
        site.engine.advance(to: sighting.time + .seconds(60), into: &site.actions)
        site.deliver()
        let lines = try String(contentsOfFile: #require(try site.files.first), encoding: .utf8).split(separator: "\n")
        let evidence = try #require(lines.last { $0.contains(#""type":"evidence""#) })
        // Before the change, the gaps were 1, 3 and 1 s, and after it 1, 1, 4, 1 and 1 s.
        #expect(evidence.contains(#""count":8,"#) && evidence.contains(#""longerThanTimeout":{"count":1,"total":5}}"#))
    }

    @Test(arguments: [true, false])
    func `a period is counted as a gap only if the adapter scanned`(isNotScanning: Bool) throws {
        let first = try #require(try Self.sightings().first)
        var site = try Site(try Scratch(), start: first.time) { $0.exitTimeout = .seconds(30) }
        var sighting = first
        for second in 0..<60 {
            sighting.time = first.time + .seconds(second)
            site.sighted(sighting)
        }
        if isNotScanning {
            site.engine.listening(
                ListeningChange(.stopped(since: nil), adapter: site.adapter, reason: "unplugged"),
                at: sighting.time + .seconds(1), into: &site.actions)
            site.deliver()
            site.engine.listening(
                ListeningChange(.started, adapter: site.adapter), at: sighting.time + .seconds(240),
                into: &site.actions)
            site.deliver()
        }
        for second in 300..<360 {
            sighting.time = first.time + .seconds(second)
            site.sighted(sighting)
        }
        site.engine.advance(to: site.engine.now + .seconds(60), into: &site.actions)
        site.deliver()
        let text = try site.explain("unsatisfied")
        #expect(text.contains(isNotScanning ? "the longest 1 s." : "the longest 241 s."), "\(text)")
        #expect(text.contains(isNotScanning ? "None of 118 gaps" : "1 of 119 gaps was longer than 30 s"), "\(text)")
    }

    @Test func `an exit by weak sightings is explained by exit_rssi, with the value that would have avoided it`() throws
    {
        let sightings = try Self.sightings()
        var site = try Site(try Scratch(), start: sightings[0].time) {
            $0.exitTimeout = .seconds(5)
            $0.enterRSSI = RSSI(dBm: -70)
            $0.exitRSSI = RSSI(dBm: -75)
        }
        var near = sightings[0]
        near.rssi = RSSI(dBm: -60)
        site.sighted(near)
        for second in 1...7 {
            var far = near
            far.time = near.time + .seconds(second)
            far.rssi = RSSI(dBm: -88)
            site.sighted(far)
        }
        let text = try site.explain("unsatisfied")
        #expect(text.contains("4 were received in this time, the strongest at -88 dBm; exit_rssi is"), "\(text)")
        #expect(text.contains("The threshold caused the exit, not silence."))
        #expect(text.contains("An exit_rssi of -88 or less would have avoided this exit."))
    }

    @Test func `a change to unknown is explained by rule L2, and by the time and reason of the adapter's stop`() throws
    {
        let sightings = try Self.sightings()
        var site = try Site(try Scratch(), start: sightings[0].time) { _ in }
        for sighting in sightings.prefix(20) { site.sighted(sighting) }
        let stop = site.engine.now + .seconds(1)
        site.engine.listening(
            ListeningChange(.stopped(since: nil), adapter: site.adapter, reason: "unplugged"), at: stop,
            into: &site.actions)
        site.engine.advance(to: stop + .seconds(61), into: &site.actions)
        site.deliver()
        let text = try site.explain("unknown")
        #expect(text.contains("so its state is unknown (rule L2)"))
        #expect(text.contains("hci0: off since"))
        #expect(text.contains("(unplugged)"))
        #expect(text.contains("Flags on the event: scannerUnavailable."))
    }

    @Test func `the end of a visit by the removal of its condition is explained by rule C3 and its line`() throws {
        let sightings = try Self.sightings()
        var site = try Site(try Scratch(), start: sightings[0].time) { _ in }
        for sighting in sightings.prefix(20) { site.sighted(sighting) }
        try site.engine.remove(try Identifier("room"), at: site.engine.now, into: &site.actions)
        site.deliver()
        let visit = site.journal.sequence - 1
        let text = try Gateway.run("explain", "\(visit)", site.directory).text
        #expect(text.contains("the condition was removed (rule C3)"), "\(text)")
        #expect(text.contains("Line \(visit + 1) has the change: removed."))
    }

    @Test func `explain finds the last event of a condition, also before a date, and fails if there is none`() throws {
        let sightings = try Self.sightings()
        var site = try Site(try Scratch(), start: sightings[0].time) { $0.exitTimeout = .seconds(5) }
        for sighting in sightings.prefix(30) { site.sighted(sighting) }
        site.engine.advance(to: site.engine.now + .seconds(60), into: &site.actions)
        site.deliver()
        #expect(try Gateway.run("explain", "room", site.directory).text.contains("became unsatisfied"))
        let early = LineWriter.date(Double(sightings[0].time.nanoseconds) / 1e9 + 1)
        #expect(
            try Gateway.run("explain", "room", site.directory, "--at", early).text.contains("became satisfied"))
        let before = LineWriter.date(Double(sightings[0].time.nanoseconds) / 1e9 - 1)
        let ending = try Gateway.run("explain", "room", site.directory, "--at", before)
        #expect(ending.status == 65 && ending.errors.hasPrefix("there is no data for the time to "), "\(ending.errors)")
        #expect(try Gateway.run("explain", "nobody", site.directory).status == 65)
        #expect(try Gateway.run("explain", "4711", site.directory).status == 65)
        #expect(try Gateway.run("explain", "1", "/nonexistent").status == 66)
    }

    @Test func `for an erased line, explain reports that it was erased, and when it was written`() throws {
        var writer = LineWriter()
        writer.event("staff", "satisfied", 1000, seen: 1000)
        writer.event("staff", "satisfied", 1000, minor: 7, seen: 1000)
        writer.event("staff", "unsatisfied", 1200)
        let scratch = try Scratch()
        let file = scratch.path("events-000000000001-20261121T000000Z.jsonl")
        var lines = writer.lines
        // `erase` leaves the keys of the envelope, and spaces up to the previous length.
        let length = lines[1].utf8.count
        lines[1] = #"{"version":2,"type":"erased","gateway":"g","boot":"aaaaaaaa-00000001","sequence":2,"#
        lines[1] += #""date":"\#(writer.date(1000))","monotonic":1000000000}"#
        lines[1] += String(repeating: " ", count: length - lines[1].utf8.count)
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(filePath: file))
        let reported = try Gateway.run("explain", "2", scratch.path(""), "--utc")
        #expect(reported.status == 0)
        let text = String(decoding: reported.output, as: UTF8.self)
        #expect(text.hasPrefix("Line 2 was written at 2026-11-21 00:16:40 and erased later.\n"), "\(text)")
        #expect(!text.contains("staff"))
        #expect(try Gateway.run("explain", "3", scratch.path(""), "--utc").status == 0)
    }
}
