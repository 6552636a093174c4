import Foundation
import ProgramSupport
import Testing

/// The messages of invalid command lines, and the output of valid ones.
@Suite struct CommandLineTests {
    let scratch: Scratch
    let capture = Fixtures.path("android-gym-bike.btsnoop")
    let events = Fixtures.tests.appendingPathComponent("Fixtures/version-1/events").path
    init() throws { scratch = try Scratch() }

    @Test(arguments: [
        (["doctr"], "'doctr' is not a command; did you mean 'doctor'?"),
        (["vists", "--csv"], "'vists' is not a command; did you mean 'visits'?"),
        (["sacn"], "did you mean 'scan'?"), (["rec", "x"], "did you mean 'record'?"),
        (["help", "explian"], "did you mean 'explain'?"),
        (["bogus", "--help"], "'bogus' is not a command; the commands are run, status, "),
        (["help", "bogus"], "'bogus' is not a command"), (["zz"], "'zz' is not a command; the commands are"),
    ])
    func `a word that is not a command fails with 64, and the error has the nearest command or all`(
        arguments: [String], words: String
    ) throws {
        let ending = try Gateway.run(arguments)
        #expect(ending.status == 64)
        #expect(ending.errors.contains(words), "\(ending.errors)")
        #expect(ending.output.isEmpty)
    }

    @Test(arguments: [["--help"], ["help"], ["help", "replay"], ["replay", "--help"], ["--version"]])
    func `help and version go to standard output, and the exit code is 0`(arguments: [String]) throws {
        let ending = try Gateway.run(arguments)
        #expect(ending.status == 0 && ending.errors.isEmpty && !ending.output.isEmpty)
    }

    @Test func `a duration without a unit fails with 64, and the error has the duration with its unit`() throws {
        let lines = [
            ["replay", "--reorder", "5", capture], ["replay", "--interval", "5", capture],
            ["convert", "--interval", "5", capture, scratch.path("x.pcapng")],
            ["record", "--duration", "5", scratch.path("x.pcapng")],
        ]
        for arguments in lines {
            let ending = try Gateway.run(arguments)
            #expect(ending.status == 64)
            #expect(ending.errors.contains("The value '5' is invalid for '\(arguments[1]) <duration>'"))
            // The configuration has the same text.
            #expect(
                ending.errors.contains("the unit is missing: write 5s if this is the intended unit"), "\(ending.errors)"
            )
        }
        let config = try scratch.write("c.yaml", "monitor:\n  exit_timeout: 5\n" + Log.configuration)
        #expect(
            try Gateway.run("check", config).errors.contains(
                "the unit is missing: write 5s if this is the intended unit"))
        let far = try Gateway.run("replay", "--reorder", "5 years", capture)
        #expect(far.errors.contains("one number and one unit (ms, s, m, h or d), such as 30s"), "\(far.errors)")
        #expect(try Gateway.run("replay", "--reorder", "5s", capture).status == 0)
    }

    @Test func `visits --html - writes the page to standard output`() throws {
        let file = scratch.path("page.html")
        #expect(try Gateway.run("visits", "--html", file, events).status == 0)
        let ending = try Gateway.run("visits", "--html", "-", events)
        #expect(ending.status == 0)
        // All lines except the time of creation.
        func lines(_ text: String) -> [Substring] {
            text.split(separator: "\n").filter { !$0.hasPrefix("<p class=\"range\">Created ") }
        }
        #expect(lines(ending.text) == lines(String(decoding: try contents(of: file), as: UTF8.self)))
        #expect(ending.text.hasPrefix("<!DOCTYPE html>"))
        #expect(!FileManager.default.fileExists(atPath: "-"), "no file with the name - must be created")
    }

    @Test(arguments: [["visits"], ["visits", "--html", "-"], ["explain", "1"]])
    func `an unknown time zone is refused, and not replaced by UTC`(arguments: [String]) throws {
        func run(_ zone: String, _ more: String...) throws -> Ending {
            try ProgramSupport.run("/usr/bin/env", ["TZ=\(zone)", Gateway.path] + arguments + [events] + more)
        }
        let ending = try run("Foo/Bar")
        #expect(ending.status == 64 && ending.output.isEmpty)
        #expect(ending.errors.contains("TZ is Foo/Bar, which is not a time zone of this machine"))
        #expect(try run("Foo/Bar", "--utc").status == 0)
        #expect(try run("").status == 0)
        #expect(try run("CET-1CEST,M3.5.0,M10.5.0/3").status == 0)
    }
}
