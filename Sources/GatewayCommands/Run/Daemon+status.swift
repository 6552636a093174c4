import AdapterScanning
import BeaconMonitoring
import BeaconScanning
import CommandSupport
import EventLoops
import GatewayConfiguration
import OperatorLogging

// What `status` shows, and what systemd is told.
extension Daemon {
    /// How the gateway stands now.
    var report: StatusReport {
        StatusReport(
            gateway: gateway, startTime: startTime, now: loop.now, clockOffset: clock.offset,
            scanning: supervisor?.status, needs: capabilities.needs, configuration: configuration, monitor: monitor,
            malformations: decoder.malformations, ranging: ranging, journal: journal, location: location.standing,
            broker: broker, reloads: reloads, wakeUps: loop.wakeUps)
    }

    func startStatusServer() throws(ExitFailure) {
        statusServer = try StatusServer(at: configuration.output.statusSocket, on: loop) { [unowned self] in
            let said = self.report
            return said.json() + said.page
        }
    }

    /// Logs the conditions whose UUID turned out to have its bytes in reverse order, each once.
    func noteReversed() {
        let found = monitor.engine.reversedUUIDs
        guard found != saidReversed else { return }
        for reversed in found where !saidReversed.contains(reversed) {
            log(.uuidReversed, "\(reversed.summary); \(reversed.remedy)")
        }
        saidReversed = found
    }

    /// Does what follows from how the scanners stand: gives up capabilities, and tells systemd.
    func noteStanding() {
        guard let status = supervisor?.status else { return }
        capabilities.update(status)
        manager.stand(status.words, isListening: status.isListening)
    }
}
