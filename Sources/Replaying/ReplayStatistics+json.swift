import BluetoothLE
import CommandSupport
import EventLog
import JSON

extension ReplayStatistics {
    /// The statistics as one JSON object on one line: `docs/stats.schema.json`.
    package var json: String {
        var buffer = LineBuffer(forTerminals: 4096)
        buffer.object { buffer in
            buffer.write("records", records)
            buffer.write("reports", reports)
            buffer.write("sightings", sightings)
            buffer.write("events", events)
            buffer.object("malformed") { buffer in
                for (kind, count) in malformations.met { buffer.write(named: "\(kind)", count) }
            }
            buffer.write("reordered", reordered)
            buffer.object("stepsBack") { buffer in
                buffer.write("count", stepsBackCount)
                buffer.objects("first", stepsBack) { buffer, step in
                    buffer.write("file", step.file)
                    buffer.write("record", step.record)
                    buffer.write("seconds", millionths: step.nanoseconds / 1000)
                }
            }
            buffer.write("beacons", gaps?.beacons.count ?? 0)
            buffer.objects("gaps", gaps?.sorted ?? []) { buffer, entry in
                buffer.write(entry.beacon)
                buffer.write(entry.gaps)
            }
        }
        buffer.append(octet: 0x0A)
        return buffer.text
    }
}

extension LineBuffer {
    fileprivate mutating func write(_ gaps: GapHistogram) {
        write("count", gaps.count)
        guard let median = gaps.quantile(0.5), let p90 = gaps.quantile(0.9), let p99 = gaps.quantile(0.99) else {
            return
        }
        write("median", millionths: median / 1000)
        write("p90", millionths: p90 / 1000)
        write("p99", millionths: p99 / 1000)
        write("maximum", millionths: gaps.maximum / 1000)
        array("histogram", gaps.filled) { buffer, bucket in
            buffer.array([0, 1]) { buffer, column in
                if column == 0 { buffer.append(millionths: bucket.upTo / 1000) } else { buffer.append(bucket.count) }
            }
        }
    }
}
