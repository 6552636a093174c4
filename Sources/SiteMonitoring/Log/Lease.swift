/// The right to publish for a site, valid for ``LogLimits/leaseTime`` after it was requested.
///
/// It decides which process publishes to the MQTT broker. It cannot stop a process that was suspended while it held the
/// lease. That process detects the loss at its next request.
package struct Lease: Sendable, Hashable {
    /// The process that may publish.
    package let holder: LogName
    /// The revision of the lease. It grows whenever the lease is acquired or renewed.
    package let revision: UInt64

    /// Creates a lease as the log returned it.
    package init(holder: LogName, revision: UInt64) {
        self.holder = holder
        self.revision = revision
    }
}

/// The state of a site's lease.
package enum LeaseState: Sendable, Hashable {
    /// The requesting process holds the lease. It must renew it with this value.
    case held(Lease)
    /// The named process holds the lease. It can be the requesting process in the answer to ``LogRequest/readLease``,
    /// and in the answer to ``LogRequest/renewLease(_:)`` or ``LogRequest/releaseLease(_:)`` with a revision that is
    /// not the latest.
    case heldBy(LogName)
    /// No process holds the lease: it was never acquired, was released, or expired.
    case free
}
