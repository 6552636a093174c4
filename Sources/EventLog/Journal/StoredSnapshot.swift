package import BeaconMonitoring
import JSON
package import SystemPackage

/// The last stored state of the engine, and the line to which it belongs. Later lines contain later changes.
package struct StoredSnapshot: Sendable {
    /// The state with which the engine starts.
    package let snapshot: MonitorSnapshot
    /// The number of the last line before it.
    package let sequence: Int
    /// How far the wall clock is ahead of the timeline of its times.
    package let offset: ClockOffset

    /// Reads `state.json` without changing it.
    ///
    /// - Returns: `nil` if there is none.
    /// - Throws: ``EventLogError`` if it cannot be read, is damaged, or was written by a later version.
    package static func read(from directory: FilePath) throws(EventLogError) -> StoredSnapshot? {
        guard let state = try StateFile.whole(in: directory) else { return nil }
        return StoredSnapshot(snapshot: state.snapshot, sequence: state.sequence, offset: state.offset)
    }
}
