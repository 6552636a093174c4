import BaseTypes

/// Decides whether the kernel's present scan reports every advertisement, and not only the first of each device.
///
/// A scan that started after the gateway's monitor was added is unfiltered. The scan of another program's discovery may
/// filter duplicates until it ends, so the adapter counts as listening only after that.
struct ScanProof: Sendable {
    /// The scan of a discovery ends after at most 10.24 s (Linux DISCOV_LE_TIMEOUT); the passive scan follows it.
    static let discoveryMax: Duration = .milliseconds(10_500)
    // The kernel reports a discovery some milliseconds after its scan started. If the report follows so soon after a
    // monitor was added, the scan may have started before the monitor.
    private static let discoveryLag: Duration = .seconds(1)

    /// Whether a discovery is running; `nil` if the adapter existed before this process and nothing was reported yet.
    private var isDiscovering: Bool?
    /// The time of the first request to the adapter. Since then the kernel reports its discoveries.
    private var firstAskedAt: Instant?
    /// Whether the scan is known to be unfiltered.
    private(set) var isProven = false
    /// The time at which a filtered scan has certainly ended; `nil` if none is waited for.
    private(set) var deadline: Instant?
    /// When the monitor was added, if no discovery was known then and no report was received through the monitor since.
    private var assumedAt: Instant?

    init(isDiscovering: Bool?) { self.isDiscovering = isDiscovering }

    /// Records the first request to the adapter.
    mutating func asked(at now: Instant) {
        if firstAskedAt == nil { firstAskedAt = now }
    }

    /// Sets whether a discovery is running; `nil` if reports of the kernel were lost.
    mutating func set(isDiscovering: Bool?) { self.isDiscovering = isDiscovering }

    /// Returns whether a discovery that is reported now may have started before the monitor, although none was known
    /// then.
    func isDoubtful(at now: Instant) -> Bool {
        guard let assumedAt else { return false }
        return now - assumedAt < Self.discoveryLag
    }

    /// Starts to wait for an unfiltered scan. It starts now, or after a discovery that can be running.
    mutating func expect(at now: Instant) {
        // A discovery that started before the first request would have ended or been repeated by now, and the kernel
        // reports both.
        if isDiscovering == nil, let firstAskedAt, now - firstAskedAt >= Self.discoveryMax { isDiscovering = false }
        isProven = isDiscovering == false
        deadline = isProven ? nil : now + Self.discoveryMax
    }

    /// Starts to wait for the first scan with the gateway's monitor.
    mutating func monitorAdded(at now: Instant) {
        expect(at: now)
        assumedAt = isProven ? now : nil
    }

    /// Records a report through the monitor, which proves that the scan started after the monitor.
    mutating func receivedThroughMonitor() { assumedAt = nil }

    /// Ends the wait: the scan is unfiltered.
    mutating func prove() {
        isProven = true
        deadline = nil
    }

    /// Discards the proof, because the monitor was removed.
    mutating func lose() {
        isProven = false
        deadline = nil
    }
}
