/// The right to publish for a site, for ``LogLimits/leaseTime`` from when it was asked for.
///
/// It tells processes who should publish. That nobody else does is the doing of the numbers that events are stored by: who
/// was stopped while he had it, and goes on, is refused there.
package struct Lease: Sendable, Hashable {
    /// The process that may publish.
    package let holder: LogName
    /// Grows each time that it is acquired or renewed.
    package let revision: UInt64

    /// A lease as the log gave it.
    package init(holder: LogName, revision: UInt64) {
        self.holder = holder
        self.revision = revision
    }
}

/// How it stands with a site's lease.
package enum LeaseState: Sendable, Hashable {
    /// Whoever asked has it, and renews it with this.
    case held(Lease)
    /// Somebody else has it; or, to one who asks for nothing but that, whoever has it.
    case heldBy(LogName)
    /// Nobody has it: it was never asked for, given back, or ran out.
    case free
}
