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

/// What the gateway's `state.json` is to a publisher's process that is started again: it stands where it was kept last,
/// and the lines behind it say more.
@Suite struct StateAtRestartTests {
    /// The states that were retained, by condition, of the messages from `first` on.
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
    func `what only state.json knows is there, and what lines said since is not taken back`(
        isFoldKept: Bool
    ) throws {
        let folder = try TestFolder()
        var site = try PresentWorld()
        try site.add("door", .everyOther, assuming: .satisfied, at: 1)
        try site.add("staff", assuming: .unsatisfied, at: 1)
        // The lines up to here have been deleted; the state that they led to was kept.
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
        world.process.tell(durable: last)
        let all = ["door": ["satisfied"], "staff": ["satisfied"]]
        try world.until("both are told") { Self.states(broker.came.now) == all }
        // Where the publisher kept what it said, it stands beyond state.json; else it begins there again.
        try world.until("what was said is kept") {
            FileManager.default.fileExists(atPath: folder.file("mqtt-state.json"))
        }
        for round in 0..<3 {
            if !isFoldKept { try? FileManager.default.removeItem(atPath: folder.file("mqtt-state.json")) }
            let (starts, before) = (world.process.starts, broker.came.now.messages.count)
            kill(try world.runningProcess(), SIGKILL)
            try world.until("it runs again") { world.process.starts > starts }
            try world.until("both are told again, as they are: round \(round)") {
                Self.states(broker.came.now, from: before).count == 2
            }
            #expect(Self.states(broker.came.now, from: before) == all)
        }
        // Those that come now are said as ever.
        site.advance(to: 60)
        let more = site.lines.dropFirst(last).map { String(decoding: $0, as: UTF8.self) + "\n" }.joined()
        try folder.write(String(format: "events/events-%012d-20261121T074727Z.jsonl", last + 1), more)
        world.process.tell(durable: site.lines.count)
        try world.until("staff has left") { Self.states(broker.came.now)["staff"]?.last == "unsatisfied" }
        try world.stop()
    }

    @Test func `what the broker retains of an erased beacon is taken back, while it runs, and nobody names it then`()
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
        world.process.tell(durable: last)
        let topic = "beacons/lobby/state/staff/\(ProximityUUID.badges)/100/7"
        func retained() -> [Bool] {
            broker.came.now.messages.filter { $0.isRetained && $0.topic == topic }.map(\.payload.isEmpty)
        }
        try world.until("it is told") { retained() == [false] }
        try world.until("that is kept") { FileManager.default.fileExists(atPath: folder.file("mqtt-state.json")) }
        try ForgottenBeacon(.badge(7), upTo: last).add(
            in: FilePath(folder.file("mqtt-state.json")).removingLastComponent())
        world.process.reload()
        try world.until("it is taken back") { retained() == [false, true] }
        try world.until("no file names it") {
            let state = try String(contentsOfFile: folder.file("mqtt-state.json"), encoding: .utf8)
            return !FileManager.default.fileExists(atPath: folder.file("mqtt-forget.json"))
                && !state.contains("100/7") && !state.contains("\"minor\":7") && state.contains("\"minor\":9")
        }
        try world.stop()
    }

    @Test func `erased lines are passed over, none that stands is missed, and none comes twice`() throws {
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
        try world.until("what was told is shipped") { sequences() == Array(1...60) }
        // These wait while they are erased, and the ones that were shipped with them.
        try files.append(60)
        var erasure = try EventFilesErasure(FilePath(files.path), ErasureRequest(.badge(7)))
        try erasure.run()
        #expect(erasure.counts.erased == 120)
        try world.write(30)
        try world.until("what came after is shipped") { sequences() == Array(1...60) + Array(121...150) }
        try world.until("the checkpoint stands at the end") { world.process.status.shipped == 150 }
        let status = world.process.status
        #expect(status.setAside == 0 && status.missed == 0 && status.damaged == 0 && status.repeated == 0)
        try world.stop()
    }
}
