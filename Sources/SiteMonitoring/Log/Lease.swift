/// The right to publish for a site, for ``LogLimits/leaseTime`` from when it was asked for.
///
/// It decides which process publishes to the MQTT broker. It does not stop a process that was suspended while it held the lease:
/// that process finds out at its next request.
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
