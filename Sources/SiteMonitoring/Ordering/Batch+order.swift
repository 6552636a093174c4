internal import BaseTypes

extension Batch {
    /// The latest moment that a clock may show: sums and differences of a few of them stay within what 64 bits hold.
    static let latest = Instant(nanoseconds: 4_000_000_000_000_000_000)

    /// Whether its clocks are such as there are: those of machines before the year 2096.
    var isPossible: Bool { span.wall <= Self.latest && span.cut <= Self.latest }

    /// How much room it takes while it waits: as many inputs as it has at most.
    package var room: Int { sightings.count + changes.count + 2 * adapters.count }
}
