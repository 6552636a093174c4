public import BeaconMonitoring
import BluetoothLE
public import SystemPackage

/// The engine's state as a journal kept it last, and at which line that was; lines behind it say more.
public struct KeptSnapshot: Sendable {
    /// The state.
    public let snapshot: MonitorSnapshot
    /// The number of the last line that led to it.
    public let sequence: Int
    /// How far the wall clock was ahead of the timeline of its moments.
    public let offset: ClockOffset

    /// Reads `state.json`, and touches nothing.
    ///
    /// - Returns: nothing where there is none.
    /// - Throws: ``EventLogError`` where it can't be read, is damaged, or was written by a newer version.
    public static func read(from directory: FilePath) throws(EventLogError) -> KeptSnapshot? {
        let path = directory.appending(Journal.stateName)
        let bytes: [UInt8]?
        do throws(Errno) {
            bytes = try WholeFile.read(path, octetsMax: JSONText.sizeMax)
        } catch {
            throw .readFailed(path.string, error)
        }
        guard let bytes else { return nil }
        do throws(StateFile.Problem) {
            let state = try StateFile(parsing: bytes)
            return KeptSnapshot(snapshot: state.snapshot, sequence: state.sequence, offset: state.offset)
        } catch .newer(let version) {
            throw .newerVersion(path.string, version)
        } catch {
            throw .readFailed(path.string, .ioError)
        }
    }
}
