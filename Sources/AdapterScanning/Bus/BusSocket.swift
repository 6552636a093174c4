import CLinux
import Glibc

/// Queries of the socket of a connection.
enum BusSocket {
    /// Returns how many bytes wait to be read (FIONREAD, tcp(7), the same for unix(7)); 0 if the kernel does not report
    /// it.
    static func unreadBytes(_ descriptor: Int32) -> Int32 {
        var count: Int32 = 0
        return unsafe ioctl(descriptor, UInt(FIONREAD), &count) == 0 ? count : 0
    }
}
