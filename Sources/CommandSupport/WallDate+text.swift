package import BeaconMonitoring
import EventLog
import Glibc
import JSON

extension WallDate {
    /// The present time of this machine's wall clock (CLOCK_REALTIME, clock_gettime(2)).
    package static var machine: WallDate {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return WallDate(microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)
    }

    /// The date in the format of lines.
    package var lineText: String {
        var buffer = LineBuffer(capacity: 1024)
        buffer.append(self)
        return buffer.text
    }
}
