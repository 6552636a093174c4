import BeaconMonitoring
import Foundation
import OperatorLogging
import ProgramSupport
import Testing

/// Text of event files must have no effect in a terminal, a spreadsheet or a browser.
@Suite struct HarmlessReportTests {
    /// Returns a folder of event files in which every text is hostile.
    private func folder(_ scratch: Scratch) throws -> String {
        var writer = LineWriter()
        writer.line(
            "adapter", 1,
            #""adapter":"\#(HostileText.json)","state":"listening","since":"\#(writer.date(1))","reason":"\#(HostileText.json)",DATE"#
        )
        writer.completeVisit(HostileText.json, 100, 400, minor: 7)
        writer.completeVisit(HostileText.json, 100, 400)
        writer.line(
            "adapter", 500,
            #""adapter":"\#(HostileText.json)","state":"off","since":"\#(writer.date(500))","reason":"\#(HostileText.json)",DATE"#
        )
        writer.line(
            "adapter", 600,
            #""adapter":"\#(HostileText.json)","state":"listening","since":"\#(writer.date(600))","reason":"\#(HostileText.json)",DATE"#
        )
        writer.completeVisit(HostileText.json, 700, 900)
        let path = scratch.path("events")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let lines = writer.lines.map {
            $0.replacingOccurrences(of: #""monitor":"site""#, with: #""monitor":"\#(HostileText.json)""#)
                .replacingOccurrences(of: #""adapter":"hci0""#, with: #""adapter":"\#(HostileText.json)""#) + "\n"
        }
        try Data(lines.joined().utf8).write(
            to: URL(fileURLWithPath: path + "/events-000000000001-20261121T000000Z.jsonl"))
        return path
    }

    @Test func `visits prints no character of an event file that a terminal does not treat as text`() throws {
        let scratch = try Scratch()
        let path = try folder(scratch)
        for arguments in [["visits"], ["visits", "--json"], ["visits", "--csv"]] {
            let ending = try Gateway.run(arguments + [path])
            #expect(ending.status == 0, "\(ending.errors)")
            #expect(ending.text.contains("_") || arguments == ["visits", "--json"])
            HostileText.expectHarmless(ending.output.filter { $0 != 0x0D || arguments != ["visits", "--csv"] })
            HostileText.expectHarmless(Array(ending.errors.utf8))
        }
        // JSON loses nothing, because programs read it.
        let rows = try Gateway.run("visits", "--json", path).lines.map(object)
        #expect(rows.first?["identifier"] as? String == HostileText.evil)
        #expect(rows.first?["monitor"] as? String == HostileText.evil)
        // Each text is one cell, and no cell starts a formula.
        let csv = try Gateway.run("visits", "--csv", path).text.components(separatedBy: "\r\n")[1]
        let cell = "\"'" + PlainText.safe(HostileText.evil).replacingOccurrences(of: "\"", with: "\"\"") + "\""
        #expect(csv.hasPrefix("\(cell),\(cell),F7826DA6"))
    }

    @Test func `a page contains texts of event files only as text`() throws {
        let scratch = try Scratch()
        let page = scratch.path("page.html")
        let ending = try Gateway.run("visits", "--html", page, try folder(scratch))
        #expect(ending.status == 0, "\(ending.errors)")
        let bytes = try contents(of: page)
        HostileText.expectHarmless(bytes)
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(!text.contains("<script"))
        #expect(text.contains("&lt;script&gt;&#39;&quot;_{{style}}"))
    }

    @Test func `explain prints no character of an event file or argument that a terminal does not treat as text`()
        throws
    {
        let scratch = try Scratch()
        let path = try folder(scratch)
        for number in 1...12 {
            let ending = try Gateway.run("explain", "\(number)", path)
            #expect(ending.status == 0, "\(number): \(ending.errors)")
            HostileText.expectHarmless(ending.output)
        }
        let missing = try Gateway.run("explain", HostileText.evil + "?", path)
        #expect(missing.status == 65)
        HostileText.expectHarmless(Array(missing.errors.utf8))
    }
}
