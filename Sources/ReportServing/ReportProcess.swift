import Glibc
import PublisherProtocol
import SystemPackage

/// A command that makes a report, as a separate process. Its standard output and standard error are read through pipes.
///
/// The owner must call ``ending()`` until it returns an exit code.
final class ReportProcess {
    /// The pipes of standard output and standard error; reading them does not block.
    let output: FileDescriptor
    let errors: FileDescriptor
    private let process: ChildProcess

    /// Starts `program` with arguments, the environment of this process, and no input.
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

    /// Returns the exit code, or 128 plus the signal that ended the process; `nil` if it is running. It must be called
    /// until it returns a number, and not again.
    func ending() -> Int32? {
        switch process.ending() {
        case nil: nil
        case .exited(let code): code
        case .killed(let signal): 128 + signal
        case .unknown: 255
        }
    }

    /// Ends the process immediately with SIGKILL. It must not be called after ``ending()`` has returned a number,
    /// because another process can have this process ID then.
    func kill() { process.kill() }

    /// Reads the available bytes of `descriptor`.
    ///
    /// - Returns: the bytes; an empty array at the end; `nil` if nothing is available yet.
    static func read(_ descriptor: FileDescriptor, atMost count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        let read = unsafe Glibc.read(descriptor.rawValue, &bytes, count)
        if read < 0, errno == EAGAIN || errno == EINTR { return nil }
        bytes.removeLast(count - max(0, read))
        return bytes
    }

    private static func pipe() throws(Errno) -> (FileDescriptor, FileDescriptor) {
        var ends: [Int32] = [-1, -1]
        guard unsafe Glibc.pipe(&ends) == 0 else { throw Errno(rawValue: errno) }
        // No process inherits the pipe, except the command, which gets one end as descriptor 1 or 2.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        // Only the end of this process is non-blocking: the command writes as to any pipe.
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        return (FileDescriptor(rawValue: ends[0]), FileDescriptor(rawValue: ends[1]))
    }

    private static func close(_ descriptors: FileDescriptor...) {
        for descriptor in descriptors { _ = Glibc.close(descriptor.rawValue) }
    }
}
