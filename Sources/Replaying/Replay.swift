import BaseTypes
import BeaconMonitoring
import BluetoothLE
import Captures
package import CommandSupport
import EventLog
import OperatorLogging

/// Replays captures through the same pipeline as live scanning. The times of the captures are its clock.
package struct Replay {
    /// The result of a replay.
    package struct Outcome: Sendable {
        /// The purpose of a replay, which decides its summary.
        enum Purpose: Sendable {
            /// To list each received iBeacon.
            case sightings
            /// To monitor beacons.
            case beacons
            /// To monitor beacons and a track.
            case places
        }

        let purpose: Purpose
        /// Whether records were sorted by their times.
        let isReordered: Bool
        /// Whether a local time went back by about an hour.
        let hasClockChange: Bool
        /// The counters of the replay.
        package var statistics: ReplayStatistics
        /// Warnings about captures without iBeacons that have a known cause.
        let faulty: [String]
        /// Warnings about the other captures without iBeacons.
        let withoutBeacons: [String]
        /// Sentences about the damage in the captures, each with the name of the file.
        package var damages: [String]
        /// Other remarks for the operator.
        package var remarks: [String]
    }

    // The number of records between two checks of the clock for progress. They take less than a millisecond. With a
    // limited speed, the number is 1.
    private static let batch = 4096
    private static let adaptersListed = 8

    private let options: ReplayOptions

    /// Creates a replay without starting it.
    package init(_ options: ReplayOptions) { self.options = options }

    /// Replays all records and writes the results.
    ///
    /// - Throws: ``ExitFailure`` if an input or the output cannot be used.
    package func run() throws(ExitFailure) -> Outcome {
        if options.writesSightings {
            var pipeline = SightingPipeline(options)
            let counts = try run(&pipeline, try openTracks())
            return outcome(counts, pipeline.statistics, purpose: .sightings)
        }
        let tracks = try openTracks()
        let source = tracks.lazy.compactMap { $0?.source }.first
        var pipeline = try MonitorPipeline(options, locationSource: source)
        let counts = try run(&pipeline, tracks)
        return outcome(counts, pipeline.statistics, purpose: source == nil ? .beacons : .places)
    }

    private struct SourceCounts {
        var hasClockChange = false
        var statistics = ReplayStatistics()
        var damages: [String] = []
        var remarks: [String] = []
        var faulty: [String] = []
        var withoutBeacons: [String] = []
        /// Sentences about the captures that do not have the selected adapter, if one is selected.
        var withoutAdapter: [String] = []
    }

    /// A reference to a source, because an array cannot store noncopyable values.
    private final class Box {
        var source: Source
        /// The number of iBeacons in the source so far.
        var sightings = 0
        init(_ source: consuming Source) { self.source = source }
    }

    /// Opens the tracks among the inputs. Each has the index of its input; other inputs are `nil`.
    private func openTracks() throws(ExitFailure) -> [TrackSource.Opened?] {
        var tracks: [TrackSource.Opened?] = []
        for input in options.inputs { tracks.append(try TrackSource.open(input)) }
        return tracks
    }

    private func boxes(_ tracks: [TrackSource.Opened?]) throws(ExitFailure) -> [Box] {
        var captures: [Int: Box] = [:]
        for (index, input) in options.inputs.enumerated() where tracks[index] == nil {
            var source = try ReplaySource(input, options: options)
            try source.begin(options)
            captures[index] = Box(.capture(source))
        }
        // A track without times starts at the time of the first capture.
        let start = captures.values.compactMap { $0.source.headTime }.min() ?? .earliest
        var boxes: [Box] = []
        for (index, track) in tracks.enumerated() {
            if let track {
                boxes.append(Box(.track(try TrackSource(track, pace: options.pace, start: start))))
            } else if let capture = captures[index] {
                boxes.append(capture)
            }
        }
        return boxes
    }

    private func run<Handler: ReplayHandler & ~Copyable>(
        _ handler: inout Handler, _ tracks: [TrackSource.Opened?]
    ) throws(ExitFailure) -> SourceCounts {
        let boxes = try boxes(tracks)
        var progress = Progress(
            size: boxes.reduce(0) { sum, box in sum.flatMap { sum in box.source.size.map { sum + $0 } } })
        var pace = options.speed.map { Pace(speed: $0) }
        var selected = -1
        while let next = earliest(boxes) {
            if next.index != selected {
                handler.select(source: next.index)
                selected = next.index
            }
            if let time = boxes[next.index].source.headTime { try pace?.wait(until: time, &handler) }
            let sightings = handler.sightings
            let count = try boxes[next.index].source.drive(
                &handler, until: next.limit, isFirst: next.isFirst, most: pace == nil ? Self.batch : 1)
            boxes[next.index].sightings += handler.sightings - sightings
            if pace != nil { try handler.deliver(isUrgent: true) }
            progress.note(count) { boxes.reduce(0) { $0 + $1.source.position } }
        }
        progress.end()
        try handler.finish(settles: options.settles)
        var counts = SourceCounts()
        for box in boxes {
            counts.statistics.add(box.source.counts)
            counts.damages += box.source.damages
            counts.remarks += box.source.remarks
            counts.hasClockChange = counts.hasClockChange || box.source.hasClockChange
            guard box.sightings == 0 else { continue }
            let withoutAdapter = box.source.withoutAdapter(options.adapter)
            counts.withoutAdapter += withoutAdapter
            guard withoutAdapter.isEmpty else { continue }
            let malformed = box.source.malformed(of: options.adapter)
            counts.faulty += malformed
            if malformed.isEmpty { counts.withoutBeacons += box.source.withoutBeacons(of: options.adapter) }
            counts.damages += box.source.misplacedAdvertisement
        }
        if counts.withoutAdapter.count == tracks.count(where: { $0 == nil }) {
            // No capture has records of the adapter that the option names.
            counts.damages += counts.withoutAdapter
        } else {
            counts.faulty += counts.withoutAdapter.map { "warning: \($0)" }
        }
        return counts
    }

    /// Returns the source with the earliest next record, and the limit of the records that it may hand over: the time
    /// of the next record of another source.
    ///
    /// `isFirst` is whether records at exactly this time are included, because the source precedes the other one in the
    /// inputs.
    private func earliest(_ boxes: [Box]) -> (index: Int, limit: Instant?, isFirst: Bool)? {
        var best: (index: Int, time: Instant)?
        var second: (index: Int, time: Instant)?
        for (index, box) in boxes.enumerated() where !box.source.hasEnded {
            let time = box.source.headTime ?? .earliest
            if let found = best, found.time <= time {
                if second.map({ time < $0.time }) ?? true { second = (index, time) }
            } else {
                second = best
                best = (index, time)
            }
        }
        guard let best else { return nil }
        return (best.index, second?.time, second.map { best.index < $0.index } ?? true)
    }

    /// A capture, or a track that is replayed together with captures.
    private enum Source: ~Copyable {
        case capture(ReplaySource)
        case track(TrackSource)

        var headTime: Instant? {
            switch self {
            case .capture(let capture): capture.headTime
            case .track(let track): track.headTime
            }
        }

        var hasEnded: Bool {
            switch self {
            case .capture(let capture): capture.hasEnded
            case .track(let track): track.hasEnded
            }
        }

        var size: Int? {
            switch self {
            case .capture(let capture): capture.size
            case .track(let track): track.size
            }
        }

        var position: Int {
            switch self {
            case .capture(let capture): capture.position
            case .track(let track): track.hasEnded ? track.size : 0
            }
        }

        var counts: ReplayStatistics {
            switch self {
            case .capture(let capture): return capture.counts
            case .track(let track):
                var counts = ReplayStatistics()
                counts.records = track.records
                return counts
            }
        }

        var damages: [String] {
            switch self {
            case .capture(let capture): capture.damages.lines(of: capture.name)
            case .track(let track): track.damages
            }
        }

        var hasClockChange: Bool {
            switch self {
            case .capture(let capture): capture.localTimes.clockChange != nil
            case .track: false
            }
        }

        /// Sentences about how it was interpreted.
        var remarks: [String] {
            switch self {
            case .capture(let capture): capture.remarks
            case .track: []
            }
        }

        /// Returns a sentence that a capture does not have the selected adapter, with the adapters that it has.
        func withoutAdapter(_ adapter: String?) -> [String] {
            switch self {
            case .capture(let capture):
                guard let adapter, let others = capture.otherAdapters else { return [] }
                let listed = others.prefix(Replay.adaptersListed).joined(separator: ", ")
                let more = others.count > Replay.adaptersListed ? ", …" : ""
                return [
                    "\(capture.name) has no \(capture.damages.total > 0 ? "valid " : "")records of the adapter \(adapter)"
                        + (others.isEmpty ? "" : "; its adapters are \(listed)\(more)")
                ]
            case .track: return []
            }
        }

        /// Returns a warning with the malformed reports of a capture without iBeacons, if it has some.
        func malformed(of adapter: String?) -> [String] {
            switch self {
            case .capture(let capture):
                let occurred = capture.counts.malformations.occurred.filter { $0.kind != .adaptersTooMany }
                guard !occurred.isEmpty else { return [] }
                let kinds = occurred.map { "\($0.kind): \($0.count)" }.joined(separator: ", ")
                let of = adapter.map { " of \($0)" } ?? ""
                return ["warning: \(capture.name) has no iBeacons\(of), but malformed reports (\(kinds))"]
            case .track: return []
            }
        }

        /// Returns a warning that a capture has no iBeacons. The result is empty if damage, or an advertisement under
        /// the wrong key, explains it.
        func withoutBeacons(of adapter: String?) -> [String] {
            switch self {
            case .capture(let capture):
                guard capture.damages.total == 0, capture.misplacedAdvertisement == nil else { return [] }
                let records = capture.counts.records
                guard records > 0 else { return ["warning: \(capture.name) has no records"] }
                let of = adapter.map { " of \($0)" } ?? ""
                return ["warning: \(capture.name) has no iBeacons\(of) in \(PlainText.count(records, "record"))"]
            case .track: return []
            }
        }

        /// A sentence about the first advertisement under the wrong key of a log.
        var misplacedAdvertisement: [String] {
            switch self {
            case .capture(let capture): capture.misplacedAdvertisement.map { ["\(capture.name): \($0)"] } ?? []
            case .track: []
            }
        }

        mutating func drive<Handler: ReplayHandler & ~Copyable>(
            _ handler: inout Handler, until limit: Instant?, isFirst: Bool, most: Int
        ) throws(ExitFailure) -> Int {
            switch consume self {
            case .capture(var capture):
                do throws(ExitFailure) {
                    let count = try capture.drive(&handler, until: limit, isFirst: isFirst, most: most)
                    self = .capture(capture)
                    return count
                } catch {
                    self = .capture(capture)
                    throw error
                }
            case .track(var track):
                do throws(ExitFailure) {
                    let count = try track.drive(&handler, until: limit, isFirst: isFirst, most: most)
                    self = .track(track)
                    return count
                } catch {
                    self = .track(track)
                    throw error
                }
            }
        }
    }

    private func outcome(_ counts: SourceCounts, _ handled: ReplayStatistics, purpose: Outcome.Purpose) -> Outcome {
        var statistics = counts.statistics
        statistics.add(handled)
        statistics.gaps = handled.gaps
        var remarks = counts.remarks + handled.reversedUUIDs.map { "warning: \($0.summary); \($0.remedy)" }
        if statistics.unmonitored > 0 {
            remarks.append(
                """
                \(PlainText.count(statistics.unmonitored, "sighting is", "sightings are")) of UUIDs after the first \
                \(MonitorPipeline.conditionsMadeMax), which have no events; list the important ones in a configuration (--config)
                """)
        }
        if statistics.releasedEarly > 0 {
            remarks.append(
                """
                \(PlainText.count(statistics.releasedEarly, "record was", "records were")) used before the time of --reorder had passed, because more than \
                \(ReorderBuffer.recordsMax) were delayed; use a shorter time
                """)
        }
        if statistics.untracked > 0 {
            let times = PlainText.count(statistics.untracked, "time")
            remarks.append("\(times) a beacon was not monitored; see max_beacons in the configuration")
        }
        if statistics.displaced > 0 {
            let times = PlainText.count(statistics.displaced, "time")
            remarks.append("\(times) a beacon lost its place to a named one; see max_beacons")
        }
        if statistics.refused > 0 {
            remarks.append(
                PlainText.count(statistics.refused, "time")
                    + " the entry of an unnamed beacon was refused; see max_new_beacons")
        }
        return Outcome(
            purpose: purpose, isReordered: options.reorder != nil, hasClockChange: counts.hasClockChange,
            statistics: statistics, faulty: counts.faulty,
            withoutBeacons: counts.withoutBeacons,
            damages: counts.damages, remarks: remarks)
    }
}

extension Replay.Outcome {
    /// One line for people with the numbers of records and results: `412 records, 412 reports, 11 iBeacons: 3 events`.
    package var summary: String {
        var text =
            "\(PlainText.count(statistics.records, "record")), \(PlainText.count(statistics.reports, "report")), "
            + PlainText.count(statistics.sightings, "iBeacon")
        let malformed = statistics.malformations.occurred.reduce(0) { $0 + $1.count }
        if malformed > 0 { text += ", \(malformed) malformed" }
        if statistics.late > 0 { text += ", \(statistics.late) out of order by up to \(latestBy)" }
        if let result { text += ": \(result)" }
        return text
    }

    /// Returns the warnings that `--stats` has as numbers: times that go back, and captures without iBeacons. If
    /// ``summary`` is written, the warnings that it includes are left out.
    package func warnings(withSummary: Bool) -> [String] {
        (withSummary ? [] : [clockWarning].compactMap { $0 }) + faulty
            + (withSummary && statistics.sightings == 0 ? [] : withoutBeacons)
    }

    private var clockWarning: String? {
        guard statistics.late > 0 else { return nil }
        let subject = PlainText.count(statistics.late, "record is", "records are")
        let effect = purpose == .sightings ? "" : ", and handled at the time of that record (rule T2)"
        // If the clocks changed, this advice would be wrong: it would mix two hours of local time.
        let advice =
            hasClockChange
            ? "" : "; if a file was merged out of order, use \(isReordered ? "a longer --reorder" : "--reorder")"
        return "warning: \(subject) earlier than a record before, by up to \(latestBy)\(effect)\(advice)"
    }

    /// The largest difference, rounded up, so that a `--reorder` of this length is sufficient.
    private var latestBy: String { Duration.nanoseconds(statistics.latestBy).inExactWordsRoundedUp }

    private var result: String? {
        if statistics.events > 0 { return PlainText.count(statistics.events, "event") }
        switch purpose {
        // The user requested sightings, not events. There is one line for each iBeacon.
        case .sightings: return nil
        // A circle does not need a beacon.
        case .places: return "no events"
        case .beacons: return statistics.sightings == 0 ? "nothing to monitor" : "no events"
        }
    }
}
