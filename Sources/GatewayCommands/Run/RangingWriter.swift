import BaseTypes
import BeaconMonitoring
import BluetoothLE
import CommandSupport
import EventLoops
import GatewayConfiguration

/// The `ranging` lines of a gateway: the beacons in view, once per second, for the conditions that request it.
struct RangingWriter {
    /// The state of ranging; `nil` if no condition requests it.
    private var lines: RangingLines?
    /// The number of lines that were written.
    private(set) var written = 0

    init(_ configuration: Configuration) { lines = RangingLines(configuration) }

    /// When the next lines are due; `nil` if none are.
    var nextDeadline: Instant? { lines?.nextDeadline }
    /// Whether a condition requests ranging.
    var isOn: Bool { lines != nil }
    /// The number of sightings of beacons that did not fit.
    var unplaced: Int { lines?.unplaced ?? 0 }
    /// The number of beacons in view that were left out of lines because too many were nearer.
    var unlisted: Int { lines?.unlisted ?? 0 }

    /// Applies a reloaded configuration. Beacons in view stay if the settings of ranging have not changed.
    mutating func reload(_ configuration: Configuration) { lines = RangingLines.reloaded(lines, configuration) }

    /// Forgets the beacons in view.
    mutating func forgetAll(_ configuration: Configuration) { lines = RangingLines(configuration) }

    /// Handles a sighting. The lines that are due by then must have been written before.
    mutating func sighted(_ frame: BeaconFrame, at time: Instant) { lines?.sighted(frame, at: time) }

    /// Passes the lines that are due at `time` to `body`. The time must be the next deadline.
    mutating func report(
        at time: Instant, clockOffset: ClockOffset, _ body: (Ranging, RangingLines.Name) -> Void
    ) {
        var count = 0
        lines?.report(at: time, clockOffset: clockOffset) { ranging, name in
            body(ranging, name)
            count += 1
        }
        written += count
    }
}
