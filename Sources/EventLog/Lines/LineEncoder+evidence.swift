public import BeaconMonitoring
import BluetoothLE

// The `evidence` line. It is not published: no envelope, no number of its own.
extension LineEncoder {
    /// Appends the line of what an exit rests on.
    public func encode(_ evidence: Evidence, into buffer: inout LineBuffer) {
        let offset = evidence.clockOffset
        beginUnpublished("evidence", into: &buffer)
        buffer.append(",\"event\":")
        buffer.append(evidence.event)
        buffer.append(",\"monitor\":\"")
        buffer.append(escaped: evidence.monitor)
        buffer.append("\",\"identifier\":\"")
        buffer.append(escaped: evidence.identifier)
        buffer.append("\",\"rule\":\"")
        buffer.append(escaped: evidence.rule)
        buffer.append(octet: UInt8(ascii: "\""))
        appendTime(evidence.time, offset, into: &buffer)
        buffer.append(",\"holders\":[")
        for (index, holder) in evidence.holders.enumerated() {
            buffer.append(index == 0 ? "{\"adapter\":\"" : ",{\"adapter\":\"")
            buffer.append(escaped: holder.adapter)
            buffer.append("\",\"lastRefresh\":\"")
            buffer.append(WallDate(holder.lastRefresh, offset: offset))
            buffer.append("\",\"listened\":")
            buffer.append(seconds: holder.listened.nanoseconds / 1000)
            buffer.append(octet: UInt8(ascii: "}"))
        }
        buffer.append("],\"sightings\":[")
        for (index, heard) in evidence.sightings.enumerated() {
            buffer.append(index == 0 ? "{\"date\":\"" : ",{\"date\":\"")
            buffer.append(WallDate(heard.time, offset: offset))
            buffer.append("\",\"adapter\":\"")
            buffer.append(escaped: heard.adapter)
            buffer.append(octet: UInt8(ascii: "\""))
            if let rssi = heard.rssi {
                buffer.append(",\"rssi\":")
                buffer.append(Int(rssi.dBm))
            }
            buffer.append(octet: UInt8(ascii: "}"))
        }
        buffer.append("],\"gaps\":{\"count\":")
        buffer.append(evidence.gaps.count)
        let quantiles: [(StaticString, Duration?)] = [
            (",\"median\":", evidence.gaps.median), (",\"p99\":", evidence.gaps.p99),
            (",\"maximum\":", evidence.gaps.maximum),
        ]
        for case (let key, let duration?) in quantiles {
            buffer.append(key)
            buffer.append(seconds: duration.nanoseconds / 1000)
        }
        buffer.append("}}\n")
    }

    /// Appends the lines of `actions`, and beside each exit what it rests on.
    public mutating func encode(
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
