internal import BaseTypes
internal import SiteMonitoring

/// The holder of a lease, for a log that stores it itself.
struct LeaseKeeper: Sendable {
    private let time: Duration
    private var present: (lease: Lease, until: Instant)?
    private var revision: UInt64 = 0

    /// Creates a free lease, which is valid for this time if it is not renewed.
    init(lasting time: Duration) { self.time = time }

    /// Grants, renews or releases the lease, and returns its state. Other requests only return the state.
    mutating func answer(_ request: LogRequest, at now: Instant) -> LeaseState {
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

    private mutating func grant(_ holder: LogName, at now: Instant) -> LeaseState {
        revision += 1
        let granted = Lease(holder: holder, revision: revision)
        present = (granted, now + time)
        return .held(granted)
    }
}
