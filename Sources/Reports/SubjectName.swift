import BeaconMonitoring
import BluetoothLE
import CommandSupport

/// What somebody calls a subject: `staff`, `staff 100/7` or `Ada (staff)` as `visits` has it, `100/7`, `Ada`.
struct SubjectName {
    private let text: String
    /// Where it names a beacon: under which conditions (any where absent), and which.
    private let beacon: (identifiers: [String]?, filter: BeaconFilter)?

    /// Whether it names a beacon whatever the condition: by numbers, or by its name.
    var isBeacon: Bool { beacon != nil && beacon?.identifiers == nil }

    /// The name of a beacon.
    init(_ beacon: BeaconIdentity, name: String) {
        text = name
        self.beacon = (nil, BeaconFilter(beacon, text: name))
    }

    /// - Throws: ``ExitFailure`` where more than one beacon has that name.
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

    /// The conditions that tables put in one row (`staff+visitors`), and what is written itself, where `+` is a part of it.
    private static func identifiers(_ text: Substring) -> [String] {
        [String(text)] + text.split(separator: "+").map { String($0) }
    }

    /// Whether an event is of what is called so.
    func contains(_ event: BeaconMonitor.Event) -> Bool {
        if event.identifier == text { return true }
        guard let beacon, event.scope == .beacon, let refinement = event.refinement else { return false }
        return beacon.identifiers?.contains(event.identifier) ?? true && beacon.filter.matches(refinement)
    }
}
