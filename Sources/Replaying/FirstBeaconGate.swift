import EventLog
import JSON

/// Holds back the lines of a replay on a terminal until there is a beacon or an event. A capture without them shows no
/// lines.
struct FirstBeaconGate {
    // The maximum number of bytes held back: more than any capture's lines about adapters before the first beacon.
    private static let keptBackMax = 64 << 10

    private var isClosed: Bool

    /// Creates a gate for a replay. If the lines go to a program or a file, it is open from the start.
    init(_ options: ReplayOptions) { isClosed = options.waitsForBeacons && options.outputDirectory == nil }

    /// Returns whether the lines may be written. This is so from the first beacon or event on, or if too many bytes
    /// wait.
    ///
    /// A sighting is counted before its lines are written, so `statistics` already includes it.
    mutating func isOpen(_ statistics: ReplayStatistics, _ output: borrowing LineOutput) -> Bool {
        guard isClosed else { return true }
        isClosed = statistics.sightings == 0 && statistics.events == 0 && output.buffer.count < Self.keptBackMax
        return !isClosed
    }
}
