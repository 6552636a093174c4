import CLinux
import EventLoops
import Glibc
import SystemPackage

/// A thread that copies a pipe to a terminal.
///
/// A write to a terminal can wait for its reader even if poll(2) reports that the terminal is ready, because there may
/// be room for a part of the bytes only. So only this thread writes to it. If writing fails, later bytes are discarded.
final class TerminalRelay {
    /// The end of the pipe that accepts bytes.
    let input: FileDescriptor
    // It has no writer any more when the thread has ended.
    private let end: FileDescriptor
    private let thread: OwnThread

    /// Starts a relay to a terminal, which stays open.
    ///
    /// - Throws: `Errno` of pipe(2) or pthread_create(3).
    init(to terminal: FileDescriptor) throws(Errno) {
        let bytes = try Self.pipe()
        let end: (reading: FileDescriptor, writing: FileDescriptor)
        do throws(Errno) { end = try Self.pipe() } catch {
            Self.close(bytes.reading, bytes.writing)
            throw error
        }
        do throws(Errno) {
            thread = try OwnThread(named: "terminal") {
                // A thread has its own capabilities, and this one needs none.
                _ = clinux_give_up_privileges()
                Self.copy(bytes.reading, to: terminal)
                Self.close(bytes.reading, end.writing)
            }
        } catch {
            Self.close(bytes.reading, bytes.writing, end.reading, end.writing)
            throw error
        }
        (input, self.end) = (bytes.writing, end.reading)
    }

    /// Ends the relay. If the terminal does not accept the last bytes within this number of milliseconds, the thread
    /// stays until the process ends.
    func close(within milliseconds: Int32) {
        Self.close(input)
        var entry = pollfd(fd: end.rawValue, events: Int16(POLLIN), revents: 0)
        if unsafe poll(&entry, 1, milliseconds) > 0 { thread.join() }
        Self.close(end)
    }

    private static func copy(_ bytes: FileDescriptor, to terminal: FileDescriptor) {
        var buffer = [UInt8](repeating: 0, count: 4096)
        var isUsable = true
        while true {
            let count = unsafe Glibc.read(bytes.rawValue, &buffer, buffer.count)
            guard count > 0 else { return }
            isUsable = isUsable && write(buffer[..<count], to: terminal)
        }
    }

    /// Returns whether all bytes were written.
    private static func write(_ bytes: ArraySlice<UInt8>, to terminal: FileDescriptor) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(terminal.rawValue, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                // Another process that shares this file description has made it non-blocking.
                var entry = pollfd(fd: terminal.rawValue, events: Int16(POLLOUT), revents: 0)
                _ = unsafe poll(&entry, 1, -1)
            } else {
                return false
            }
        }
        return true
    }

    private static func pipe() throws(Errno) -> (reading: FileDescriptor, writing: FileDescriptor) {
        var ends: [Int32] = [-1, -1]
        guard unsafe Glibc.pipe(&ends) == 0 else { throw Errno(rawValue: errno) }
        // No other program inherits it.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (FileDescriptor(rawValue: ends[0]), FileDescriptor(rawValue: ends[1]))
    }

    private static func close(_ descriptors: FileDescriptor...) {
        for descriptor in descriptors { _ = Glibc.close(descriptor.rawValue) }
    }
}
