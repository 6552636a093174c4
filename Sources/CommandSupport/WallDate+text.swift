package import BeaconMonitoring
import EventLog
import JSON

extension WallDate {
    /// The date as lines have it.
    package var lineText: String {
        var buffer = LineBuffer(capacity: 1024)
        buffer.append(self)
        return buffer.text
    }
}
