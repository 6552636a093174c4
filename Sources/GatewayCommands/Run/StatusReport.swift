import AdapterScanning
import BaseTypes
import BeaconMonitoring
import BluetoothLE
import CommandSupport
import EventLog
import GatewayConfiguration
import Glibc
import JSON
import OperatorLogging

/// The status of a gateway at one time: as one JSON object (`docs/status.schema.json`), and for people.
///
/// It only reads the state and changes nothing.
struct StatusReport {
    /// The lists that are left out if the object would be too long, in this order.
    enum List: String, CaseIterable {
        case conditions, adapters
        case backends = "ways"
    }

    let gateway: Identifier
    let startTime: Instant
    let now: Instant
    let clockOffset: ClockOffset
    /// The state of scanning; `nil` before it was started.
    let scanning: ScanStatus?
    /// The capabilities that the process still needs, with reasons.
    let needs: [CapabilityNeeds.Need]
    let configuration: Configuration
    let monitor: LiveMonitor
    let malformations: MalformationCounts
    let ranging: RangingWriter
    let journal: Journal
    let location: LocationTracker.SourceState?
    let broker: BrokerLink?
    let reloads: Int
    let wakeUps: Int

    /// Returns the object on one line.
    ///
    /// - Parameters:
    ///   - leftOut: the lists to leave out. The object names them.
    ///   - bytesMax: the maximum length in bytes. Lists are left out, one after the other, until the object fits. If
    ///     it does not fit without them, it is longer.
    /// - Returns: the object with a line feed at its end.
    func json(leavingOut leftOut: Set<List> = [], bytesMax: Int = .max) -> String {
        var leftOut = leftOut
        var text = json(without: leftOut)
        for list in List.allCases where text.utf8.count > bytesMax && leftOut.insert(list).inserted {
            text = json(without: leftOut)
        }
        return text
    }

    private func json(without leftOut: Set<List>) -> String {
        LineBuffer.lineForTerminals { json in
            json.write("version", LineVersion.current)
            json.write("type", "status")
            json.write("gateway", gateway.text)
            json.write("boot", journal.boot.text)
            json.write("process", Int(getpid()))
            json.write("uptime", seconds: now - startTime)
            json.write("started", WallDate(startTime, offset: clockOffset).lineText)
            json.write("state", scanning?.isListening ?? false ? "listening" : "waiting")
            json.write("diagnostics", monitor.engine.presentDiagnostics.listed)
            let reversed = monitor.engine.reversedUUIDs
            if !reversed.isEmpty {
                json.objects("reversedUUIDs", reversed) { json, found in
                    json.write("identifier", found.identifier)
                    json.write("received", "\(found.received)")
                }
            }
            json.objects("capabilities", needs) { json, need in
                json.write("name", need.capability.name)
                json.write("why", need.why)
            }
            if !leftOut.isEmpty { json.write("shortened", List.allCases.filter(leftOut.contains).map(\.rawValue)) }
            if let scanning { write(scanning, without: leftOut, to: &json) }
            writeLocation(to: &json)
            writeMonitors(leftOut.contains(.conditions) ? [] : configuration.monitors, to: &json)
            writeOutput(to: &json)
            broker?.write(to: &json, durable: journal.durableSequence)
            let counters = monitor.counters
            json.object("counters") { json in
                json.write("reports", monitor.reports)
                json.write("sightings", monitor.sightings)
                json.write("reportsOfOthers", monitor.reportsOfOthers + (scanning?.reportsOfOthers ?? 0))
                json.write("lateInputs", counters.lateInputs)
                json.write("untrackedBeacons", counters.untrackedBeacons)
                json.write("displacedBeacons", counters.displacedBeacons)
                json.write("refusedBeacons", counters.refusedBeacons)
                if let left = monitor.engine.newBeaconsLeft { json.write("newBeaconsLeft", left) }
                if ranging.isOn {
                    json.write("rangingLines", ranging.written)
                    json.write("rangingUnplaced", ranging.unplaced)
                    json.write("rangingUnlisted", ranging.unlisted)
                }
                json.write("reloads", reloads)
                json.write("wakeUps", wakeUps)
                json.object("malformed") { json in
                    for (kind, count) in malformations.occurred { json.write(named: "\(kind)", count) }
                }
            }
        }
    }

    private func write(
        _ status: ScanStatus, without leftOut: Set<List>, to json: inout LineBuffer
    ) {
        json.object("scanner") { json in
            json.write("backend", status.backend?.rawValue)
            json.write("reason", status.reason)
            json.write("since", seconds: now - status.since)
            json.objects("ways", leftOut.contains(.backends) ? [] : status.backends) { json, entry in
                json.write("backend", entry.backend.rawValue)
                json.write("standing", entry.state)
            }
            json.write("changesOfWay", status.backendChanges)
            json.write("suspensions", status.suspensions)
            json.write("suspended", seconds: status.suspended)
            json.write("exitTimeoutsTooShort", status.exitTimeoutsTooShort)
        }
        json.objects("adapters", leftOut.contains(.adapters) ? [] : status.adapters) { json, adapter in
            json.write("name", adapter.name)
            json.write("controller", adapter.controller)
            if let address = adapter.address { json.write("address", address.description) }
            json.write("state", adapter.activity.rawValue)
            json.write("since", seconds: now - adapter.since)
            json.write("reason", adapter.reason)
            json.write("reports", adapter.reports)
            json.write("lost", adapter.lost)
            json.write("losses", adapter.losses)
            json.write("withheld", adapter.withheld)
            if let last = adapter.lastReport { json.write("lastReport", seconds: now - last) }
            if let canary = adapter.canary { json.write("canary", seconds: now - canary) }
            json.write("thinned", adapter.isThinned)
            json.object("watchdog") { json in
                json.write("state", "\(adapter.watchdog)")
                json.write("lastSkipped", adapter.lastSkipped)
            }
        }
    }

    private func writeLocation(to json: inout LineBuffer) {
        guard let location else { return }
        json.object("location") { json in
            json.write("source", location.name)
            json.write("fixes", monitor.fixes)
            if let last = location.lastFix { json.write("lastFix", seconds: now - last.time) }
            json.write("trouble", location.failure)
        }
    }

    private func writeMonitors(_ monitors: [MonitorConfiguration], to json: inout LineBuffer) {
        json.objects("monitors", monitors) { json, setup in
            json.write("name", setup.name.text)
            json.objects("conditions", setup.conditions) { json, condition in
                json.write("identifier", condition.identifier.text)
                if let state = monitor.engine.state(of: condition.identifier) { json.write("state", "\(state)") }
                if let record = journal.record(for: condition.identifier) {
                    json.object("lastEvent") { json in
                        json.write("state", "\(record.lastEvent.state)")
                        json.write("date", record.lastEvent.date.lineText)
                    }
                }
            }
        }
    }

    private func writeOutput(to json: inout LineBuffer) {
        let counters = journal.counters
        let day = journal.day()
        json.object("output") { json in
            json.write("directory", configuration.output.directory)
            json.write("sequence", journal.sequence)
            json.write("durableSequence", journal.durableSequence)
            json.write("trouble", journal.failure)
            json.write("waiting", journal.waiting)
            json.write("lines", counters.lines)
            json.write("dropped", counters.dropped)
            json.write("droppedUnnumbered", counters.droppedUnnumbered)
            json.write("deletedSegments", counters.deletedSegments)
            json.write("deletedUnshipped", counters.deletedUnpublished)
            json.write("deletedEarly", counters.deletedEarly)
            json.write("segmentsTakenAway", counters.segmentsTakenAway)
            json.write("failures", counters.failures)
            json.write("snapshots", counters.snapshots)
            json.write("bytesToday", day.bytes)
            json.write("synchronizationsToday", day.synchronizations)
        }
    }

    // MARK: Text

    /// The same for people, as `status` prints it.
    var page: String {
        guard let scanning else { return "" }
        var lines = ["\(gateway): \(scanning.words); runs since \((now - startTime).inWords)"]
        for entry in scanning.backends { lines.append("  \(entry.backend.rawValue): \(entry.state)") }
        for need in needs {
            lines.append("  keeps \(need.capability.name): \(need.why)")
        }
        lines.append("adapters")
        if scanning.adapters.isEmpty { lines.append("  none") }
        for entry in configuration.scanner.adapters where !scanning.hasAdapter(entry) {
            lines.append("  \(entry) of scanner.adapters does not exist")
        }
        for adapter in scanning.adapters {
            let last = adapter.lastReport.map { ", the last \((now - $0).inWords) ago" } ?? ""
            let reason = adapter.reason.isEmpty ? "" : " (\(adapter.reason))"
            lines.append(
                """
                  \(adapter.name)\(adapter.address.map { " \($0)" } ?? ""): \
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
              \(journal.waiting) bytes waiting, \(PlainText.count(journal.counters.dropped, "line was", "lines were")) dropped; \
            in 24 hours: \(day.bytes) bytes and \(day.synchronizations) synchronisations
            """)
        if journal.counters.deletedEarly > 0 {
            let files = PlainText.count(journal.counters.deletedEarly, "file was", "files were")
            lines.append("  \(files) deleted before `retain` had passed, because of the size")
        }
        if let failure = journal.failure { lines.append("  \(failure)") }
        if let broker { lines.append(broker.page(durable: journal.durableSequence)) }
        let diagnostics = monitor.engine.presentDiagnostics.listed
        lines.append("diagnostics\n  \(diagnostics.isEmpty ? "none" : diagnostics.joined(separator: ", "))")
        return lines.joined(separator: "\n") + "\n"
    }

    private var names: BeaconNames { configuration.beacons }

    // The maximum number of beacons of a condition, so that its line stays readable.
    private static let beaconsMax = 20

    /// Returns the present beacons, the named ones first: `Ada (1/1), 1/9 and 3 more`.
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
        let failure = location.failure.map { "; \($0)" } ?? ""
        guard let last = location.lastFix else { return "location\n  \(location.name): no fix yet\(failure)" }
        let accuracy = Int(min(last.horizontalAccuracy, 1e9))
        return
            "location\n  \(location.name): \(PlainText.count(monitor.fixes, "fix", "fixes")), the last \((now - last.time).inWords) ago, "
            + "accuracy \(accuracy) m\(failure)"
    }

    /// The lines about beacons that the limits excluded (rules P2, P4, P5); `nil` if there were none.
    private var beaconsText: String? {
        let counters = monitor.counters
        guard counters.untrackedBeacons + counters.displacedBeacons + counters.refusedBeacons > 0 else { return nil }
        let left = monitor.engine.newBeaconsLeft.map { "; \($0) unnamed beacons can enter now" } ?? ""
        return """
            beacons
              not monitored (max_beacons): \(PlainText.count(counters.untrackedBeacons, "time")); \
            replaced by a named beacon: \(PlainText.count(counters.displacedBeacons, "time")); \
            unnamed beacon refused (max_new_beacons): \(PlainText.count(counters.refusedBeacons, "time"))\(left)
            """
    }
}

extension ScanStatus {
    /// Returns whether an adapter exists that an entry of `scanner.adapters` names.
    fileprivate func hasAdapter(_ entry: String) -> Bool {
        let selection = AdapterSelection([entry])
        return adapters.contains { $0.activity != .absent && selection.includes($0.number, address: $0.address) }
    }
}
