import CLinux
import Foundation
import Glibc

/// A program beside the test that writes to a file, nothing of which waits for anybody: Foundation's `Process` loses ends
/// where many are started and killed in several threads at once.
final class SpawnedProcess {
    let identifier: pid_t
    private let log: String
    private var ended: Int32?

    init(_ program: String, _ arguments: [String], log: String) throws {
        self.log = log
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        clinux_spawn_close_from(&actions, 3)
        // The threads that tests run in block signals, and a child would inherit that.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var words = ([program] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        // Swift's handler would tell at length where it was, and end it by another signal than the one that came.
        var settings = ProcessInfo.processInfo.environment
        settings["SWIFT_BACKTRACE"] = "enable=no"
        var environment = settings.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for setting in environment { free(setting) } }
        var made: pid_t = 0
        let result = posix_spawn(&made, program, &actions, &attributes, &words, &environment)
        guard result == 0 else { throw POSIXError(POSIXErrorCode(rawValue: result) ?? .EIO) }
        identifier = made
    }

    deinit { if isRunning { end(SIGKILL) } }

    var isRunning: Bool {
        if ended == nil { note(WNOHANG) }
        return ended == nil
    }

    /// All lines so far, of all that wrote to the same file.
    var said: [String] {
        ((try? String(contentsOfFile: log, encoding: .utf8)) ?? "").split(separator: "\n").map(String.init)
    }

    /// Ends it, and gives how it ended: its status, or its signal below 0.
    @discardableResult func end(_ number: Int32 = SIGTERM) -> Int32 {
        // In its first moments it would die of any signal.
        for _ in 0..<10_000 {
            guard number != SIGKILL, isRunning, !hears(number) else { break }
            var poll = pollfd(fd: -1, events: 0, revents: 0)
            _ = Glibc.poll(&poll, 1, 2)
        }
        if isRunning { kill(identifier, number) }
        while ended == nil { note(0) }
        return ended ?? 0
    }

    /// Whether it blocks the signal, ignores it or has a handler for it (proc(5)).
    private func hears(_ number: Int32) -> Bool {
        let status = (try? String(contentsOfFile: "/proc/\(identifier)/status", encoding: .utf8)) ?? ""
        return status.split(separator: "\n").contains { line in
            guard ["SigBlk:", "SigIgn:", "SigCgt:"].contains(where: line.hasPrefix) else { return false }
            let set = UInt64(line.dropFirst(7).trimmingCharacters(in: .whitespaces), radix: 16) ?? 0
            return set & 1 << UInt64(number - 1) != 0
        }
    }

    private func note(_ options: Int32) {
        var status: Int32 = 0
        guard waitpid(identifier, &status, options) == identifier else { return }
        ended = status & 0x7F == 0 ? status >> 8 & 0xFF : -(status & 0x7F)
    }
}
