/// Counts of batches and their inputs, since the first batch.
package struct OrderCounters: Sendable, Hashable {
    /// Batches that were accepted in their order.
    package var batches: UInt64 = 0
    /// Repeated batches, which gateways sent again because they received no answer (rule R1).
    package var repeatedBatches: UInt64 = 0
    /// Batches that arrived after one with a greater number, and were accepted in their order.
    package var invertedBatches: UInt64 = 0
    /// Batches that were given up after the first accepted batch of their stream; numbers that a new process skipped
    /// are not included. Their time counts as not scanned (rule R3).
    package var missingBatches: UInt64 = 0
    /// Batches that arrived after they were given up, and were not accepted (rule R3).
    package var lateBatches: UInt64 = 0
    /// Invalid batches, with clocks after 2 October 2096, and batches of gateways for which there is no room (rule R5).
    package var refusedBatches: UInt64 = 0
    /// Sightings that were accepted for the engine.
    package var sightings: UInt64 = 0
    /// Sightings that were left out because they are before the watermark (rule M4), or because their batch arrived
    /// after it was given up (rule R3).
    package var lateSightings: UInt64 = 0
    /// Sightings by adapters above the maximum number.
    package var unplacedSightings: UInt64 = 0
    /// How often a gateway was not waited for any more because nothing of it was stored (rule M3).
    package var silences: UInt64 = 0
    /// How often a gateway was not waited for any more because it was too far behind for too long (rule M3).
    package var laggards: UInt64 = 0
    /// How often missing batches or a gateway were given up because too many batches of a stream waited (rule R2) or
    /// too much data was held (rule R4).
    package var pressed: UInt64 = 0
    /// Boots of gateways that were forgotten to make room for others.
    package var forgottenStreams: UInt64 = 0
    /// How often the correction of a gateway's clock started or changed (rule S3).
    package var corrections: UInt64 = 0
}
