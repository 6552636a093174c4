import Foundation
import ProgramSupport
import Testing

/// Exit codes of commands, and their errors if they cannot continue.
@Suite struct ExitCodeTests {
    let scratch: Scratch
    let capture = Fixtures.path("android-gym-bike.btsnoop")
    init() throws { scratch = try Scratch() }

    private func check(
        _ arguments: String..., status: Int32, says: String = "", input: [UInt8] = [],
        location: SourceLocation = #_sourceLocation
    ) throws {
        let ending = try Gateway.run(arguments, input: input)
        #expect(ending.status == status, "\(arguments): \(ending.errors)", sourceLocation: location)
        #expect(!ending.wasKilled, sourceLocation: location)
        #expect(says.isEmpty || ending.errors.contains(says), "\(ending.errors)", sourceLocation: location)
        if status != 0 { #expect(!ending.errors.isEmpty, sourceLocation: location) }
    }

    @Test func `64: the command line is invalid`() throws {
        try check("replay", status: 64)
        try check("replay", "--no-such-option", capture, status: 64)
        try check("replay", "--speed", "0", capture, status: 64, says: "--speed")
        try check("replay", "--speed", "nan", capture, status: 64)
        // At this speed, a replay would practically never end.
        try check("replay", "--speed", "1e-300", capture, status: 64, says: "--speed is 1e-300; must be 0.001")
        try check("replay", "--reorder", "5", capture, status: 64, says: "write 5s")
        try check("replay", "--fields", "nonsense", capture, status: 64, says: "--fields")
        try check("replay", "--sightings", "--output", scratch.path("o"), capture, status: 64, says: "--output")
        try check("replay", "-", "x=-", status: 64, says: "standard input")
        try check("convert", capture, status: 64)
        try check("nonsense", status: 64)
    }

    @Test func `65: the input is not a capture`() throws {
        try check("replay", "-", status: 65, says: "standard input is empty")
        try check(
            "replay", "-", status: 65,
            says: "standard input starts with “hello”, which is the text of an unknown format",
            input: Array("hello\n".utf8))
        try check("replay", Fixtures.path("README.md"), status: 65, says: "README.md starts with “# Captures”")
        // Android exports its log in a zip archive.
        let zip = try scratch.write("bugreport.zip", Array("PK\u{3}\u{4}\u{14}\0\0\0\u{8}\0".utf8))
        try check("replay", zip, status: 65, says: "is a zip archive, which is not read.")
        try check("convert", zip, scratch.path("result.btsnoop"), status: 65, says: "Unpack the capture")
        let events = Array(try Gateway.replay([capture]).text.utf8)
        try check("replay", "-", status: 65, says: "with: beacon-gateway visits FILE", input: events)
        // One invalid file of several is enough for an error, and nothing is written.
        let ending = try Gateway.run("replay", capture, Fixtures.path("README.md"))
        #expect(ending.status == 65)
        #expect(ending.output.isEmpty)
    }

    @Test func `65, or 0 with --lenient: the valid part is used, and the damage is reported with its place`() throws {
        let cut = try scratch.write("cut", try contents(of: capture).dropLast(10))
        let whole = try Gateway.replay(["--sightings", capture])
        let damaged = try Gateway.run("replay", "--sightings", cut)
        #expect(damaged.status == 65)
        #expect(whole.text.hasPrefix(damaged.text))
        #expect(damaged.errors.hasPrefix("\(cut): record 412 at byte "))
        let lenient = try Gateway.run("replay", "--lenient", "--sightings", cut)
        #expect(lenient.status == 0)
        #expect(lenient.errors == damaged.errors)
        #expect(lenient.output == damaged.output)
        let packed = try Tool.pass(try contents(of: capture), through: Tool.gzip, "-c")
        try check("replay", "-", status: 65, says: "truncated", input: Array(packed.dropLast(20)))
    }

    @Test func `66: a file does not exist, or is not a regular file`() throws {
        try check("replay", scratch.path("absent"), status: 66, says: "can't be opened: No such file or directory")
        try check("replay", "--config", scratch.path("absent.yaml"), capture, status: 66, says: "absent.yaml")
        try check("check", scratch.path("absent.yaml"), status: 66, says: "can't be read")
        // No process writes to this FIFO, so a program that waits for data would never end.
        try #require(mkfifo(scratch.path("fifo"), 0o600) == 0)
        try check("check", scratch.path("fifo"), status: 66, says: "it is not a regular file")
        try check("replay", scratch.url.path, status: 66, says: "can't be read")
    }

    @Test func `73: the output cannot be created; 74: the output cannot be written`() throws {
        try check("replay", "--output", scratch.path("no/such/folder"), capture, status: 73, says: "can't be created")
        try check("replay", "--output", try scratch.write("file", "x"), capture, status: 73, says: "can't be created")
        let ending = try run("/bin/sh", ["-c", "'\(Gateway.path)' replay '\(capture)' > /dev/full"])
        #expect(ending.status == 74)
        #expect(ending.errors.contains("standard output can't be written to: No space left on device"))
    }

    @Test func `77: no permission`() throws {
        let secret = try scratch.write("secret", "{}")
        try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: secret)
        for command in ["replay", "check"] {
            let ending = try Gateway.runWithoutRights([command, secret])
            #expect(ending.status == 77)
            #expect(ending.errors.contains("Permission denied"), "\(ending.errors)")
        }
    }

    @Test func `78: a configuration with errors is refused as a whole, and nothing is replayed`() throws {
        let config = try scratch.write(
            "c.yaml", "mqtt:\n  host: a\n  port: 70000\nmonitor:\n  exit_timeot: 3s\n" + Log.configuration)
        for arguments in [["replay", "--config", config, capture], ["check", config]] {
            let ending = try Gateway.run(arguments)
            #expect(ending.status == 78)
            #expect(ending.output.isEmpty)
            #expect(ending.errors.contains("\(config):3:9: mqtt.port is 70000; expected 1…65535"))
            #expect(ending.errors.contains("\(config):5:3: "))
            #expect(ending.errors.contains("exit_timeout"))
        }
    }

    @Test func `check prints the numbers of monitors, conditions and warnings of a valid configuration`() throws {
        let sample = Fixtures.tests.deletingLastPathComponent().appendingPathComponent("Config/gateway.yaml").path
        let ending = try Gateway.run("check", sample)
        #expect(ending.status == 0)
        #expect(ending.text.hasPrefix("\(sample): no errors; monitors: 1, conditions: "))
        let piped = try Gateway.run("check", "-", input: Array(Log.configuration.utf8))
        #expect(piped.text == "-: no errors; monitors: 1, conditions: 1, warnings: 0\n")
        #expect(piped.errors == "")
        // Rule L5: with this `exit_timeout`, an adapter would become `deaf` too late.
        let warned = try Gateway.run(
            "check", "-", input: Array(("monitor:\n  exit_timeout: 5s\n" + Log.configuration).utf8))
        #expect(warned.status == 0)
        #expect(warned.text.hasSuffix("warnings: 1\n"))
        #expect(warned.errors.hasPrefix("warning: standard input:"))
        #expect(warned.errors.contains("deaf_after"))
    }

    @Test(arguments: ["--sightings", "--settle"])
    func `a replay ends without a crash if the reader of its output ends early`(option: String) throws {
        let room = Fixtures.path(Fixtures.rooms[2])
        let ending = try run(
            "/bin/bash",
            [
                "-c",
                "'\(Gateway.path)' replay \(option) --fields '\(Fixtures.roomFields)' '\(room)' '\(room)' | head -n 1 "
                    + "> /dev/null; echo ${PIPESTATUS[0]}",
            ])
        // It ends by the signal, or with the error of a broken pipe. If the output is small, the pipe can hold it.
        #expect(["0\n", "74\n", "141\n"].contains(ending.text), "\(ending.text)")
        #expect(!ending.errors.contains("Fatal error"))
        #expect(ending.errors.split(separator: "\n").count <= 1)
    }

    @Test func `a closed standard output is an error (74), not a crash`() throws {
        let ending = try run("/bin/sh", ["-c", "exec '\(Gateway.path)' replay '\(capture)' >&-"])
        #expect(ending.status == 74)
        #expect(!ending.wasKilled)
        #expect(ending.errors.contains("standard output can't be written to"))
    }
}
