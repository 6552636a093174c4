import BeaconMonitoring
import BluetoothLE
import CommandSupport

/// A name of a subject that a user gave: `staff`, `staff 100/7` or `Ada (staff)` as in `visits`, `100/7`, or `Ada`.
struct SubjectName {
    private let text: String
    /// The beacon that the text names, and its conditions; `nil` conditions mean any condition. `nil` if the text does
    /// not name a beacon.
    private let beacon: (identifiers: [String]?, filter: BeaconFilter)?

    /// Whether the text names a beacon under any condition: by its numbers or by its name.
    var isBeacon: Bool { beacon != nil && beacon?.identifiers == nil }

    /// Creates the name of a beacon.
    init(_ beacon: BeaconIdentity, name: String) {
        text = name
        self.beacon = (nil, BeaconFilter(beacon, text: name))
    }

    /// Parses a name.
    ///
    /// - Throws: ``ExitFailure`` if more than one beacon has the name.
    init(_ text: String, _ directory: BeaconDirectory) throws(ExitFailure) {
        self.text = text
        if let filter = BeaconFilter(text) {
            beacon = (nil, filter)
        } else if let named = try directory.only(called: text) {
            beacon = (nil, BeaconFilter(named, text: text))
        } else if let space = text.lastIndex(of: " "),
            let filter = BeaconFilter(String(text[text.index(after: space)...]))
        {
            beacon = (Self.identifiers(text[..<space]), filter)
        } else if text.hasSuffix(")"), let bracket = text.lastIndex(of: "("),
            let named = try directory.only(called: String(text[..<bracket].dropLast()))
        {
            beacon = (
                Self.identifiers(text[bracket...].dropFirst().dropLast()), BeaconFilter(named, text: text)
            )
        } else {
            beacon = nil
        }
    }

    /// Returns the conditions that tables have in one row (`staff+visitors`), and the complete text, because an
    /// identifier can contain `+`.
    private static func identifiers(_ text: Substring) -> [String] {
        [String(text)] + text.split(separator: "+").map { String($0) }
    }

    /// Returns whether an event is about a subject with this name.
    func contains(_ event: BeaconMonitor.Event) -> Bool {
        if event.identifier == text { return true }
        guard let beacon, event.scope == .beacon, let refinement = event.refinement else { return false }
        return beacon.identifiers?.contains(event.identifier) ?? true && beacon.filter.matches(refinement)
    }
}

extension BeaconDirectory {
    /// Returns the text for a subject in tables: `staff`, `staff 100/7`, or `Ada (staff)` if the beacon has a name.
    func label(_ subject: VisitTracker.Subject) -> String {
        guard let beacon = subject.beacon else { return subject.identifier.text }
        return label(beacon, [subject.identifier])
    }

    /// Returns the text for a beacon under several conditions: `staff+visitors 100/7`, or `Ada (staff+visitors)` if it
    /// has a name.
    func label(_ beacon: BeaconIdentity, _ identifiers: [Identifier]) -> String {
        let conditions = identifiers.map(\.text).joined(separator: "+")
        guard self[beacon] != nil else { return "\(conditions) \(beacon.numbers)" }
        return "\(label(beacon)) (\(conditions))"
    }
}
