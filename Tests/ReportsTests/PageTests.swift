import Foundation
import ProgramSupport
import Testing

/// The positions of bars, outages and ticks on the page, computed from the lines.
@Suite struct PageTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    private func page(_ writer: LineWriter, alive: Double, _ arguments: String...) throws -> String {
        let path = try scratch.folder(writer, aliveAt: alive)
        let ending = try Gateway.run(["visits", "--html", "-"] + arguments + [path])
        #expect(ending.status == 0, "\(ending.errors)")
        return ending.text
    }

    private struct Rectangle: Equatable {
        var kind: String
        var from: Double
        var to: Double
    }

    /// Returns the rectangles in the row with this name, in the order in which they are painted. Positions are shares
    /// of the row's width.
    private func row(_ name: String, of page: String) throws -> [Rectangle] {
        let start = try #require(page.range(of: "<div class=\"name\">\(name)</div>"), "\(page)")
        let row = page[start.upperBound...].prefix { $0 != "\n" }
        let width = try #require(row.firstMatch(of: /viewBox="0 0 (\d+) 10"/).flatMap { Double($0.1) })
        return row.matches(of: /<rect class="([^"]*)" x="(\d+)" width="(\d+)"/).map {
            let from = Double($0.2) ?? .nan
            return Rectangle(kind: String($0.1), from: from / width, to: (from + (Double($0.3) ?? .nan)) / width)
        }
    }

    private struct Tick {
        var label: String
        var place: Double
        var isDay: Bool
    }

    private func ticks(_ page: String) -> [Tick] {
        page.matches(of: /<span class="(day|hour)[^"]*" style="left:([0-9.]+)%">([^<]*)</).map {
            Tick(label: String($0.3), place: (Double($0.2) ?? .nan) / 100, isDay: $0.1 == "day")
        }
    }

    @Test func `an outage of all adapters is painted over each bar, at its time and for its duration`() throws {
        var writer = LineWriter()
        writer.adapter("listening", 0)
        writer.event("staff", "satisfied", 0, minor: 1, seen: 0)
        writer.adapter("deaf", 36_000, since: 36_000)
        writer.adapter("listening", 41_400)
        writer.event("staff", "unsatisfied", 86_400, minor: 1, seen: 86_370)
        writer.visit("staff", 86_400, arrival: 0, departure: 86_370, minor: 1)
        let row = try row("staff 1/1", of: page(writer, alive: 86_400, "--utc"))
        #expect(row.map(\.kind) == ["here", "deaf"])
        let outage = try #require(row.last)
        #expect(abs(outage.from - 36_000 / 86_400) < 0.002 && abs(outage.to - 41_400 / 86_400) < 0.002)
    }

    @Test func `a page of five days has a tick with the date at each local midnight`() throws {
        var writer = LineWriter()
        // 2026-11-21 00:00 UTC is 01:00 in Vienna.
        writer.completeVisit("staff", 0, 5 * 86_400, minor: 1)
        let ticks = ticks(try page(writer, alive: 5 * 86_400, "--zone", "Europe/Vienna"))
        #expect(ticks.filter(\.isDay).map(\.label) == ["11-22", "11-23", "11-24", "11-25", "11-26"])
        let length = 5 * 86_400.0 + 30
        for (number, tick) in ticks.filter(\.isDay).enumerated() {
            #expect(abs(tick.place - (Double(number) * 86_400 + 82_800) / length) < 0.002)
        }
    }

    @Test func `over the clock change in October, each day has one tick, and a bar is between the ticks of its day`()
        throws
    {
        var writer = LineWriter()
        // 2026-10-23 22:00 UTC is midnight in Vienna. The 25th has 25 hours.
        writer.offset = 1_792_792_800
        let monday = 49.0 * 3600
        writer.completeVisit("staff", monday + 8 * 3600, monday + 16 * 3600, minor: 1)
        let end = monday + 2 * 86_400
        let page = try page(
            writer, alive: end, "--zone", "Europe/Vienna", "--from", "2026-10-24", "--to", "2026-10-28")
        let days = ticks(page).filter(\.isDay)
        #expect(days.map(\.label) == ["10-25", "10-26", "10-27"])
        let bar = try #require(try row("staff 1/1", of: page).first { $0.kind.hasPrefix("here") })
        #expect(bar.from > days[1].place && bar.to < days[2].place)
        let length = 97.0 * 3600
        for (day, hours) in zip(days, [24.0, 49, 73]) { #expect(abs(day.place - hours * 3600 / length) < 0.002) }
        #expect(abs(bar.from - (49 + 8) * 3600 / length) < 0.002)
        #expect(page.contains("+0200, from 2026-10-25 02:00:00 on +0100"))
    }

    @Test func `within a day, ticks have local hours, without the hour that clocks skip`() throws {
        var writer = LineWriter()
        // 2026-03-28 23:00 UTC is midnight in Vienna. At 02:00, clocks change to 03:00.
        writer.offset = 1_774_738_800
        writer.completeVisit("staff", 0, 8 * 3600, minor: 1)
        let labels = ticks(try page(writer, alive: 8 * 3600, "--zone", "Europe/Vienna")).map(\.label)
        #expect(labels == ["01:00 +0100", "03:00 +0200", "04:00", "05:00", "06:00", "07:00", "08:00", "09:00"])
    }

    @Test(arguments: [60, 3600, 86_400, 604_800, 3_456_000, 34_560_000, 777_600_000])
    func `a page has 2 to 11 ticks, or fewer if it is shorter than an hour, in order with different labels`(
        seconds: Int
    ) throws {
        let length = Double(seconds)
        var writer = LineWriter()
        writer.offset = 1_000_000_000
        writer.completeVisit("staff", 0, length, minor: 1)
        let ticks = ticks(try page(writer, alive: length + 30, "--zone", "Europe/Vienna"))
        #expect(ticks.count <= 11 && (length < 3600 || ticks.count >= 2), "\(ticks.map(\.label))")
        #expect(zip(ticks, ticks.dropFirst()).allSatisfy { $0.place < $1.place })
        #expect(Set(ticks.map(\.label)).count == ticks.count, "\(ticks.map(\.label))")
    }

    @Test func `names that differ near their ends are not cut, and the page has its gateway and time of creation`()
        throws
    {
        var writer = LineWriter()
        writer.gateway = "lobby-gateway"
        for floor in ["east", "west"] { writer.completeVisit("staff-2nd-floor-\(floor)-wing", 100, 400, minor: 1) }
        let page = try page(writer, alive: 900, "--utc")
        #expect(page.contains(">staff-2nd-floor-east-wing 1/1</div>") && !page.contains("text-overflow"))
        #expect(page.contains(": lobby-gateway was last known to be alive"))
        #expect(page.firstMatch(of: /Created \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/) != nil)
        #expect(page.contains(".list{display:none}") && page.contains("is on the screen"))
    }
}
