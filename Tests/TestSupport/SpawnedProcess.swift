import CLinux
import Foundation
import Glibc
import Testing

/// A program that a test starts. It is killed when this value is released.
///
/// Foundation's `Process` misses the end of processes if several threads start and kill them at once, and its
/// `waitUntilExit()` has no limit. This type calls waitpid(2), and reports a process that does not end.
package final class SpawnedProcess {
    /// A stream of the program.
    package enum Stream: Equatable {
        /// /dev/null.
        case null
        /// The same stream of the test process.
        case inherited
        /// The file at a path. Output is appended to it; it is created if it does not exist.
        case file(String)
        /// A pipe. The other end is ``input``, ``output`` or ``errors``.
        case pipe
        /// For standard error: the stream of standard output.
        case output
    }

    /// The process identifier.
    package let identifier: pid_t
    /// The writable end of standard input, if that is a pipe.
    package let input: FileHandle?
    /// The readable end of standard output, if that is a pipe.
    package let output: FileHandle?
    /// The readable end of standard error, if that is a pipe.
    package let errors: FileHandle?
    private let words: [String]
    private var result: Int32?

    /// Starts a program in its own process group, with no signal blocked and no descriptor above 2.
    ///
    /// - Parameters:
    ///   - program: the path of its file.
    ///   - arguments: the arguments, without the program's name.
    ///   - environment: the complete environment; `nil` means that of the test process.
    ///   - input: the standard input.
    ///   - output: the standard output.
    ///   - errors: the standard error.
    /// - Throws: `POSIXError` of posix_spawn(3) or pipe(2).
    package init(
        _ program: String, _ arguments: [String], environment: [String: String]? = nil, input: Stream = .null,
        output: Stream = .inherited, errors: Stream = .inherited
    ) throws {
        words = [program] + arguments
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // The program's ends of pipes, which the test process must close.
        var ends: [Int32] = []
        defer { for end in ends { close(end) } }
        self.input = try Self.connect(input, to: 0, &actions, &ends)
        self.output = try Self.connect(output, to: 1, &actions, &ends)
        self.errors = try Self.connect(errors, to: 2, &actions, &ends)
        clinux_spawn_close_from(&actions, 3)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // The threads of tests block signals, and the program would inherit that.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP))
        var arguments = words.map { strdup($0) } + [nil]
        defer { for word in arguments { free(word) } }
        let settings = environment ?? ProcessInfo.processInfo.environment
        var variables = settings.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for variable in variables { free(variable) } }
        var made: pid_t = 0
        try Self.check(posix_spawn(&made, program, &actions, &attributes, &arguments, &variables))
        identifier = made
    }

    deinit {
        guard isRunning else { return }
        kill(identifier, SIGKILL)
        wait()
    }

    private static func connect(
        _ stream: Stream, to descriptor: Int32, _ actions: inout posix_spawn_file_actions_t, _ ends: inout [Int32]
    ) throws -> FileHandle? {
        switch stream {
        case .inherited: break
        case .output: posix_spawn_file_actions_adddup2(&actions, 1, descriptor)
        case .null: posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
        case .file(let path):
            let flags = descriptor == 0 ? O_RDONLY : O_WRONLY | O_CREAT | O_APPEND
            posix_spawn_file_actions_addopen(&actions, descriptor, path, flags, 0o600)
        case .pipe:
            var pair: [Int32] = [0, 0]
            try check(Glibc.pipe(&pair) == 0 ? 0 : errno)
            for end in pair { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            let (its, ours) = descriptor == 0 ? (pair[0], pair[1]) : (pair[1], pair[0])
            ends.append(its)
            posix_spawn_file_actions_adddup2(&actions, its, descriptor)
            return FileHandle(fileDescriptor: ours, closeOnDealloc: true)
        }
        return nil
    }

    private static func check(_ number: Int32) throws {
        if number != 0 { throw POSIXError(POSIXErrorCode(rawValue: number) ?? .EIO) }
    }

    /// Whether the program has not ended.
    package var isRunning: Bool {
        if result == nil { collect() }
        return result == nil
    }

    /// Sends a signal, unless the program has ended.
    package func signal(_ number: Int32) {
        if isRunning { kill(identifier, number) }
    }

    /// Waits for the end of the program. If it does not end, it is reported as an issue and killed.
    ///
    /// - Parameters:
    ///   - limit: the maximum time to wait.
    ///   - location: the place at which an issue is reported.
    /// - Returns: the exit status, or the negative number of the signal that ended the program.
    @discardableResult package func wait(
        within limit: Duration = .seconds(300), location: SourceLocation = #_sourceLocation
    ) -> Int32 {
        let end = ContinuousClock.now + limit
        while isRunning {
            if ContinuousClock.now >= end {
                Issue.record("still running after \(limit), killed: \(words)", sourceLocation: location)
                kill(identifier, SIGKILL)
                // SIGKILL cannot be ignored.
                collect(0)
                break
            }
            poll(nil, 0, 1)
        }
        return result ?? -SIGKILL
    }

    /// Sends a signal and waits for the end of the program.
    ///
    /// - Parameters:
    ///   - number: the signal.
    ///   - location: the place at which an issue is reported.
    /// - Returns: the exit status, or the negative number of the signal that ended the program.
    @discardableResult package func end(
        _ number: Int32 = SIGTERM, location: SourceLocation = #_sourceLocation
    ) -> Int32 {
        signal(number)
        return wait(location: location)
    }

    /// Sends a signal. If the program has not ended after 10 s, kills it and its descendants: some programs of other
    /// projects do not always react to a signal.
    package func endWithDescendants(_ number: Int32) {
        signal(number)
        for _ in 0..<10_000 where isRunning { poll(nil, 0, 1) }
        guard isRunning else { return }
        for descendant in family.reversed() { kill(descendant, SIGKILL) }
        wait()
    }

    /// The identifiers of the program's process and of its descendants (proc(5)).
    package var family: [pid_t] { Self.family(identifier) }

    private static func family(_ process: pid_t) -> [pid_t] {
        let text = (try? String(contentsOfFile: "/proc/\(process)/task/\(process)/children", encoding: .utf8)) ?? ""
        return [process] + text.split(separator: " ").compactMap { pid_t($0) }.flatMap(family)
    }

    /// Waits until the program blocks, ignores or handles a signal (proc(5)), has ended, or 20 s have passed. A program
    /// that has just started would be ended by the signal.
    package func waitUntilItHandles(_ number: Int32) {
        for _ in 0..<10_000 where isRunning && !handles(number) { poll(nil, 0, 2) }
    }

    private func handles(_ number: Int32) -> Bool {
        let status = (try? String(contentsOfFile: "/proc/\(identifier)/status", encoding: .utf8)) ?? ""
        return status.split(separator: "\n").contains { line in
            guard ["SigBlk:", "SigIgn:", "SigCgt:"].contains(where: line.hasPrefix) else { return false }
            let set = UInt64(line.dropFirst(7).trimmingCharacters(in: .whitespaces), radix: 16) ?? 0
            return set & 1 << UInt64(number - 1) != 0
        }
    }

    private func collect(_ options: Int32 = WNOHANG) {
        var status: Int32 = 0
        var found: pid_t
        repeat { found = waitpid(identifier, &status, options) } while found < 0 && errno == EINTR
        guard found == identifier else { return }
        result = status & 0x7F == 0 ? status >> 8 & 0xFF : -(status & 0x7F)
    }
}
