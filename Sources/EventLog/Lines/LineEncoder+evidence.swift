package import BeaconMonitoring
import BluetoothLE
package import JSON

// The `evidence` line. It is not published: no envelope, no number of its own.
extension LineEncoder {
    /// Appends the line of what an exit rests on.
    package func encode(_ evidence: Evidence, into buffer: inout LineBuffer) {
        let offset = evidence.clockOffset
        buffer.object { buffer in
            writeHead("evidence", into: &buffer)
            buffer.write("event", evidence.event)
            buffer.write("monitor", evidence.monitor)
            buffer.write("identifier", evidence.identifier)
            buffer.write("rule", evidence.rule)
            buffer.write(evidence.time, offset)
            buffer.objects("holders", evidence.holders) { buffer, holder in
                buffer.write("adapter", holder.adapter)
                buffer.write("lastRefresh", WallDate(holder.lastRefresh, offset: offset))
                buffer.write("listened", seconds: holder.listened)
            }
            buffer.objects("sightings", evidence.sightings) { buffer, heard in
                buffer.write("date", WallDate(heard.time, offset: offset))
                buffer.write("adapter", heard.adapter)
                if let rssi = heard.rssi { buffer.write("rssi", rssi.dBm) }
            }
            buffer.object("gaps") { buffer in
                buffer.write("count", evidence.gaps.count)
                if let median = evidence.gaps.median { buffer.write("median", seconds: median) }
                if let p99 = evidence.gaps.p99 { buffer.write("p99", seconds: p99) }
                if let maximum = evidence.gaps.maximum { buffer.write("maximum", seconds: maximum) }
                if let share = evidence.gaps.longerThanTimeout { buffer.write("longerThanTimeout", share) }
            }
        }
        buffer.append(octet: 0x0A)
    }

    /// Appends the lines of `actions`, and beside each exit what it rests on.
    package mutating func encode(
        _ actions: ActionBuffer, evidence recorder: inout EvidenceRecorder, into buffer: inout LineBuffer
    ) {
        for action in actions.actions {
            if let evidence = recorder.evidence(before: action) { encode(evidence, into: &buffer) }
            encode(action, into: &buffer)
            recorder.note(action, number: sequence)
        }
        if let evidence = recorder.evidence(before: nil) { encode(evidence, into: &buffer) }
    }
}

extension LineBuffer {
    /// Writes a part of the silences: how many belong to it, and how many were compared.
    package mutating func write(_ key: StaticString, _ share: Evidence.Share) {
        object(key) { buffer in
            buffer.write("count", share.count)
            buffer.write("total", share.total)
        }
    }
}
