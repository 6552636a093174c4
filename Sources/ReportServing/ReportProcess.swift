import Glibc
import PublisherProtocol
import SystemPackage

/// A command that makes a report, as a process of its own: what it writes and what it says come through pipes.
///
/// Whoever makes one asks ``ending()`` until it says how it ended.
final class ReportProcess {
    /// What it writes, and what it says; reading them does not block.
    let output: FileDescriptor
    let errors: FileDescriptor
    private let process: ChildProcess

    /// Starts `program` with arguments, this process's environment, and no input.
    ///
    /// - Throws: `Errno` of pipe(2) and posix_spawn(3).
    init(_ program: String, _ arguments: [String]) throws(Errno) {
        let (output, outputEnd) = try Self.pipe()
        let (errors, errorsEnd): (FileDescriptor, FileDescriptor)
        do throws(Errno) {
            (errors, errorsEnd) = try Self.pipe()
        } catch {
            Self.close(output, outputEnd)
            throw error
        }
        defer { Self.close(outputEnd, errorsEnd) }
        do throws(Errno) {
            process = try ChildProcess(program, arguments, output: outputEnd, errors: errorsEnd)
        } catch {
            Self.close(output, errors)
            throw error
        }
        (self.output, self.errors) = (output, errors)
    }

    deinit { Self.close(output, errors) }

    /// How it ended: its exit code, or 128 and the signal; `nil` while it has not. To be asked until it says so, not again.
    func ending() -> Int32? {
        switch process.ending() {
        case nil: nil
        case .exited(let code): code
        case .killed(let signal): 128 + signal
        case .unknown: 255
        }
    }

    /// Ends it at once; only while ``ending()`` has not said that it ended: its number may be another's then.
    func kill() { process.kill() }

    /// Reads what is there of `descriptor`.
    ///
    /// - Returns: the octets, none at the end; `nil` where nothing is there yet.
    static func read(_ descriptor: FileDescriptor, atMost count: Int) -> [UInt8]? {
        var octets = [UInt8](repeating: 0, count: count)
        let read = unsafe Glibc.read(descriptor.rawValue, &octets, count)
        if read < 0, errno == EAGAIN || errno == EINTR { return nil }
        octets.removeLast(count - max(0, read))
        return octets
    }

    private static func pipe() throws(Errno) -> (FileDescriptor, FileDescriptor) {
        var ends: [Int32] = [-1, -1]
        guard unsafe Glibc.pipe(&ends) == 0 else { throw Errno(rawValue: errno) }
        // No other process has a part in it but the one that is given its end as 1 or 2.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        // Only this process's end: that one writes as to any pipe.
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        return (FileDescriptor(rawValue: ends[0]), FileDescriptor(rawValue: ends[1]))
    }

    private static func close(_ descriptors: FileDescriptor...) {
        for descriptor in descriptors { _ = Glibc.close(descriptor.rawValue) }
    }
}
