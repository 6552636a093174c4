import CLinux
import Glibc
import SystemPackage

/// A command that makes a report, as a process of its own: what it writes and what it says come through pipes.
///
/// Whoever makes one asks ``ending()`` until it says how it ended.
final class ReportProcess {
    /// What it writes, and what it says; reading them does not block.
    let output: FileDescriptor
    let errors: FileDescriptor
    private let id: pid_t

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
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe _ = posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, outputEnd.rawValue, 1)
        unsafe posix_spawn_file_actions_adddup2(&actions, errorsEnd.rawValue, 2)
        unsafe clinux_spawn_close_from(&actions, 3)
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe _ = posix_spawnattr_destroy(&attributes) }
        // What this one ignores or waits for by a descriptor, that one does not.
        var (all, none) = (sigset_t(), sigset_t())
        unsafe sigfillset(&all)
        unsafe sigemptyset(&none)
        unsafe posix_spawnattr_setsigdefault(&attributes, &all)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
        let words = unsafe ([program] + arguments).map { unsafe strdup($0) } + [nil]
        defer { for index in unsafe words.indices { unsafe free(words[index]) } }
        var process = pid_t()
        let result = unsafe posix_spawn(&process, program, &actions, &attributes, words, clinux_environment())
        Self.close(outputEnd, errorsEnd)
        guard result == 0 else {
            Self.close(output, errors)
            throw Errno(rawValue: result)
        }
        (self.output, self.errors, id) = (output, errors, process)
    }

    deinit { Self.close(output, errors) }

    /// How it ended: its exit code, or 128 and the signal; `nil` while it has not. To be asked until it says so, not again.
    func ending() -> Int32? {
        var status: Int32 = 0
        let result = unsafe waitpid(id, &status, WNOHANG)
        if result == 0 || (result < 0 && errno == EINTR) { return nil }
        guard result == id else { return 255 }
        // wait(2): the low seven bits are the signal; the exit code stands above.
        return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + (status & 0x7F)
    }

    /// Ends it at once; only while ``ending()`` has not said that it ended: its number may be another's then.
    func kill() { _ = Glibc.kill(id, SIGKILL) }

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
