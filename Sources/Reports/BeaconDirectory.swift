import BeaconMonitoring
package import BluetoothLE
package import CommandSupport
package import GatewayConfiguration

/// Who is who: what the configuration calls beacons, for what people read.
///
/// The event files are pseudonymous, so names are looked up when something is told, and only then.
package struct BeaconDirectory: Sendable {
    private let names: BeaconNames
    /// Names that more than one beacon has: what tells them apart is added.
    private let shared: Set<String>

    /// The names of a configuration; without any where it has none.
    package init(_ names: BeaconNames = BeaconNames()) {
        self.names = names
        var (seen, shared): (Set<String>, Set<String>) = ([], [])
        for beacon in names.all where !seen.insert(beacon.name).inserted { shared.insert(beacon.name) }
        self.shared = shared
    }

    /// Whether no beacon has a name.
    package var isEmpty: Bool { names.count == 0 }

    /// The groups that beacons are in.
    package var groups: Set<String> { Set(names.all.compactMap(\.group)) }

    /// What a beacon is called, and its group; `nil` where it has no name.
    package subscript(beacon: BeaconIdentity?) -> NamedBeacon? { beacon.flatMap { names[$0] } }

    /// What a beacon is called: its name, with its numbers where another has the same one; `100/7` where it has none.
    package func label(_ beacon: BeaconIdentity) -> String {
        guard let name = names[beacon]?.name else { return beacon.numbers }
        return shared.contains(name) ? "\(name) \(beacon.numbers)" : name
    }

    /// What tables call a subject: `staff`, `staff 100/7`, or `Ada (staff)` where the beacon has a name.
    func label(_ subject: VisitsBook.Subject) -> String {
        guard let beacon = subject.beacon else { return subject.identifier.text }
        return label(beacon, [subject.identifier])
    }

    /// What tables call a beacon in whatever conditions told of it: `staff+visitors 100/7`, or `Ada (staff+visitors)`.
    func label(_ beacon: BeaconIdentity, _ identifiers: [Identifier]) -> String {
        let conditions = identifiers.map(\.text).joined(separator: "+")
        guard names[beacon] != nil else { return "\(conditions) \(beacon.numbers)" }
        return "\(label(beacon)) (\(conditions))"
    }

    /// The beacons that are called so: exactly so or, where none is, so but for upper and lower case; as ``label(_:)`` says
    /// it, too.
    package func beacons(called text: String) -> [BeaconIdentity] {
        let exact = names.all.filter { $0.name == text || label($0.beacon) == text }
        if !exact.isEmpty { return exact.map(\.beacon) }
        let lowered = text.lowercased()
        return names.all.filter { $0.name.lowercased() == lowered || label($0.beacon).lowercased() == lowered }
            .map(\.beacon)
    }

    /// Returns the one beacon whose name, as ``label(_:)`` writes it, contains `text` in upper or lower case; `nil` if there
    /// is none, or `text` has fewer than two characters or no letter.
    ///
    /// - Throws: ``ExitFailure`` if there are several, with their names.
    func only(containing text: String) throws(ExitFailure) -> BeaconIdentity? {
        let lowered = text.lowercased()
        guard lowered.count > 1, lowered.contains(where: \.isLetter) else { return nil }
        let found = names.all.filter { label($0.beacon).lowercased().contains(lowered) }.map { label($0.beacon) }
        guard found.count > 1 else {
            return found.isEmpty ? nil : names.all.first { label($0.beacon) == found[0] }?.beacon
        }
        throw ExitFailure(
            .dataInvalid, "“\(text)” matches \(found.count) names: \(Self.list(found)); use a longer part of one")
    }

    /// The beacons that an operator named: by their numbers, or by a name or an unambiguous part of one.
    ///
    /// - Returns: the filter; the text of one that was found by a part of its name is the whole name.
    /// - Throws: ``ExitFailure`` if no beacon has the name, with the names, or several have it.
    package func filter(_ text: String) throws(ExitFailure) -> BeaconFilter {
        if let filter = BeaconFilter(text) { return filter }
        if let beacon = try only(called: text) { return BeaconFilter(beacon, text: text) }
        if let beacon = try only(containing: text) { return BeaconFilter(beacon, text: label(beacon)) }
        guard !isEmpty else {
            throw ExitFailure(
                .usage,
                "--beacon is \(text); expected UUID, UUID/MAJOR, UUID/MAJOR/MINOR or MAJOR/MINOR, or the name of a "
                    + "beacon in the configuration, which has no names (--config FILE)")
        }
        throw ExitFailure(.dataInvalid, "no beacon has the name “\(text)”; \(hint(text) ?? "")")
    }

    /// The one beacon that is called so; `nil` where none is.
    ///
    /// - Throws: ``ExitFailure`` where more than one is, with all of them.
    func only(called text: String) throws(ExitFailure) -> BeaconIdentity? {
        let found = beacons(called: text)
        if found.count > 1 { throw Self.ambiguous(text, found) }
        return found.first
    }

    private static func ambiguous(_ text: String, _ beacons: [BeaconIdentity]) -> ExitFailure {
        let listed = beacons.prefix(8).map(\.description).joined(separator: ", ")
        return ExitFailure(
            .dataInvalid,
            "\(beacons.count) beacons have the name “\(text)”: \(listed)\(beacons.count > 8 ? ", …" : ""); use UUID/MAJOR/MINOR"
        )
    }

    // More names than that are no help.
    private static let namesListed = 40

    private static func list(_ names: some Collection<String>) -> String {
        names.prefix(namesListed).joined(separator: ", ")
            + (names.count > namesListed ? " and \(names.count - namesListed) more" : "")
    }

    /// Returns the names, after the one that is nearest to a name that no beacon has; `nil` if no beacon has a name.
    func hint(_ text: String) -> String? {
        guard !isEmpty else { return nil }
        let nearest = NameSuggestion.nearest(to: text, among: names.all.lazy.map(\.name))
        return "\(nearest.map { "did you mean “\($0)”? The" } ?? "the") configuration has the names "
            + Self.list(names.all.map { label($0.beacon) })
    }
}
