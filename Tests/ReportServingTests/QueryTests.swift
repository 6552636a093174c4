import Foundation
import ProgramSupport
import TestSupport
import Testing

@testable import ReportServing

/// Errors in requests, as a page, as JSON and as text.
@Suite struct QueryTests {
    private static func json(_ error: String, _ hint: String) -> String {
        "{\"error\":\"\(error)\",\"hint\":\"\(hint)\"}\n"
    }

    private static let subjectVisits = "from, to, on, condition, beacon"

    @Test(arguments: [
        (
            "visits?group=office", 400, "group is not a parameter of /api/v1/visits",
            "the parameters are \(subjectVisits), format, limit and after"
        ),
        (
            "occupancy?limit=3", 400, "limit is not a parameter of /api/v1/occupancy",
            "the parameters are \(subjectVisits), every, by and format"
        ),
        ("present?x", 400, "x is not a parameter of /api/v1/present", "/api/v1/present has no parameters"),
        ("explain?line=3", 400, "line is not a parameter of /api/v1/explain", "the only parameter is event"),
        (
            "visits?=1", 400, "a parameter has no name",
            "the parameters are \(subjectVisits), format, limit and after"
        ),
        ("visits?from=2026-11-21&from=2026-11-22", 400, "from is given more than once", "give it once"),
        (
            "visits?from=tomorrow", 400, "from is “tomorrow”",
            "expected a date such as 2026-11-21 or 2026-11-21T09:00, with an offset from UTC (+01:00) if needed; or today, yesterday, this-week, last-week, or -7d for 7 days ago"
        ),
        ("visits?on=-7d", 400, "on is “-7d”", "expected a day or a week, such as 2026-11-21 or last-week"),
        (
            "visits?on=today&from=2026-11-21", 400, "on is given together with from or to",
            "use only on, or from and to"
        ),
        (
            "visits?to=2026-11-21&from=2026-11-22", 400, "from is “2026-11-22”, which is not before to, “2026-11-21”",
            "swap them, or use a later to"
        ),
        ("visits?format=xml", 400, "format is “xml”", "expected csv or json"),
        (
            "visits?format=csv&limit=10", 400, "limit and after apply only to JSON",
            "remove them: CSV is always complete"
        ),
        ("occupancy?every=3", 400, "every is “3”", "expected whole seconds from 1m to 1d, such as 15m or 1h"),
        ("occupancy?every=1500ms", 400, "every is “1500ms”", "expected whole seconds from 1m to 1d, such as 15m or 1h"),
        ("occupancy?by=all", 400, "by is “all”", "expected condition, group or gateway"),
        (
            "occupancy?by=group", 400, "by is group, but no beacon of the configuration has a group",
            "give beacons a group"
        ),
        (
            "events?types=visit,stay", 400, "types is “visit,stay”",
            "expected one or more of event,visit,condition,adapter,clock,gateway,ranging,evidence,erased, separated by commas"
        ),
        (
            "events?limit=1&lastEventID=g:1", 400,
            "limit and after apply to pages, and lastEventID applies to the stream",
            "use after=GATEWAY:NUMBER"
        ),
        (
            "explain", 400, "event is missing",
            "use event=17 for line 17, or event=NAME for the last event of a condition or beacon"
        ),
        ("explain?event=", 400, "event is empty", "expected the number of a line, or a condition or beacon"),
        (
            "explain?event=999", 404, "no line has the number 999 in FOLDER",
            "/visits and /gateways show the data in the files"
        ),
        ("visits?condition=stafff", 404, "no line contains the condition “stafff”", "did you mean “staff”?"),
        ("status", 503, "no gateway answers at FOLDER/none.sock", "start one with `beacon-gateway run`"),
        (
            "sightings", 404, "unknown path /api/v1/sightings",
            "pages start at /, and the API starts at /api/v1/present"
        ),
    ])
    func `the API answers with the error and a hint as JSON`(
        _ query: String, _ status: Int, _ error: String, _ hint: String
    ) async throws {
        let fixture = try Self.fixture()
        let answer = try await fixture.get("/api/v1/\(query)")
        let folder = fixture.scratch.url.path
        #expect(answer.head.hasPrefix("HTTP/1.1 \(status) "), "\(answer)")
        #expect(answer.head.contains("Content-Type: application/json\r\n") && !answer.head.contains("ETag"))
        #expect(answer.body == Self.json(error, hint).replacing("FOLDER", with: folder))
    }

    @Test
    func `on, and dates that depend on the present, become a fixed range, also in the links and fields of a page`()
        async throws
    {
        // The wall clock of the server is in the day of the visits.
        let fixture = try ReportsTests.fixture()
        // This waits until all lines are read.
        _ = try await fixture.get("/style.css")
        func body(_ path: String) async throws -> String {
            let peer = try fixture.open(path)
            try await fixture.turn(until: "\(path) is answered") {
                peer.read()
                return peer.isAtEndOfChunks || peer.isAnswered
            }
            if peer.isAtEndOfChunks { return peer.dechunked }
            return String(peer.text.split(separator: "\r\n\r\n", maxSplits: 1).last ?? "")
        }
        let day = try await body("/api/v1/visits?from=2026-11-21&to=2026-11-22")
        for query in ["on=today", "on=2026-11-21", "from=today&to=today", "from=2026-11-21&to=2026-11-21&on="] {
            #expect(try await body("/api/v1/visits?\(query)") == day, "\(query)")
        }
        #expect(day.contains("\"kind\":\"visit\""))
        let limited = try await body("/api/v1/visits?on=today&limit=1")
        #expect(limited.contains("next\":\"/api/v1/visits?limit=1&from=2026-11-21&to=2026-11-22&after="), "\(limited)")
        let week = try await body("/occupancy?from=last+week&by=condition")
        #expect(week.contains(#"<input name="from" value="2026-11-09""#), "\(week)")
        #expect(week.contains("/api/v1/occupancy?format=csv&amp;by=condition&amp;from=2026-11-09"), "\(week)")
        #expect(!week.contains(#"name="on""#))
        // A form without dates has no default range.
        let all = try await body("/visits?from=&to=&condition=staff")
        #expect(all.contains(#"name="from" value="""#) && !all.contains("&amp;from="))
        // The form of an error has the value, and no default range.
        let wrong = try await body("/visits?on=tomorrow")
        #expect(wrong.contains(#"name="on" value="tomorrow""#) && wrong.contains(#"name="from" value="""#), "\(wrong)")
        #expect(!wrong.contains("&amp;from="))
        let plus = try await body("/api/v1/visits?on=2026-11-21+00:00")
        let whole = try await body("/api/v1/visits?on=2026-11-21Z")
        #expect(plus.hasPrefix("[") && plus == whole, "\(plus)")
        let twice = try await body("/api/v1/visits?on=today&on=today")
        #expect(twice.hasSuffix(Self.json("on is given more than once", "give it once")))
        let elsewhere = try await body("/api/v1/events?on=today")
        #expect(elsewhere.contains("on is not a parameter of /api/v1/events"), "\(elsewhere)")
    }

    /// Returns the server of a folder whose gateway does not run.
    private static func fixture() throws -> ServedFixture {
        let fixture = try ReportsTests.fixture()
        _ = try fixture.scratch.write(
            "gateway.yaml",
            """
            conditions: [{identifier: staff, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E}]
            output: {directory: \(fixture.scratch.url.path), status_socket: \(fixture.scratch.path("none.sock"))}

            """)
        return fixture
    }

    @Test func `every path rejects an unknown parameter with the valid ones, in its own format`() async throws {
        let fixture = try ReportsTests.fixture()
        for (path, names) in ReportQuery.parameters.merging(["/explain/3": []], uniquingKeysWith: { $1 }) {
            let answer = try await fixture.get("\(path)?colour=red")
            #expect(answer.head.hasPrefix("HTTP/1.1 400 "), "\(path): \(answer)")
            #expect(answer.body.contains("colour is not a parameter of \(path)"), "\(path)")
            #expect(names.allSatisfy { answer.body.contains($0) }, "\(path): \(answer.body)")
            let type = path.hasPrefix("/api/") ? "application/json" : path == "/metrics" ? "text/plain" : "text/html"
            #expect(answer.head.contains("Content-Type: \(type)"), "\(path): \(answer.head)")
        }
    }

    @Test func `an error page has the error and the hint, and its form has the values of the query`() async throws {
        let fixture = try ReportsTests.fixture()
        for (path, error, hint) in [
            ("/occupancy?every=3&by=%3Cb%3E", "every is “3”", "expected whole seconds from 1m to 1d"),
            ("/visits?from=2026-02-30", "from is “2026-02-30”", "2026-02 has 28 days"),
            ("/visits?condition=%3Cb%3Ex", "no line contains the condition “&lt;b&gt;x”", "&lt;b&gt;&amp;"),
            ("/nothing?%3Cb%3E", "unknown path /nothing", "pages start at /"),
            ("/gateways?%3Cb%3E", "&lt;b&gt; is not a parameter of /gateways", "/gateways has no parameters"),
        ] {
            let page = try await fixture.get(path)
            #expect(page.head.contains("Content-Type: text/html"), "\(path): \(page.head)")
            #expect(page.body.contains("<strong>\(error)") && page.body.contains(hint), "\(path): \(page.body)")
            #expect(!page.body.contains("<b>") && page.body.contains("<nav"), "\(path): \(page.body)")
            let hasForm = path.hasPrefix("/visits") || path.hasPrefix("/occupancy")
            #expect(page.body.contains("<form") == hasForm, "\(path)")
        }
        // If the query has no range, the form and its links have the default range of the page, and each parameter
        // once.
        let limited = try await fixture.get("/visits?limit=2001&beacon=1&beacon=2").body
        let from = try #require(limited.firstMatch(of: #/name="from" value="([-0-9]{10})"/#)).output.1
        #expect(limited.contains("<a href=\"/api/v1/visits?from=\(from)&amp;beacon=1\">"), "\(limited)")
        let page = try await fixture.get("/visits?from=2026-02-30&to=&limit=7").body
        #expect(page.contains("name=\"from\" value=\"2026-02-30\""))
    }

    @Test func `empty fields of a form, and a plain + in a date, are accepted`() async throws {
        let fixture = try ReportsTests.fixture()
        let page = try await fixture.get("/visits?from=2026-11-21&to=&condition=&beacon=")
        #expect(page.head.hasPrefix("HTTP/1.1 200 "))
        #expect(try await fixture.get("/?").head.hasPrefix("HTTP/1.1 200 "))
        let visits = try await fixture.get("/api/v1/visits?from=2026-11-21T01:00+01:00&format=json")
        #expect(visits.head.hasPrefix("HTTP/1.1 200 "), "\(visits)")
    }

    @Test(arguments: [
        "visits?condition=a%0Ab", "visits?condition=a%0aUsage:%20b", "explain?event=%1b",
        "visits?beacon=\(String(repeating: "x", count: 1001))",
    ])
    func `a control character, or more than 1,000 characters, in a value is an error`(_ query: String) async throws {
        let fixture = try ReportsTests.fixture()
        let answer = try await fixture.get("/api/v1/\(query)")
        #expect(answer.head.hasPrefix("HTTP/1.1 400 "))
        #expect(
            answer.body.contains(" has a control character, or more than 1000 characters\",\"hint\":"), "\(answer.body)"
        )
    }

    @Test func `a NUL in an address is an error and does not end the address`() async throws {
        let fixture = try ReportsTests.fixture()
        for path in ["/api/v1/visits?limit=5%00x", "/api/v1/visits?limit%00x=5", "/api/v1/present%00x"] {
            let answer = try await fixture.get(path)
            #expect(answer.head.hasPrefix("HTTP/1.1 400 "), "\(path)")
            #expect(
                answer.body
                    == Self.json(
                        "the address has a control character, or a NUL character (%00)", "remove this character"),
                "\(path)")
        }
    }

    @Test(arguments: ["garbage", "yard:5", "", "g:x"])
    func `an invalid lastEventID, or one of another gateway, is an error`(_ id: String) async throws {
        let fixture = try ReportsTests.fixture()
        let answer = try await fixture.get("/api/v1/events?lastEventID=\(id)")
        #expect(answer.head.hasPrefix("HTTP/1.1 400 "))
        #expect(
            answer.body.hasSuffix("\"hint\":\"expected g:NUMBER, with the sequence number of a line\"}\n"),
            "\(answer.body)")
    }

    @Test func `a method other than GET and HEAD is 405, in the format of the path`() async throws {
        let fixture = try ReportsTests.fixture()
        _ = try await fixture.get("/api/v1/present")
        for (path, text) in [
            (
                "/api/v1/present",
                Self.json("only the methods GET and HEAD are supported", "send GET; this server is read-only")
            ),
            ("/", "<strong>only the methods GET and HEAD are supported</strong>"),
            ("/metrics", "only the methods GET and HEAD are supported\nsend GET; this server is read-only\n"),
        ] {
            let peer = try Peer(fixture.port)
            peer.send("PUT \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
            try await fixture.turn(until: "the request is refused") { peer.isAnswered }
            #expect(peer.text.hasPrefix("HTTP/1.1 405 ") && peer.text.contains(text), "\(path): \(peer.text)")
            #expect(peer.text.contains("Allow: GET, HEAD\r\n"))
        }
    }

    /// Answers have no part of the usage text that the program prints at a terminal.
    @Test func `no value of a parameter makes an answer contain usage text or a command's options`() async throws {
        let fixture = try ReportsTests.fixture()
        let values = ["", "--help", "-h", "x", "\"", "; ", "1/1"]
        for path in ["/visits", "/occupancy", "/api/v1/visits", "/api/v1/occupancy", "/api/v1/explain"] {
            for name in ReportQuery.parameters[path] ?? [] {
                for value in values {
                    let peer = try fixture.open("\(path)?\(name)=\(PageBounds.encoded(value))")
                    try await fixture.turn(until: "the request is answered") {
                        peer.read()
                        return peer.isAtEndOfChunks || peer.isAnswered
                    }
                    #expect(["200", "400", "404"].contains(peer.text.dropFirst(9).prefix(3)), "\(peer.text)")
                    for word in ["Usage", "USAGE", "OPTIONS", "Error: ", "--\(name)"] {
                        #expect(!peer.text.contains(word), "\(path)?\(name)=\(value): \(peer.text)")
                    }
                }
            }
        }
    }

    @Test(arguments: [
        (
            64,
            "Error: --by is x; expected condition\nUsage: beacon-gateway occupancy\n  See 'beacon-gateway occupancy --help'\n",
            400, "by is x", "expected condition"
        ),
        (65, "--beacon Ad matches Ada\nno line contains “Ada”; none\n", 404, "no line contains “Ada”", "none"),
        (
            65, "there is no data for the time from 1999-01-01 00:00:00; the files cover 2026\n", 404,
            "there is no data for the time from 1999-01-01 00:00:00", "the files cover 2026"
        ),
        (
            65, "no line contains the condition “a; --from b”; the files contain --to x\n", 404,
            "no line contains the condition “a; --from b”", "the files contain to x"
        ),
        (
            64, "that would be too many; use longer intervals with --every, or a shorter time with --from and --to\n",
            400,
            "that would be too many", "use longer intervals with every, or a shorter time with from and to"
        ),
        (
            64, "--beacon is x; or the name of a beacon in the configuration, which has no names (--config FILE)\n",
            400,
            "beacon is x", "or the name of a beacon in the configuration, which has no names"
        ),
        (
            66, "/a can't be read: No such file or directory\n", 503, "/a can't be read: No such file or directory",
            "try again later"
        ),
        (69, "beacon-gateway: gone\n", 503, "gone", "try again later"),
        (
            78, "a.yaml:1: wrong\na.yaml:2: wrong\n", 500, "the configuration has errors",
            "`beacon-gateway check` and `beacon-gateway doctor` show the problems of this machine"
        ),
        (
            137, "", 500, "the report failed (exit status 137)",
            "`beacon-gateway check` and `beacon-gateway doctor` show the problems of this machine"
        ),
    ])
    func `the error of a command is its last message, with the text after the semicolon as the hint`(
        _ code: Int, _ words: String, _ status: Int, _ error: String, _ hint: String
    ) {
        #expect(ReportJob.problem(Int32(code), words) == HTTPProblem(UInt16(status), error, hint: hint))
    }
}
