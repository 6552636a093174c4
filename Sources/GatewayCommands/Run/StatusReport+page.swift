import AdapterScanning
import BaseTypes
import BeaconMonitoring
import BluetoothLE
import CommandSupport
import EventLog
import GatewayConfiguration
import OperatorLogging

extension StatusReport {
    /// The same for people: what `status` prints.
    var page: String {
        guard let scanning else { return "" }
        var lines = ["\(gateway): \(scanning.words); runs since \((now - startTime).inWords)"]
        for way in scanning.ways { lines.append("  \(way.backend.rawValue): \(way.standing)") }
        for need in needs {
            lines.append("  keeps \(need.capability.name): \(need.why)")
        }
        lines.append("adapters")
        if scanning.adapters.isEmpty { lines.append("  none") }
        for entry in configuration.scanner.adapters where !scanning.hasAdapter(entry) {
            lines.append("  \(entry), which scanner.adapters names, is not there")
        }
        for adapter in scanning.adapters {
            let last = adapter.lastReport.map { ", the last \((now - $0).inWords) ago" } ?? ""
            let reason = adapter.reason.isEmpty ? "" : " (\(adapter.reason))"
            lines.append(
                """
                  \(ScanSupervisor.Options.adapterName(of: adapter.number))\(adapter.address.map { " \($0)" } ?? ""): \
                \(adapter.activity.rawValue) for \
                \((now - adapter.since).inWords)\(reason); \(PlainText.count(adapter.reports, "report"))\(last), \(adapter.lost) lost
                """)
        }
        if let text = locationText { lines.append(text) }
        lines.append("conditions")
        let present = monitor.engine.presentBeacons
        for setup in configuration.monitors {
            for condition in setup.conditions {
                let state = monitor.engine.state(of: condition.identifier).map { "\($0)" } ?? "unknown"
                let since = journal.record(for: condition.identifier).map {
                    " since \($0.lastEvent.date.lineText)"
                }
                lines.append("  \(condition.identifier): \(state)\(since ?? "")")
                if let beacons = present[condition.identifier] { lines.append("    \(Self.words(beacons, names))") }
            }
        }
        for found in monitor.engine.reversedUUIDs { lines.append("  \(found.summary); \(found.remedy)") }
        if let text = beaconsText { lines.append(text) }
        let day = journal.day()
        lines.append(
            """
            output
              \(configuration.output.directory): line \(journal.sequence), \
            \(journal.durableSequence == journal.sequence ? "all durable" : "durable up to \(journal.durableSequence)")
              \(journal.waiting) octets wait, \(PlainText.count(journal.counters.dropped, "line was", "lines were")) dropped; \
            in 24 hours \(day.bytes) octets and \(day.synchronizations) synchronisations
            """)
        if journal.counters.deletedEarly > 0 {
            let files = PlainText.count(journal.counters.deletedEarly, "file was", "files were")
            lines.append("  \(files) deleted for their size before `retain` was over")
        }
        if let trouble = journal.trouble { lines.append("  \(trouble)") }
        if let broker { lines.append(broker.page(durable: journal.durableSequence)) }
        let diagnostics = monitor.engine.presentDiagnostics.listed
        lines.append("diagnostics\n  \(diagnostics.isEmpty ? "none" : diagnostics.joined(separator: ", "))")
        return lines.joined(separator: "\n") + "\n"
    }

    private var names: BeaconNames { configuration.beacons }

    // A condition's line stays one that can be read.
    private static let beaconsMax = 20

    /// Who is there, those with names first: `Ada (1/1), 1/9 and 3 more`.
    private static func words(_ beacons: [BeaconIdentity], _ names: BeaconNames) -> String {
        let named = beacons.compactMap { beacon in
            names[beacon].map { "\($0.name) (\(beacon.numbers))" }
        }
        let others = beacons.filter { names[$0] == nil }.map(\.numbers)
        let listed = (named.sorted() + others).prefix(beaconsMax)
        let rest = beacons.count - listed.count
        return listed.joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
    }

    private var locationText: String? {
        guard let location else { return nil }
        let trouble = location.trouble.map { "; \($0)" } ?? ""
        guard let last = location.lastFix else { return "location\n  \(location.name): no fix yet\(trouble)" }
        let accuracy = Int(min(last.horizontalAccuracy, 1e9))
        return
            "location\n  \(location.name): \(PlainText.count(monitor.fixes, "fix", "fixes")), the last \((now - last.time).inWords) ago, "
            + "good to \(accuracy) m\(trouble)"
    }

    /// Whom the limits kept out (rules P2, P4, P5); absent where nobody was.
    private var beaconsText: String? {
        let counters = monitor.counters
        guard counters.untrackedBeacons + counters.displacedBeacons + counters.refusedBeacons > 0 else { return nil }
        let left = monitor.engine.newBeaconsLeft.map { "; \($0) without a name may enter now" } ?? ""
        return """
            beacons
              \(PlainText.count(counters.untrackedBeacons, "time")) one did not fit, \
            \(PlainText.count(counters.displacedBeacons, "time")) one lost its place to a named one, \
            \(PlainText.count(counters.refusedBeacons, "time")) one without a name was kept from entering\(left)
            """
    }
}

extension ScanStatus {
    /// Whether an adapter is there that an entry of `scanner.adapters` names.
    fileprivate func hasAdapter(_ entry: String) -> Bool {
        let selection = AdapterSelection([entry])
        return adapters.contains { $0.activity != .absent && selection.includes($0.number, address: $0.address) }
    }
}
