import BaseTypes
import BeaconMonitoring
import BluetoothLE
import CommandSupport
import EventLoops
import GatewayConfiguration

/// `ranging` lines of a gateway: who is in view, once a second, for the conditions that ask for it.
struct RangingWriter {
    /// Absent where no condition asks.
    private var lines: RangingLines?
    /// How many lines were written.
    private(set) var written = 0

    init(_ configuration: Configuration) { lines = RangingLines(configuration) }

    /// When something is next to be told.
    var nextDeadline: Instant? { lines?.nextDeadline }
    /// Whether a condition asks for it.
    var isOn: Bool { lines != nil }
    /// Sightings of beacons that found no place.
    var unplaced: Int { lines?.unplaced ?? 0 }
    /// Beacons in view that were left out of lines, where too many were nearer.
    var unlisted: Int { lines?.unlisted ?? 0 }

    /// What a reloaded configuration has: who is in view stays so where distances are guessed as before.
    mutating func reload(_ configuration: Configuration) { lines = RangingLines.reloaded(lines, configuration) }

    /// Forgets who is in view.
    mutating func forgetAll(_ configuration: Configuration) { lines = RangingLines(configuration) }

    /// A beacon was sighted; what is due by then has been told.
    mutating func sighted(_ frame: BeaconFrame, at time: Instant) { lines?.sighted(frame, at: time) }

    /// Tells what is due at `time`, which is the next deadline.
    mutating func tell(
        at time: Instant, clockOffset: ClockOffset, _ body: (Ranging, RangingLines.Name) -> Void
    ) {
        var count = 0
        lines?.tell(at: time, clockOffset: clockOffset) { ranging, name in
            body(ranging, name)
            count += 1
        }
        written += count
    }
}
