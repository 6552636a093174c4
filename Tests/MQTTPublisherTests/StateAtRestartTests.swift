import BluetoothLE
import BrokerSupport
import Foundation
import Glibc
import JSON
import PublisherProtocol
import SystemPackage
import Testing

@testable import BeaconMonitoring
@testable import EventLog

/// The use of the gateway's `state.json` by a publisher process that is restarted. The file has the states at the time
/// when it was stored, and the lines after it have later changes.
@Suite struct StateAtRestartTests {
    /// Returns the states that were retained, by condition, starting with the message at index `first`. A state that
    /// equals the previous one is left out.
    private static func states(_ arrived: ScriptedBroker.Arrivals, from first: Int = 0) -> [String: [String]] {
        let stem = "beacons/lobby/state/"
        return arrived.messages.dropFirst(first).filter { $0.isRetained && $0.topic.hasPrefix(stem) }
            .reduce(into: [:]) { states, message in
                let object = try? JSONSerialization.jsonObject(with: Data(message.payload)) as? [String: Any]
                let state = object?["state"] as? String ?? "?"
                let name = String(message.topic.dropFirst(stem.count))
                if states[name]?.last != state { states[name, default: []].append(state) }
            }
    }

    @Test(arguments: [true, false])
    func `states that are only in state.json are published, and a restart does not revert later lines`(
        isCacheKept: Bool
    ) throws {
        let folder = try TestFolder()
        var site = try PresentFixture()
        try site.add("door", .everyOther, assuming: .satisfied, at: 1)
        try site.add("staff", assuming: .unsatisfied, at: 1)
        // The lines up to here have been deleted. The state after them was stored.
        let kept = site.lines.count
        var state = StateFile()
        state.sequence = kept
        state.boot = "5f0c5f0c-5f0c5f0c"
        state.offset = .zero
        state.snapshot = site.engine.snapshot
        var buffer = LineBuffer(capacity: 1024)
        _ = state.encode(gateway: "lobby", now: PresentFixture.time(1), into: &buffer)
        try folder.write("state.json", String(decoding: buffer.bytes, as: UTF8.self))
        site.sighted(at: 2)
        let lines = site.lines.dropFirst(kept).map { String(decoding: $0, as: UTF8.self) + "\n" }.joined()
        let files = try EventFiles(folder.file("events"))
        try folder.write(String(format: "events/events-%012d-20261121T074627Z.jsonl", kept + 1), lines)
        let broker = ScriptedBroker { link, _ in link.serve() }
        defer { broker.close() }
        let last = site.lines.count
        let fixture = try PublishingFixture(folder, files: files, port: broker.port) { $0.present?.lastWritten = last }
        fixture.process.update(durable: last)
        let all = ["door": ["satisfied"], "staff": ["satisfied"]]
        try fixture.until("both states are published") { Self.states(broker.arrived.now) == all }
        // If the publisher's stored state exists, it is later than state.json. Otherwise the publisher starts with
        // state.json again.
        try fixture.until("the published states are stored") {
            FileManager.default.fileExists(atPath: folder.file("mqtt-state.json"))
        }
        for round in 0..<3 {
            if !isCacheKept { try? FileManager.default.removeItem(atPath: folder.file("mqtt-state.json")) }
            let (starts, before) = (fixture.process.starts, broker.arrived.now.messages.count)
            kill(try fixture.runningProcess(), SIGKILL)
            try fixture.until("the process runs again") { fixture.process.starts > starts }
            try fixture.until("both present states are published again: round \(round)") {
                Self.states(broker.arrived.now, from: before).count == 2
            }
            #expect(Self.states(broker.arrived.now, from: before) == all)
        }
        // New lines are published as usual.
        site.advance(to: 60)
        let more = site.lines.dropFirst(last).map { String(decoding: $0, as: UTF8.self) + "\n" }.joined()
        try folder.write(String(format: "events/events-%012d-20261121T074727Z.jsonl", last + 1), more)
        fixture.process.update(durable: site.lines.count)
        try fixture.until("staff has left") { Self.states(broker.arrived.now)["staff"]?.last == "unsatisfied" }
        try fixture.stop()
    }

    @Test func `the retained state of an erased beacon is cleared at run time, and then no publisher file has it`()
        throws
    {
        let folder = try TestFolder()
        var site = try PresentFixture()
        try site.add("staff", perBeacon: true, at: 1)
        site.sighted(at: 2)
        site.sighted(.badge(9), at: 3)
        let lines = site.lines.map { String(decoding: $0, as: UTF8.self) + "\n" }.joined()
        let files = try EventFiles(folder.file("events"))
        try folder.write(String(format: "events/events-%012d-20261121T074627Z.jsonl", 1), lines)
        let broker = ScriptedBroker { link, _ in link.serve() }
        defer { broker.close() }
        let last = site.lines.count
        let fixture = try PublishingFixture(folder, files: files, port: broker.port) { $0.present?.lastWritten = last }
        fixture.process.update(durable: last)
        let topic = "beacons/lobby/state/staff/\(ProximityUUID.badges)/100/7"
        func retained() -> [Bool] {
            broker.arrived.now.messages.filter { $0.isRetained && $0.topic == topic }.map(\.payload.isEmpty)
        }
        try fixture.until("the state is published") { retained() == [false] }
        try fixture.until("the published state is stored") {
            FileManager.default.fileExists(atPath: folder.file("mqtt-state.json"))
        }
        try ErasedBeacon(.badge(7), upTo: last).add(
            in: FilePath(folder.file("mqtt-state.json")).removingLastComponent())
        fixture.process.reload()
        try fixture.until("the state is cleared") { retained() == [false, true] }
        try fixture.until("no file of the publisher contains it") {
            let state = try String(contentsOfFile: folder.file("mqtt-state.json"), encoding: .utf8)
            return !FileManager.default.fileExists(atPath: folder.file("mqtt-forget.json"))
                && !state.contains("100/7") && !state.contains("\"minor\":7") && state.contains("\"minor\":9")
        }
        try fixture.stop()
    }

    @Test func `erased lines are skipped, and all other lines are published exactly once`() throws {
        let folder = try TestFolder()
        let files = try EventFiles(folder.file("events"), linesPerSegment: 60)
        try files.append(60)
        let broker = ScriptedBroker { link, _ in link.serve() }
        defer { broker.close() }
        let fixture = try PublishingFixture(folder, files: files, port: broker.port)
        func sequences() -> [Int] {
            broker.arrived.now.messages.filter { !$0.isRetained }.compactMap { message in
                let object = try? JSONSerialization.jsonObject(with: Data(message.payload)) as? [String: Any]
                return object?["sequence"] as? Int
            }
        }
        try fixture.until("the reported lines are published") { sequences() == Array(1...60) }
        // These lines wait while they are erased, together with the published ones.
        try files.append(60)
        var erasure = try EventFilesErasure(FilePath(files.path), ErasureRequest(.badge(7)))
        try erasure.run()
        #expect(erasure.counts.erased == 120)
        try fixture.write(30)
        try fixture.until("the later lines are published") { sequences() == Array(1...60) + Array(121...150) }
        try fixture.until("the checkpoint is at the last line") { fixture.process.status.published == 150 }
        let status = fixture.process.status
        #expect(status.setAside == 0 && status.missed == 0 && status.damaged == 0 && status.repeated == 0)
        try fixture.stop()
    }
}
