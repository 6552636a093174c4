import BaseTypes
import BeaconMonitoring
import JSON

// The `erased` line: something was forgotten. What it is made of where a line is taken back, `LineErasure` knows.
extension LineEncoder {
    /// Appends the line that says that something was forgotten, and not what.
    mutating func encodeErased(at time: Instant, clockOffset: ClockOffset, into buffer: inout LineBuffer) {
        line("erased", nil, into: &buffer) { $0.write(time, clockOffset) }
    }
}
