package import AdapterScanning
package import BaseTypes
import BeaconMonitoring
package import BluetoothLE
import CommandSupport
import EventLog
import EventLoops
import OperatorLogging

// What the supervisor tells.
extension Daemon: ScanHandler {
    /// An adapter gave a report: the engine hears of it and of the iBeacons in it.
    package func heard(_ report: AdvertisingReport, data: Span<UInt8>, on adapter: Int, at time: Instant) {
        if let due = ranging.nextDeadline, due <= time { range(until: time) }
        decoder.hand(report, data, adapter, time, to: &monitor)
        deliver()
        for entry in monitor.latest {
            recorder.sighted(
                entry.frame.beacon.identity, by: entry.adapter, rssi: entry.frame.rssi, at: entry.time)
        }
        if ranging.isOn { rangeLatest() }
        monitor.latest.removeAll(keepingCapacity: true)
    }

    /// Something became of an adapter, or of the way of hearing.
    package func changed(_ change: ScanChange, at time: Instant) {
        statusIsStale = true
        switch change {
        case .obstacles(let obstacles):
            self.obstacles = obstacles
            updateDiagnostics()
        case .ended(let error):
            failure = ExitFailure(error)
            loop.stop()
        case .appeared, .disappeared, .listening, .stopped, .lost, .needs: monitor.changed(change, at: time)
        }
    }

    /// What operators want to see of an action in the log; events are in the files.
    func say(_ action: Action) {
        switch action {
        case .adapter(let change):
            let reason = change.reason.map { ": \($0)" } ?? ""
            log(
                change.state == .listening ? .adapterListens : .adapterNotListening,
                "\(change.adapter) is \(change.state)\(reason)")
        case .trackingLimitExceeded(let identifier, .held):
            log(
                .beaconsDoNotFit,
                "beacons under \(identifier) do not fit; max_beacons is \(monitor.engine.settings.maxBeacons)"
            )
        case .trackingLimitExceeded(let identifier, .new):
            log(
                .newBeaconsHeldBack,
                """
                more new beacons under \(identifier) than max_new_beacons, \(monitor.engine.settings.maxNewBeacons), \
                and one every 2 s let in: either name them (beacons), raise it, or somebody invents them
                """)
        case .event(let event) where event.state == .unmonitored:
            log(.conditionNotMonitored, "\(event.identifier) is not monitored")
        case .event, .visit, .condition, .adapterNamed: break
        }
    }
}
