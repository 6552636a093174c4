import BaseTypes
import BeaconMonitoring
import CommandSupport
import EventLog
import Foundation
import ProgramSupport
import SystemPackage
import Testing

@testable import GatewayCommands

@Suite struct LifeSignsTests {
    private let folder: Scratch
    private let boot = BootID(machine: "aaaaaaaa", process: 1)
    private let offset = ClockOffset(nanoseconds: 1_795_219_200_000_000_000)

    init() throws { folder = try Scratch() }

    private func signs(_ boot: BootID? = nil) throws -> AliveRecorder {
        AliveRecorder(in: FilePath(folder.path(".")), gateway: try Identifier("lobby"), boot: boot ?? self.boot)
    }

    private func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

    private func proof() throws -> ProofOfLife {
        try #require(try AliveFile.read(in: FilePath(folder.path("."))))
    }

    @Test func `the file is written at a wake-up a minute or more after the last write, and at the end`() throws {
        var signs = try signs()
        for (second, wanted) in [(100, 100), (130, 100), (159, 100), (161, 161), (200, 161)] as [(Int64, Int64)] {
            #expect(signs.writeIfDue(at: at(second), clockOffset: offset, after: 9_999_999) == nil)
            #expect(try proof().time == at(wanted))
        }
        #expect(signs.due == at(221))
        #expect(signs.writeIfDue(at: at(201), clockOffset: offset, after: 7, isLast: true) == nil)
        let last = try proof()
        #expect(last.time == at(201) && last.offset == offset)
        #expect(last.sequence == 7 && last.gateway == "lobby" && last.boot == boot.text)
        // If a short content follows a longer one, no byte of the longer one remains.
        #expect(try contents(of: folder.path("alive")).last == 0x0A)
        #expect(try contents(of: folder.path("alive")).filter { $0 == 0x0A }.count == 1)
    }

    @Test func `a timer wakes the gateway unless systemd's watchdog does so at least once per minute`() {
        #expect(AliveRecorder.needsTimer(watchdogInterval: nil))
        #expect(AliveRecorder.needsTimer(watchdogInterval: .seconds(90)))
        #expect(!AliveRecorder.needsTimer(watchdogInterval: .seconds(15)))
    }

    @Test func `if the file cannot be written, this is logged once, and so is the next success`() throws {
        try FileManager.default.createDirectory(atPath: folder.path("alive"), withIntermediateDirectories: false)
        var signs = try signs()
        #expect(signs.remark?.contains("alive can't be read") == true)
        let said = signs.writeIfDue(at: at(100), clockOffset: offset, after: 1)
        #expect(said?.contains("alive can't be written") == true, "\(said ?? "")")
        #expect(signs.writeIfDue(at: at(200), clockOffset: offset, after: 1) == nil)
        try FileManager.default.removeItem(atPath: folder.path("alive"))
        let again = signs.writeIfDue(at: at(300), clockOffset: offset, after: 1)
        #expect(again?.contains("is written again") == true)
        #expect(signs.writeIfDue(at: at(400), clockOffset: offset, after: 1) == nil)
    }

    @Test func `the next start knows until when the run before was alive, by its timeline or by its date`() throws {
        func until(_ signs: AliveRecorder, _ machine: String, at time: Instant) -> Instant? {
            guard
                case .started(Program.version, nil, let until) = signs.started(
                    nil, machine: machine, at: time, clockOffset: offset
                ).kind
            else { return nil }
            return until
        }
        var first = try signs()
        #expect(until(first, "aaaaaaaa", at: at(100)) == nil)
        _ = first.writeIfDue(at: at(100), clockOffset: offset, after: 1)
        #expect(until(try signs(), "aaaaaaaa", at: at(500)) == at(100))
        // The machine was restarted since. By the wall clock, 100 s of the old timeline are 30 s before the start of
        // the new one.
        let later = ClockOffset(nanoseconds: offset.nanoseconds + 130_000_000_000)
        let started = try signs().started("x", machine: "bbbbbbbb", at: at(5), clockOffset: later)
        guard case .started(_, "x", let remembered) = started.kind else {
            Issue.record("the line must be a start")
            return
        }
        #expect(remembered?.nanoseconds == -30_000_000_000)
    }

    @Test func `the first reason is the reason of the stop`() throws {
        var signs = try signs()
        signs.end(because: "stopped by SIGTERM")
        signs.end(because: "something that came of it")
        #expect(signs.stopped(at: at(1), clockOffset: offset).kind == .stopped(reason: "stopped by SIGTERM"))
    }

    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            String(repeating: "a", count: 55),
            "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"
        ),
        (
            String(repeating: "a", count: 64),
            "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"
        ),
    ]) func `a configuration's digest is equal to the output of sha256sum`(text: String, digest: String) {
        #expect(SHA256.hexadecimal(of: Array(text.utf8)) == digest)
    }

    /// Returns the seconds since the start of a date's day.
    private static func seconds(_ date: Any?) -> Double {
        let parts = ((date as? String) ?? "").dropFirst(11).dropLast().split(separator: ":").compactMap { Double($0) }
        return parts.reduce(0) { $0 * 60 + $1 }
    }

    @Test func `each run writes a start and a stop line, and the next start has the time of the last stop`() throws {
        try DaemonFixture.write("", in: folder)
        for round in 1...2 {
            let fixture = try DaemonFixture(folder)
            fixture.finishTurn()
            let before = try #require(try AliveFile.read(in: FilePath(folder.path("events"))))
            fixture.daemon.close()
            let lines = try fixture.payloads("gateway")
            #expect(lines.count == 2 * round)
            let (started, stopped) = (lines[2 * round - 2], lines[2 * round - 1])
            #expect(started["state"] as? String == "started" && stopped["state"] as? String == "stopped")
            #expect(started["program"] as? String == Program.version)
            let digest = SHA256.hexadecimal(of: Array(try contents(of: folder.path("g.yaml"))))
            #expect(started["configuration"] as? String == digest)
            #expect((started["until"] == nil) == (round == 1))
            if round == 2 {
                let (until, end) = (Self.seconds(started["until"]), Self.seconds(lines[1]["date"]))
                // Both dates are cut to microseconds, and belong to a clock that can be slewed.
                #expect(abs(until - end) < 0.02, "\(until) and \(end)")
            }
            let after = try #require(try AliveFile.read(in: FilePath(folder.path("events"))))
            #expect(after.sequence == stopped["sequence"] as? Int && after.sequence > before.sequence)
            #expect(after.time.nanoseconds / 1000 == stopped["monotonic"] as? Int64)
        }
    }
}
