import BeaconMonitoring
import CommandSupport
import JSON
import OperatorLogging
import Reports

/// The pages of present beacons and of gateways. They are complete without scripts, and then show their age.
struct LivePage {
    // The maximum number of rows. Browsers cannot open much larger pages; the JSON has all.
    static let rowsMax = 2000
    // The maximum number of visits in a bar. More cannot be distinguished in a few hundred pixels.
    private static let visitsMax = 100

    private static let skeleton = PageSkeleton(PackageResources.live_html)

    private let snapshot: Snapshot
    /// The start of the day in which the page is made.
    private let midnight: WallDate
    private let earlier: [RecentVisits.Subject: [RecentVisits.PastVisit]]

    init(_ snapshot: Snapshot) {
        self.snapshot = snapshot
        let made = snapshot.report.made
        midnight = snapshot.time.startOfDay(made)
        earlier = snapshot.recent.since(midnight)
    }

    /// The page `/`.
    var present: [UInt8] {
        var body = ""
        var section: String?
        let presences = snapshot.report.presences
        for presence in presences.prefix(Self.rowsMax) {
            if section != presence.section {
                if section != nil { body += "</tbody></table></section>\n" }
                body += Self.head(presence.section)
            }
            section = presence.section
            body += row(presence)
        }
        if section != nil { body += "</tbody></table></section>\n" }
        if presences.count > Self.rowsMax {
            body +=
                "<p>\(presences.count - Self.rowsMax) more are not shown. <a href=\"/api/v1/present\">The JSON</a> has all.</p>\n"
        }
        if snapshot.recent.givenUp > 0 { body += "<p>The bars omit earlier visits: there were too many today.</p>\n" }
        let words = snapshot.report.gateways.isEmpty ? "No data yet" : snapshot.words.count
        body += "<p><a href=\"/api/v1/present\">As JSON</a></p>\n"
        return page("Present", words, body)
    }

    private static func head(_ section: String) -> String {
        let name = PlainText.html(section)
        return """
            <section aria-label="\(name)"><h2>\(name)</h2>
            <table><thead><tr><th scope="col">Name</th><th scope="col">Since</th><th scope="col" class="rare">Today</th><th scope="col">State</th></tr></thead><tbody>

            """
    }

    private func row(_ presence: PresentReport.Presence) -> String {
        let isHere = presence.notKnownSince == nil
        let state = isHere ? "present" : "unknown since \(time(presence.notKnownSince))"
        // The page of this line explains the arrival.
        let link = presence.sequence.map { "<a href=\"/explain/\($0)\">\(state)</a>" } ?? state
        let group = presence.group.map { _ in
            " <small>\(PlainText.html(presence.identifiers.joined(separator: ", ")))</small>"
        }
        let title = presence.beacon.map { " title=\"\($0)\"" } ?? ""
        return
            "<tr class=\"\(isHere ? "here" : "unknown")\"><th scope=\"row\"\(title)>\(PlainText.html(snapshot.words.label(presence)))\(group ?? "")</th>"
            + "<td>\(time(presence.since))</td><td class=\"rare\">\(bar(presence))</td><td>\(link)</td></tr>\n"
    }

    /// Returns a bar of the day until now, with the parts in which the beacon or condition was present.
    private func bar(_ presence: PresentReport.Presence) -> String {
        let length = max(1, snapshot.report.made.microseconds - midnight.microseconds)
        func place(_ date: WallDate) -> Int64 {
            let passed = min(max(date.microseconds - midnight.microseconds, 0), length)
            return passed / 1_000_000 * 1000 / max(1, length / 1_000_000)
        }
        func part(_ from: Int64, _ to: Int64, isSure: Bool = true) -> String {
            let kind = isSure ? "" : "class=\"unsure\" "
            return "<rect \(kind)x=\"\(from)\" width=\"\(max(2, to - from))\" height=\"10\"/>"
        }
        let subject = presence.beacon.map { RecentVisits.Subject.beacon($0) }
        let subjects =
            subject.map { [$0] } ?? presence.identifiers.compactMap { (try? Identifier($0)).map { .condition($0) } }
        let before = subjects.flatMap { earlier[$0] ?? [] }
        let from = presence.since.map { place($0) } ?? 0
        let known = presence.notKnownSince.map { place($0) } ?? 1000
        // If the start of a visit is unknown, only its end is certain.
        var parts = before.suffix(Self.visitsMax).map { visit in
            part(visit.arrival.map { place($0) } ?? 0, place(visit.departure), isSure: visit.arrival != nil)
        }
        parts.append(part(from, known))
        if known < 1000 { parts.append(part(known, 1000, isSure: false)) }
        let label = "Today since midnight; visits: \(before.count + 1)"
        return
            "<svg class=\"day\" viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"\(label)\">"
            + parts.joined() + "</svg>"
    }

    /// The page `/gateways`.
    var gateways: [UInt8] {
        let counts = snapshot.counts
        var body = "<dl>\n"
        for (key, value) in [
            ("Program", counts.program ?? "unknown"), ("Last line", "\(counts.sequence)"),
            ("Missing lines", "\(snapshot.missed)"), ("Damaged lines", "\(snapshot.damaged)"),
        ] { body += "<dt>\(key)</dt><dd>\(PlainText.html(value))</dd>\n" }
        body += "<dt>Started</dt><dd>\(time(counts.started))</dd></dl>\n"
        for gateway in snapshot.report.gateways {
            let name = PlainText.html(gateway.name)
            let life = gateway.isAlive ? "is alive" : gateway.isStopped ? "was stopped" : "is not known to be alive"
            body +=
                "<section aria-label=\"\(name)\"><h2>\(name)</h2><p>It \(life); as of \(time(gateway.asOf)).</p>\n<table><thead><tr><th scope=\"col\">Adapter</th><th scope=\"col\">Since</th><th scope=\"col\">State</th></tr></thead><tbody>\n"
            for adapter in gateway.adapters {
                let reason = adapter.reason.map { ", \($0)" } ?? ""
                let words =
                    adapter.state == .listening ? "scanning\(reason)" : "not scanning: \(adapter.state)\(reason)"
                let isWell = adapter.state == .listening && gateway.isAlive
                body +=
                    "<tr class=\"\(isWell ? "here" : "unknown")\"><th scope=\"row\">\(PlainText.html(adapter.name))</th><td>\(time(adapter.since))</td><td>\(PlainText.html(words))</td></tr>\n"
            }
            body += "</tbody></table></section>\n"
        }
        body += "<p><a href=\"/api/v1/gateways\">As JSON</a> · <a href=\"/metrics\">Metrics</a></p>\n"
        return page("Gateways", counts.gateway, body)
    }

    private func time(_ date: WallDate?) -> String { PageFrame.time(date, snapshot.time) }

    private func page(_ title: String, _ summary: String, _ body: String) -> [UInt8] {
        let warnings = snapshot.warnings.map { "<p>\(PlainText.html($0))</p>" }.joined(separator: "\n")
        let alarm = warnings.isEmpty ? "" : "<div class=\"alarm\" role=\"alert\">\(warnings)</div>\n"
        let asOf = snapshot.report.gateways.isEmpty ? nil : snapshot.report.asOf
        let values: [PageSkeleton.Place: String] = [
            .alarm: alarm, .summary: PlainText.html(summary), .body: body, .asOf: time(asOf),
            .made: time(snapshot.report.made),
        ]
        return PageFrame.page(title, Self.skeleton.page(values), isLive: true)
    }
}
