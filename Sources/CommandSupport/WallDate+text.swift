package import BeaconMonitoring
import EventLog

extension WallDate {
    /// The date as lines have it.
    package var lineText: String {
        var buffer = LineBuffer(capacity: 1024)
        buffer.append(self)
        return String(decoding: buffer.bytes, as: UTF8.self)
    }
}
