import BaseTypes
import BeaconMonitoring
import JSON

// The `gateway` line: the program was started or stopped; and what `alive` says between the two.
extension LineEncoder {
    /// Appends the line of a start or a stop.
    mutating func encode(_ change: GatewayChange, into buffer: inout LineBuffer) {
        line("gateway", nil, into: &buffer) { buffer in
            switch change.kind {
            case .started(let program, let configuration, let until):
                buffer.write("state", word: "started")
                buffer.write("program", program)
                buffer.write("configuration", configuration)
                if let until { buffer.write("until", WallDate(until, offset: change.clockOffset)) }
            case .stopped(let reason):
                buffer.write("state", word: "stopped")
                buffer.write("reason", reason)
            }
            buffer.write(change.time, change.clockOffset)
        }
    }

    /// Appends what the file `alive` holds: that the gateway was alive at `time`, with `sequence` the last line that was
    /// durable.
    func encodeAlive(
        after sequence: Int, at time: Instant, clockOffset: ClockOffset, into buffer: inout LineBuffer
    ) {
        buffer.object { buffer in
            writeHead("alive", into: &buffer)
            if sequence > 0 { buffer.write("sequence", sequence) }
            buffer.write(time, clockOffset)
        }
        buffer.append(octet: 0x0A)
    }
}
