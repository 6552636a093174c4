import BluetoothLE
import Captures
import EventLog

/// Captures replayed through the pipeline that live scanning uses: the capture's own time drives it.
public struct Replay {
    /// How a replay ended.
    public struct Outcome: Sendable {
        /// What it counted.
        public var statistics: ReplayStatistics
        /// What was wrong with the captures, each with its file.
        public var damages: [String]
        /// What the operator should know besides.
        public var remarks: [String]
    }

    // Records between two looks at the clock, for progress and pace: some hundred thousandths of a second.
    private static let batch = 4096

    private let options: ReplayOptions

    /// A replay that has not begun.
    public init(_ options: ReplayOptions) { self.options = options }

    /// Replays all there is and writes what follows from it.
    ///
    /// - Throws: ``ExitFailure`` where an input or the output can't be used.
    public func run() throws(ExitFailure) -> Outcome {
        if options.writesSightings {
            var pipeline = SightingPipeline(options)
            let counts = try run(&pipeline)
            return outcome(counts, pipeline.statistics)
        }
        var pipeline = try MonitorPipeline(options)
        let counts = try run(&pipeline)
        return outcome(counts, pipeline.statistics)
    }

    private struct SourceCounts {
        var statistics = ReplayStatistics()
        var damages: [String] = []
    }

    /// A source that can stand in an array beside others.
    private final class Box {
        var source: ReplaySource
        init(_ source: consuming ReplaySource) { self.source = source }
    }

    private func run<Handler: ReplayHandler & ~Copyable>(_ handler: inout Handler) throws(ExitFailure) -> SourceCounts {
        var boxes: [Box] = []
        for (place, input) in options.inputs.enumerated() {
            let box = Box(try ReplaySource(input, place: place, options: options))
            try box.source.begin(options)
            boxes.append(box)
        }
        var progress = Progress(
            size: boxes.reduce(0) { sum, box in sum.flatMap { sum in box.source.size.map { sum + $0 } } })
        var pace = options.speed.map { Pace(speed: $0) }
        var selected = -1
        while let next = earliest(boxes) {
            if next.place != selected {
                handler.select(source: next.place)
                selected = next.place
            }
            if let time = boxes[next.place].source.headTime { try pace?.wait(until: time, &handler) }
            let count = try boxes[next.place].source.drive(
                &handler, until: next.limit, isFirst: next.isFirst, most: pace == nil ? Self.batch : 1)
            if pace != nil { try handler.deliver(isUrgent: true) }
            progress.note(count) { boxes.reduce(0) { $0 + $1.source.position } }
        }
        progress.end()
        try handler.finish(settles: options.settles)
        var counts = SourceCounts()
        for box in boxes {
            counts.statistics.add(box.source.counts)
            counts.damages += Self.describe(box.source.damages, of: box.source.name)
        }
        return counts
    }

    /// The source whose next record is the earliest, and how far it may go: to the next of another source, or beyond it
    /// where it is named before.
    private func earliest(_ boxes: [Box]) -> (place: Int, limit: Instant?, isFirst: Bool)? {
        var best: (place: Int, time: Instant)?
        var second: (place: Int, time: Instant)?
        for (place, box) in boxes.enumerated() where !box.source.hasEnded {
            let time = box.source.headTime ?? .earliest
            if let found = best, found.time <= time {
                if second.map({ time < $0.time }) ?? true { second = (place, time) }
            } else {
                second = best
                best = (place, time)
            }
        }
        guard let best else { return nil }
        return (best.place, second?.time, second.map { best.place < $0.place } ?? true)
    }

    /// What was wrong with a capture, in words.
    static func describe(_ damages: CaptureDamages, of name: String) -> [String] {
        var lines = damages.first.map { "\(name): \($0)" }
        let more = damages.total - damages.first.count
        if more > 0 { lines.append("\(name): and \(more) more") }
        return lines
    }

    private func outcome(_ counts: SourceCounts, _ handled: ReplayStatistics) -> Outcome {
        var statistics = counts.statistics
        statistics.add(handled)
        statistics.gaps = handled.gaps
        var remarks: [String] = []
        if statistics.unmonitored > 0 {
            remarks.append(
                """
                \(statistics.unmonitored) sightings are of UUIDs past the first \(MonitorPipeline.conditionsMadeMax) and \
                make no events; name those that matter in a configuration (--config)
                """)
        }
        if statistics.releasedEarly > 0 {
            remarks.append(
                """
                \(statistics.releasedEarly) records were handed over before --reorder's time, because more than \
                \(ReorderBuffer.recordsMax) were held back; a shorter time holds fewer
                """)
        }
        if statistics.untracked > 0 {
            remarks.append("\(statistics.untracked) times a beacon did not fit; see max_beacons in the configuration")
        }
        return Outcome(statistics: statistics, damages: counts.damages, remarks: remarks)
    }
}
