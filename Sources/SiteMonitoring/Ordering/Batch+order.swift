internal import BaseTypes

extension Batch {
    /// The latest time of a valid clock. Sums and differences of several such times fit into 64 bits.
    static let latest = Instant(nanoseconds: 4_000_000_000_000_000_000)

    /// Whether the clocks of the batch are valid: at most ``latest`` (2 October 2096).
    var isPossible: Bool { span.wall <= Self.latest && span.cut <= Self.latest }

    /// The room that the batch needs while it waits: the maximum number of its inputs.
    package var room: Int { sightings.count + changes.count + 2 * adapters.count }
}
