import CLinux
import Glibc
package import SystemPackage

/// A program that this process started.
package struct ChildProcess: Sendable {
    /// How it ended.
    package enum Ending: Sendable, Equatable {
        /// By itself, with an exit code.
        case exited(Int32)
        /// By a signal.
        case killed(Int32)
        /// waitpid(2) does not say: another part of this process has waited for it.
        case unknown
    }

    let id: pid_t

    /// Starts a program. Its descriptors are 0, 1 and 2; this process's other descriptors are closed in it.
    ///
    /// - Parameters:
    ///   - program: the path of its file.
    ///   - arguments: its arguments, without the program's name.
    ///   - input: what becomes its standard input; `nil`: it is empty.
    ///   - output: what becomes its standard output.
    ///   - errors: what becomes its standard error.
    ///   - environment: its environment; `nil`: this process's.
    ///   - blocked: the signals that it blocks at its start. It handles all signals in the default way.
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
        // Of the signals that this process ignores or reads from a descriptor, it ignores none, and blocks only `blocked`.
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

    /// How it ended; `nil` while it has not. To be asked until it says so, and not again.
    package func ending() -> Ending? {
        var status: Int32 = 0
        let result = unsafe waitpid(id, &status, WNOHANG)
        if result == 0 || (result < 0 && errno == EINTR) { return nil }
        guard result == id else { return .unknown }
        // wait(2): the low seven bits are the signal; the exit code stands above.
        return status & 0x7F == 0 ? .exited(status >> 8 & 0xFF) : .killed(status & 0x7F)
    }

    /// Ends it at once. Only while ``ending()`` has not said that it ended: its number may be another's then.
    package func kill() { _ = Glibc.kill(id, SIGKILL) }

    /// What of this process's environment a publisher gets: how names, dates and certificates are found, and what the
    /// loader and sanitizers read. Nothing of the service manager's, which takes a word of it for the gateway's.
    static func environment() -> [String] {
        let names = ["LANG", "TZ", "RES_OPTIONS", "LOCALDOMAIN", "HOSTALIASES", "OPENSSL_CONF", "TSAN_OPTIONS"]
        let beginnings = ["LC_", "LD_", "SSL_CERT_"]
        // A crash is one line in the log; Swift's own account of it would be eighty, each time.
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

/// Where programs are that belong to this one.
package enum Companions {
    /// The path of the program `name`: beside this one's, in `../libexec/beacon-gateway` of it or, from there, in `bin`; the
    /// first where none is there, for whoever says so.
    package static func path(_ name: String) -> String {
        var octets = [CChar](repeating: 0, count: 4096)
        let count = unsafe readlink("/proc/self/exe", &octets, octets.count - 1)
        var own = String(decoding: octets.prefix(max(count, 0)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        // An upgrade puts another file in its place while it runs (proc(5)).
        if own.hasSuffix(" (deleted)") { own.removeLast(" (deleted)".count) }
        let folder = FilePath(own).removingLastComponent()
        let beside = folder.appending(name)
        let library = folder.removingLastComponent().appending("libexec").appending("beacon-gateway").appending(name)
        let programs = folder.removingLastComponent().removingLastComponent().appending("bin").appending(name)
        for path in [beside, library, programs] where unsafe access(path.string, X_OK) == 0 { return path.string }
        return beside.string
    }

    /// Becomes the program `name` with these arguments (execv(3)): the process stays, and its signals are that one's.
    ///
    /// - Returns: only where that can't be: which program could not be started, and why.
    package static func become(_ name: String, _ arguments: [String]) -> String {
        let path = path(name)
        var texts = unsafe ChildProcess.strings([path] + arguments)
        defer { for index in unsafe texts.indices { unsafe free(texts[index]) } }
        _ = unsafe execv(path, &texts)
        return "\(path) can't be started: \(Errno(rawValue: errno))"
    }
}
