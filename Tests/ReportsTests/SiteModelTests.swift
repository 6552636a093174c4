import Foundation
import ProgramSupport
import TestSupport
import Testing

/// Compares reports with the known data of a simulated site. The time is a month over each change of the clocks, or
/// `BEACON_MODEL_DAYS` days.
@Suite struct SiteModelTests {
    private let site: SiteFolders
    private let seed = SeededGenerator.seed

    init() throws { site = try SiteFolders() }

    static func read(_ lines: [String], name: (String, String)? = nil) throws -> [SiteModel.Expected] {
        let format = ISO8601DateFormatter()
        format.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
        let rows = try lines.map(object).filter { row in
            guard row["kind"] as? String == "occupancy" else { return false }
            return name.map { key, value in row[key] as? String == value } ?? true
        }
        return try rows.map { row in
            func number(_ key: String) -> Double? { (row[key] as? NSNumber)?.doubleValue }
            func date(_ key: String) throws -> Int {
                let text = try #require(row[key] as? String).replacing(".000000Z", with: ".000Z")
                return Int(try #require(format.date(from: text)).timeIntervalSince1970)
            }
            return SiteModel.Expected(
                from: try date("from"), to: try date("to"), known: Int(number("known") ?? -1),
                partlyKnown: Int(number("partlyKnown") ?? 0), peak: number("peak").map { Int($0) },
                mean: number("mean"),
                arrivals: number("arrivals").map { Int($0) }, departures: number("departures").map { Int($0) },
                distinct: number("distinct").map { Int($0) })
        }
    }

    private func expect(_ reported: [SiteModel.Expected], _ truth: [SiteModel.Expected], _ what: String) {
        #expect(reported.count == truth.count, "\(what), seed \(seed)")
        let wrong = zip(reported, truth).filter { $0 != $1 }
        #expect(wrong.isEmpty, "\(what), seed \(seed): \(wrong.count) wrong, first \(String(describing: wrong.first))")
    }

    @Test(arguments: [(3, 16), (10, 12)])
    func `occupancy of a month is correct to the second, for all gateways and for each`(month: Int, day: Int) throws {
        let days = environment("BEACON_MODEL_DAYS", default: 31)
        let model = SiteModel(seed: seed, begin: try SiteFolders.midnight(2026, month, day), days: days)
        let places = try site.folders(model)
        let names = model.gateways.map(\.name)
        let first = try #require(model.gateways.map(\.first).min())
        let last = try #require(model.gateways.map(\.asOf).max())
        for (every, minutes) in [("15m", 15), ("1h", 60), ("1d", 1440)] {
            let bounds = try SiteFolders.bounds(from: first, to: last, minutes: minutes)
            let ending = try site.report(["occupancy", "--json", "--every", every] + places)
            expect(try Self.read(ending.lines), model.truth(bounds, of: Set(names)), every)
        }
        let bounds = try SiteFolders.bounds(from: first, to: last, minutes: 60)
        let each = try site.report(["occupancy", "--json", "--every", "1h", "--by", "gateway"] + places).lines
        for name in names {
            expect(try Self.read(each, name: ("gateway", name)), model.truth(bounds, of: [name]), name)
        }
    }

    @Test func `the numbers of the table and of CSV are those of JSON`() throws {
        let model = SiteModel(seed: seed, begin: try SiteFolders.midnight(2026, 10, 22), days: 7)
        let places = try site.folders(model)
        let json = try Self.read(site.report(["occupancy", "--json", "--every", "1h"] + places).lines)
        let csv = try site.report(["occupancy", "--csv", "--every", "1h"] + places).text.components(separatedBy: "\r\n")
        #expect(csv.count == json.count + 2)
        for (record, row) in zip(csv.dropFirst(), json) {
            let fields = record.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            #expect(fields.count == 13)
            #expect(Int(fields[4]) == row.peak && Double(fields[5]) == row.mean && Int(fields[6]) == row.arrivals)
            #expect(Int(fields[7]) == row.departures && Int(fields[8]) == row.distinct)
            let unknown = Double(row.to - row.from - row.known) / Double(row.to - row.from)
            #expect(abs((Double(fields[9]) ?? -1) - unknown) <= 0.0005)
        }
        // The table has one row for a night, but the same arrivals and departures.
        let table = try site.report(["occupancy", "--every", "1h"] + places).lines.filter { $0.hasPrefix("2026-") }
        let cells = table.map { $0.dropFirst(42).split(separator: " ").map { Int($0) ?? 0 } }
        #expect(cells.allSatisfy { $0.count >= 5 })
        #expect(cells.reduce(0) { $0 + $1[2] } == json.reduce(0) { $0 + ($1.arrivals ?? 0) })
        #expect(cells.reduce(0) { $0 + $1[3] } == json.reduce(0) { $0 + ($1.departures ?? 0) })
    }

    @Test func `the totals of visits in a month are correct, clipped to any range`() throws {
        let model = SiteModel(
            seed: seed, begin: try SiteFolders.midnight(2026, 10, 12),
            days: environment("BEACON_MODEL_DAYS", default: 31))
        let places = try site.folders(model)
        var random = SeededGenerator(state: seed)
        for number in 0..<4 {
            let from = number == 0 ? model.begin : model.begin + random.below(20 * 86_400)
            let clip = SiteModel.Span(from: from, to: number == 0 ? model.end : from + 3600 + random.below(10 * 86_400))
            let range = ["--from", LineWriter.date(Double(clip.from)), "--to", LineWriter.date(Double(clip.to))]
            let rows = try site.report(["visits", "--json"] + range + places).lines.map(object)
            var reported: [Int: Int] = [:]
            for row in rows where row["kind"] as? String == "total" && row["scope"] as? String == "beacon" {
                let minor = try #require((row["beacon"] as? [String: Any])?["minor"] as? Int)
                reported[minor] = (row["duration"] as? NSNumber)?.intValue
            }
            let truth = model.total(of: Set(model.gateways.map(\.name)), in: clip)
            #expect(reported == truth, "seed \(seed), range \(range)")
        }
    }
}
