import AdapterScanning
import BaseTypes
import BeaconMonitoring
import CommandSupport
import EventLog
import EventLoops
import GatewayConfiguration
import OperatorLogging
import PublisherProtocol
import SystemPackage

// SIGHUP: a changed file by difference (rule C2); a bad one is refused whole, and the running one stays.
extension Daemon {
    func reload() {
        manager.reload {
            do throws(ExitFailure) {
                apply(try ConfigurationFile.loadWithNames(path, isReplay: false))
            } catch {
                log(.configurationRefused, "\(path) was not applied, and what runs stays:\n\(error.message)")
            }
        }
    }

    private func apply(_ new: Configuration) {
        let reason = supervisor.flatMap { capabilities.reasonToKeepScanning($0.status) }
        let change = ConfigurationChange(
            from: configuration, to: new, gateway: gateway, scanningStaysBecause: reason)
        for refusal in change.refusals { log(.configurationPostponed, refusal) }
        // What was heard before is judged by what held then; the clock is read before what was received is (rule T5).
        let reloaded = loop.now
        supervisor?.drain()
        location.drain()
        let now = max(reloaded, monitor.engine.now)
        let old = configuration
        let wanted = change.wanted
        for line in change.postponed { log(.configurationPostponed, line) }
        if change.needsNewEngine {
            guard replaceEngine(wanted, from: nil, because: "the configuration was reloaded", at: now) else { return }
        } else {
            do throws(MonitorError) {
                try monitor.apply(wanted.setups, naming: wanted.beacons.beacons, at: now)
            } catch {
                // Every bound was checked when the file was read.
                log(.configurationRefused, "\(path) was applied in part: \(error)")
            }
        }
        configuration = wanted
        exitTimeouts = ExitTimeouts(wanted)
        ranging.reload(wanted)
        // The new one is held before the old one ends: nothing falls back in between.
        let former = session
        session = ServiceSession(wanted, in: service)
        former.invalidate()
        for line in change.words(for: path) { log(.configurationApplied, line) }
        if change.restartsScanning { restartScanning(old, at: now) }
        if change.restartsLocation { location.restart(wanted, at: now) }
        broker?.reload()
        reloads += 1
    }

    /// Settings that an engine has from its beginning: a new one takes over the states of the old one, as after a restart
    /// (rule N4), and its adapters' listening.
    ///
    /// - Parameters:
    ///   - wanted: what it is to monitor.
    ///   - snapshot: what it begins from, where that is not the old one's state.
    ///   - reason: why adapters listen anew.
    ///   - now: the present.
    /// - Returns: whether it could be; where not, the old one stays, and the log says why.
    func replaceEngine(
        _ wanted: Configuration, from snapshot: MonitorSnapshot?, because reason: String, at now: Instant
    ) -> Bool {
        monitor.advance(to: now)
        deliver()
        var replacement = LiveMonitor(
            engine: MonitorEngine(
                settings: wanted.liveEngineSettings, start: now, clockOffset: clock.offset))
        replacement.engine.ambientDiagnostics = monitor.engine.ambientDiagnostics
        do throws(MonitorError) {
            try replacement.begin(
                wanted.setups, naming: wanted.beacons.beacons, from: snapshot ?? monitor.engine.snapshot, at: now)
        } catch {
            log(.configurationRefused, "\(path) was not applied, and what runs stays: \(error)")
            return false
        }
        monitor.takeOver(replacement)
        for adapter in supervisor?.status.adapters ?? [] where adapter.activity != .absent {
            monitor.appeared(adapter.number, adapter.address, at: now)
        }
        for adapter in supervisor?.status.adapters ?? [] where adapter.activity == .listening {
            monitor.started(adapter.number, reason: reason, at: now)
        }
        deliver()
        return true
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
            log(.configurationRefused, "\(error); what ran before goes on")
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
