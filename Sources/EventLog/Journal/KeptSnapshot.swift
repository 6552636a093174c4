package import BeaconMonitoring
import JSON
package import SystemPackage

/// The engine's state as a journal kept it last, and at which line that was; lines behind it say more.
package struct KeptSnapshot: Sendable {
    /// The state that the engine begins from.
    package let snapshot: MonitorSnapshot
    /// The number of the last line that led to it.
    package let sequence: Int
    /// How far the wall clock was ahead of the timeline of its moments.
    package let offset: ClockOffset

    /// Reads `state.json`, and touches nothing.
    ///
    /// - Returns: nothing where there is none.
    /// - Throws: ``EventLogError`` where it can't be read, is damaged, or was written by a newer version.
    package static func read(from directory: FilePath) throws(EventLogError) -> KeptSnapshot? {
        guard let state = try StateFile.whole(in: directory) else { return nil }
        return KeptSnapshot(snapshot: state.snapshot, sequence: state.sequence, offset: state.offset)
    }
}
