import BeaconMonitoring
import Foundation
import ProgramSupport
import Reports
import SystemPackage
import Testing

/// Times in which a gateway did not scan. Whatever happened to its adapters, a report must not show such a time as a
/// time without beacons.
@Suite struct ScanningGapTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    /// Returns for each hour the number of seconds in which the gateway scanned, as `occupancy` reports it.
    private func known(_ path: String) throws -> [Double?] {
        let ending = try Gateway.run("occupancy", "--json", "--utc", "--every", "1h", path)
        #expect(ending.status == 0, "\(ending.errors)")
        return try ending.lines.map(object).filter { $0["kind"] as? String == "occupancy" }.map { number($0, "known") }
    }

    private func silences(_ path: String) throws -> [[String: Any]] {
        try Gateway.run("visits", "--json", "--utc", path).lines.map(object)
            .filter { $0["kind"] as? String == "silence" }
    }

    private func report(_ path: String, at time: Double) throws -> PresentReport {
        let now = WallDate(microseconds: Int64((LineWriter().offset + time) * 1e6))
        return try PresentReport.read(VisitsOptions(paths: [FilePath(path)]), now: now).report
    }

    private func seconds(_ date: WallDate?) -> Double? {
        date.map { Double($0.microseconds) / 1e6 - LineWriter().offset }
    }

    @Test func `an adapter that was removed does not hide that the remaining one does not scan`() throws {
        var writer = LineWriter()
        for name in ["hci0", "hci1"] { writer.adapter("listening", 0, named: name) }
        writer.event("staff", "satisfied", 300, minor: 1, seen: 300)
        writer.adapter("gone", 600, named: "hci1")
        writer.adapter("deaf", 3610, since: 3600)
        let path = try scratch.folder(writer, aliveAt: 7200)
        #expect(try known(path) == [3600, 0])
        let report = try report(path, at: 7200)
        #expect(seconds(report.gateways.first?.deafSince) == 3600)
        #expect(seconds(report.presences.first?.notKnownSince) == 3600)
        let page = scratch.path("page.html")
        #expect(try Gateway.run("visits", "--utc", "--html", page, path).status == 0)
        let row = try String(contentsOfFile: page, encoding: .utf8).split(separator: "\n").first {
            $0.contains("row beacon")
        }
        #expect(row?.contains("class=\"deaf\"") == true, "\(row ?? "")")
    }

    @Test func `if the last adapter was removed, the state of beacons is unknown, and visits has the reason`() throws {
        var writer = LineWriter()
        writer.adapter("listening", 0)
        writer.event("staff", "satisfied", 300, minor: 1, seen: 300)
        writer.adapter("gone", 3600)
        let path = try scratch.folder(writer, aliveAt: 7200)
        #expect(try known(path) == [3600, 0])
        #expect(seconds(try report(path, at: 7200).presences.first?.notKnownSince) == 3600)
        let silence = try #require(try silences(path).first)
        #expect(silence["adapter"] == nil && silence["to"] == nil && silence["from"] as? String == writer.date(3600))
        let table = try Gateway.run("visits", "--utc", path).text
        #expect(table.contains("the gateway: no adapter remains because hci0 was removed"), "\(table)")
    }

    @Test func `a new adapter in place of the removed one ends the outage`() throws {
        var writer = LineWriter()
        writer.adapter("listening", 0)
        writer.adapter("gone", 3600)
        writer.adapter("listening", 5400, named: "hci1")
        let path = try scratch.folder(writer, aliveAt: 7200)
        #expect(try known(path) == [3600, 1800])
        #expect(try silences(path).first?["to"] as? String == writer.date(5400))
        #expect(try report(path, at: 7200).gateways.first?.deafSince == nil)
    }

    @Test func `an adapter that never scanned makes no time unknown if another one scans`() throws {
        var writer = LineWriter()
        writer.adapter("listening", 0)
        writer.adapter("off", 10, named: "hci1")
        let path = try scratch.folder(writer, aliveAt: 3600)
        #expect(try known(path) == [3600])
    }

    @Test func `after a start without an adapter, the time is unknown until one scans, and visits has the reason`()
        throws
    {
        var writer = LineWriter()
        writer.started(0, scans: false)
        writer.adapter("listening", 3600)
        let path = try scratch.folder(writer, aliveAt: 7200)
        #expect(try known(path) == [0, 3600])
        #expect(try silences(path).map { $0["reason"] as? String } == ["no adapter has scanned yet"])
    }

    @Test func `the seconds from a start to the first adapter are unknown, but not listed as an outage`() throws {
        var writer = LineWriter()
        writer.started(0, scans: false)
        writer.adapter("listening", 2)
        let path = try scratch.folder(writer, aliveAt: 3600)
        #expect(try known(path) == [3598])
        #expect(try silences(path).isEmpty)
    }

    @Test func `after a restart, the adapters of the previous run do not count`() throws {
        var writer = LineWriter()
        writer.started(0)
        writer.boot = "aaaaaaaa-00000002"
        writer.started(3600, until: 3600, scans: false)
        writer.adapter("listening", 3600, named: "hci1")
        writer.adapter("deaf", 7210, since: 7200, named: "hci1")
        let path = try scratch.folder(writer, aliveAt: 10_800)
        #expect(try known(path) == [3600, 3600, 0])
    }

    @Test func `if two adapters do not scan at different times, only the time in which both do not is unknown`() throws
    {
        var writer = LineWriter()
        for name in ["hci0", "hci1"] { writer.adapter("listening", 0, named: name) }
        writer.adapter("off", 1000)
        // This is reported late: `hci1` stopped before `hci0` did.
        writer.adapter("deaf", 1100, since: 900, named: "hci1")
        writer.adapter("listening", 1600)
        writer.adapter("listening", 2000, named: "hci1")
        let path = try scratch.folder(writer, aliveAt: 3600)
        #expect(try known(path) == [3000])
    }

    @Test func `a source of locations that works does not hide that no adapter scans for beacons`() throws {
        var writer = LineWriter()
        writer.adapter("listening", 0, named: "gpsd")
        writer.adapter("listening", 0)
        writer.completeVisit("staff", 100, 400, minor: 1)
        writer.adapter("off", 3600)
        let path = try scratch.folder(writer, aliveAt: 7200)
        #expect(try known(path) == [3600, 0])
        #expect(seconds(try report(path, at: 7200).gateways.first?.deafSince) == 3600)
    }

    @Test func `if a gateway has only circles, a time is known if its source of locations works`() throws {
        var writer = LineWriter()
        writer.started(0, scans: false)
        writer.adapter("listening", 1, named: "gpsd")
        writer.line(
            "event", 100,
            #""monitor":"site","identifier":"yard","scope":"condition","state":"satisfied",DATE,"#
                + #""condition":{"latitude":48.2,"longitude":16.4,"radius":100.0},"diagnostics":[]"#)
        writer.adapter("deaf", 3610, since: 3600, named: "gpsd")
        let path = try scratch.folder(writer, aliveAt: 7200)
        #expect(try known(path).first == 3599)
        #expect(seconds(try report(path, at: 7200).gateways.first?.deafSince) == 3600)
    }

    @Test func `if retention has deleted the line of an adapter, it scans from its first sighting on`() throws {
        var writer = LineWriter()
        writer.adapter("off", 10, named: "hci1")
        writer.event("staff", "satisfied", 600, minor: 1, seen: 600)
        let path = try scratch.folder(writer, aliveAt: 3600)
        #expect(try known(path) == [3000])
    }
}
