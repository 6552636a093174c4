import BeaconMonitoring
import BluetoothLE
import EventLog
import GatewayConfiguration

/// Finds the beacons and conditions that are present, and those whose state is unknown, from the open visits of
/// gateways.
struct PresenceFinder {
    private let allVisits: AllVisits
    let gateways: [PresentReport.Gateway]

    init(_ allVisits: AllVisits, now: WallDate) {
        self.allVisits = allVisits
        gateways = allVisits.gateways.compactMap { name in
            guard let gatewayVisits = allVisits.gatewayVisits(of: name), let asOf = gatewayVisits.asOf else {
                return nil
            }
            let adapters = gatewayVisits.scanning.adapters.sorted { $0.key < $1.key }.map {
                PresentReport.Adapter(
                    name: $0.key, state: $0.value.state, since: $0.value.since, reason: $0.value.reason)
            }
            return PresentReport.Gateway(
                name: name, asOf: asOf, isStopped: gatewayVisits.isStopped, isAlive: gatewayVisits.isAlive(at: now),
                adapters: adapters, deafSince: gatewayVisits.scanning.deafSince)
        }
    }

    /// The subject of a presence: a beacon, whatever its conditions, or a condition.
    private enum Key: Hashable {
        case beacon(BeaconIdentity)
        case condition(Identifier)

        init(_ visit: GatewayVisits.SubjectVisit) {
            if let beacon = visit.subject.beacon {
                self = .beacon(beacon)
            } else {
                self = .condition(visit.subject.identifier)
            }
        }
    }

    /// Returns the subjects that are present or unknown, in the order of the report. `merged` has the open visits,
    /// merged over all gateways, with the time since which a subject has been present. `ongoing` has the open visits of
    /// each gateway, which show the gateways that know the state.
    func presences(
        of merged: [GatewayVisits.SubjectVisit], ongoing: [GatewayVisits.SubjectVisit], _ directory: BeaconDirectory
    ) -> [PresentReport.Presence] {
        let reported = Groups(ongoing) { $0.subject }
        let visits = Groups(merged) { Key($0) }
        // A condition and the beacon that satisfied it are two subjects of one visit. Only the beacon is shown, because
        // it has more information.
        var shown: Set<Identifier> = []
        for visit in merged where visit.subject.beacon != nil { shown.insert(visit.subject.identifier) }
        var presences: [PresentReport.Presence] = []
        presences.reserveCapacity(visits.firsts.count)
        for first in visits.firsts {
            let key = Key(merged[first])
            if case .condition(let identifier) = key, shown.contains(identifier) { continue }
            let own = visits.indices(of: key).map { merged[$0] }
            let telling = own.flatMap { reported.indices(of: $0.subject).map { ongoing[$0] } }
            presences.append(presence(own, reported: telling, directory))
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

        init(_ visits: [GatewayVisits.SubjectVisit], _ key: (GatewayVisits.SubjectVisit) -> Key) {
            next = [Int](repeating: 0, count: visits.count)
            for index in visits.indices {
                let key = key(visits[index])
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
        _ visits: [GatewayVisits.SubjectVisit], reported: [GatewayVisits.SubjectVisit], _ directory: BeaconDirectory
    ) -> PresentReport.Presence {
        let states = reported.isEmpty ? visits : reported
        let knowing = states.filter { $0.notKnownSince == nil }
        let telling = knowing.isEmpty ? states : knowing
        let beacon = visits.first?.subject.beacon
        let identifiers = Set(telling.map(\.subject.identifier)).sorted()
        let timeouts = telling.compactMap { visit in
            visit.gateways.first.flatMap { allVisits.gatewayVisits(of: $0)?.exitTimeouts[visit.subject.identifier] }
        }
        var seen: Set<String> = []
        // A subject whose presence was assumed, or whose entry line was deleted, has been present since an unknown
        // time.
        let arrivals = visits.compactMap(\.arrival)
        return PresentReport.Presence(
            beacon: beacon, name: directory[beacon]?.name, group: directory[beacon]?.group,
            identifiers: identifiers.map(\.text),
            gateways: telling.flatMap(\.gateways).filter { seen.insert($0).inserted },
            since: arrivals.count == visits.count ? arrivals.min() : nil,
            lastReceived: telling.compactMap { $0.lastReceived ?? $0.arrival }.max(), exitTimeout: timeouts.min(),
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
