import BaseTypes

/// A discovery that bluetoothd began and did not live to end.
///
/// The kernel goes on with it until its time is over. Meanwhile it refuses the next bluetoothd's (`InProgress`), which can't
/// end what it did not begin either (`Failed`). Only the adapter's power ends it sooner.
///
/// Sources: Linux 6.1, net/bluetooth/mgmt.c, `start_discovery_internal`; include/net/bluetooth/hci_core.h,
/// `DISCOV_LE_TIMEOUT`; bluez 5.66, src/adapter.c, `start_discovery_complete` and `stop_discovery`; seen on the bus.
struct OrphanedDiscovery {
    /// The longest that the kernel scans for a discovery of LE alone.
    static let timeMax: Duration = .milliseconds(10_240)

    private var until: Instant = .earliest

    /// bluetoothd went while it discovered.
    mutating func left(at now: Instant) {
        until = now + Self.timeMax
    }

    /// The adapter was switched off, discovery could be begun, or it was something else that kept it from that.
    mutating func end() { until = .earliest }

    /// Whether it may still be going on.
    func isPossible(at now: Instant) -> Bool { now < until }
}
