import BaseTypes

/// The command that waits for the kernel's answer, and the delay after a failure. Only one command is pending at a
/// time.
struct CommandTurn: Sendable {
    /// The maximum delay before a retry. The first delay is 0.1 s, and each further one is twice as long.
    static let retryMax: Duration = .seconds(5)
    // The kernel waits at most 10 s for a controller's answer (HCI_INIT_TIMEOUT); some commands need several answers.
    private static let replyMax: Duration = .seconds(20)

    private var pending: (command: ManagementCommand, deadline: Instant)?
    private var backOff = BackOff(first: .milliseconds(100), most: retryMax)
    private var retryAt: Instant?

    /// The number of failures in a row.
    var failures: Int { backOff.failures }

    /// Whether no command is pending and no delay is running.
    var isFree: Bool { pending == nil && retryAt == nil }

    /// When the present wait ends; `nil` if a command can be sent.
    var deadline: Instant? { pending?.deadline ?? retryAt }

    /// Ends a wait that has passed its deadline. A command without an answer counts as failed.
    mutating func advance(to now: Instant) {
        if let pending, pending.deadline <= now { failed(at: now) }
        if let retryAt, retryAt <= now { self.retryAt = nil }
    }

    /// Waits for the answer to `command`.
    mutating func sent(_ command: ManagementCommand, at now: Instant) {
        pending = (command, now + Self.replyMax)
    }

    /// Ends the wait for the command with this operation code.
    ///
    /// - Returns: the command; `nil` if the answer belongs to an earlier command.
    mutating func answered(_ opcode: UInt16) -> ManagementCommand? {
        guard let command = pending?.command, command.opcode == opcode else { return nil }
        pending = nil
        return command
    }

    /// Counts a failure and waits before the next command.
    mutating func failed(at now: Instant) {
        pending = nil
        retryAt = now + backOff.next()
    }

    /// Starts the delays with the shortest again.
    mutating func resetWaits() { backOff.reset() }

    /// Ends the delay early, because the cause of the failure is removed.
    mutating func retryNow() { retryAt = nil }
}
