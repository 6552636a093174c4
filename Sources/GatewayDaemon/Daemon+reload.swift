import BeaconMonitoring
import BeaconScanning
import BluetoothLE
import CommandSupport
import ConfiguredScanning
import EventLog
import GatewayConfiguration
import Location
import OperatorMessages
import Polling
import Shipping
import SystemPackage

// SIGHUP: a changed file by difference (rule C2); a bad one is refused whole, and the running one stays.
extension Daemon {
    func reload() {
        tell { () throws(Errno) in try notifier.reloading() }
        defer { tell { () throws(Errno) in try notifier.ready(status: saidStatus) } }
        let new: Configuration
        do throws(ExitFailure) {
            new = try ConfigurationFile.loadWithNames(path, isReplay: false)
        } catch {
            log(.error, "\(path) was not applied, and what runs stays:\n\(error.message)")
            return
        }
        let reasonToKeepScanning = reasonToKeepScanning
        for refusal in Self.refusals(from: configuration, to: new, gateway: gateway) { log(.warning, refusal) }
        // What was heard before is judged by what held then; the clock is read before what was received is (rule T5).
        let reloaded = loop.now
        supervisor?.drain()
        location?.drain()
        let now = max(reloaded, monitor.engine.now)
        let old = configuration
        var wanted = new
        wanted.output = old.output
        wanted.mqtt = old.mqtt
        wanted.gatewayName = old.gatewayName
        if let reasonToKeepScanning { keepScanning(as: old, in: &wanted, because: reasonToKeepScanning) }
        if Self.needsNewEngine(from: old, to: wanted) {
            guard replaceEngine(wanted, at: now) else { return }
        } else {
            do throws(MonitorError) {
                try monitor.apply(wanted.setups, naming: wanted.beacons.beacons, at: now)
            } catch {
                // Every bound was checked when the file was read.
                log(.error, "\(path) was applied in part: \(error)")
            }
        }
        configuration = wanted
        exitTimeouts = ExitTimeouts(wanted)
        ranging = RangingLines.reloaded(ranging, wanted)
        // The new one is held before the old one ends: nothing falls back in between.
        let former = session
        session = ServiceSession(wanted, in: service)
        former.invalidate()
        logDifference(to: old)
        if reasonToKeepScanning == nil, old.scanner != wanted.scanner || old.engine != wanted.engine {
            restartScanning(old, at: now)
        }
        if old.location != wanted.location || old.monitorsCircles != wanted.monitorsCircles { restartLocation(at: now) }
        publishing?.process.reload()
        reloads += 1
    }

    /// What a running gateway can't change, each with what to do.
    static func refusals(from old: Configuration, to new: Configuration, gateway: Identifier) -> [String] {
        var refusals: [String] = []
        if let name = new.gatewayName, name != gateway { refusals.append("gateway.name") }
        if new.output != old.output { refusals.append("output") }
        if new.mqtt != old.mqtt { refusals.append("mqtt") }
        if old.monitors.map(\.name) != new.monitors.map(\.name) { refusals.append("the monitors' names") }
        return refusals.map { "\($0) changed in the file; it takes effect with `systemctl restart beacon-gateway`" }
    }

    /// Leaves the scan as it is, and says what of the file has to wait: a gateway that hears goes on hearing.
    private func keepScanning(as old: Configuration, in wanted: inout Configuration, because reason: String) {
        var changed: [String] = []
        if wanted.scanner != old.scanner { changed.append("scanner") }
        if wanted.engine.deafAfter != old.engine.deafAfter { changed.append("deaf_after") }
        wanted.scanner = old.scanner
        wanted.engine.deafAfter = old.engine.deafAfter
        for setting in changed {
            log(
                .warning,
                "\(setting) changed in the file; \(reason): it takes effect with `systemctl restart beacon-gateway`")
        }
    }

    private static func needsNewEngine(from old: Configuration, to new: Configuration) -> Bool {
        old.engine != new.engine || old.location?.name != new.location?.name
            || old.monitors.map(\.settings) != new.monitors.map(\.settings)
            || old.monitors.map(\.name) != new.monitors.map(\.name)
    }

    /// Settings that an engine has from its beginning: a new one takes over the states of the old one, as after a restart
    /// (rule N4), and its adapters' listening.
    private func replaceEngine(_ wanted: Configuration, at now: Instant) -> Bool {
        monitor.advance(to: now)
        deliver()
        var replacement = LiveMonitor(
            engine: MonitorEngine(
                settings: wanted.liveEngineSettings, start: now, clockOffset: wallClock.offset))
        replacement.engine.ambientDiagnostics = monitor.engine.ambientDiagnostics
        do throws(MonitorError) {
            try replacement.begin(
                wanted.setups, naming: wanted.beacons.beacons, from: monitor.engine.snapshot, at: now)
        } catch {
            log(.error, "\(path) was not applied, and what runs stays: \(error)")
            return false
        }
        monitor.takeOver(replacement)
        for adapter in supervisor?.status.adapters ?? [] where adapter.activity != .absent {
            monitor.appeared(adapter.number, adapter.address, at: now)
        }
        for adapter in supervisor?.status.adapters ?? [] where adapter.activity == .listening {
            monitor.started(adapter.number, reason: "the configuration was reloaded", at: now)
        }
        deliver()
        return true
    }

    private func logDifference(to old: Configuration) {
        let before = Dictionary(
            old.monitors.flatMap(\.conditions).map { ($0.identifier, $0) }, uniquingKeysWith: { first, _ in first })
        let after = Dictionary(
            configuration.monitors.flatMap(\.conditions).map { ($0.identifier, $0) },
            uniquingKeysWith: { first, _ in first })
        if old.beacons != configuration.beacons {
            log(.notice, "named beacons: \(configuration.beacons.count), before \(old.beacons.count)")
        }
        let added = after.keys.filter { before[$0] == nil }
        let removed = before.keys.filter { after[$0] == nil }
        let changed = after.filter { identifier, condition in
            before[identifier].map { !$0.isSame(as: condition) } ?? false
        }
        if added.isEmpty, removed.isEmpty, changed.isEmpty {
            log(.notice, "\(path) was applied; no condition is different")
            return
        }
        log(
            .notice,
            """
            \(path) was applied; conditions added: \(list(added)); changed: \(list(changed.keys)); \
            removed: \(list(removed))
            """)
    }

    private func list(_ identifiers: some Collection<Identifier>) -> String {
        guard !identifiers.isEmpty else { return "none" }
        let shown = identifiers.sorted().prefix(20).map(\.text).joined(separator: ", ")
        return identifiers.count > 20 ? "\(shown) and \(identifiers.count - 20) more" : shown
    }

    /// Another way of hearing, or other adapters: what is taken out holds nothing any more (rule L3).
    private func restartScanning(_ old: Configuration, at now: Instant) {
        let before = supervisor?.status.adapters ?? []
        supervisor?.stop()
        let supervisor = makeSupervisor()
        let kept = AdapterSelection(configuration.scanner.adapters)
        for adapter in before where adapter.activity != .absent {
            if kept.includes(adapter.number, address: adapter.address) {
                monitor.stopped(adapter.number, since: now, reason: "the configuration was reloaded", at: now)
            } else {
                monitor.removed(adapter.number, reason: "it is no longer in the configuration", at: now)
            }
        }
        self.supervisor = supervisor
        do throws(ScannerError) {
            try supervisor.start(self)
            sayShortfalls(of: supervisor.status)
        } catch {
            log(.error, "\(error); what ran before goes on")
            configuration.scanner = old.scanner
            session = ServiceSession(configuration, in: service)
            let previous = makeSupervisor()
            self.supervisor = previous
            do throws(ScannerError) {
                try previous.start(self)
            } catch {
                failure = ExitFailure(error)
                loop.stop()
            }
        }
    }
}

extension ConditionConfiguration {
    /// Whether it says the same, wherever it stands; `assuming` is not compared (rule C2).
    func isSame(as other: Self) -> Bool {
        condition == other.condition && settings == other.settings && ranging == other.ranging
    }
}
