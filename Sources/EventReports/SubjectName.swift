import BeaconMonitoring

/// What somebody calls a subject: `staff`, `staff 100/7` as `visits` has it, `100/7`.
struct SubjectName {
    private let text: String
    /// Where it names a beacon: under which condition (any where absent), and which.
    private let beacon: (identifier: String?, filter: BeaconFilter)?

    init(_ text: String) {
        self.text = text
        if let filter = BeaconFilter(text) {
            beacon = (nil, filter)
        } else if let space = text.lastIndex(of: " "),
            let filter = BeaconFilter(String(text[text.index(after: space)...]))
        {
            beacon = (String(text[..<space]), filter)
        } else {
            beacon = nil
        }
    }

    /// Whether an event is of what is called so.
    func contains(_ event: BeaconMonitor.Event) -> Bool {
        if event.identifier == text { return true }
        guard let beacon, event.scope == .beacon, let refinement = event.refinement else { return false }
        return (beacon.identifier ?? event.identifier) == event.identifier && beacon.filter.matches(refinement)
    }
}
