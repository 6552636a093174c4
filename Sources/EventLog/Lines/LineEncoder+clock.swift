import BeaconMonitoring
import JSON

// The `clock` line: the wall clock stepped or became synchronised.
extension LineEncoder {
    /// Appends the line of what became of the wall clock; its dates are of the new offset.
    mutating func encode(_ change: ClockChange, into buffer: inout LineBuffer) {
        line("clock", nil, into: &buffer) { buffer in
            buffer.write("offsetBefore", millionths: Self.microseconds(change.before))
            buffer.write("offsetAfter", millionths: Self.microseconds(change.after))
            buffer.write("synchronized", change.isSynchronized)
            buffer.write(change.time, change.after)
        }
    }

    private static func microseconds(_ offset: ClockOffset) -> Int64 {
        offset.nanoseconds / 1000 - (offset.nanoseconds % 1000 < 0 ? 1 : 0)
    }
}
