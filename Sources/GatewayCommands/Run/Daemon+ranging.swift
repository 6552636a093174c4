import AdapterScanning
import BaseTypes
import BeaconMonitoring
import CommandSupport
import EventLog
import EventLoops
import OperatorLogging

// `ranging` lines: who is in view, once a second.
extension Daemon {
    /// Tells what is due at or before `time`: first what the engine has to say until then, so that lines stand in the order
    /// of their times.
    func range(until time: Instant) {
        while let due = ranging.nextDeadline, due <= time {
            advance(to: due)
            deliver()
            ranging.tell(at: due, clockOffset: clock.offset) { ranging, name in
                journal.append(ranging, monitor: name.monitor, identifier: name.identifier)
            }
        }
    }

    /// Takes in the iBeacons of a report.
    func rangeLatest() {
        for entry in monitor.latest { ranging.sighted(entry.frame, at: entry.time) }
    }

    /// Has the loop wake when a second ends in which somebody was in view.
    func setRangingTimer() {
        guard ranging.isOn || rangingTimer != nil else { return }
        let timer =
            rangingTimer
            ?? loop.makeTimer { [unowned self] now in
                // What was received by then belongs to the seconds that are over (rule T5).
                supervisor?.drain()
                range(until: now)
            }
        rangingTimer = timer
        loop.set(timer, at: ranging.nextDeadline)
    }
}
