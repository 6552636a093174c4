import Foundation
import ProgramSupport
import Testing

@testable import ReportServing

/// Answers that are divided into pages.
@Suite struct PagingTests {
    /// Returns the elements of an array that has one on each line, as they were written.
    private static func lines(_ body: String) -> [String] {
        body.split(separator: "\n").filter { $0 != "[" && $0 != "]" && $0 != "[]" }
            .map { String($0.last == "," ? $0.dropLast() : $0) }
    }

    private static func last(_ lines: [String]) throws -> [String: Any] { try object(lines.last ?? "{}") }

    private func configuration(_ fixture: ServedFixture) -> String {
        "--config=\(fixture.scratch.path("gateway.yaml"))"
    }

    @Test(arguments: [1, 7, 26, 10_000])
    func `pages of visits have each line of visits --json once, in order, and the number of remaining lines`(
        _ limit: Int
    ) async throws {
        let fixture = try ReportsTests.fixture()
        let whole = try Gateway.run("visits", "--json", "--condition=staff", configuration(fixture)).text
            .split(separator: "\n").map(String.init)
        #expect(whole.count > 20)
        var reported: [String] = []
        var path = "/api/v1/visits?condition=staff&limit=\(limit)"
        while true {
            let answer = try await fixture.get(path)
            #expect(answer.head.hasPrefix("HTTP/1.1 200"), "\(answer)")
            var lines = Self.lines(answer.body)
            let last = try Self.last(lines)
            guard last["kind"] as? String == "more" else {
                #expect(lines.count <= limit)
                reported += lines
                break
            }
            lines.removeLast()
            #expect(lines.count == limit)
            reported += lines
            #expect(last["left"] as? Int == whole.count - reported.count)
            path = try #require(last["next"] as? String)
            #expect(path.hasPrefix("/api/v1/visits?condition=staff&limit=\(limit)&after="))
            #expect(path.hasSuffix(try #require(last["after"] as? String)))
        }
        #expect(reported == whole)
    }

    @Test func `without limit, visits as JSON have 1,000 lines and the number left; CSV has all lines`() async throws {
        let fixture = try ServedFixture {
            $0.started(1)
            for number in 0..<1100 {
                $0.completeVisit("staff", Double(number) * 40, Double(number) * 40 + 5, minor: number)
            }
        }
        _ = try fixture.scratch.write(
            "gateway.yaml",
            "conditions: [{identifier: staff, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E}]\n"
                + "output: {directory: \(fixture.scratch.url.path)}\n")
        try fixture.live(50_000)
        let peer = try fixture.open("/api/v1/visits")
        try await fixture.turn(until: "the request is answered") {
            peer.read()
            return peer.isAtEndOfChunks
        }
        let lines = Self.lines(peer.dechunked)
        #expect(lines.count == 1001)
        #expect(try Self.last(lines)["left"] as? Int == 1100 + 1100 + 1 - 1000)
        // A CSV file must be complete.
        #expect(try await fixture.getChunks("/api/v1/visits?format=csv").split(separator: "\r\n").count == 1101)
    }

    @Test func `if files changed after the previous page, the next is 409, so that no visit is left out`()
        async throws
    {
        let fixture = try ReportsTests.fixture()
        let first = Self.lines(try await fixture.get("/api/v1/visits?limit=21").body)
        let next = try #require(Self.last(first)["next"] as? String)
        #expect(try await fixture.get(next).head.hasPrefix("HTTP/1.1 200"))
        // The 21st line was the visit that has not ended. The new visit takes this place.
        fixture.writer.completeVisit("staff", 3100, 3150, minor: 4)
        try fixture.flush()
        let stale = try await fixture.get(next)
        #expect(stale.head.hasPrefix("HTTP/1.1 409"), "\(stale)")
        #expect(stale.body.contains("start again without after"))
        #expect(fixture.served.runner.runningCount == 0)
        for after in ["99999-00000000", "3-deadbeef"] {
            #expect(try await fixture.get("/api/v1/visits?after=\(after)").head.hasPrefix("HTTP/1.1 409"), "\(after)")
        }
    }

    @Test(arguments: [
        ("/api/v1/visits?limit=0", "\"limit is “0”\",\"hint\":\"expected a number from 1 to 10000\""),
        ("/api/v1/visits?limit=10001", "from 1 to 10000"), ("/api/v1/visits?limit=x", "limit is “x”"),
        ("/api/v1/visits?after=17", "\"after is “17”\",\"hint\":\"expected the value of `next` in the previous page\""),
        ("/api/v1/visits?after=0-00000000", "after is"),
        ("/api/v1/visits?after=1-+0000000", "after is"), ("/visits?limit=2001", "from 1 to 2000"),
        ("/visits?after=-1", "expected the number of visits before the page"),
        ("/api/v1/events?limit=-1", "limit is “-1”"),
        (
            "/api/v1/events?limit=1&after=yard:3",
            "\"after is “yard:3”\",\"hint\":\"expected g:NUMBER, with the sequence number of a line\""
        ),
    ])
    func `an invalid limit or after is 400 with the reason`(_ path: String, _ words: String) async throws {
        let fixture = try ReportsTests.fixture()
        let answer = try await fixture.get(path)
        #expect(answer.head.hasPrefix("HTTP/1.1 400"), "\(answer)")
        #expect(answer.body.contains(words), "\(answer.body)")
    }

    @Test func `the list of /visits has pages with links, and each of 21 visits is on one of them`()
        async throws
    {
        let fixture = try ReportsTests.fixture()
        func rows(_ body: String) throws -> [String] {
            let list = try #require(body.range(of: "<section class=\"list\">"))
            return body[list.upperBound...].matches(of: #/<tr><td>.*</td></tr>/#).map { String($0.output) }
        }
        let whole = try rows(try await fixture.get("/visits?from=2026-11-21").body)
        #expect(whole.count == 21)
        var (reported, path, pages): ([String], String, Int) = ([], "/visits?from=2026-11-21&limit=6", 0)
        while true {
            let body = try await fixture.get(path).body
            pages += 1
            let page = try rows(body)
            #expect(body.contains("\(reported.count + 1) to \(reported.count + page.count) of 21 visits"), "\(path)")
            #expect(body.contains("rel=\"prev\"") == !reported.isEmpty)
            // The timeline must cover the complete range.
            #expect(body.contains("21 visits of 4 beacons"))
            reported += page
            guard let link = body.firstMatch(of: #/<a href="(?<path>[^"]+)" rel="next">Next (?<count>[0-9]+)</a>/#)
            else { break }
            #expect(Int(link.output.count) == min(6, 21 - reported.count))
            path = String(link.output.path).replacing("&amp;", with: "&")
        }
        #expect(pages == 4 && reported == whole)
        #expect(try await fixture.get("/visits?from=2026-11-21&limit=6&after=400").body.contains("None of 21 visits"))
    }

    @Test func `pages of events have each line once, and only lines of the requested types`() async throws {
        let fixture = try ReportsTests.fixture()
        for types in ["", "&types=visit", "&types=clock"] {
            let wanted = fixture.writer.lines.filter {
                types.isEmpty || types == "&types=visit" && $0.contains("\"type\":\"visit\"")
            }
            var (reported, path): ([String], String) = ([], "/api/v1/events?limit=9\(types)")
            while true {
                var lines = Self.lines(try await fixture.getChunks(path))
                guard let last = lines.last, try object(last)["kind"] as? String == "more" else {
                    reported += lines
                    break
                }
                lines.removeLast()
                #expect(lines.count == 9)
                reported += lines
                path = try #require(Self.last([last])["next"] as? String)
            }
            #expect(reported == wanted, "\(types)")
        }
        let end = try await fixture.getChunks("/api/v1/events?after=g:\(fixture.writer.sequence)")
        #expect(end == "[]\n")
    }

    @Test func `a page of events has one element with the number of missing lines`() async throws {
        let fixture = try ServedFixture {
            $0.started(1)
            $0.sequence += 3
            $0.event("staff", "satisfied", 20, minor: 1, seen: 20)
        }
        try fixture.live(100)
        let lines = Self.lines(try await fixture.getChunks("/api/v1/events?limit=10"))
        #expect(lines.filter { $0 == "{\"kind\":\"missed\",\"lines\":3}" }.count == 1, "\(lines)")
        #expect(lines.count == fixture.writer.lines.count + 1)
    }

    @Test func `a page of visits is valid according to the schema of reports`() async throws {
        let fixture = try ReportsTests.fixture()
        let lines = Self.lines(try await fixture.get("/api/v1/visits?limit=3").body)
        #expect(lines.count == 4)
        try Schema.expectValid(Array(lines.map { $0 + "\n" }.joined().utf8), "--kind", "reports")
    }

    @Test func `a page does not depend on the pieces of input, and is stale if the line before it differs`() throws {
        let lines = (1...5).map { "{\"a\":\($0)}\n" }.joined()
        func page(_ bounds: PageBounds, _ pieces: [[UInt8]]) -> (String, Bool) {
            var page = LinesAsPage(bounds) { "/n?after=\($0)" }
            var bytes: [UInt8] = []
            for piece in pieces { bytes += page.take(piece) }
            bytes += page.end()
            return (String(decoding: bytes, as: UTF8.self), page.isStale)
        }
        var bounds = PageBounds.first
        bounds.limit = 2
        let all = Array(lines.utf8)
        let first = page(bounds, [all])
        let place = try #require(first.0.firstMatch(of: #/"after":"(?<place>2-[0-9a-f]{8})"/#)).output.place
        #expect(first.0.contains("\"left\":3") && first.0.contains("/n?after=\(place)"))
        bounds.after = LinePlace(String(place))
        for cut in 0...all.count {
            let (text, isStale) = page(bounds, [Array(all[..<cut]), Array(all[cut...])])
            #expect(!isStale)
            #expect(text.hasPrefix("[\n{\"a\":3},\n{\"a\":4},\n{\"kind\":\"more\",\"left\":1,"), "\(cut): \(text)")
        }
        #expect(page(bounds, [Array("{\"a\":1}\n{\"b\":2}\n{\"c\":3}\n".utf8)]) == ("", true))
        #expect(page(bounds, [Array("{\"a\":1}\n".utf8)]) == ("", true))
    }
}
