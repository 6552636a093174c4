import BluetoothLE
import EventLog

extension ReplayStatistics {
    /// The statistics as one JSON object on one line: `docs/stats.schema.json`.
    package var json: String {
        var buffer = LineBuffer(capacity: 4096)
        buffer.append("{\"records\":")
        buffer.append(records)
        buffer.append(",\"reports\":")
        buffer.append(reports)
        buffer.append(",\"sightings\":")
        buffer.append(sightings)
        buffer.append(",\"events\":")
        buffer.append(events)
        buffer.append(",\"malformed\":{")
        for (index, entry) in malformations.met.enumerated() {
            buffer.append(index == 0 ? "\"" : ",\"")
            buffer.append(escaped: "\(entry.kind)")
            buffer.append("\":")
            buffer.append(entry.count)
        }
        buffer.append("},\"reordered\":")
        buffer.append(reordered)
        buffer.append(",\"stepsBack\":{\"count\":")
        buffer.append(stepsBackCount)
        buffer.append(",\"first\":[")
        for (index, step) in stepsBack.enumerated() {
            buffer.append(index == 0 ? "{\"file\":\"" : ",{\"file\":\"")
            buffer.append(escaped: step.file)
            buffer.append("\",\"record\":")
            buffer.append(step.record)
            buffer.append(",\"seconds\":")
            buffer.append(seconds: step.nanoseconds / 1000)
            buffer.append("}")
        }
        buffer.append("]},\"beacons\":")
        buffer.append(gaps?.beacons.count ?? 0)
        buffer.append(",\"gaps\":[")
        for (index, entry) in (gaps?.sorted ?? []).enumerated() {
            if index > 0 { buffer.append(",") }
            Self.append(entry.beacon, entry.gaps, to: &buffer)
        }
        buffer.append("]}\n")
        return String(decoding: buffer.bytes, as: UTF8.self)
    }

    private static func append(_ beacon: BeaconIdentity, _ gaps: GapHistogram, to buffer: inout LineBuffer) {
        buffer.append("{\"uuid\":\"")
        buffer.append(beacon.uuid)
        buffer.append("\",\"major\":")
        buffer.append(Int(beacon.major))
        buffer.append(",\"minor\":")
        buffer.append(Int(beacon.minor))
        buffer.append(",\"count\":")
        buffer.append(gaps.count)
        if let median = gaps.quantile(0.5), let p90 = gaps.quantile(0.9), let p99 = gaps.quantile(0.99) {
            buffer.append(",\"median\":")
            buffer.append(seconds: median / 1000)
            buffer.append(",\"p90\":")
            buffer.append(seconds: p90 / 1000)
            buffer.append(",\"p99\":")
            buffer.append(seconds: p99 / 1000)
            buffer.append(",\"maximum\":")
            buffer.append(seconds: gaps.maximum / 1000)
            buffer.append(",\"histogram\":[")
            for (index, bucket) in gaps.filled.enumerated() {
                buffer.append(index == 0 ? "[" : ",[")
                buffer.append(seconds: bucket.upTo / 1000)
                buffer.append(",")
                buffer.append(bucket.count)
                buffer.append("]")
            }
            buffer.append("]")
        }
        buffer.append("}")
    }
}
