package import BluetoothLE
package import GatewayConfiguration

/// The names and groups that the configuration gives to beacons, for output that people read.
///
/// The event files are pseudonymous. Names are only looked up when output is written.
package struct BeaconDirectory: Sendable {
    private let names: BeaconNames
    /// Names that more than one beacon has. The numbers of the beacon must follow them.
    private let shared: Set<String>

    /// Creates a directory with the names of a configuration; it is empty if the configuration has none.
    package init(_ names: BeaconNames = BeaconNames()) {
        self.names = names
        var (seen, shared): (Set<String>, Set<String>) = ([], [])
        for beacon in names.all where !seen.insert(beacon.name).inserted { shared.insert(beacon.name) }
        self.shared = shared
    }

    /// Whether no beacon has a name.
    package var isEmpty: Bool { names.count == 0 }

    /// The groups of the named beacons.
    package var groups: Set<String> { Set(names.all.compactMap(\.group)) }

    /// Returns the name and the group of a beacon; `nil` if it has no name.
    package subscript(beacon: BeaconIdentity?) -> NamedBeacon? { beacon.flatMap { names[$0] } }

    /// Returns the name of a beacon, with its numbers if another beacon has the same name; `100/7` if it has no name.
    package func label(_ beacon: BeaconIdentity) -> String {
        guard let name = names[beacon]?.name else { return beacon.numbers }
        return shared.contains(name) ? "\(name) \(beacon.numbers)" : name
    }

    /// Returns the beacons with exactly this name or, if there are none, with a name that differs only in upper and
    /// lower case. The text of ``label(_:)`` counts as a name too.
    package func beacons(called text: String) -> [BeaconIdentity] {
        let exact = names.all.filter { $0.name == text || label($0.beacon) == text }
        if !exact.isEmpty { return exact.map(\.beacon) }
        let lowered = text.lowercased()
        return names.all.filter { $0.name.lowercased() == lowered || label($0.beacon).lowercased() == lowered }
            .map(\.beacon)
    }

    /// Returns the one beacon whose name, as ``label(_:)`` writes it, contains `text` in upper or lower case. Returns
    /// `nil` if there is none, or if `text` has fewer than two characters or no letter.
    ///
    /// - Throws: ``ExitFailure`` if there are several, with their names.
    package func only(containing text: String) throws(ExitFailure) -> BeaconIdentity? {
        let lowered = text.lowercased()
        guard lowered.count > 1, lowered.contains(where: \.isLetter) else { return nil }
        let found = names.all.filter { label($0.beacon).lowercased().contains(lowered) }.map { label($0.beacon) }
        guard found.count > 1 else {
            return found.isEmpty ? nil : names.all.first { label($0.beacon) == found[0] }?.beacon
        }
        throw ExitFailure(
            .dataInvalid, "“\(text)” matches \(found.count) names: \(Self.list(found)); use a longer part of one")
    }

    /// Returns the filter for a beacon that an operator gave by its numbers, by a name, or by an unambiguous part of a
    /// name.
    ///
    /// - Returns: the filter. If the beacon was found by a part of its name, the text of the filter is the complete
    ///   name.
    /// - Throws: ``ExitFailure`` if no beacon has the name, with the existing names, or if several beacons have it.
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

    /// Returns the one beacon with this name; `nil` if there is none.
    ///
    /// - Throws: ``ExitFailure`` if several beacons have the name. It lists up to eight of them.
    package func only(called text: String) throws(ExitFailure) -> BeaconIdentity? {
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

    // A longer list of names does not help the reader.
    private static let namesListed = 40

    private static func list(_ names: some Collection<String>) -> String {
        names.prefix(namesListed).joined(separator: ", ")
            + (names.count > namesListed ? " and \(names.count - namesListed) more" : "")
    }

    /// Returns a suggestion for a name that no beacon has: the nearest name if one is near enough, then the existing
    /// names. `nil` if no beacon has a name.
    package func hint(_ text: String) -> String? {
        guard !isEmpty else { return nil }
        let nearest = NameSuggestion.nearest(to: text, among: names.all.lazy.map(\.name))
        return "\(nearest.map { "did you mean “\($0)”? The" } ?? "the") configuration has the names "
            + Self.list(names.all.map { label($0.beacon) })
    }
}
