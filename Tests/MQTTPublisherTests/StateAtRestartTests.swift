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
    private static func states(_ came: ScriptedBroker.Came, from first: Int = 0) -> [String: [String]] {
        let stem = "beacons/lobby/state/"
        return came.messages.dropFirst(first).filter { $0.isRetained && $0.topic.hasPrefix(stem) }
            .reduce(into: [:]) { states, message in
                let object = try? JSONSerialization.jsonObject(with: Data(message.payload)) as? [String: Any]
                let state = object?["state"] as? String ?? "?"
                let name = String(message.topic.dropFirst(stem.count))
                if states[name]?.last != state { states[name, default: []].append(state) }
            }
    }

    @Test(arguments: [true, false])
    func `states that are only in state.json are published, and a restart does not revert later lines`(
        isFoldKept: Bool
    ) throws {
        let folder = try TestFolder()
        var site = try PresentWorld()
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
        _ = state.encode(gateway: "lobby", now: PresentWorld.time(1), into: &buffer)
        try folder.write("state.json", String(decoding: buffer.bytes, as: UTF8.self))
        site.sighted(at: 2)
        let lines = site.lines.dropFirst(kept).map { String(decoding: $0, as: UTF8.self) + "\n" }.joined()
        let files = try EventFiles(folder.file("events"))
        try folder.write(String(format: "events/events-%012d-20261121T074627Z.jsonl", kept + 1), lines)
        let broker = ScriptedBroker { link, _ in link.serve() }
        defer { broker.close() }
        let last = site.lines.count
        let world = try ShippingWorld(folder, files: files, port: broker.port) { $0.present?.lastWritten = last }
        world.process.update(durable: last)
        let all = ["door": ["satisfied"], "staff": ["satisfied"]]
        try world.until("both states are published") { Self.states(broker.came.now) == all }
        // If the publisher's stored state exists, it is later than state.json. Otherwise the publisher starts with
        // state.json again.
        try world.until("the published states are stored") {
            FileManager.default.fileExists(atPath: folder.file("mqtt-state.json"))
        }
        for round in 0..<3 {
            if !isFoldKept { try? FileManager.default.removeItem(atPath: folder.file("mqtt-state.json")) }
            let (starts, before) = (world.process.starts, broker.came.now.messages.count)
            kill(try world.runningProcess(), SIGKILL)
            try world.until("the process runs again") { world.process.starts > starts }
            try world.until("both present states are published again: round \(round)") {
                Self.states(broker.came.now, from: before).count == 2
            }
            #expect(Self.states(broker.came.now, from: before) == all)
        }
        // New lines are published as usual.
        site.advance(to: 60)
        let more = site.lines.dropFirst(last).map { String(decoding: $0, as: UTF8.self) + "\n" }.joined()
        try folder.write(String(format: "events/events-%012d-20261121T074727Z.jsonl", last + 1), more)
        world.process.update(durable: site.lines.count)
        try world.until("staff has left") { Self.states(broker.came.now)["staff"]?.last == "unsatisfied" }
        try world.stop()
    }

    @Test func `the retained state of an erased beacon is cleared at run time, and then no publisher file has it`()
        throws
    {
        let folder = try TestFolder()
        var site = try PresentWorld()
        try site.add("staff", perBeacon: true, at: 1)
        site.sighted(at: 2)
        site.sighted(.badge(9), at: 3)
        let lines = site.lines.map { String(decoding: $0, as: UTF8.self) + "\n" }.joined()
        let files = try EventFiles(folder.file("events"))
        try folder.write(String(format: "events/events-%012d-20261121T074627Z.jsonl", 1), lines)
        let broker = ScriptedBroker { link, _ in link.serve() }
        defer { broker.close() }
        let last = site.lines.count
        let world = try ShippingWorld(folder, files: files, port: broker.port) { $0.present?.lastWritten = last }
        world.process.update(durable: last)
        let topic = "beacons/lobby/state/staff/\(ProximityUUID.badges)/100/7"
        func retained() -> [Bool] {
            broker.came.now.messages.filter { $0.isRetained && $0.topic == topic }.map(\.payload.isEmpty)
        }
        try world.until("the state is published") { retained() == [false] }
        try world.until("the published state is stored") {
            FileManager.default.fileExists(atPath: folder.file("mqtt-state.json"))
        }
        try ErasedBeacon(.badge(7), upTo: last).add(
            in: FilePath(folder.file("mqtt-state.json")).removingLastComponent())
        world.process.reload()
        try world.until("the state is cleared") { retained() == [false, true] }
        try world.until("no file of the publisher contains it") {
            let state = try String(contentsOfFile: folder.file("mqtt-state.json"), encoding: .utf8)
            return !FileManager.default.fileExists(atPath: folder.file("mqtt-forget.json"))
                && !state.contains("100/7") && !state.contains("\"minor\":7") && state.contains("\"minor\":9")
        }
        try world.stop()
    }

    @Test func `erased lines are skipped, and all other lines are published exactly once`() throws {
        let folder = try TestFolder()
        let files = try EventFiles(folder.file("events"), linesPerSegment: 60)
        try files.append(60)
        let broker = ScriptedBroker { link, _ in link.serve() }
        defer { broker.close() }
        let world = try ShippingWorld(folder, files: files, port: broker.port)
        func sequences() -> [Int] {
            broker.came.now.messages.filter { !$0.isRetained }.compactMap { message in
                let object = try? JSONSerialization.jsonObject(with: Data(message.payload)) as? [String: Any]
                return object?["sequence"] as? Int
            }
        }
        try world.until("the reported lines are shipped") { sequences() == Array(1...60) }
        // These lines wait while they are erased, together with the published ones.
        try files.append(60)
        var erasure = try EventFilesErasure(FilePath(files.path), ErasureRequest(.badge(7)))
        try erasure.run()
        #expect(erasure.counts.erased == 120)
        try world.write(30)
        try world.until("the later lines are shipped") { sequences() == Array(1...60) + Array(121...150) }
        try world.until("the checkpoint is at the last line") { world.process.status.published == 150 }
        let status = world.process.status
        #expect(status.setAside == 0 && status.missed == 0 && status.damaged == 0 && status.repeated == 0)
        try world.stop()
    }
}
