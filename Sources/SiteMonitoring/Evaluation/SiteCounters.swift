/// What became of a log's messages in a ``SiteEngine``, beside what its order counts.
package struct SiteEngineCounters: Sendable, Hashable {
    /// Messages that nobody can read.
    package var unreadable: UInt64 = 0
    /// Batches that were sent to another site.
    package var foreign: UInt64 = 0
    /// Configurations that can't be; what was monitored stays.
    package var refusedConfigurations: UInt64 = 0
    /// Sightings that came before there was anything to monitor.
    package var unmonitored: UInt64 = 0
    /// Sightings by more adapters than an engine tells apart.
    package var unplaced: UInt64 = 0
}
