import Foundation
import JSON
import ProgramSupport
import TestSupport
import Testing

@testable import GatewayConfiguration
@testable import ReportServing

/// JSON answers and outputs from event files and a configuration with hostile texts.
@Suite struct HostileJSONTests {
    /// A text that ends a string, an object and an event of a stream, and that has control sequences of terminals.
    private static let evil = HostileText.evil + #"\","left":0,"x":"\#u{0}\#r\#n\#ndata: {"forged":1}\#n\#n"#
    // Names in a configuration have no control characters.
    private static let name = #"a"\","kind":"more"}<script>"#

    private static func string(_ text: String) -> String {
        var buffer = LineBuffer(capacity: 1024)
        buffer.string(text)
        return String(buffer.text.dropFirst().dropLast())
    }

    /// Returns the server of a gateway whose name, conditions, monitors and adapters have hostile names, as have its
    /// beacon and group.
    private func fixture() throws -> ServedFixture {
        let evil = Self.string(Self.evil)
        let table =
            "uuid,major,minor,name,group\n\(LineWriter.uuid),1,7,"
            + [Self.name, Self.name].map { "\"" + $0.replacing("\"", with: "\"\"") + "\"" }.joined(separator: ",")
            + "\n"
        let fixture = try ServedFixture(
            {
                $0.gateway = evil
                $0.started(1, scans: false)
                $0.line(
                    "adapter", 1,
                    #""adapter":"\#(evil)","state":"off","since":"\#($0.date(1))","reason":"\#(evil)",DATE"#)
                $0.completeVisit(evil, 100, 400, minor: 7)
                $0.completeVisit(evil, 100, 400)
                $0.event(evil, "satisfied", 500, minor: 7, seen: 500)
                $0.lines = $0.lines.map {
                    // The topic must be valid, so that the lines count as published.
                    #"{"topic":"a/b","qos":1,"retain":false,"payload":"#
                        + $0.replacing(#""monitor":"site""#, with: #""monitor":"\#(evil)""#)
                        .replacing(#""adapter":"hci0""#, with: #""adapter":"\#(evil)""#) + "}"
                }
            }, names: Configuration.empty(with: table))
        _ = try fixture.scratch.write("beacons.csv", table)
        _ = try fixture.scratch.write(
            "gateway.yaml",
            """
            conditions: [{identifier: staff, uuid: \(LineWriter.uuid)}]
            beacons: {file: \(fixture.scratch.path("beacons.csv"))}
            output: {directory: \(fixture.scratch.url.path), state_directory: \(fixture.scratch.path("state"))}

            """)
        try fixture.live(501)
        return fixture
    }

    /// Returns all strings and all keys in a value.
    private func texts(_ value: Any) -> (strings: Set<String>, keys: Set<String>) {
        switch value {
        case let object as [String: Any]:
            object.reduce((Set(), Set(object.keys))) { all, member in
                let part = texts(member.value)
                return (all.0.union(part.strings), all.1.union(part.keys))
            }
        case let array as [Any]:
            array.reduce((Set(), Set())) { all, element in
                let part = texts(element)
                return (all.0.union(part.strings), all.1.union(part.keys))
            }
        case let string as String: ([string], [])
        default: ([], [])
        }
    }

    private func check(_ body: String, _ what: String, has expected: Set<String>) throws {
        let bytes = Array(body.utf8)
        HostileText.expectHarmless(bytes.filter { $0 != 0x0A })
        let value = try JSONSerialization.jsonObject(with: Data(bytes))
        let (strings, keys) = texts(value)
        #expect(expected.isSubset(of: strings), "\(what): \(body)")
        #expect(keys.isDisjoint(with: ["x", "forged", "left"]), "\(what): \(keys)")
        #expect(keys.allSatisfy { $0.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) } }, "\(what): \(keys)")
    }

    @Test func `every JSON answer is valid, harmless on a terminal, and has the texts as values`() async throws {
        let fixture = try fixture()
        for (path, expected) in [
            ("present", [Self.evil, Self.name]), ("gateways", [Self.evil]), ("visits", [Self.evil, Self.name]),
            ("occupancy", []),
            ("occupancy?by=group", [Self.name]),
            ("explain?event=3", [Self.evil, Self.name]), ("explain?event=5", [Self.evil]),
            ("explain?event=2", [Self.evil]),
        ] {
            let path = "/api/v1/\(path)"
            let answer = try await fixture.get(path)
            #expect(answer.head.hasPrefix("HTTP/1.1 200"), "\(path): \(answer)")
            try check(answer.body, path, has: Set(expected))
        }
        let events = try await fixture.getChunks("/api/v1/events?limit=100")
        try check(events, "events", has: [Self.evil])
        let text = PageBounds.encoded(Self.evil)
        for query in [
            "visits?\(text)=1", "visits?from=\(text)", "visits?condition=\(text)x", "visits?beacon=\(text)",
            "occupancy?by=\(text)", "events?types=\(text)", "explain?event=\(text)x", text,
        ] {
            let answer = try await fixture.get("/api/v1/\(query)")
            #expect(answer.head.hasPrefix("HTTP/1.1 40"), "\(query): \(answer)")
            try check(answer.body, query, has: [])
        }
    }

    @Test func `pages of events have each line once, also if the gateway's name ends a JSON string`() async throws {
        let fixture = try fixture()
        var numbers: [Int] = []
        var path = "/api/v1/events?limit=2"
        for _ in 0..<10 {
            let body = try await fixture.getChunks(path)
            HostileText.expectHarmless(Array(body.utf8))
            let elements = try #require(JSONSerialization.jsonObject(with: Data(body.utf8)) as? [[String: Any]])
            numbers += elements.compactMap { $0["sequence"] as? Int }
            guard let last = elements.last, last["kind"] as? String == "more" else { break }
            #expect(Set(last.keys) == ["kind", "left", "after", "next"])
            #expect(last["left"] as? Int == fixture.writer.sequence - (numbers.last ?? 0))
            path = try #require(last["next"] as? String)
        }
        #expect(numbers == Array(1...fixture.writer.sequence))
    }

    @Test func `lines whose payload is not a JSON object are one element of a page, with their number`() async throws {
        let fixture = try ServedFixture { $0.completeVisit("staff", 10, 20) }
        let (last, lines) = (fixture.writer.sequence, 40)
        for number in 1...lines {
            fixture.writer.lines.append(
                #"{"topic":"a/b","qos":1,"retain":false,"payload":{"version":1,"type":"event","gateway":"g","sequence":"#
                    + "\(last + number),}}")
        }
        fixture.writer.sequence += lines
        fixture.writer.event("staff", "satisfied", 50, seen: 50)
        try fixture.flush()
        _ = try await fixture.get("/api/v1/present")
        let body = try await fixture.getChunks("/api/v1/events?limit=2&after=g:\(last - 1)&types=event,visit")
        let elements = try #require(JSONSerialization.jsonObject(with: Data(body.utf8)) as? [[String: Any]])
        #expect(elements.compactMap { $0["sequence"] as? Int } == [last, last + lines + 1])
        #expect(elements.map { $0["lines"] as? Int } == [nil, lines, nil])
    }

    @Test func `an after parameter names its gateway by bytes, and no error shows a control character`() async throws {
        // A prepended concatenation mark and the colon after it form one `Character`.
        let fixture = try ServedFixture {
            $0.gateway = "g\u{0D4E}"
            for number in 0..<3 { $0.completeVisit("staff", Double(number) * 100, Double(number) * 100 + 5) }
        }
        let first = try await fixture.getChunks("/api/v1/events?limit=2")
        let elements = try #require(JSONSerialization.jsonObject(with: Data(first.utf8)) as? [[String: Any]])
        let second = try await fixture.getChunks(#require(elements.last?["next"] as? String))
        #expect(second.contains("\"sequence\":3,"))
        let refused = try await fixture.get("/api/v1/events?after=%C2%9B31m%E2%80%AE%0A:1")
        #expect(refused.head.hasPrefix("HTTP/1.1 400"))
        HostileText.expectHarmless(Array(refused.body.utf8.dropLast()))
    }

    @Test(arguments: [true, false])
    func `no text in a line ends an event of the stream`(fromFiles: Bool) async throws {
        let fixture = try fixture()
        _ = try await fixture.get("/api/v1/present")
        let stem = EventStream.stem(Self.evil)
        let peer = try fixture.open(
            "/api/v1/events" + (fromFiles ? "?lastEventID=\(PageBounds.encoded("\(stem):0"))" : ""))
        try await fixture.turn(until: "the stream waits") { fixture.served.server?.streamCount == 1 }
        let last = fixture.writer.sequence
        func payload(_ number: Int, _ more: String) -> String {
            #"{"topic":"a/b","qos":1,"retain":false,"payload":{"version":1,"type":"event","gateway":"g","sequence":"#
                + "\(number),\(more)}}"
        }
        let date = #""date":"\#(fixture.writer.date(600))","monotonic":600000000"#
        fixture.writer.lines += [
            // The payload has white space that would end a line of a stream.
            payload(last + 1, "\r\(date),\r\r\"data: 1\":2"),
            // The start is that of a valid line, but the rest is not JSON.
            payload(last + 2, "\(date),\rdata: {\"forged\":1}\r"),
            payload(last + 3, "\(date),\"a\":[0,\"\u{202E}\"]"),
        ]
        fixture.writer.sequence += 3
        try fixture.flush()
        let end = "id: \(stem):\(last + 3)\n"
        try await fixture.turn(until: "all events are received") {
            peer.hasRead(end) && peer.hasRead("[0,\"\\u202E\"]}\n\n")
        }
        HostileText.expectHarmless(Array(peer.dechunked.utf8))
        let events = peer.events.filter { $0.data != #"{"lines":1}"# }
        #expect(events.count == (fromFiles ? last : 0) + 2)
        #expect(peer.dechunked.contains("event: missed\ndata: {\"lines\":1}\n\nid: \(stem):\(last + 3)\n"))
        #expect(!peer.dechunked.contains("\ndata: {\"forged\""))
        for event in events {
            #expect(event.id.hasPrefix("\(stem):"))
            let object = try #require(JSONSerialization.jsonObject(with: Data(event.data.utf8)) as? [String: Any])
            #expect("\(stem):\(object["sequence"] ?? "")" == event.id)
            #expect(object["forged"] == nil)
        }
    }

    @Test func `every JSON output of a command is harmless on a terminal and has the texts as values`() throws {
        let fixture = try fixture()
        let folder = fixture.scratch.url.path
        let configuration = fixture.scratch.path("gateway.yaml")
        for (command, expected) in [
            (["visits", "--json"], [Self.evil, Self.name]), (["visits", "--now", "--json"], [Self.evil, Self.name]),
            (["occupancy", "--json", "--by", "group"], [Self.name]),
            (["explain", "3", "--json"], [Self.evil, Self.name]),
            (["explain", "2", "--json"], [Self.evil]), (["explain", "8", "--json"], [Self.evil]),
        ] {
            let ending = try Gateway.run(command + ["--config", configuration])
            #expect(ending.status == 0, "\(command): \(ending.errors)")
            HostileText.expectHarmless(ending.output)
            let lines = try ending.lines.map { try texts(object($0)).strings }
            #expect(Set(expected).isSubset(of: lines.reduce(Set()) { $0.union($1) }), "\(command): \(ending.text)")
        }
        let copy = "\(folder)/a\u{9B}\u{202E}\"b"
        try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: true)
        let segment = "events-000000000001-20261121T000000Z.jsonl"
        try FileManager.default.copyItem(atPath: "\(folder)/\(segment)", toPath: "\(copy)/\(segment)")
        let ending = try Gateway.run("erase", "\(LineWriter.uuid)/1/7", copy, "--dry-run", "--json")
        #expect(ending.status == 0, "\(ending.errors)")
        HostileText.expectHarmless(ending.output)
        #expect(try object(ending.text)["folder"] as? String == copy)
    }
}
