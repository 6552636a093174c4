/// The scan window of one adapter: it is set to the wanted one, and the value of before is kept for the end.
struct ScanWindow: Sendable {
    private let wanted: ScanConfiguration
    /// The values as far as they are known.
    private var present = ScanConfiguration()
    /// The values before the gateway changed them.
    private(set) var previous: ScanConfiguration
    private var isSet = false

    init(_ timing: ScanTiming, previous: ScanConfiguration = ScanConfiguration()) {
        wanted = ScanConfiguration(timing)
        self.previous = previous
    }

    /// Whether reports are missed between windows.
    var isThin: Bool { present.isThin }

    /// The values to set, or `nil` if there is nothing to change or it was tried already.
    var change: ScanConfiguration? {
        let change = wanted.changes(to: present)
        return isSet || change.isEmpty ? nil : change
    }

    /// The values that restore the state of before; empty if there is nothing to restore.
    var restoring: ScanConfiguration { previous.changes(to: present) }

    /// Notes the values that the kernel reports.
    ///
    /// - Returns: whether ``previous`` has changed.
    mutating func read(_ configuration: ScanConfiguration) -> Bool {
        isSet = false
        present = configuration
        let before = previous
        for (parameter, value) in configuration.values where value != wanted[parameter] { previous[parameter] = value }
        return previous != before
    }

    /// Notes that the kernel accepted `change`.
    mutating func set(_ change: ScanConfiguration) {
        isSet = true
        for (parameter, value) in change.values { present[parameter] = value }
    }

    /// Notes that the kernel refused a change: its own window stays.
    mutating func refused() { isSet = true }

    /// Forgets the values of before: the number belongs to another controller now.
    mutating func forget() { previous = ScanConfiguration() }
}
