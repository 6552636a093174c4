import Foundation
import ProgramSupport
import TestSupport
import Testing

/// Compares each form of each report with the known data of a simulated site.
///
/// The time is a month over each change of the clocks, or `BEACON_FORMS_DAYS` days. All of it is in the past.
@Suite struct SiteFormsTests {
    private let site: SiteFolders
    private let forms: SiteForms
    private let seed = SeededGenerator.seed
    private let days = environment("BEACON_FORMS_DAYS", default: 31)

    init() throws { (site, forms) = (try SiteFolders(), try SiteForms()) }

    /// Returns a simulated site and its folders.
    private func model(_ year: Int, _ month: Int, _ day: Int) throws -> (SiteModel, [String]) {
        let model = SiteModel(seed: seed, begin: try SiteFolders.midnight(year, month, day), days: days)
        return (model, try site.folders(model))
    }

    private func expect<Element: Hashable>(
        _ reported: [Element], _ truth: [Element], _ what: String, location: SourceLocation = #_sourceLocation
    ) {
        let (reported, truth) = (Self.counted(reported), Self.counted(truth))
        let wrong = reported.filter { truth[$0.key] != $0.value }.keys
        let missing = truth.filter { reported[$0.key] != $0.value }.keys
        #expect(
            wrong.isEmpty && missing.isEmpty,
            "\(what), seed \(seed): \(wrong.count) wrong, first \(wrong.first.map { "\($0)" } ?? ""); \(missing.count) missing, first \(missing.first.map { "\($0)" } ?? "")",
            sourceLocation: location)
    }

    private static func counted<Element: Hashable>(_ elements: [Element]) -> [Element: Int] {
        elements.reduce(into: [:]) { $0[$1, default: 0] += 1 }
    }

    private func expect(
        _ reported: [Int: SiteForms.Total], _ truth: [Int: SiteForms.Total], _ what: String,
        location: SourceLocation = #_sourceLocation
    ) {
        expect(
            reported.map { [$0.key, $0.value.visits, $0.value.seconds] },
            truth.map { [$0.key, $0.value.visits, $0.value.seconds] }, what, location: location)
    }

    @Test(arguments: [(2024, 10, 12), (2025, 3, 16)])
    func `visits and their totals are correct in the table, in CSV, in JSON and on the page`(
        year: Int, month: Int, day: Int
    ) throws {
        let (model, places) = try model(year, month, day)
        let names = Set(model.gateways.map(\.name))
        var random = SeededGenerator(state: seed)
        let from = model.begin + 86_400 + random.below(2 * 86_400)
        let fortnight = SiteModel.Span(from: from, to: from + 14 * 86_400 + random.below(50_000))
        for clip in [nil, fortnight] {
            let range =
                clip.map {
                    ["--from", LineWriter.date(Double($0.from)), "--to", LineWriter.date(Double($0.to))]
                } ?? []
            let span = clip ?? SiteModel.Span(from: 0, to: .max)
            let whole = (model.gateways.map(\.first).min() ?? 0, model.gateways.map(\.asOf).max() ?? 0)
            let forms = forms.over(from: clip?.from ?? whole.0, to: clip?.to ?? whole.1)
            let truth = model.visits(of: names, in: span, forms)
            let totals = model.totals(of: names, in: span)
            #expect(truth.count > 300)
            func report(_ form: String...) throws -> Ending { try site.report(["visits"] + form + range + places) }
            let json = try report("--json").lines
            expect(try forms.visits(json: json), truth, "JSON")
            expect(try forms.totals(json: json), totals, "totals of JSON")
            let csv = try report("--csv").text
            expect(try forms.visits(csv: csv), truth, "CSV")
            try expectHours(csv, totals)
            let table = try report().lines
            expect(try forms.visits(table: table, isSite: true), truth, "the table")
            expect(try forms.totals(table: table), totals, "totals of the table")
            let page = try report("--html=-").text
            expect(try forms.totals(html: page), totals, "totals of the page")
            #expect(page.contains("\(truth.count) visits of \(totals.count) beacons"))
            if truth.count <= 2000 { expect(try forms.visits(html: page), truth, "the page") }
        }
    }

    /// Adds up the column `hours` as a spreadsheet does, and compares the sums with the totals.
    private func expectHours(_ csv: String, _ totals: [Int: SiteForms.Total]) throws {
        var hours: [Int: Double] = [:]
        for record in SiteForms.records(csv) {
            hours[try #require(Int(record["minor"] ?? "")), default: 0] += try #require(Double(record["hours"] ?? ""))
        }
        #expect(hours.count == totals.count)
        for (minor, total) in totals {
            // Each value has four decimals, so its error is at most 0.18 s.
            let error = abs((hours[minor] ?? -1) * 3600 - Double(total.seconds))
            #expect(error <= 0.18 * Double(total.visits) + 0.001, "\(minor)")
        }
    }

    /// Returns the first words of a report, by the number of beacons whose state is unknown.
    private static func words(_ unknown: Int) -> String {
        unknown > 0 ? "None known to be present, \(unknown) unknown" : "None present at the last known time"
    }

    @Test func `the beacons at the end are correct in every form of visits --now`() throws {
        let (model, places) = try model(2024, 10, 12)
        for (names, folders) in [(Set(["hall", "yard"]), places), (["hall"], [places[0]])] {
            let truth = model.presences(of: names, forms)
            // With other seeds there can be none. Seed 1, the default, must have some.
            #expect(seed != 1 || !truth.isEmpty)
            func report(_ form: String...) throws -> Ending { try site.report(["visits", "--now"] + form + folders) }
            expect(try forms.presences(json: report("--json").lines), truth, "JSON")
            expect(try forms.presences(csv: report("--csv").text), truth, "CSV")
            let table = try report().lines
            expect(try forms.presences(table: table), truth, "the table")
            let words = Self.words(truth.count)
            #expect(table.first == words + ".")
            let page = try report("--html=-").text
            expect(try forms.presences(html: page), truth, "the page")
            #expect(page.contains(words))
        }
    }

    @Test(arguments: [(2024, 10, 12), (2025, 3, 16)])
    func `occupancy is correct in the table, in CSV and on the page`(year: Int, month: Int, day: Int) throws {
        let (model, places) = try model(year, month, day)
        // The page lists at most 2,000 rows.
        let (every, minutes) = days > 60 ? ("1d", 1440) : ("1h", 60)
        let first = try #require(model.gateways.map(\.first).min())
        let last = try #require(model.gateways.map(\.asOf).max())
        let forms = forms.over(from: first, to: last)
        let bounds = try SiteFolders.bounds(from: first, to: last, minutes: minutes)
        let truth = model.truth(bounds, of: Set(model.gateways.map(\.name)))
        let rows = SiteModel.Expected.rows(truth, forms)
        func report(_ form: String...) throws -> Ending {
            try site.report(["occupancy", "--every", every] + form + places)
        }
        let (table, page) = (
            try forms.intervals(table: report().lines), try forms.intervals(html: report("--html=-").text)
        )
        #expect(difference(table, rows) == nil)
        #expect(difference(page, rows) == nil)
        try expectRecords(report("--csv").text, truth)
    }

    private func expectRecords(_ csv: String, _ truth: [SiteModel.Expected]) throws {
        let records = SiteForms.records(csv)
        #expect(records.count == truth.count)
        for (record, interval) in zip(records, truth) {
            let length = Double(interval.to - interval.from)
            #expect(forms.text(record, "from") == forms.text(interval.from))
            #expect(forms.text(record, "to") == forms.text(interval.to))
            let reported = [record["most"], record["arrivals"], record["departures"], record["distinct"]]
            let numbers = [interval.peak, interval.arrivals, interval.departures, interval.distinct]
            #expect(reported == numbers.map { $0.map { "\($0)" } ?? "" }, "\(record)")
            #expect(Double(record["mean"] ?? "") == interval.mean)
            let unknown = (length - Double(interval.known)) / length
            #expect(abs((Double(record["not_known"] ?? "") ?? -1) - unknown) <= 0.000501)
            #expect(
                abs((Double(record["partly_known"] ?? "") ?? -1) - Double(interval.partlyKnown) / length) <= 0.000501)
        }
    }

    @Test func `the interfaces and pages of serve have the correct numbers`() async throws {
        let (model, places) = try model(2024, 10, 12)
        let names: Set = ["hall"]
        let server = try await SiteServer(site.scratch, folder: places[0])
        defer { server.end() }
        // Visits and totals.
        let (visits, totals) = (
            model.visits(of: names, in: SiteModel.Span(from: 0, to: .max), forms),
            model.totals(of: names, in: SiteModel.Span(from: 0, to: .max))
        )
        let (reported, pages) = try server.lines("/api/v1/visits?limit=500")
        #expect(pages > 2)
        expect(try forms.visits(json: reported), visits, "pages of JSON")
        expect(try forms.totals(json: reported), totals, "totals of pages of JSON")
        expect(try forms.visits(csv: server.get("/api/v1/visits?format=csv")), visits, "CSV")
        let range = "from=2024-10-01&to=2027-01-01"
        var (listed, after): ([SiteForms.Visit], Int) = ([], 0)
        while after < visits.count {
            let page = try server.get("/visits?\(range)&limit=700&after=\(after)")
            expect(try forms.totals(html: page), totals, "totals of the page")
            listed += try forms.visits(html: page)
            after += 700
        }
        expect(listed, visits, "pages of the page")
        // Present beacons.
        let present = model.presences(of: names, forms)
        expect(try forms.presences(json: server.lines("/api/v1/present").lines), present, "present")
        let page = try server.get("/")
        #expect(page.contains(Self.words(present.count)))
        let here = page.matches(of: #/title="[-0-9A-F]{36}/1/(?<minor>[0-9]+)"/#).compactMap { Int($0.minor) }
        #expect(here.sorted() == present.map(\.minor).sorted())
        // Occupancy.
        let (every, minutes) = days > 60 ? ("1d", 1440) : ("1h", 60)
        let hall = try #require(model.gateways.first)
        let bounds = try SiteFolders.bounds(from: hall.first, to: hall.asOf, minutes: minutes)
        let truth = model.truth(bounds, of: names)
        let intervals = try server.lines("/api/v1/occupancy?every=\(every)").lines
        let read = try SiteModelTests.read(intervals)
        #expect(read == truth)
        try expectRecords(server.get("/api/v1/occupancy?format=csv&every=\(every)"), truth)
        let dates =
            "from=\(forms.text(bounds[0]).prefix(10))&to=\(forms.text(bounds[bounds.count - 1]).prefix(19).replacing(" ", with: "T"))"
        let drawn = try forms.intervals(html: server.get("/occupancy?every=\(every)&\(dates)"))
        #expect(
            drawn.filter { $0.cells[0] != "-" } == SiteModel.Expected.rows(truth, forms).filter { $0.cells[0] != "-" })
    }
}

/// `beacon-gateway serve` for a folder. Requests are sent by Python's HTTP client.
final class SiteServer {
    private let process: SpawnedProcess
    private let held: HeldPort

    init(_ scratch: Scratch, folder: String) async throws {
        held = try HeldPort()
        let configuration = try scratch.write(
            "serve.yaml",
            "conditions: [{identifier: staff, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E}]\n"
                + "output: {directory: \(folder), status_socket: \(folder)/status.sock}\nserve: {port: \(held.number)}\n"
        )
        process = try SpawnedProcess(
            "/usr/bin/env", ["TZ=\(SiteFolders.zone)", Gateway.path, "serve", "--config", configuration],
            errors: .file(scratch.path("said")))
        let address = address("/api/v1/present")
        var answer: Ending?
        try await until("the files have been read", saw: answer?.errors ?? "") {
            answer = try Self.ask(address)
            return answer?.status == 0
        }
    }

    deinit { end() }

    func end() { process.end() }

    private func address(_ path: String) -> String { "http://127.0.0.1:\(held.number)\(path)" }

    private static func ask(_ address: String) throws -> Ending {
        try run(
            Tool.python,
            ["-c", "import sys, urllib.request as r; sys.stdout.buffer.write(r.urlopen(sys.argv[1]).read())", address])
    }

    func get(_ path: String) throws -> String {
        let ending = try Self.ask(address(path))
        #expect(ending.status == 0, "\(path): \(ending.errors)")
        return ending.text
    }

    /// Returns the elements of an array from all its pages, and the number of pages.
    func lines(_ path: String) throws -> (lines: [String], pages: Int) {
        var (lines, pages, next): ([String], Int, String?) = ([], 0, path)
        while let path = next {
            pages += 1
            let page = try get(path).split(separator: "\n").filter { $0.hasPrefix("{") }
                .map { String($0.last == "," ? $0.dropLast() : $0) }
            let last = try page.last.map(object)
            next = last?["kind"] as? String == "more" ? last?["next"] as? String : nil
            lines += next == nil ? page[...] : page.dropLast()
        }
        return (lines, pages)
    }
}
