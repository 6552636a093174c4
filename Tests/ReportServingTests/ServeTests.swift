import BeaconMonitoring
import BluetoothLE
import CommandSupport
import EventLog
import Foundation
import Glibc
import ProgramSupport
import Reports
import Testing

@testable import GatewayConfiguration
@testable import ReportServing

@Suite struct PresentTests {
    static func beacon(_ minor: UInt16) -> BeaconIdentity {
        BeaconIdentity(uuid: ProximityUUID("F7826DA6-4FA2-4E98-8024-BC5B71E0893E")!, major: 1, minor: minor)
    }

    static func present(_ fixture: ServedFixture) async throws -> [[String: Any]] {
        try objects(try await fixture.get("/api/v1/present").body).filter { $0["kind"] as? String == "present" }
    }

    /// Returns the objects of a JSON array.
    static func objects(_ text: String) throws -> [[String: Any]] {
        try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [[String: Any]])
    }

    @Test func `a beacon that entered is present, and one that exited is not`() async throws {
        var number = 0
        let fixture = try ServedFixture {
            $0.started(1)
            $0.event("staff", "satisfied", 10, minor: 7, seen: 10)
            number = $0.sequence
            $0.completeVisit("staff", 11, 20, minor: 8)
        }
        try fixture.live(100)
        let present = try await Self.present(fixture)
        #expect(present.count == 1)
        #expect(present[0]["since"] as? String == fixture.writer.date(10))
        #expect((present[0]["beacon"] as? [String: Any])?["minor"] as? Int == 7)
        #expect(present[0]["sequence"] as? Int == number)
        #expect(present[0]["notKnownSince"] == nil)
        let page = try await fixture.get("/").body
        #expect(page.contains("<a href=\"/explain/\(number)\">present</a>"))
    }

    @Test func `the bar of today has each visit of the beacon today, and none of another day or beacon`() async throws {
        // The timeline of the lines starts at midnight.
        let day = 86_400.0
        let fixture = try ServedFixture { lines in
            lines.started(1)
            lines.completeVisit("staff", 3_600, 7_200, minor: 7)
            lines.completeVisit("staff", day + 8_640, day + 17_280, minor: 7)
            lines.completeVisit("staff", day + 25_920, day + 34_560, minor: 8)
            lines.event("staff", "satisfied", day + 60_480, minor: 7, seen: day + 60_480)
        }
        try fixture.live(2 * day - 2)
        let page = try await fixture.get("/").body
        let bar = try #require(page.firstMatch(of: /<svg class="day".*?<\/svg>/)).output
        #expect(
            bar.matches(of: /<rect x="(\d+)" width="(\d+)"/).map { "\($0.1)+\($0.2)" } == ["100+100", "700+300"],
            "\(bar)")
        #expect(bar.contains("visits: 2"))
    }

    @Test func `more than 120 s after the last proof of life, beacons are unknown, not present`() async throws {
        let fixture = try ServedFixture {
            $0.started(1)
            $0.adapter("listening", 2)
            $0.event("staff", "satisfied", 10, minor: 7, seen: 10)
        }
        try fixture.live(100)
        fixture.time = 100 + 120
        #expect(try await Self.present(fixture)[0]["notKnownSince"] == nil)
        fixture.time = 100 + 121
        let present = try await Self.present(fixture)
        #expect(present[0]["notKnownSince"] as? String == fixture.writer.date(100))
        let page = try await fixture.get("/").body
        #expect(page.contains("class=\"alarm\""))
        #expect(page.contains("was last known to be alive at this time. The state of beacons is unknown since then."))
        #expect(!page.contains(">present</a>"))
    }

    @Test func `the page distinguishes no data, no present beacon, and none at the last known time`() async throws {
        let fixture = try ServedFixture()
        #expect(try await fixture.get("/").body.contains("No data yet"))
        fixture.writer.started(1)
        fixture.writer.adapter("deaf", 2)
        try fixture.flush()
        try fixture.live(100)
        #expect(try await fixture.get("/").body.contains("None present at the last known time"))
        fixture.writer.adapter("listening", 3)
        try fixture.flush()
        #expect(try await fixture.get("/").body.contains("None present"))
    }

    @Test func `a beacon of unknown state has its arrival, and its last sighting as notKnownSince`() async throws {
        let fixture = try ServedFixture {
            $0.started(1)
            $0.adapter("listening", 2)
            $0.event("staff", "satisfied", 10, minor: 7, seen: 10)
            $0.event("staff", "unknown", 40, minor: 7, seen: 30)
        }
        try fixture.live(100)
        let present = try await Self.present(fixture)
        #expect(present[0]["since"] as? String == fixture.writer.date(10))
        #expect(present[0]["notKnownSince"] as? String == fixture.writer.date(30))
    }

    @Test func `a clock line corrects the dates of earlier lines`() async throws {
        let fixture = try ServedFixture {
            $0.started(1)
            $0.adapter("listening", 2)
            $0.event("staff", "satisfied", 10, minor: 7, seen: 10)
        }
        try fixture.live(20)
        #expect(try await Self.present(fixture)[0]["since"] as? String == fixture.writer.date(10))
        // The clock was one hour slow.
        fixture.writer.clock(30, to: fixture.writer.offset + 3600)
        try fixture.flush()
        try fixture.live(40)
        try await fixture.turn(until: "the date is correct") {
            let report = fixture.served.following.state.present.report(
                nil, now: WallDate(microseconds: 0), BeaconDirectory())
            return report.presences.first?.since?.lineText == fixture.writer.date(10)
        }
        #expect(try await Self.present(fixture)[0]["since"] as? String == fixture.writer.date(10))
        #expect(fixture.served.following.state.counts.sequence == fixture.writer.sequence)
    }

    @Test func `the page shows names of beacons, groups and conditions escaped, and JSON unchanged`() async throws {
        var names = Configuration.empty(
            with:
                "uuid,major,minor,name,group\nF7826DA6-4FA2-4E98-8024-BC5B71E0893E,1,7,<script>alert(1)</script>,\"a\"\"b\"\n"
        )
        let fixture = try ServedFixture({ $0.event("a&<b>", "satisfied", 10, minor: 7, seen: 10) }, names: names)
        names = BeaconNames()
        try fixture.live(11)
        let page = try await fixture.get("/").body
        #expect(page.contains("&lt;script&gt;alert(1)&lt;/script&gt; <small>a&amp;&lt;b&gt;</small>"))
        #expect(page.contains("<h2>a&quot;b</h2>"))
        #expect(!page.contains("<script>alert"))
        #expect(try await Self.present(fixture)[0]["name"] as? String == "<script>alert(1)</script>")
    }

    @Test func `an erased beacon is not shown any more`() async throws {
        let fixture = try ServedFixture {
            for minor in 7...8 { $0.event("staff", "satisfied", 10, minor: minor, seen: 10) }
        }
        try fixture.live(11)
        #expect(try await Self.present(fixture).count == 2)
        // The first segment is replaced by one of the same length, as by an erasure.
        let lines = [
            fixture.writer.lines[1].replacing("\"sequence\":2", with: "\"sequence\":1"), fixture.writer.lines[1],
        ]
        let changed = try fixture.scratch.write("new", lines.map { $0 + "\n" }.joined())
        guard rename(changed, fixture.scratch.path("events-000000000001-20261121T000000Z.jsonl")) == 0 else {
            Issue.record("the segment cannot be replaced")
            return
        }
        try await fixture.turn(until: "the file was read again") {
            let report = fixture.served.following.state.present.report(
                nil, now: WallDate(microseconds: 0), BeaconDirectory())
            return fixture.served.following.isCurrent && report.presences.count == 1
        }
        // An answer that was started before this must not be sent.
        #expect(fixture.served.following.reading == 1)
        #expect(try await Self.present(fixture).count == 1)
    }

    @Test func `an unknown path is 404`() async throws {
        let fixture = try ServedFixture()
        for path in ["/../../etc/passwd", "/api/v1/", "//", "/style.css/", "/API/V1/PRESENT"] {
            #expect(try await fixture.get(path).head.hasPrefix("HTTP/1.1 404"), "\(path)")
        }
    }

    @Test func `pages load resources only from this server, and have no inline styles or handlers`() async throws {
        let fixture = try ServedFixture { $0.event("staff", "satisfied", 10, minor: 7, seen: 10) }
        for page in [try await fixture.get("/").body, try await fixture.get("/gateways").body] {
            for attribute in ["src=\"", "href=\""] {
                for place in page.ranges(of: attribute) {
                    #expect(page[place.upperBound...].hasPrefix("/") && !page[place.upperBound...].hasPrefix("//"))
                }
            }
            #expect(!page.contains("style=\"") && !page.contains("onclick") && !page.contains("{{"))
        }
        #expect(try await fixture.get("/live.js").head.contains("Content-Type: text/javascript"))
        #expect(try await fixture.get("/style.css").head.contains("Content-Type: text/css"))
    }
}

extension Configuration {
    /// Returns the names in a table of beacons.
    static func empty(with table: String) -> BeaconNames {
        var configuration = Configuration()
        try? configuration.readBeacons(Array(table.utf8), file: "beacons.csv")
        return configuration.beacons
    }
}

@Suite struct EventStreamTests {
    static func numbers(_ peer: Peer) -> [Int] {
        peer.events.compactMap { Int($0.id.split(separator: ":").last ?? "") }
    }

    @Test func `a stream receives new lines, and none from before it was opened`() async throws {
        let fixture = try ServedFixture { $0.completeVisit("staff", 10, 20, minor: 7) }
        _ = try await fixture.get("/api/v1/present")
        let peer = try fixture.open("/api/v1/events")
        try await fixture.turn(until: "the stream waits") { fixture.served.server?.streamCount == 1 }
        fixture.writer.event("staff", "satisfied", 50, minor: 8, seen: 50)
        try fixture.flush()
        try await fixture.turn(until: "the event is received") { !peer.events.isEmpty }
        #expect(Self.numbers(peer) == [4])
        #expect(peer.events.first?.id == "g:4")
        #expect(try object(peer.events.first?.data ?? "")["sequence"] as? Int == 4)
    }

    @Test func `a stream that starts at the end does not read the lines before it`() async throws {
        let fixture = try ServedFixture {
            for number in 0..<2000 { $0.completeVisit("staff", Double(number), Double(number) + 1) }
        }
        _ = try await fixture.get("/api/v1/present")
        let peer = try fixture.open("/api/v1/events")
        try await fixture.turn(until: "the stream waits") { fixture.served.server?.streamCount == 1 }
        fixture.writer.event("staff", "satisfied", 2050, seen: 2050)
        try fixture.flush()
        try await fixture.turn(until: "the event is received") { !peer.events.isEmpty }
        #expect(Self.numbers(peer) == [6001])
        // The place of the end is known too, so the stream did not have to search it.
        let end = fixture.served.following.end
        #expect(end.sequence == 6001)
        #expect(try end.offset == contents(of: fixture.scratch.path(end.segment)).count)
    }

    @Test func `a client that reconnects receives each line after its last one, once`() async throws {
        let fixture = try ServedFixture {
            for number in 0..<2000 { $0.completeVisit("staff", Double(number), Double(number) + 1) }
        }
        _ = try await fixture.get("/api/v1/present")
        let peer = try fixture.open("/api/v1/events", "Last-Event-ID: g:17")
        try await fixture.turn(until: "all events are received") { peer.hasRead("id: g:6000\n") }
        try await fixture.turn(until: "the last event is complete") { peer.events.count >= 6000 - 17 }
        #expect(Self.numbers(peer) == Array(18...6000))
    }

    @Test func `a stream has only lines of the requested types`() async throws {
        let fixture = try ServedFixture {
            for number in 0..<500 { $0.completeVisit("staff", Double(number), Double(number) + 1) }
        }
        _ = try await fixture.get("/api/v1/present")
        let peer = try fixture.open("/api/v1/events?types=visit&lastEventID=g:0")
        try await fixture.turn(until: "all events are received") { peer.hasRead("id: g:1500\n") }
        try await fixture.turn(until: "the last event is complete") { peer.events.count >= 500 }
        #expect(Self.numbers(peer) == Array(stride(from: 3, through: 1500, by: 3)))
    }

    @Test func `a Last-Event-ID of another gateway is ignored, and the stream starts at the end`() async throws {
        let fixture = try ServedFixture { $0.completeVisit("staff", 10, 20) }
        _ = try await fixture.get("/api/v1/present")
        let peer = try fixture.open("/api/v1/events", "Last-Event-ID: other:0")
        try await fixture.turn(until: "the stream waits") { fixture.served.server?.streamCount == 1 }
        fixture.writer.event("staff", "satisfied", 50, seen: 50)
        try fixture.flush()
        try await fixture.turn(until: "the event is received") { !peer.events.isEmpty }
        #expect(Self.numbers(peer) == [4])
    }
}
