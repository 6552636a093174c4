/// Counts of a log's messages in a ``SiteEngine``, in addition to the counts of its order.
package struct SiteEngineCounters: Sendable, Hashable {
    /// Messages that could not be parsed.
    package var unreadable: UInt64 = 0
    /// Batches of another site.
    package var foreign: UInt64 = 0
    /// Invalid configurations. The previous configuration remains active.
    package var refusedConfigurations: UInt64 = 0
    /// Sightings that arrived before there was a configuration.
    package var unmonitored: UInt64 = 0
    /// Sightings by adapters above the number that an engine can distinguish.
    package var unplaced: UInt64 = 0
}
