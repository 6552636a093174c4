import CLinux
import Glibc
package import SystemPackage

/// Wakes a loop that belongs to another thread (eventfd(2)).
///
/// The loop watches ``descriptor`` for reading and calls ``clear()``; anybody may call ``signal()``. Signals that come
/// before it is cleared are one.
package final class WakeUp: Sendable {
    /// What the loop watches.
    package let descriptor: FileDescriptor

    /// Makes one that nobody has signalled.
    ///
    /// - Throws: `Errno` of eventfd(2): too many descriptors are open.
    package init() throws(Errno) {
        let made = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
        guard made >= 0 else { throw Errno(rawValue: errno) }
        descriptor = FileDescriptor(rawValue: made)
    }

    deinit { _ = try? descriptor.close() }

    /// Wakes the loop.
    package func signal() {
        var one: UInt64 = 1
        // It fails only where 2⁶⁴−2 signals wait, and then the loop wakes all the same.
        _ = unsafe withUnsafeBytes(of: &one) { unsafe write(descriptor.rawValue, $0.baseAddress, $0.count) }
    }

    /// Takes the signals that came.
    package func clear() {
        var count: UInt64 = 0
        _ = unsafe withUnsafeMutableBytes(of: &count) { unsafe read(descriptor.rawValue, $0.baseAddress, $0.count) }
    }
}
