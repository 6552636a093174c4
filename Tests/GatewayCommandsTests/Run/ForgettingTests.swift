import AdapterScanning
import BeaconMonitoring
import BluetoothLE
import EventLog
import Foundation
import ProgramSupport
import SystemPackage
import Testing

@testable import GatewayCommands

/// Effects of a request of `erase` on a running gateway.
@Suite(.serialized) struct ForgettingTests {
    let folder: Scratch
    init() throws { folder = try Scratch() }

    private func running() throws -> DaemonFixture {
        let text = """
            gateway: {name: lobby}
            monitor: {name: site, exit_timeout: 4s}
            output:
              directory: \(folder.path("events"))
              state_directory: \(folder.path("state"))
            conditions:
            - {identifier: staff, uuid: \(DaemonFixture.uuid), per_beacon: true, ranging: true, assuming: unsatisfied}

            """
        _ = try folder.write("g.yaml", text)
        let fixture = try DaemonFixture(folder)
        fixture.appear(0, DeviceAddress(0x00AA_0100_0001, kind: .public))
        return fixture
    }

    private func ask(_ fixture: DaemonFixture, _ minor: UInt16) throws -> Int {
        let state = FilePath(folder.path("state"))
        let request = ErasureRequest(badge(minor))
        var erasure = try EventFilesErasure(FilePath(folder.path("events")), request)
        try ErasureOrder.wanted(request).write(in: state)
        #expect(fixture.daemon.answerErasure())
        fixture.finishTurn()
        guard case .done(let number)? = try ErasureOrder.read(from: state) else {
            Issue.record("the gateway has not answered the request: \(fixture.log)")
            return 0
        }
        try ErasureOrder.remove(from: state)
        try erasure.run(upTo: number)
        return number
    }

    /// Returns the files that contain a badge.
    private func places(naming minor: UInt16) throws -> [String] {
        let spelled = #"/1/\#(minor)(?![0-9])|"major":1,"minor":\#(minor)(?![0-9])"#
        return try FileManager.default.subpathsOfDirectory(atPath: folder.url.path).filter { name in
            guard !name.hasSuffix("g.yaml"), let bytes = try? contents(of: folder.path(name)) else { return false }
            return String(decoding: bytes, as: UTF8.self).range(of: spelled, options: .regularExpression) != nil
        }
    }

    @Test func `L1: an adapter whose stop was received before an erasure does not scan after it`() throws {
        let fixture = try running()
        fixture.scanner.receive(badge(1))
        fixture.scanner.unread.append {
            $0.say(.stopped(adapter: 0, since: fixture.daemon.loop.now, reason: "scripted"))
        }
        _ = try ask(fixture, 1)
        #expect(try fixture.payloads("adapter").last?["state"] as? String == "off")
        fixture.end()
    }

    @Test func `a present beacon is erased, no other beacon exits, and its next sighting is a new entry`() throws {
        let fixture = try running()
        for minor: UInt16 in [1, 2] { fixture.scanner.receive(badge(minor)) }
        fixture.finishTurn()
        #expect(try !places(naming: 1).isEmpty)
        let before = try fixture.payloads("event").count
        let number = try ask(fixture, 1)
        #expect(try places(naming: 1) == [])
        #expect(try !places(naming: 2).isEmpty)
        // The events of the other badge stay, and there are no new ones.
        #expect(fixture.state == .satisfied)
        #expect(try fixture.payloads("event").count == before - 1)
        let marks = try fixture.payloads("erased").compactMap { $0["sequence"] as? Int }
        #expect(marks.last == number + 1)
        // No subject exits later than without the erasure.
        fixture.scanner.receive(badge(1))
        fixture.finishTurn()
        let event = try #require(try fixture.payloads("event").last)
        #expect((event["refinement"] as? [String: Any])?["minor"] as? Int == 1)
        #expect(event["scope"] as? String == "beacon" && event["previous"] == nil)
        fixture.wait(.seconds(5))
        #expect(fixture.state == .unsatisfied)
        let exits = try fixture.payloads("event").filter { $0["state"] as? String == "unsatisfied" }
        #expect(exits.count == 3)
        var follower = LineFollower(FilePath(folder.path("events")), from: LinePosition(sequence: 0))
        var (line, message, numbers): ([UInt8], LineMessage, [Int]) = ([], LineMessage(prefix: "p"), [])
        while try follower.next(into: &line, upTo: .max, &message) {
            if let number = message.sequence { numbers.append(number) }
        }
        #expect(numbers == Array(1...fixture.daemon.monitor.journal.sequence))
        fixture.end()
    }

    @Test func `a beacon stays erased after a crash`() throws {
        var fixture = try running()
        fixture.scanner.receive(badge(1))
        fixture.finishTurn()
        _ = try ask(fixture, 1)
        fixture.end(isKilled: true)
        #expect(try places(naming: 1) == [])
        fixture = try running()
        let subjects = fixture.engine.snapshot.conditions.flatMap(\.beacons)
        #expect(subjects.isEmpty)
        fixture.end()
        #expect(try places(naming: 1) == [])
    }

    @Test func `the next start deletes the remains of an interrupted erasure, unless an erasure is running`() throws {
        try running().end()
        _ = try folder.write("events/.erasing.new", "lines of others")
        let lock = try StateLock(erasing: FilePath(folder.path("events")))
        try running().end()
        #expect(FileManager.default.fileExists(atPath: folder.path("events/.erasing.new")))
        lock.release()
        try running().end()
        #expect(!FileManager.default.fileExists(atPath: folder.path("events/.erasing.new")))
    }

    @Test func `without a request, answerErasure returns false, so that SIGUSR1 only starts a new file`() throws {
        let fixture = try running()
        #expect(!fixture.daemon.answerErasure())
        fixture.end()
    }

    @Test func `an invalid request is logged, and no beacon is erased`() throws {
        let fixture = try running()
        _ = try folder.write("state/erase.json", "{\"version\":1,\"uuid\":\"nobody\"}")
        _ = fixture.daemon.answerErasure()
        #expect(fixture.log.contains { $0.contains("erase.json") }, "\(fixture.log)")
        fixture.end()
    }
}

/// The program itself, with a gateway that runs.
@Suite struct EraseRunTests {
    @Test func `erase works with a running gateway, after its end, and again`() throws {
        let fixture = try LiveFixture()
        let configuration = try fixture.write("g.yaml", fixture.configuration())
        let gateway = try RunningGateway(fixture, configuration: configuration)
        try gateway.log.line(with: "hci0 is listening")
        fixture.advertise(minor: 7)
        fixture.advertise("C0:00:00:00:00:02", minor: 8)
        func lines(naming minor: Int) throws -> Int {
            try fixture.lines().count { $0.contains("\"minor\":\(minor)}") }
        }
        try gateway.until("both beacons are present") { _ in try lines(naming: 7) > 0 && lines(naming: 8) > 0 }
        let beacon = try #require(
            try fixture.lines().compactMap { line in
                line.split(separator: "\"").first { $0.hasPrefix("beacons/lobby/event/staff/") && $0.hasSuffix("/7") }
            }.first
        ).split(separator: "/").suffix(3)
        let dry = try Gateway.run(
            "erase", beacon.dropFirst().joined(separator: "/"), "--config", configuration, "--dry-run")
        #expect(dry.status == 0, "\(dry.errors)")
        #expect(try lines(naming: 7) > 0)
        let erased = try Gateway.run("erase", beacon.dropFirst().joined(separator: "/"), "--config", configuration)
        #expect(erased.status == 0, "\(erased.errors)")
        #expect(erased.errors.contains("the gateway has forgotten it"), "\(erased.errors)")
        #expect(try lines(naming: 7) == 0)
        #expect(try lines(naming: 8) > 0)
        #expect(!FileManager.default.fileExists(atPath: fixture.path("state/erase.json")))
        // If the erased beacon is received again, it is a new beacon.
        fixture.advertise(minor: 7)
        try gateway.until("the beacon is present again") { _ in try lines(naming: 7) > 0 }
        #expect(gateway.end() == 0)
        let after = try Gateway.run("erase", beacon.joined(separator: "/"), "--config", configuration)
        #expect(after.status == 0, "\(after.errors)")
        #expect(try lines(naming: 7) == 0)
        let state = String(decoding: try contents(of: fixture.path("state/state.json")), as: UTF8.self)
        #expect(!state.contains("\"minor\":7}") && state.contains("\"minor\":8}"))
        let again = try Gateway.run("erase", beacon.joined(separator: "/"), "--config", configuration)
        #expect(again.status == 0)
        #expect(again.errors.contains("contains this beacon"), "\(again.errors)")
    }

    @Test func `a gateway that was killed before it could answer a request answers at its next start`() throws {
        let fixture = try LiveFixture()
        let configuration = try fixture.write("g.yaml", fixture.configuration())
        var gateway = try RunningGateway(fixture, configuration: configuration)
        try gateway.log.line(with: "hci0 is listening")
        fixture.advertise(minor: 7)
        try gateway.until("the beacon is present") { _ in try fixture.lines().contains { $0.contains("\"minor\":7}") } }
        #expect(gateway.end(by: SIGKILL) == -SIGKILL)
        let state = FilePath(fixture.path("state"))
        let beacon = BeaconIdentity(uuid: try #require(ProximityUUID(LiveFixture.uuid)), major: 100, minor: 7)
        try ErasureOrder.wanted(ErasureRequest(beacon)).write(in: state)
        gateway = try RunningGateway(fixture, configuration: configuration)
        try gateway.log.line(with: "a beacon was forgotten")
        try gateway.until("the gateway has answered") { _ in
            if case .done? = try ErasureOrder.read(from: state) { true } else { false }
        }
        let text = String(decoding: try contents(of: fixture.path("state/state.json")), as: UTF8.self)
        #expect(!text.contains("\"minor\":7}"))
        #expect(gateway.end() == 0)
    }
}

/// The backup commands of the manual, as they are printed there.
@Suite struct BackupRunTests {
    /// Returns the script of the `sudo sh -c '…'` line of the manual that contains `word`, for another folder.
    private func script(with word: String, for folder: String) throws -> String {
        let manual = try String(
            contentsOf: Fixtures.tests.appendingPathComponent("../docs/operation.md"), encoding: .utf8)
        let line = try #require(
            manual.split(separator: "\n").first { $0.hasPrefix("sudo sh -c '") && $0.contains(word) })
        let parts = line.split(separator: "'")
        return String(parts[1]).replacingOccurrences(of: "/var/lib/beacon-gateway", with: folder)
            .replacingOccurrences(of: " && chown -R beacon-gateway: .", with: "")
    }

    @Test func `a copy of a running gateway continues with sequence numbers that were not used before`() throws {
        let fixture = try LiveFixture()
        func configuration(_ folder: String) -> String {
            fixture.configuration().replacingOccurrences(of: fixture.path("state\n"), with: fixture.path(folder + "\n"))
                .replacingOccurrences(of: fixture.path("events"), with: fixture.path(folder + "/events"))
        }
        func numbers(_ folder: String) throws -> [Int] {
            var follower = LineFollower(FilePath(fixture.path(folder + "/events")), from: LinePosition(sequence: 0))
            var (line, message, numbers): ([UInt8], LineMessage, [Int]) = ([], LineMessage(prefix: "p"), [])
            while try follower.next(into: &line, upTo: .max, &message) {
                if let number = message.sequence { numbers.append(number) }
            }
            return numbers
        }
        var gateway = try RunningGateway(fixture, configuration: fixture.write("g.yaml", configuration("one")))
        try gateway.log.line(with: "hci0 is listening")
        fixture.advertise(minor: 7)
        try gateway.until("the beacon is present") { _ in try numbers("one").count > 3 }
        let copy = try run("/bin/sh", ["-c", try script(with: "tar -c ", for: fixture.path("one"))], input: [])
        #expect(copy.status <= 1, "\(copy.errors)")
        let copied = try numbers("one")
        fixture.advertise("C0:00:00:00:00:02", minor: 8)
        try gateway.until("the gateway continues") { _ in try numbers("one").count > copied.count }
        #expect(gateway.end() == 0)
        let last = try #require(try numbers("one").last)
        try FileManager.default.createDirectory(atPath: fixture.path("two"), withIntermediateDirectories: true)
        let restore = try run(
            "/bin/sh", ["-c", try script(with: "touch restored", for: fixture.path("two"))], input: copy.output)
        #expect(restore.status == 0, "\(restore.errors)")
        gateway = try RunningGateway(fixture, configuration: fixture.write("h.yaml", configuration("two")))
        try gateway.log.line(with: "says that this is a backup")
        try gateway.log.line(with: "hci0 is listening")
        #expect(gateway.end() == 0)
        let restored = try numbers("two")
        #expect(Array(restored.prefix(copied.count)) == copied)
        #expect(restored.dropFirst(copied.count).allSatisfy { $0 > last + 900_000_000 })
        #expect(restored.count > copied.count)
        #expect(!FileManager.default.fileExists(atPath: fixture.path("two/restored")))
    }
}
