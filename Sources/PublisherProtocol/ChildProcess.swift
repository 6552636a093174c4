import CLinux
import Glibc
import SystemPackage

/// A program that is started with one end of a pair of sockets, and nothing else.
struct ChildProcess {
    /// How it ended.
    enum Ending: Equatable {
        /// By itself, with an exit code.
        case exited(Int32)
        /// By a signal.
        case killed(Int32)
        /// Somebody else heard of it.
        case unknown
    }

    let id: pid_t

    /// Starts `program`: its descriptor 0 is its end of the pair, 1 and 2 are this process's standard error, and there is
    /// no other.
    ///
    /// - Throws: `Errno` of posix_spawn(3).
    init(_ program: String, pair: FileDescriptor, environment: [String]) throws(Errno) {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe _ = posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, pair.rawValue, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, 2, 1)
        unsafe clinux_spawn_close_from(&actions, 3)
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe _ = posix_spawnattr_destroy(&attributes) }
        var (all, blocked) = (sigset_t(), sigset_t())
        unsafe sigfillset(&all)
        unsafe sigemptyset(&blocked)
        // Until it ignores them itself, they wait: a signal to the whole group must not end it in its first moments.
        for signal in [SIGTERM, SIGINT, SIGHUP, SIGUSR1] { unsafe sigaddset(&blocked, signal) }
        unsafe posix_spawnattr_setsigdefault(&attributes, &all)
        unsafe posix_spawnattr_setsigmask(&attributes, &blocked)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
        let arguments = unsafe Self.strings([program])
        let variables = unsafe Self.strings(environment)
        defer { unsafe (arguments + variables).forEach { unsafe free($0) } }
        var process = pid_t()
        let result = unsafe posix_spawn(&process, program, &actions, &attributes, arguments, variables)
        guard result == 0 else { throw Errno(rawValue: result) }
        id = process
    }

    private static func strings(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] {
        unsafe texts.map { unsafe strdup($0) } + [nil]
    }

    /// How it ended; `nil` while it has not. To be asked until it says so, and not again.
    func ending() -> Ending? {
        var status: Int32 = 0
        let result = unsafe waitpid(id, &status, WNOHANG)
        if result == 0 || (result < 0 && errno == EINTR) { return nil }
        guard result == id else { return .unknown }
        // wait(2): the low seven bits are the signal; the exit code stands above.
        return status & 0x7F == 0 ? .exited(status >> 8 & 0xFF) : .killed(status & 0x7F)
    }

    /// Ends it at once. Only while ``ending()`` has not said that it ended: its number may be another's then.
    func kill() { _ = Glibc.kill(id, SIGKILL) }

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
    var description: String {
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
        var texts = unsafe ([path] + arguments).map { unsafe strdup($0) } + [nil]
        defer { for index in unsafe texts.indices { unsafe free(texts[index]) } }
        _ = unsafe execv(path, &texts)
        return "\(path) can't be started: \(Errno(rawValue: errno))"
    }
}
