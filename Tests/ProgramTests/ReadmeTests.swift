import Foundation
import ProgramSupport
import Testing

/// The section “Quick start” of README.md.
@Suite struct ReadmeTests {
    private static func quickStarts() throws -> [(title: String, text: String)] {
        let readme = Fixtures.tests.deletingLastPathComponent().appendingPathComponent("README.md")
        let text = try String(contentsOf: readme, encoding: .utf8)
        let sections = text.components(separatedBy: "\n## ").dropFirst()
        let first = try #require(sections.first)
        try #require(first.hasPrefix("Quick start\n"))
        return first.components(separatedBy: "\n### ").dropFirst().map { part in
            let lines = part.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
            return (String(lines[0]), String(lines.last ?? ""))
        }
    }

    @Test func `the quick start has four ways: badges and a Raspberry Pi, a capture, Home Assistant, a Swift package`()
        throws
    {
        let quickStarts = try Self.quickStarts()
        #expect(
            quickStarts.map(\.title) == [
                "1. Badges and a Raspberry Pi", "2. A capture", "3. Home Assistant", "4. A Swift package",
            ])
        let all = quickStarts.map(\.text).joined()
        for best in ["visits", "visits --html", "explain", "home_assistant: true"] { #expect(all.contains(best)) }
    }

    @Test func `every command of the quick start exists and has the options that are shown`() throws {
        let text = try Self.quickStarts().map(\.text).joined()
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

    @Test func `the command of the quick start reads the log in the zip of an Android bug report`() throws {
        let scratch = try Scratch()
        let part = try #require(try Self.quickStarts().first { $0.title == "2. A capture" }).text
        let line = try #require(part.firstMatch(of: /\n(unzip [^\n]*)\n/)).output.1
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
