/// What became of batches and of what stands in them, from the first on.
package struct OrderCounters: Sendable, Hashable {
    /// Batches that were taken in, in their order.
    package var batches: UInt64 = 0
    /// Batches that were there before: a gateway had no answer, and sent them again.
    package var repeatedBatches: UInt64 = 0
    /// Batches that stood behind one that was sent after them, and were put in their place.
    package var invertedBatches: UInt64 = 0
    /// Batches that nobody waited for any more; taken for not listened to.
    package var missingBatches: UInt64 = 0
    /// Of these, those that came in the end, and were not taken in.
    package var lateBatches: UInt64 = 0
    /// Batches that can't be: their clocks show times after the year 2096, or there is no place for their gateway.
    package var refusedBatches: UInt64 = 0
    /// Sightings that were handed on.
    package var sightings: UInt64 = 0
    /// Sightings that came later than the watermark (rule M4).
    package var lateSightings: UInt64 = 0
    /// Sightings by adapters past the most that are known.
    package var unplacedSightings: UInt64 = 0
    /// Gateways that nobody waited for any more, since nothing of them was stored (rule M3).
    package var silences: UInt64 = 0
    /// Those that were too far behind for too long.
    package var laggards: UInt64 = 0
    /// Those, and missing batches, that were given up because too much waited for them.
    package var pressed: UInt64 = 0
    /// Gateways' starts that were forgotten for others.
    package var forgottenStreams: UInt64 = 0
    /// How often a gateway's clock began to be corrected, or was corrected otherwise (rule S3).
    package var corrections: UInt64 = 0
}
