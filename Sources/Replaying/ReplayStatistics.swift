import BeaconMonitoring
package import BluetoothLE
import CommandSupport
import EventLog
import JSON

/// The counters of a replay.
package struct ReplayStatistics: Sendable {
    /// A record whose time is more than a second earlier than that of a preceding one in its capture.
    package struct StepBack: Sendable, Hashable {
        /// The name of the capture, as it was given.
        package var file: String
        /// The number of the record in the capture, from 1.
        package var record: Int
        /// The difference in nanoseconds.
        package var nanoseconds: Int64
    }

    /// The maximum number of steps that are stored. Further steps are only counted.
    package static let stepsKeptMax = 100
    /// Only a difference greater than this counts as a step, in nanoseconds.
    private static let stepBackMin: Int64 = 1_000_000_000

    /// The number of records of any kind that were read.
    package var records = 0
    /// The number of advertising reports in the records.
    package var reports = 0
    /// The number of iBeacons in the reports.
    package var sightings = 0
    /// The number of resulting events.
    package var events = 0
    /// The numbers of malformed data by kind.
    package var malformations = MalformationCounts()
    /// The number of records with a time earlier than that of a preceding one in their capture.
    package var reordered = 0
    /// The first records that were earlier by more than a second.
    package private(set) var stepsBack: [StepBack] = []
    /// The number of records that were earlier by more than a second.
    package private(set) var stepsBackCount = 0
    /// The number of records that are handled at a later time than their own (rule T2), after reordering.
    package private(set) var late = 0
    /// The largest difference between the two times, in nanoseconds.
    package private(set) var latestBy: Int64 = 0
    /// The number of records that `--reorder` returned too early because it had too many.
    package var releasedEarly = 0
    /// The number of sightings whose UUID got no condition, because there were already 1,000.
    package var unmonitored = 0
    /// The number of times that a beacon under a condition did not fit (rule P2).
    package var untracked = 0
    /// The number of beacons that lost their place to a named one (rule P4).
    package var displaced = 0
    /// The number of times that a beacon without a name was not allowed to enter (rule P5).
    package var refused = 0
    /// The conditions whose UUID has its bytes in reverse order.
    var reversedUUIDs: [ReversedUUID] = []
    /// The gaps between the sightings of each beacon; `nil` if they are not counted.
    var gaps: GapTable?

    /// Counts a record that is `nanoseconds` earlier than a preceding one.
    mutating func noteStep(back nanoseconds: Int64, file: String, record: Int) {
        reordered += 1
        guard nanoseconds > Self.stepBackMin else { return }
        stepsBackCount += 1
        guard stepsBack.count < Self.stepsKeptMax else { return }
        stepsBack.append(StepBack(file: file, record: record, nanoseconds: nanoseconds))
    }

    /// Counts a record that is handled `nanoseconds` after its own time.
    mutating func noteLate(by nanoseconds: Int64) {
        late += 1
        latestBy = max(latestBy, nanoseconds)
    }

    /// Adds the counters of another part of the replay, except the gaps.
    mutating func add(_ other: ReplayStatistics) {
        records += other.records
        reports += other.reports
        sightings += other.sightings
        events += other.events
        malformations.add(other.malformations)
        reordered += other.reordered
        stepsBack += other.stepsBack.prefix(max(0, Self.stepsKeptMax - stepsBack.count))
        stepsBackCount += other.stepsBackCount
        late += other.late
        latestBy = max(latestBy, other.latestBy)
        releasedEarly += other.releasedEarly
        unmonitored += other.unmonitored
        untracked += other.untracked
        displaced += other.displaced
        refused += other.refused
    }

    // MARK: JSON

    /// The statistics as one JSON object on one line: `docs/stats.schema.json`.
    package var json: String {
        var buffer = LineBuffer(forTerminals: 4096)
        buffer.object { buffer in
            buffer.write("records", records)
            buffer.write("reports", reports)
            buffer.write("sightings", sightings)
            buffer.write("events", events)
            buffer.object("malformed") { buffer in
                for (kind, count) in malformations.occurred { buffer.write(named: "\(kind)", count) }
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
        buffer.append(byte: 0x0A)
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
