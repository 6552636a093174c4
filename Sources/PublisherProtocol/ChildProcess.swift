import CLinux
import Glibc
package import SystemPackage

/// A process that this process started from a program file.
package struct ChildProcess: Sendable {
    /// How the process ended.
    package enum Ending: Sendable, Equatable {
        /// It exited with an exit code.
        case exited(Int32)
        /// A signal killed it.
        case killed(Int32)
        /// The reason is unknown, because another part of this process has already waited for it (waitpid(2)).
        case unknown
    }

    let id: pid_t

    /// Starts a program. It gets descriptors 0, 1 and 2; all other descriptors of this process are closed in it.
    ///
    /// - Parameters:
    ///   - program: the path of the program file.
    ///   - arguments: the arguments, without the name of the program.
    ///   - input: the descriptor for its standard input; `nil` means empty input.
    ///   - output: the descriptor for its standard output.
    ///   - errors: the descriptor for its standard error.
    ///   - environment: the environment; `nil` means the environment of this process.
    ///   - blocked: the signals that are blocked at the start of the program. All signals have their default action.
    /// - Throws: `Errno` of posix_spawn(3).
    package init(
        _ program: String, _ arguments: [String] = [], input: FileDescriptor? = nil, output: FileDescriptor,
        errors: FileDescriptor, environment: [String]? = nil, blocking blocked: [Int32] = []
    ) throws(Errno) {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe _ = posix_spawn_file_actions_destroy(&actions) }
        if let input {
            unsafe posix_spawn_file_actions_adddup2(&actions, input.rawValue, 0)
        } else {
            unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        }
        unsafe posix_spawn_file_actions_adddup2(&actions, output.rawValue, 1)
        unsafe posix_spawn_file_actions_adddup2(&actions, errors.rawValue, 2)
        unsafe clinux_spawn_close_from(&actions, 3)
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe _ = posix_spawnattr_destroy(&attributes) }
        // This process ignores some signals and reads others from a descriptor. The new process ignores none, and
        // blocks only `blocked`.
        var (all, mask) = (sigset_t(), sigset_t())
        unsafe sigfillset(&all)
        unsafe sigemptyset(&mask)
        for signal in blocked { unsafe sigaddset(&mask, signal) }
        unsafe posix_spawnattr_setsigdefault(&attributes, &all)
        unsafe posix_spawnattr_setsigmask(&attributes, &mask)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
        let words = unsafe Self.strings([program] + arguments)
        let variables = unsafe environment.map { unsafe Self.strings($0) }
        defer { unsafe (words + (variables ?? [])).forEach { unsafe free($0) } }
        var process = pid_t()
        let result =
            if let variables = unsafe variables {
                unsafe posix_spawn(&process, program, &actions, &attributes, words, variables)
            } else {
                unsafe posix_spawn(&process, program, &actions, &attributes, words, clinux_environment())
            }
        guard result == 0 else { throw Errno(rawValue: result) }
        id = process
    }

    fileprivate static func strings(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
        unsafe texts.map { unsafe strdup($0) } + [nil]
    }

    /// Returns how the process ended; `nil` if it still runs. It must be called until it has returned an ending, and
    /// not again.
    package func ending() -> Ending? {
        var status: Int32 = 0
        let result = unsafe waitpid(id, &status, WNOHANG)
        if result == 0 || (result < 0 && errno == EINTR) { return nil }
        guard result == id else { return .unknown }
        // wait(2): the low seven bits are the signal; bits 8 to 15 are the exit code.
        return status & 0x7F == 0 ? .exited(status >> 8 & 0xFF) : .killed(status & 0x7F)
    }

    /// Kills the process immediately. It must not be called after ``ending()`` has returned an ending, because the
    /// process ID can then belong to another process.
    package func kill() { _ = Glibc.kill(id, SIGKILL) }

    /// Returns the part of this process's environment that a publisher gets: variables for names, dates and
    /// certificates, and those of the loader and the sanitizers.
    ///
    /// The variables of the service manager are left out, because it would accept messages of the publisher as messages
    /// of the gateway.
    static func environment() -> [String] {
        let names = ["LANG", "TZ", "RES_OPTIONS", "LOCALDOMAIN", "HOSTALIASES", "OPENSSL_CONF", "TSAN_OPTIONS"]
        let beginnings = ["LC_", "LD_", "SSL_CERT_"]
        // With this setting, a crash is one line in the log. Swift's backtrace would be eighty lines each time.
        var kept = ["SWIFT_BACKTRACE=enable=no"]
        guard var place = unsafe clinux_environment() else { return kept }
        while let entry = unsafe place.pointee {
            let text = unsafe String(cString: entry)
            let name = text.prefix { $0 != "=" }
            if names.contains(String(name)) || beginnings.contains(where: { name.hasPrefix($0) }) { kept.append(text) }
            unsafe place += 1
        }
        return kept
    }
}

extension ChildProcess.Ending: CustomStringConvertible {
    package var description: String {
        switch self {
        case .exited(let code): "it ended with \(code)"
        case .killed(let signal): "signal \(signal) ended it\(signal == SIGABRT ? " (aborted)" : "")"
        case .unknown: "it ended"
        }
    }
}

/// Finds and starts the other programs of this project.
package enum ProgramFinder {
    /// Returns the path of the program `name`.
    ///
    /// It can be in the folder of this program, in `../libexec/beacon-gateway` of it, or in `../../bin` of it. If it is
    /// in none of them, the result is the first path, which callers put into their error message.
    package static func path(_ name: String) -> String {
        var bytes = [CChar](repeating: 0, count: 4096)
        let count = unsafe readlink("/proc/self/exe", &bytes, bytes.count - 1)
        var own = String(decoding: bytes.prefix(max(count, 0)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        // If an upgrade replaces the program file while it runs, the path has this suffix (proc(5)).
        if own.hasSuffix(" (deleted)") { own.removeLast(" (deleted)".count) }
        let folder = FilePath(own).removingLastComponent()
        let beside = folder.appending(name)
        let library = folder.removingLastComponent().appending("libexec").appending("beacon-gateway").appending(name)
        let programs = folder.removingLastComponent().removingLastComponent().appending("bin").appending(name)
        for path in [beside, library, programs] where unsafe access(path.string, X_OK) == 0 { return path.string }
        return beside.string
    }

    /// Replaces this program with the program `name` (execv(3)). The process ID stays, and the new program receives its
    /// signals.
    ///
    /// - Returns: only if this fails: a message with the path and the error.
    package static func become(_ name: String, _ arguments: [String]) -> String {
        let path = path(name)
        var texts = unsafe ChildProcess.strings([path] + arguments)
        defer { for index in unsafe texts.indices { unsafe free(texts[index]) } }
        _ = unsafe execv(path, &texts)
        return "\(path) can't be started: \(Errno(rawValue: errno))"
    }
}
