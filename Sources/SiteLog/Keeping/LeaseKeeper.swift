package import BluetoothLE

/// Who has a lease, for a log that keeps it itself.
package struct LeaseKeeper: Sendable {
    private let time: Duration
    private var present: (lease: Lease, until: Instant)?
    private var revision: UInt64

    /// A lease that nobody has.
    ///
    /// - Parameters:
    ///   - time: how long it lasts where it is not renewed.
    ///   - revision: each that is given has a greater one.
    package init(lasting time: Duration, after revision: UInt64 = 0) {
        self.time = time
        self.revision = revision
    }

    /// Gives it, keeps it, or says who has it; what is not about the lease asks only that.
    package mutating func answer(_ request: LogRequest, at now: Instant) -> LeaseState {
        if let present, present.until <= now { self.present = nil }
        let held = present?.lease
        switch request {
        case .acquireLease(let name) where held == nil || held?.holder == name: return grant(name, at: now)
        case .renewLease(let old) where held == old: return grant(old.holder, at: now)
        case .releaseLease(let old) where held == old: present = nil
        default: break
        }
        return present.map { .heldBy($0.lease.holder) } ?? .free
    }

    /// Takes it from whoever has it.
    package mutating func end() { present = nil }

    private mutating func grant(_ holder: LogName, at now: Instant) -> LeaseState {
        revision += 1
        let granted = Lease(holder: holder, revision: revision)
        present = (granted, now + time)
        return .held(granted)
    }
}
