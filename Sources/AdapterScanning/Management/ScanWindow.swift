/// Sets the scan window of one adapter to the wanted values, and keeps the previous values to restore them at the end.
struct ScanWindow: Sendable {
    private let wanted: ScanConfiguration
    /// The present values, as far as they are known.
    private var present = ScanConfiguration()
    /// The values before the gateway changed them.
    private(set) var previous: ScanConfiguration
    private var isSet = false

    init(_ timing: ScanTiming, previous: ScanConfiguration = ScanConfiguration()) {
        wanted = ScanConfiguration(timing)
        self.previous = previous
    }

    /// Whether reports between windows are missed.
    var isThin: Bool { present.isThin }

    /// The values to set; `nil` if there is nothing to change or it was tried already.
    var change: ScanConfiguration? {
        let change = wanted.changes(to: present)
        return isSet || change.isEmpty ? nil : change
    }

    /// The values that restore the previous state; empty if there is nothing to restore.
    var restoring: ScanConfiguration { previous.changes(to: present) }

    /// Processes the values that the kernel reports.
    ///
    /// - Returns: whether ``previous`` has changed.
    mutating func read(_ configuration: ScanConfiguration) -> Bool {
        isSet = false
        present = configuration
        let before = previous
        for (parameter, value) in configuration.values where value != wanted[parameter] { previous[parameter] = value }
        return previous != before
    }

    /// Records that the kernel accepted `change`.
    mutating func set(_ change: ScanConfiguration) {
        isSet = true
        for (parameter, value) in change.values { present[parameter] = value }
    }

    /// Records that the kernel refused a change, so that its own window stays.
    mutating func refused() { isSet = true }

    /// Discards the previous values, because another controller has the number now.
    mutating func forget() { previous = ScanConfiguration() }
}
