import BeaconMonitoring
import Foundation
import Testing

@testable import EventLog
@testable import Gateway

/// What comes out of files, and what a terminal, a spreadsheet or a browser would make of it.
@Suite struct PlainTextTests {
    /// A title for the window, a clear screen, an 8-bit CSI, a DEL, a carriage return, text that runs backwards, a tag.
    static let evil = "=a\u{1B}]0;x\u{07}\u{1B}[2J\u{9B}31m\u{7F}\r\u{202E}txt\u{2066}<script>'\"\u{E0041}"
    static let json = String(
        decoding: evil.unicodeScalars.flatMap { scalar -> [UInt8] in
            if scalar == "\"" { return Array("\\\"".utf8) }
            // Raw where JSON allows it, so that it is our reader that has it.
            return scalar.value < 0x20
                ? Array(String(format: "\\u%04x", scalar.value).utf8) : Array(String(scalar).utf8)
        }, as: UTF8.self)

    private func isHarmless(_ octets: [UInt8], location: SourceLocation = #_sourceLocation) {
        let text = String(decoding: octets, as: UTF8.self)
        #expect(text.utf8.elementsEqual(octets), "it is no UTF-8", sourceLocation: location)
        let bad = text.unicodeScalars.filter { $0 != "\n" && !PlainText.isHarmless($0) }
        #expect(
            bad.isEmpty, "\(bad.map { String($0.value, radix: 16) }) in \(text.debugDescription)",
            sourceLocation: location)
    }

    /// A folder of event files in which everything that can be a text is hostile.
    private func folder(_ scratch: Scratch) throws -> String {
        var writer = VisitsTests.Writer()
        writer.line(
            "adapter", 1,
            #""adapter":"\#(Self.json)","state":"listening","since":"\#(writer.date(1))","reason":"\#(Self.json)",DATE"#
        )
        writer.stay(Self.json, 100, 400, minor: 7)
        writer.stay(Self.json, 100, 400)
        writer.line(
            "adapter", 500,
            #""adapter":"\#(Self.json)","state":"off","since":"\#(writer.date(500))","reason":"\#(Self.json)",DATE"#)
        writer.line(
            "adapter", 600,
            #""adapter":"\#(Self.json)","state":"listening","since":"\#(writer.date(600))","reason":"\#(Self.json)",DATE"#
        )
        writer.stay(Self.json, 700, 900)
        let path = scratch.path("events")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let lines = writer.lines.map {
            $0.replacingOccurrences(of: #""monitor":"site""#, with: #""monitor":"\#(Self.json)""#)
                .replacingOccurrences(of: #""adapter":"hci0""#, with: #""adapter":"\#(Self.json)""#) + "\n"
        }
        try Data(lines.joined().utf8).write(
            to: URL(fileURLWithPath: path + "/events-000000000001-20261121T000000Z.jsonl"))
        return path
    }

    @Test func `no octet of an event file reaches a terminal through visits`() throws {
        let scratch = try Scratch()
        let path = try folder(scratch)
        for arguments in [["visits"], ["visits", "--json"], ["visits", "--csv"]] {
            let ending = try Gateway.run(arguments + [path])
            #expect(ending.status == 0, "\(ending.errors)")
            #expect(ending.text.contains("_") || arguments == ["visits", "--json"])
            isHarmless(ending.output.filter { $0 != 0x0D || arguments != ["visits", "--csv"] })
            isHarmless(Array(ending.errors.utf8))
        }
        // Nothing is lost where programs read it.
        let rows = try Gateway.run("visits", "--json", path).lines.map(object)
        #expect(rows.first?["identifier"] as? String == Self.evil)
        #expect(rows.first?["monitor"] as? String == Self.evil)
        // Each cell of text is one, and none begins a formula.
        let csv = try Gateway.run("visits", "--csv", path).text.components(separatedBy: "\r\n")[1]
        let cell = "\"'" + PlainText.safe(Self.evil).replacingOccurrences(of: "\"", with: "\"\"") + "\""
        #expect(csv.hasPrefix("\(cell),\(cell),F7826DA6"))
    }

    @Test func `no octet of an event file reaches a page as more than text`() throws {
        let scratch = try Scratch()
        let page = scratch.path("page.html")
        let ending = try Gateway.run("visits", "--html", page, try folder(scratch))
        #expect(ending.status == 0, "\(ending.errors)")
        let octets = try contents(of: page)
        isHarmless(octets)
        let text = String(decoding: octets, as: UTF8.self)
        #expect(!text.contains("<script"))
        #expect(text.contains("&lt;script&gt;&#39;&quot;"))
    }

    @Test func `no octet of an event file reaches a terminal through explain`() throws {
        let scratch = try Scratch()
        let path = try folder(scratch)
        for number in 1...12 {
            let ending = try Gateway.run("explain", "\(number)", path)
            #expect(ending.status == 0, "\(number): \(ending.errors)")
            isHarmless(ending.output)
        }
        let missing = try Gateway.run("explain", Self.evil + "?", path)
        #expect(missing.status == 65)
        isHarmless(Array(missing.errors.utf8))
    }

    @Test func `what scan shows of names and conditions is harmless, in columns and in JSON`() throws {
        var json = JSONWriter()
        json.write("name", Self.evil)
        let text = json.finish()
        isHarmless(Array(text.utf8))
        #expect(try object(text)["name"] as? String == Self.evil)
        let row = BeaconTable.Row(
            beacon: badge(1), measuredPower: -59, strength: nil, distance: nil, proximity: .unknown, rate: 0,
            age: .zero,
            reports: 1, address: nil, adapter: 0, conditions: [Self.evil])
        for line in ScanPage([row], width: 200).fitted(title: "", footing: "", columns: 200, rows: 10) {
            isHarmless(Array(line.utf8))
        }
        isHarmless(Array(PlainText.safe(Array(Self.evil.utf8) + [0xFF, 0x9B]).utf8))
    }

    @Test func `a cell is quoted by its octets, whatever is combined with them`() {
        #expect(PlainText.csv("staff") == "staff")
        #expect(PlainText.csv("a,b") == "\"a,b\"")
        #expect(PlainText.csv("a\"\u{301},b") == "\"a\"\"\u{301},b\"")
        #expect(PlainText.csv("=\u{301}1+1") == "\"'=\u{301}1+1\"")
        #expect(PlainText.csv(" -1") == "\"' -1\"")
        #expect(PlainText.csv("＠x") == "\"'＠x\"")
        #expect(PlainText.csv("a\r\nb") == "a__b")
        // Joiners are letters of some scripts.
        #expect(PlainText.safe("می\u{200C}خواهم") == "می\u{200C}خواهم")
    }
}
