import CLinux
import Glibc
package import SystemPackage

/// Wakes a loop of another thread (eventfd(2)).
///
/// The loop must watch ``descriptor`` for reading and call ``clear()``. Any thread can call ``signal()``. Several
/// signals before a clear count as one.
package final class WakeUp: Sendable {
    /// The descriptor for the loop to watch.
    package let descriptor: FileDescriptor

    /// Creates a wake-up without a signal.
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
        // It fails only if 2⁶⁴−2 signals are waiting, and then the loop wakes anyway.
        _ = unsafe withUnsafeBytes(of: &one) { unsafe write(descriptor.rawValue, $0.baseAddress, $0.count) }
    }

    /// Clears the signals.
    package func clear() {
        var count: UInt64 = 0
        _ = unsafe withUnsafeMutableBytes(of: &count) { unsafe read(descriptor.rawValue, $0.baseAddress, $0.count) }
    }
}
