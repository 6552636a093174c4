import BaseTypes

/// A discovery that a bluetoothd started and did not stop before it ended.
///
/// The kernel continues the discovery until its time has passed. Meanwhile it refuses a discovery of the next
/// bluetoothd (`InProgress`), which cannot stop the old one either, because it did not start it (`Failed`). Only
/// switching off the adapter ends it earlier.
///
/// Sources: Linux 6.1, net/bluetooth/mgmt.c, `start_discovery_internal`; include/net/bluetooth/hci_core.h,
/// `DISCOV_LE_TIMEOUT`; bluez 5.66, src/adapter.c, `start_discovery_complete` and `stop_discovery`; observed on the
/// bus.
struct OrphanedDiscovery {
    /// The maximum time that the kernel scans for a discovery of LE only.
    static let timeMax: Duration = .milliseconds(10_240)

    private var until: Instant = .earliest

    /// bluetoothd stopped while it was discovering.
    mutating func left(at now: Instant) {
        until = now + Self.timeMax
    }

    /// The adapter was switched off, discovery could be started, or something else prevented the start.
    mutating func end() { until = .earliest }

    /// Returns whether the discovery can still be running.
    func isPossible(at now: Instant) -> Bool { now < until }
}
