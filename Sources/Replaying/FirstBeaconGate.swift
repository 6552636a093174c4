import EventLog
import JSON

/// Keeps lines back for as long as they say of no beacon, where somebody looks on: who is shown none where there is none.
struct FirstBeaconGate {
    // More than any capture says of its adapters before the first beacon.
    private static let keptBackMax = 64 << 10

    private var isClosed: Bool

    /// A gate for what a replay is asked for: open from the beginning where its lines go to a program or a file.
    init(_ options: ReplayOptions) { isClosed = options.waitsForBeacons && options.outputDirectory == nil }

    /// Whether what waits may be written: from the first beacon or event on, and where much waits.
    ///
    /// Sightings are counted before what follows from them is written.
    mutating func isOpen(_ statistics: ReplayStatistics, _ output: borrowing LineOutput) -> Bool {
        guard isClosed else { return true }
        isClosed = statistics.sightings == 0 && statistics.events == 0 && output.buffer.count < Self.keptBackMax
        return !isClosed
    }
}
