import Foundation
import ProgramSupport
import Testing

/// The first screen of README.md: what somebody who has just come is shown.
@Suite struct ReadmeTests {
    private static func doors() throws -> [(title: String, text: String)] {
        let readme = Fixtures.tests.deletingLastPathComponent().appendingPathComponent("README.md")
        let text = try String(contentsOf: readme, encoding: .utf8)
        let sections = text.components(separatedBy: "\n## ").dropFirst()
        let first = try #require(sections.first)
        try #require(first.hasPrefix("Four doors\n"))
        return first.components(separatedBy: "\n### Door ").dropFirst().map { door in
            let lines = door.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
            return (String(lines[0]), String(lines.last ?? ""))
        }
    }

    @Test func `four doors stand on top: badges and a Pi, a capture, Home Assistant, a Swift package`() throws {
        let doors = try Self.doors()
        #expect(
            doors.map(\.title) == ["1: badges and a Pi", "2: a capture", "3: Home Assistant", "4: a Swift package"])
        let all = doors.map(\.text).joined()
        for best in ["visits", "visits --html", "explain", "home_assistant: true"] { #expect(all.contains(best)) }
    }

    @Test func `every command behind the doors is one, with the options that it has`() throws {
        let text = try Self.doors().map(\.text).joined()
        let commands = text.matches(of: /beacon-gateway ([a-z]+)((?: [^\n`|#]*)?)/)
        #expect(commands.count >= 5)
        for command in commands {
            let help = try Gateway.run("help", String(command.output.1))
            #expect(help.status == 0, "\(command.output.0)")
            for option in command.output.2.matches(of: /--[a-z-]+/) {
                #expect(help.text.contains(String(option.output)), "\(command.output.0)")
            }
        }
    }

    @Test func `the log in the zip of an Android bug report is read by the line that is shown`() throws {
        let scratch = try Scratch()
        let door = try #require(try Self.doors().first { $0.title == "2: a capture" }).text
        let line = try #require(door.firstMatch(of: /\n(unzip [^\n]*)\n/)).output.1
        let log = Fixtures.path("android-gym-bike.btsnoop")
        let program = """
            import sys, zipfile
            with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED) as report:
                report.writestr("main_entry.txt", "bugreport.txt")
                report.write(sys.argv[2], "FS/data/log/bt/btsnoop_hci.log")
            """
        let zip = scratch.path("bugreport-phone-2026-11-21.zip")
        try #require(try run(Tool.python, ["-c", program, zip, log]).status == 0)
        let shell =
            "cd \(scratch.path("")) && "
            + line.replacing("beacon-gateway", with: Gateway.path)
        let ending = try run("/bin/sh", ["-c", shell])
        let alone = try Gateway.run("replay", "--summary", log)
        #expect(ending.status == 0 && ending.output == alone.output, "\(ending.errors)")
        #expect(ending.errors.contains("records"), "\(ending.errors)")
    }
}
