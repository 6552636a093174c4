import BeaconHearing
import BeaconMonitoring
import BeaconScanning
import BluetoothLE
import CommandSupport
import ConfiguredScanning
import EventLog
import GatewayConfiguration
import Glibc
import JSON
import OperatorMessages
import Polling
import SystemPackage

/// The lists of a status that are left out of it where it would be too long, the first first.
enum StatusList: String, CaseIterable {
    case conditions, adapters, ways
}

// What `status` shows, and what systemd is told.
extension Daemon {
    func startStatusServer() throws(ExitFailure) {
        statusServer = try StatusServer(at: configuration.output.statusSocket, on: loop) { [unowned self] in
            statusReport() + statusPage()
        }
    }

    /// Tells systemd what is going on, where that is something else than before; READY once something is scanned.
    func sayStatus() {
        guard let status = supervisor?.status else { return }
        let text = statusText(status)
        if !isReady, status.isListening {
            isReady = true
            tell { () throws(Errno) in try notifier.ready(status: text) }
        }
        guard text != saidStatus else { return }
        saidStatus = text
        tell { () throws(Errno) in try notifier.status(text) }
        if !isReady || !status.isListening { log(.notice, text) }
    }

    private func statusText(_ status: ScanStatus) -> String {
        let listening = status.adapters.filter { $0.activity == .listening }.map {
            ScanSupervisor.Options.adapterName(of: $0.number)
        }
        if let backend = status.backend, !listening.isEmpty {
            return "listens on \(listening.joined(separator: ", ")) by \(backend.rawValue)"
        }
        let present = status.adapters.filter { $0.activity != .absent }
        let obstacles = Diagnostics(status.obstacles).listed.joined(separator: ", ")
        let why = obstacles.isEmpty ? "" : " (\(obstacles))"
        return present.isEmpty ? "waits for a Bluetooth adapter\(why)" : "waits for an adapter to scan\(why)"
    }

    /// The state as one JSON object: `docs/status.schema.json`.
    ///
    /// - Parameters:
    ///   - leftOut: lists that are not in it, which it says.
    ///   - octetsMax: how long it may be: list after list is left out until it fits.
    /// - Returns: the object, without a line break.
    func statusReport(leavingOut leftOut: Set<StatusList> = [], octetsMax: Int = .max) -> String {
        var leftOut = leftOut
        var text = statusReport(without: leftOut)
        for list in StatusList.allCases where text.utf8.count > octetsMax && leftOut.insert(list).inserted {
            text = statusReport(without: leftOut)
        }
        return text
    }

    private func statusReport(without leftOut: Set<StatusList>) -> String {
        let now = loop.now
        let status = supervisor?.status
        return LineBuffer.lineForTerminals { json in
            json.write("version", LineVersion.current)
            json.write("type", "status")
            json.write("gateway", gateway.text)
            json.write("boot", journal.boot.text)
            json.write("process", Int(getpid()))
            json.write("uptime", seconds: now - startTime)
            json.write("started", WallDate(startTime, offset: wallClock.offset).lineText)
            json.write("state", status?.isListening ?? false ? "listening" : "waiting")
            json.write("diagnostics", monitor.engine.presentDiagnostics.listed)
            json.objects("capabilities", keptCapabilities?.needs ?? []) { json, need in
                json.write("name", need.capability.name)
                json.write("why", need.why)
            }
            if !leftOut.isEmpty {
                json.write("shortened", StatusList.allCases.filter(leftOut.contains).map(\.rawValue))
            }
            if let status { write(status, at: now, without: leftOut, to: &json) }
            writeLocation(at: now, to: &json)
            writeMonitors(leftOut.contains(.conditions) ? [] : configuration.monitors, to: &json)
            writeOutput(to: &json)
            writePublishing(to: &json)
            let counters = monitor.counters
            json.object("counters") { json in
                json.write("reports", monitor.reports)
                json.write("sightings", monitor.sightings)
                json.write("reportsOfOthers", monitor.reportsOfOthers)
                json.write("lateInputs", counters.lateInputs)
                json.write("untrackedBeacons", counters.untrackedBeacons)
                json.write("displacedBeacons", counters.displacedBeacons)
                json.write("refusedBeacons", counters.refusedBeacons)
                if let left = monitor.engine.newBeaconsLeft { json.write("newBeaconsLeft", left) }
                if let ranging {
                    json.write("rangingLines", rangingLines)
                    json.write("rangingUnplaced", ranging.unplaced)
                    json.write("rangingUnlisted", ranging.unlisted)
                }
                json.write("reloads", reloads)
                json.write("wakeUps", loop.wakeUps)
                json.object("malformed") { json in
                    for (kind, count) in decoder.malformations.met { json.write(named: "\(kind)", count) }
                }
            }
        }
    }

    private func write(
        _ status: ScanStatus, at now: Instant, without leftOut: Set<StatusList>, to json: inout LineBuffer
    ) {
        json.object("scanner") { json in
            json.write("backend", status.backend?.rawValue)
            json.write("reason", status.reason)
            json.write("since", seconds: now - status.since)
            json.objects("ways", leftOut.contains(.ways) ? [] : status.ways) { json, way in
                json.write("backend", way.backend.rawValue)
                json.write("standing", way.standing)
            }
            json.write("changesOfWay", status.changesOfWay)
            json.write("suspensions", status.suspensions)
            json.write("suspended", seconds: status.suspended)
            json.write("exitTimeoutsTooShort", status.exitTimeoutsTooShort)
        }
        json.objects("adapters", leftOut.contains(.adapters) ? [] : status.adapters) { json, adapter in
            json.write("name", ScanSupervisor.Options.adapterName(of: adapter.number))
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

    private func writeLocation(at now: Instant, to json: inout LineBuffer) {
        guard let settings = configuration.location, configuration.monitorsCircles else { return }
        json.object("location") { json in
            json.write("source", settings.name)
            json.write("fixes", monitor.fixes)
            if let lastFix { json.write("lastFix", seconds: now - lastFix.time) }
            json.write("trouble", locationTrouble)
        }
    }

    private func locationText(at now: Instant) -> String? {
        guard let settings = configuration.location, configuration.monitorsCircles else { return nil }
        let trouble = locationTrouble.map { "; \($0)" } ?? ""
        guard let lastFix else { return "location\n  \(settings.name): no fix yet\(trouble)" }
        let accuracy = Int(min(lastFix.horizontalAccuracy, 1e9))
        return "location\n  \(settings.name): \(monitor.fixes) fixes, the last \((now - lastFix.time).inWords) ago, "
            + "good to \(accuracy) m\(trouble)"
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
            json.write("trouble", journal.trouble)
            json.write("waiting", journal.waiting)
            json.write("lines", counters.lines)
            json.write("dropped", counters.dropped)
            json.write("droppedUnnumbered", counters.droppedUnnumbered)
            json.write("deletedSegments", counters.deletedSegments)
            json.write("deletedUnshipped", counters.deletedUnshipped)
            json.write("deletedEarly", counters.deletedEarly)
            json.write("segmentsTakenAway", counters.segmentsTakenAway)
            json.write("failures", counters.failures)
            json.write("snapshots", counters.snapshots)
            json.write("bytesToday", day.bytes)
            json.write("synchronizationsToday", day.synchronizations)
        }
    }
}

// The same for people: what `status` prints.
extension Daemon {
    func statusPage() -> String {
        let now = loop.now
        guard let status = supervisor?.status else { return "" }
        var lines = ["\(gateway): \(statusText(status)); runs since \((now - startTime).inWords)"]
        for way in status.ways { lines.append("  \(way.backend.rawValue): \(way.standing)") }
        for need in keptCapabilities?.needs ?? [] {
            lines.append("  keeps \(need.capability.name): \(need.why)")
        }
        lines.append("adapters")
        if status.adapters.isEmpty { lines.append("  none") }
        for entry in configuration.scanner.adapters where !status.hasAdapter(entry) {
            lines.append("  \(entry), which scanner.adapters names, is not there")
        }
        for adapter in status.adapters {
            let last = adapter.lastReport.map { ", the last \((now - $0).inWords) ago" } ?? ""
            let reason = adapter.reason.isEmpty ? "" : " (\(adapter.reason))"
            lines.append(
                """
                  \(ScanSupervisor.Options.adapterName(of: adapter.number))\(adapter.address.map { " \($0)" } ?? ""): \
                \(adapter.activity.rawValue) for \
                \((now - adapter.since).inWords)\(reason); \(adapter.reports) reports\(last), \(adapter.lost) lost
                """)
        }
        if let text = locationText(at: now) { lines.append(text) }
        lines.append("conditions")
        for setup in configuration.monitors {
            for condition in setup.conditions {
                let state = monitor.engine.state(of: condition.identifier).map { "\($0)" } ?? "unknown"
                let since = journal.record(for: condition.identifier).map {
                    " since \($0.lastEvent.date.lineText)"
                }
                lines.append("  \(condition.identifier): \(state)\(since ?? "")")
            }
        }
        if let text = beaconsText() { lines.append(text) }
        let day = journal.day()
        lines.append(
            """
            output
              \(configuration.output.directory): line \(journal.sequence), \
            \(journal.durableSequence == journal.sequence ? "all durable" : "durable up to \(journal.durableSequence)")
              \(journal.waiting) octets wait, \(journal.counters.dropped) lines were dropped; \
            in 24 hours \(day.bytes) octets and \(day.synchronizations) synchronisations
            """)
        if journal.counters.deletedEarly > 0 {
            lines.append(
                "  \(journal.counters.deletedEarly) files were deleted for their size before `retain` was over")
        }
        if let trouble = journal.trouble { lines.append("  \(trouble)") }
        if let publishing = publishingPage() { lines.append(publishing) }
        let diagnostics = monitor.engine.presentDiagnostics.listed
        lines.append("diagnostics\n  \(diagnostics.isEmpty ? "none" : diagnostics.joined(separator: ", "))")
        return lines.joined(separator: "\n") + "\n"
    }
}

extension Daemon {
    /// Whom the limits kept out (rules P2, P4, P5); absent where nobody was.
    private func beaconsText() -> String? {
        let counters = monitor.counters
        guard counters.untrackedBeacons + counters.displacedBeacons + counters.refusedBeacons > 0 else { return nil }
        let left = monitor.engine.newBeaconsLeft.map { "; \($0) without a name may enter now" } ?? ""
        return """
            beacons
              \(counters.untrackedBeacons) times one did not fit, \(counters.displacedBeacons) lost their place to a named one, \
            \(counters.refusedBeacons) times one without a name was kept from entering\(left)
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
