import BeaconMonitoring
import Foundation
import ProgramSupport
import Reports
import SystemPackage
import Testing

/// When a gateway did not hear: whatever becomes of its adapters, a report does not take that for nobody being here.
@Suite struct DeafnessTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    /// For how many seconds of each hour the gateway is told to have heard.
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

    @Test func `an adapter that was taken out does not hide that the one left is deaf`() throws {
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

    @Test func `where the last adapter was taken out nobody knows who is here, and why is said`() throws {
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

    @Test func `an adapter that comes in its place ends it`() throws {
        var writer = LineWriter()
        writer.adapter("listening", 0)
        writer.adapter("gone", 3600)
        writer.adapter("listening", 5400, named: "hci1")
        let path = try scratch.folder(writer, aliveAt: 7200)
        #expect(try known(path) == [3600, 1800])
        #expect(try silences(path).first?["to"] as? String == writer.date(5400))
        #expect(try report(path, at: 7200).gateways.first?.deafSince == nil)
    }

    @Test func `an adapter that never listened makes nobody deaf beside one that does`() throws {
        var writer = LineWriter()
        writer.adapter("listening", 0)
        writer.adapter("off", 10, named: "hci1")
        let path = try scratch.folder(writer, aliveAt: 3600)
        #expect(try known(path) == [3600])
    }

    @Test func `a gateway that was started without an adapter hears nothing until one listens`() throws {
        var writer = LineWriter()
        writer.started(0, hears: false)
        writer.adapter("listening", 3600)
        let path = try scratch.folder(writer, aliveAt: 7200)
        #expect(try known(path) == [0, 3600])
        #expect(try silences(path).map { $0["reason"] as? String } == ["no adapter has scanned yet"])
    }

    @Test func `the seconds of a start are not listed as an outage`() throws {
        var writer = LineWriter()
        writer.started(0, hears: false)
        writer.adapter("listening", 2)
        let path = try scratch.folder(writer, aliveAt: 3600)
        #expect(try known(path) == [3598])
        #expect(try silences(path).isEmpty)
    }

    @Test func `after a restart the adapters of the run before are no ears`() throws {
        var writer = LineWriter()
        writer.started(0)
        writer.boot = "aaaaaaaa-00000002"
        writer.started(3600, until: 3600, hears: false)
        writer.adapter("listening", 3600, named: "hci1")
        writer.adapter("deaf", 7210, since: 7200, named: "hci1")
        let path = try scratch.folder(writer, aliveAt: 10_800)
        #expect(try known(path) == [3600, 3600, 0])
    }

    @Test func `two adapters that take turns in silence leave the gateway deaf only where both were`() throws {
        var writer = LineWriter()
        for name in ["hci0", "hci1"] { writer.adapter("listening", 0, named: name) }
        writer.adapter("off", 1000)
        // What is learnt late: it had been silent before the other one was.
        writer.adapter("deaf", 1100, since: 900, named: "hci1")
        writer.adapter("listening", 1600)
        writer.adapter("listening", 2000, named: "hci1")
        let path = try scratch.folder(writer, aliveAt: 3600)
        #expect(try known(path) == [3000])
    }

    @Test func `what tells where the gateway is does not hide that nothing hears beacons`() throws {
        var writer = LineWriter()
        writer.adapter("listening", 0, named: "gpsd")
        writer.adapter("listening", 0)
        writer.stay("staff", 100, 400, minor: 1)
        writer.adapter("off", 3600)
        let path = try scratch.folder(writer, aliveAt: 7200)
        #expect(try known(path) == [3600, 0])
        #expect(seconds(try report(path, at: 7200).gateways.first?.deafSince) == 3600)
    }

    @Test func `a gateway of circles alone knows by what tells where it is`() throws {
        var writer = LineWriter()
        writer.started(0, hears: false)
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

    @Test func `whoever is heard is heard by an adapter, though retention has deleted its line`() throws {
        var writer = LineWriter()
        writer.adapter("off", 10, named: "hci1")
        writer.event("staff", "satisfied", 600, minor: 1, seen: 600)
        let path = try scratch.folder(writer, aliveAt: 3600)
        #expect(try known(path) == [3000])
    }
}
