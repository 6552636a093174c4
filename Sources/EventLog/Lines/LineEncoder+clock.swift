import BeaconMonitoring
import BluetoothLE

// The `clock` line: the wall clock stepped or became synchronised.
extension LineEncoder {
    /// Appends the line of what became of the wall clock; its dates are of the new offset.
    mutating func encode(_ change: ClockChange, into buffer: inout LineBuffer) {
        begin("clock", nil, into: &buffer)
        buffer.append(",\"offsetBefore\":")
        buffer.append(seconds: Self.microseconds(change.before))
        buffer.append(",\"offsetAfter\":")
        buffer.append(seconds: Self.microseconds(change.after))
        buffer.append(",\"synchronized\":")
        buffer.append(change.isSynchronized ? "true" : "false")
        appendTime(change.time, change.after, into: &buffer)
        end(&buffer)
    }

    private static func microseconds(_ offset: ClockOffset) -> Int64 {
        offset.nanoseconds / 1000 - (offset.nanoseconds % 1000 < 0 ? 1 : 0)
    }
}
