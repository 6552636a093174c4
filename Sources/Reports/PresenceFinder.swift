import BeaconMonitoring
import BluetoothLE
import EventLog
import GatewayConfiguration

/// Finds the beacons and conditions that are present, and those whose state is unknown, from the open visits of
/// gateways.
struct PresenceFinder {
    private let books: AllVisits
    let gateways: [PresentReport.Gateway]

    init(_ books: AllVisits, now: WallDate) {
        self.books = books
        gateways = books.gateways.compactMap { name in
            guard let book = books.book(of: name), let asOf = book.asOf else { return nil }
            let adapters = book.hearing.adapters.sorted { $0.key < $1.key }.map {
                PresentReport.Adapter(
                    name: $0.key, state: $0.value.state, since: $0.value.since, reason: $0.value.reason)
            }
            return PresentReport.Gateway(
                name: name, asOf: asOf, isStopped: book.isStopped, isAlive: book.isAlive(at: now),
                adapters: adapters, deafSince: book.hearing.deafSince)
        }
    }

    /// The subject of a presence: a beacon, whatever its conditions, or a condition.
    private enum Key: Hashable {
        case beacon(BeaconIdentity)
        case condition(Identifier)

        init(_ stay: GatewayVisits.SubjectVisit) {
            if let beacon = stay.subject.beacon {
                self = .beacon(beacon)
            } else {
                self = .condition(stay.subject.identifier)
            }
        }
    }

    /// Returns the subjects that are present or unknown, in the order of the report. `merged` has the open visits,
    /// merged over all gateways, with the time since which a subject has been present. `goingOn` has the open visits of
    /// each gateway, which show the gateways that know the state.
    func presences(
        of merged: [GatewayVisits.SubjectVisit], goingOn: [GatewayVisits.SubjectVisit], _ directory: BeaconDirectory
    ) -> [PresentReport.Presence] {
        let told = Groups(goingOn) { $0.subject }
        let stays = Groups(merged) { Key($0) }
        // A condition and the beacon that satisfied it are two subjects of one visit. Only the beacon is shown, because
        // it has more information.
        var shown: Set<Identifier> = []
        for stay in merged where stay.subject.beacon != nil { shown.insert(stay.subject.identifier) }
        var presences: [PresentReport.Presence] = []
        presences.reserveCapacity(stays.firsts.count)
        for first in stays.firsts {
            let key = Key(merged[first])
            if case .condition(let identifier) = key, shown.contains(identifier) { continue }
            let own = stays.indices(of: key).map { merged[$0] }
            let telling = own.flatMap { told.indices(of: $0.subject).map { goingOn[$0] } }
            presences.append(presence(own, told: telling, directory))
        }
        presences.sort(by: Self.isBefore)
        return presences
    }

    /// The indices of visits with the same key, in their order. The visits of a year are large, so they are not copied.
    private struct Groups<Key: Hashable> {
        /// The index of the first visit of each key.
        private(set) var firsts: [Int] = []
        private var lasts: [Key: (first: Int, last: Int)] = [:]
        // The index of the next visit with the same key; 0 after the last.
        private var next: [Int]

        init(_ stays: [GatewayVisits.SubjectVisit], _ key: (GatewayVisits.SubjectVisit) -> Key) {
            next = [Int](repeating: 0, count: stays.count)
            for index in stays.indices {
                let key = key(stays[index])
                if let (first, last) = lasts[key] {
                    next[last] = index
                    lasts[key] = (first, index)
                } else {
                    firsts.append(index)
                    lasts[key] = (index, index)
                }
            }
        }

        func indices(of key: Key) -> [Int] {
            guard var index = lasts[key]?.first else { return [] }
            var indices = [index]
            while next[index] > 0 {
                index = next[index]
                indices.append(index)
            }
            return indices
        }
    }

    private func presence(
        _ stays: [GatewayVisits.SubjectVisit], told: [GatewayVisits.SubjectVisit], _ directory: BeaconDirectory
    ) -> PresentReport.Presence {
        let states = told.isEmpty ? stays : told
        let knowing = states.filter { $0.notKnownSince == nil }
        let telling = knowing.isEmpty ? states : knowing
        let beacon = stays.first?.subject.beacon
        let identifiers = Set(telling.map(\.subject.identifier)).sorted()
        let timeouts = telling.compactMap { stay in
            stay.gateways.first.flatMap { books.book(of: $0)?.exitTimeouts[stay.subject.identifier] }
        }
        var seen: Set<String> = []
        // A subject whose presence was assumed, or whose entry line was deleted, has been present since an unknown
        // time.
        let arrivals = stays.compactMap(\.arrival)
        return PresentReport.Presence(
            beacon: beacon, name: directory[beacon]?.name, group: directory[beacon]?.group,
            identifiers: identifiers.map(\.text),
            gateways: telling.flatMap(\.gateways).filter { seen.insert($0).inserted },
            since: arrivals.count == stays.count ? arrivals.min() : nil,
            lastHeard: telling.compactMap { $0.lastHeard ?? $0.arrival }.max(), exitTimeout: timeouts.min(),
            notKnownSince: knowing.isEmpty ? states.compactMap(\.notKnownSince).max() : nil,
            sequence: telling.first?.sequence)
    }

    /// Orders by section, then present before unknown, then by name (those without a name last), then by beacon.
    private static func isBefore(_ left: PresentReport.Presence, _ right: PresentReport.Presence) -> Bool {
        let (section, other) = (left.section, right.section)
        guard section == other else { return section < other }
        let isPresent = left.notKnownSince == nil
        guard isPresent == (right.notKnownSince == nil) else { return isPresent }
        if left.name != right.name {
            let (name, other) = (left.name ?? "\u{10FFFF}", right.name ?? "\u{10FFFF}")
            guard name == other else { return name < other }
        }
        let none = BeaconIdentity(uuid: ProximityUUID(high: 0, low: 0), major: 0, minor: 0)
        return (left.beacon ?? none) < (right.beacon ?? none)
    }
}
