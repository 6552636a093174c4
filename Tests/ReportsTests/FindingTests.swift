import Foundation
import ProgramSupport
import Testing

/// Problems that operators found in reports, as they saw them, unless another test covers them.
@Suite struct FindingTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    @Test func `a visit of twelve minutes is printed with its hours, so that 12:04 does not look like half a day`()
        throws
    {
        var writer = LineWriter()
        writer.completeVisit("staff", 100, 824, minor: 1)
        let path = try scratch.folder(writer)
        let page = scratch.path("page.html")
        #expect(try Gateway.run("visits", "--utc", "--html", page, path).status == 0)
        for text in [try Gateway.run("visits", "--utc", path).text, try String(contentsOfFile: page, encoding: .utf8)] {
            #expect(text.contains("0:12:04"), "\(text)")
            #expect(text.firstMatch(of: /[^0-9:]12:04/) == nil)
        }
    }

    @Test func `the durations of beacons in CSV add up to their totals, and so do those of conditions`() throws {
        var writer = LineWriter()
        for minor in 1...5 {
            let begin = Double(minor) * 7000
            writer.completeVisit("staff", begin, begin + 5432, minor: minor)
            writer.completeVisit("staff", begin, begin + 5432)
        }
        let path = try scratch.folder(writer)
        let csv = try Gateway.run("visits", "--utc", "--csv", path).text.components(separatedBy: "\r\n")
        let heading = try #require(csv.first).split(separator: ",").map(String.init)
        let scope = try #require(heading.firstIndex(of: "scope"))
        let duration = try #require(heading.firstIndex(of: "duration"))
        let totals = try Gateway.run("visits", "--utc", "--json", path).lines.map(object).filter {
            $0["kind"] as? String == "total"
        }
        for name in ["beacon", "condition"] {
            let rows = csv.dropFirst().map { $0.split(separator: ",", omittingEmptySubsequences: false) }
            let sum = rows.filter { $0.count > scope && $0[scope] == name }.reduce(0) {
                $0 + (Double($1[duration]) ?? 0)
            }
            let total = totals.filter { $0["scope"] as? String == name }.reduce(0) {
                $0 + (number($1, "duration") ?? 0)
            }
            #expect(sum == 5 * 5432 && total == sum, "\(name)")
        }
    }
}

/// Pages as a browser shows and prints them.
@Suite struct PageInBrowserTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    /// Returns a folder with a week of twenty badges, each present twice a day. The adapter stops scanning after the
    /// last visit.
    private func week(from start: Double) throws -> String {
        var writer = LineWriter()
        writer.offset = start
        writer.started(0)
        for day in 0..<7 {
            for half in 0..<2 {
                for minor in 1...20 {
                    let begin = Double(day * 86_400 + 25_000 + half * 15_000 + minor * 31)
                    writer.completeVisit("staff-2nd-floor-east-wing", begin, begin + 12_000, minor: minor)
                }
            }
        }
        writer.adapter("deaf", 620_000)
        return try scratch.folder(writer, aliveAt: 604_800)
    }

    private func page(_ arguments: [String], from start: Double = LineWriter().offset) throws -> String {
        let path = scratch.path("page.html")
        let ending = try Gateway.run(arguments + ["--zone", "Europe/Vienna", "--html", path, try week(from: start)])
        #expect(ending.status == 0, "\(ending.errors)")
        return path
    }

    @Test func `a week of twenty badges prints on two pages at most`() throws {
        let pdf = scratch.path("page.pdf")
        try Browser.run(["--print-to-pdf=\(pdf)", "file://" + page(["visits"])], in: scratch)
        let text = String(decoding: try contents(of: pdf), as: UTF8.self)
        let pages = text.matches(of: /\/Type\s*\/Page\b/).count
        #expect(pages == 1 || pages == 2, "\(pages) pages")
    }

    @Test(arguments: [["visits"], ["visits", "--now"], ["occupancy", "--every", "1h"]], [390, 768, 1280])
    func `no part of a page is wider than the page, whatever its width`(report: [String], width: Int) throws {
        // The second week has a clock change, so its times have offsets.
        for start in [LineWriter().offset, 1_792_620_000] { try expectFit(page(report, from: start), width) }
    }

    private func expectFit(_ page: String, _ width: Int) throws {
        let html = try String(contentsOfFile: page, encoding: .utf8)
        let quoted = html.replacing("&", with: "&amp;").replacing("\"", with: "&quot;")
        // The page around the frame finds elements that are wider than they should be.
        let frame = """
            <iframe id="f" width="\(width)" height="900" style="border:0" srcdoc="\(quoted)"></iframe><script>
            addEventListener('load', () => {
              const d = document.getElementById('f').contentDocument, w = d.documentElement.clientWidth
              const out = [...d.querySelectorAll('body *')].filter(e => {
                const r = e.getBoundingClientRect(); let p = e.parentElement
                for (; p; p = p.parentElement) { const s = d.defaultView.getComputedStyle(p).overflowX; if (s != 'visible') return false }
                return r.width > 0 && r.right > w + 1 })
              document.title = 'measured ' + w + ' ' + d.documentElement.scrollWidth + ' ' +
                out.slice(0, 5).map(e => e.tagName + '.' + e.className).join(' ') })
            </script>
            """
        let path = try scratch.write("frame.html", "<!DOCTYPE html><title>not yet</title>" + frame)
        let ending = try Browser.run(["--window-size=1400,1000", "--dump-dom", "file://" + path], in: scratch)
        let title = try #require(ending.text.firstMatch(of: /<title>([^<]*)<\/title>/)).output.1
        #expect(title == "measured \(width) \(width) ", "\(title)")
    }
}

/// Debian's Chromium, without a window.
private enum Browser {
    static let path = "/usr/bin/chromium"

    @discardableResult
    static func run(_ arguments: [String], in scratch: Scratch) throws -> Ending {
        let ending = try ProgramSupport.run(
            path,
            [
                "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
                "--hide-scrollbars",
                "--user-data-dir=\(scratch.path("profile"))", "--virtual-time-budget=5000",
            ] + arguments)
        #expect(ending.status == 0, "\(ending.errors)")
        return ending
    }
}
