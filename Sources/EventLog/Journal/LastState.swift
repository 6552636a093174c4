package import BeaconMonitoring
import JSON
package import SystemPackage

/// What a gateway that is not running left in its state directory: read, and not touched.
///
/// It stands at the gateway's last snapshot, which an orderly end keeps. After a crash the event lines that follow
/// ``sequence`` say more.
package struct LastState: Sendable {
    /// The number of the line that it stands at.
    package let sequence: Int
    /// The start that wrote it, as lines have it.
    package let boot: String
    /// The last event of each condition that has had one, by identifier.
    package let events: [BeaconMonitor.Event]

    /// Reads `state.json`.
    ///
    /// - Returns: nothing where there is none.
    /// - Throws: ``EventLogError`` where it can't be read, is damaged, or was written by a newer version.
    package static func read(from directory: FilePath) throws(EventLogError) -> LastState? {
        guard let state = try StateFile.whole(in: directory) else { return nil }
        let events = state.records.sorted { $0.key < $1.key }.filter { !$0.value.isPlaceholder }
        return LastState(sequence: state.sequence, boot: state.boot, events: events.map(\.value.event))
    }
}
