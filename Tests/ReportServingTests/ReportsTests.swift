import BaseTypes
import EventLoops
import Foundation
import ProgramSupport
import TestSupport
import Testing

@testable import ReportServing

/// Reports over all files, which the commands make in separate processes.
@Suite struct ReportsTests {
    static func fixture() throws -> ServedFixture {
        let fixture = try ServedFixture {
            $0.started(1)
            $0.adapter("listening", 2)
            for number in 0..<20 {
                $0.completeVisit("staff", Double(number) * 100, Double(number) * 100 + 50, minor: number % 3)
            }
            $0.event("<b>&", "satisfied", 3000, minor: 9, seen: 3000)
        }
        _ = try fixture.scratch.write(
            "gateway.yaml",
            "conditions: [{identifier: staff, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E}]\n"
                + "output: {directory: \(fixture.scratch.url.path)}\n")
        try fixture.live(3001)
        return fixture
    }

    @Test(arguments: [(60.0, true), (-3600.0, false)])
    func `/visits shows beacons as present only if the gateway is alive`(ahead: Double, isAlive: Bool) async throws {
        // The command uses the clock of the machine. The gateway was last known to be alive a minute after the present
        // time, or an hour before it.
        let fixture = try ServedFixture {
            $0.offset = Date().timeIntervalSince1970.rounded() + ahead - 40
            $0.started(1)
            $0.event("staff", "satisfied", 30, minor: 9, seen: 30)
        }
        _ = try fixture.scratch.write(
            "gateway.yaml",
            "conditions: [{identifier: staff, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E}]\n"
                + "output: {directory: \(fixture.scratch.url.path)}\n")
        try fixture.live(40)
        let page = try await fixture.get("/visits").body
        #expect(
            page.contains("<td>present</td>") == isAlive && page.contains(", present</td></tr>") == isAlive, "\(page)")
        #expect(page.contains(", unknown since then</td>") != isAlive)
        let visits = try await PresentTests.objects(fixture.get("/api/v1/visits").body)
        #expect((visits.first?["notKnownSince"] == nil) == isAlive && visits.first?["end"] as? String == "open")
    }

    @Test(arguments: ["visits", "occupancy"])
    func `the served JSON and CSV equal the output of the command; pages have a form`(_ command: String) async throws {
        let fixture = try Self.fixture()
        let configuration = "--config=\(fixture.scratch.path("gateway.yaml"))"
        for (query, arguments) in [
            ("", []), ("?condition=staff", ["--condition=staff"]),
            ("?from=2026-11-21T00:10Z&condition=staff", ["--from=2026-11-21T00:10Z", "--condition=staff"]),
            // In a query, a plus usually means a space. In a date it must also be accepted as a plus.
            ("?from=2026-11-21T01:10+01:00", ["--from=2026-11-21T01:10+01:00"]),
            ("?from=2026-11-21%2001:10:00%20%2B0100", ["--from=2026-11-21 01:10:00 +0100"]),
            ("?to=2026-11-21%2000:10", ["--to=2026-11-21 00:10"]),
        ] {
            let answer = try await fixture.get("/api/v1/\(command)\(query)")
            #expect(answer.head.hasPrefix("HTTP/1.1 200"), "\(answer)")
            let served = try PresentTests.objects(answer.body)
            let reported = try Gateway.run([command, "--json", configuration] + arguments)
            let lines = try reported.text.split(separator: "\n").map { try object($0) }
            #expect(served.count == lines.count && lines.count > 1)
            #expect(NSArray(array: served).isEqual(to: lines), "\(query)")
        }
        let form = try await fixture.get("/\(command)?from=2026-11-21T01:10+01:00")
        #expect(form.body.contains("name=\"from\" value=\"2026-11-21T01:10+01:00\""))
        #expect(form.body.contains("format=csv&amp;from=2026-11-21T01%3a10%2b01%3a00\""))
        let table = try await fixture.get("/api/v1/\(command)?format=csv")
        #expect(table.head.contains("filename=\"\(command).csv\""))
        #expect(table.body == (try Gateway.run([command, "--csv", configuration]).text))
        let page = try await fixture.get("/\(command)?from=2026-11-21")
        #expect(page.head.hasPrefix("HTTP/1.1 200"), "\(page)")
        #expect(page.body.contains("<nav aria-label=\"Pages\">"))
        #expect(page.body.contains("name=\"from\" value=\"2026-11-21\""))
        #expect(page.body.contains("href=\"/api/v1/\(command)?format=csv&amp;from=2026-11-21\""))
        #expect(!page.body.contains("<b>"))
    }

    @Test func `explain gives the reason of a line by its number, and 404 if there is no such line`() async throws {
        let fixture = try Self.fixture()
        let number = fixture.writer.sequence - 1
        let page = try await fixture.get("/explain/\(number)")
        #expect(page.head.hasPrefix("HTTP/1.1 200"), "\(page)")
        #expect(page.body.contains("<h1>Line \(number)</h1>") && page.body.contains("staff"))
        let reported = try Gateway.run(
            "explain", "--json", "--config=\(fixture.scratch.path("gateway.yaml"))", "\(number)")
        #expect(try await fixture.get("/api/v1/explain?event=\(number)").body == reported.text)
        let odd = try await fixture.get("/explain/\(number + 1)")
        #expect(odd.body.contains("&lt;b&gt;&amp;") && !odd.body.contains("<b>"), "\(odd.body)")
        let missing = try await fixture.get("/explain/999")
        #expect(missing.head.hasPrefix("HTTP/1.1 404"))
        #expect(missing.body.contains("no line has the number 999"))
        for path in ["/explain/", "/explain/x", "/explain/-1", "/explain/03", "/explain/3/", "/explain/--help"] {
            #expect(try await fixture.get(path).head.hasPrefix("HTTP/1.1 404"), "\(path)")
        }
    }

    @Test func `rows of /visits link to the explanations of their lines, and rows of --html do not`() async throws {
        let fixture = try Self.fixture()
        let page = try await fixture.get("/visits?from=2026-11-21").body
        let links = page.matches(
            of: #/<td><a href="(?<path>/explain/(?<number>[0-9]+))">(?<said>[0-9]+)</a></td></tr>/#)
        // There are 20 visits that ended, and one that has not.
        #expect(links.count >= 20)
        #expect(links.allSatisfy { $0.output.number == $0.output.said })
        let path = String(try #require(links.first).output.path)
        #expect(try await fixture.get(path).head.hasPrefix("HTTP/1.1 200"))
        let reported = try Gateway.run("visits", "--html=-", "--config=\(fixture.scratch.path("gateway.yaml"))")
        #expect(!reported.text.contains("href=\"/explain"))
    }

    @Test func `an invalid query is 400 and missing data is 404, with the message of the command`() async throws {
        let fixture = try Self.fixture()
        let near = try await fixture.get("/api/v1/visits?condition=stafff")
        #expect(near.head.hasPrefix("HTTP/1.1 404") && near.body.contains("did you mean “staff”?"), "\(near)")
        let reversed = try await fixture.get("/api/v1/visits?from=2026-11-22&to=2026-11-21")
        #expect(reversed.head.hasPrefix("HTTP/1.1 400"), "\(reversed)")
        let page = try await fixture.get("/visits?from=1999-01-01&to=1999-01-02")
        #expect(page.head.hasPrefix("HTTP/1.1 404") && page.body.contains("there is no data for the time"), "\(page)")
        #expect(page.body.contains("value=\"1999-01-01\""))
        let invalid = try await fixture.get("/api/v1/visits?to=2026-09-31")
        #expect(
            invalid.head.hasPrefix("HTTP/1.1 400")
                && invalid.body == "{\"error\":\"to is “2026-09-31”\",\"hint\":\"2026-09 has 30 days\"}\n")
        // The text of a query is a value, and must never be read as an option.
        let option = try await fixture.get("/api/v1/visits?condition=--help&from=")
        #expect(option.head.hasPrefix("HTTP/1.1 404") && option.body.contains("--help"), "\(option)")
    }

    @Test func `two reports run at once, 16 wait, others are refused, and pages are still answered`() async throws {
        let fixture = try Self.fixture()
        fixture.program = try fixture.scratch.write("slow", "#!/bin/sh\nexec sleep 600\n")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: fixture.program)
        try fixture.start()
        _ = try await fixture.get("/api/v1/present")
        var peers = try (0..<25).map { _ in try fixture.open("/api/v1/visits") }
        try await fixture.turn(until: "all requests are received") { fixture.served.runner.counters.asked == 25 }
        try await fixture.turn(until: "the requests over the limit are refused") {
            peers.count(where: \.isAnswered) == 25 - ReportRunner.atOnce - ReportRunner.waitingMax
        }
        #expect(fixture.served.runner.counters.refused == 7)
        #expect(fixture.served.runner.counters.most == ReportRunner.atOnce)
        // Other requests must not wait for reports.
        #expect(try await fixture.get("/").head.hasPrefix("HTTP/1.1 200"))
        fixture.served.stop()
        try await fixture.turn(until: "the commands were ended") { fixture.served.runner.runningCount == 0 }
        peers = []
    }

    @Test func `if a client does not read, the command cannot write, and continues when it reads`() async throws {
        let fixture = try Self.fixture()
        fixture.program = try fixture.scratch.write(
            "long",
            "#!/bin/sh\ntouch \(fixture.scratch.path("begun"))\nhead -c 12000000 /dev/zero | tr '\\0' x\n"
                + "touch \(fixture.scratch.path("done"))\n")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: fixture.program)
        try fixture.start()
        _ = try await fixture.get("/api/v1/present")
        let peer = try fixture.open("/api/v1/visits?format=csv")
        try await fixture.turn(until: "the command runs") {
            FileManager.default.fileExists(atPath: fixture.scratch.path("begun"))
                && fixture.served.server?.streamCount == 1
        }
        // The kernel buffers a few megabytes. After that, the command must be blocked.
        for _ in 0..<2000 { try fixture.loop.turn(waits: false) }
        #expect(!FileManager.default.fileExists(atPath: fixture.scratch.path("done")))
        try await fixture.turn(until: "the client has read the complete answer") {
            peer.read()
            return peer.isAtEndOfChunks
        }
        #expect(peer.received.count(where: { $0 == UInt8(ascii: "x") }) >= 12_000_000)
        #expect(fixture.served.runner.runningCount == 0)
    }

    @Test func `if a command fails in the middle, the connection closes without the last chunk`() async throws {
        let fixture = try Self.fixture()
        fixture.program = try fixture.scratch.write(
            "torn", "#!/bin/sh\nhead -c 500000 /dev/zero | tr '\\0' x\nexit 1\n")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: fixture.program)
        try fixture.start()
        _ = try await fixture.get("/api/v1/present")
        let peer = try fixture.open("/api/v1/visits?format=csv")
        try await fixture.turn(until: "the connection is closed") {
            peer.read()
            return peer.isClosed
        }
        #expect(peer.received.count > 65_536)
        #expect(!peer.isAtEndOfChunks)
    }

    @Test func `a report that is not complete after 60 s is ended, and its answer is 504`() async throws {
        let fixture = try Self.fixture()
        let program = try fixture.scratch.write("slow", "#!/bin/sh\nexec sleep 600\n")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
        final class Clock { var now = Instant(nanoseconds: 1) }
        let clock = Clock()
        let loop = try EventLoop(clock: { clock.now })
        let runner = ReportRunner(program, on: loop)
        let answer = runner.answer(
            ReportJob.Order(arguments: ["visits"], kind: .array, contentType: "application/json"))
        guard case .later(let promise) = answer else {
            Issue.record("the answer is not a promise")
            return
        }
        try loop.turn(waits: false)
        #expect(promise.answer == nil && runner.runningCount == 1)
        clock.now = clock.now + .seconds(60)
        try await until("the command was ended", saw: "\(runner.runningCount) running") {
            clock.now = clock.now + .milliseconds(5)
            try loop.turn(waits: false)
            return runner.runningCount == 0
        }
        guard case .problem(let problem) = promise.answer else {
            Issue.record("the answer is not an error")
            return
        }
        #expect(
            problem
                == HTTPProblem(
                    504, "the report was not complete after 60 s", hint: "request a shorter time (from, to)"))
    }

    @Test func `lines become the same JSON array, wherever the pieces end`() throws {
        let lines = Array("{\"a\":1}\n{\"b\":\"x\"}\n".utf8)
        for place in 0...lines.count {
            var array = LinesAsArray()
            let bytes = array.take(lines[..<place]) + array.take(lines[place...]) + array.end
            #expect(String(decoding: bytes, as: UTF8.self) == "[\n{\"a\":1},\n{\"b\":\"x\"}\n]\n")
        }
        #expect(LinesAsArray().end == Array("[]\n".utf8))
    }
}
