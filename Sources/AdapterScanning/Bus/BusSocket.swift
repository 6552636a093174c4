import CLinux
import Glibc

/// What the kernel tells of a connection's socket.
enum BusSocket {
    /// How many octets wait to be read (FIONREAD, tcp(7), the same for unix(7)); 0 where it does not tell.
    static func unreadBytes(_ descriptor: Int32) -> Int32 {
        var count: Int32 = 0
        return unsafe ioctl(descriptor, UInt(FIONREAD), &count) == 0 ? count : 0
    }
}
