package import BeaconMonitoring
import JSON
package import SystemPackage

/// The state directory of a gateway that is not running, which is read without changing it.
///
/// It is the state of the last snapshot; an orderly end stores one. After a crash, event lines after ``sequence`` have
/// later changes.
package struct LastState: Sendable {
    /// The number of the line to which it belongs.
    package let sequence: Int
    /// The ID of the start that wrote it, as in lines.
    package let boot: String
    /// The last event of each condition that has had one, in the order of identifiers.
    package let events: [BeaconMonitor.Event]

    /// Reads `state.json`.
    ///
    /// - Returns: `nil` if there is none.
    /// - Throws: ``EventLogError`` if it cannot be read, is damaged, or was written by a later version.
    package static func read(from directory: FilePath) throws(EventLogError) -> LastState? {
        guard let state = try StateFile.whole(in: directory) else { return nil }
        let events = state.records.sorted { $0.key < $1.key }.filter { !$0.value.isPlaceholder }
        return LastState(sequence: state.sequence, boot: state.boot, events: events.map(\.value.event))
    }
}
