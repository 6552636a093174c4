import BaseTypes

@testable import BeaconMonitoring

extension Script {
    /// Returns the script with its step times on whole microseconds: a deviation of 1 ns from a whole millisecond
    /// becomes 1 µs. Lines have only microseconds, and a restart restores only these.
    func onMicroseconds() -> Script {
        func micro(_ nanoseconds: Int64) -> Int64 {
            let milli = (nanoseconds + 500_000) / 1_000_000 * 1_000_000
            return milli + (nanoseconds - milli) * 1000
        }
        func micro(_ instant: Instant) -> Instant { Instant(nanoseconds: micro(instant.nanoseconds)) }
        var script = self
        script.clockOffset = ClockOffset(nanoseconds: script.clockOffset.nanoseconds / 1000 * 1000)
        script.steps = script.steps.map { step in
            switch step {
            case .add(let condition, let identifier, let monitor, let assuming, let settings, let time):
                .add(condition, identifier, monitor: monitor, assuming: assuming, settings, at: micro(time))
            case .remove(let identifier, let time): .remove(identifier, at: micro(time))
            case .name(let beacons, let time): .name(beacons, at: micro(time))
            case .received(let name, let time): .received(name, at: micro(time))
            case .sighted(let name, let beacon, let rssi, let time): .sighted(name, beacon, rssi, at: micro(time))
            case .listening(let kind, let name, let reason, let time):
                .listening(kind, name, reason: reason, at: micro(time))
            case .advance(let time): .advance(to: micro(time))
            case .located(let north, let accuracy, let time):
                .located(north: north, accuracy: accuracy, at: micro(time))
            case .source(let kind, let reason, let time): .source(kind, reason: reason, at: micro(time))
            case .clockOffset(let offset): .clockOffset(ClockOffset(nanoseconds: offset.nanoseconds / 1000 * 1000))
            case .monitor, .adapter, .left, .ambient, .silenceMeansNotScanning: step
            }
        }
        return script
    }
}
