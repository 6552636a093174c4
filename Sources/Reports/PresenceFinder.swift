import BeaconMonitoring
import BluetoothLE
import CommandSupport
import EventLog
import GatewayConfiguration

/// Finds the beacons and conditions that are present, and those whose state is unknown, from the open visits of
/// gateways.
struct PresenceFinder {
    private let trackers: VisitTrackers
    let gateways: [PresentReport.Gateway]

    init(_ trackers: VisitTrackers, now: WallDate) {
        self.trackers = trackers
        gateways = trackers.gateways.compactMap { name in
            guard let tracker = trackers.tracker(of: name), let asOf = tracker.asOf else {
                return nil
            }
            let adapters = tracker.scanning.adapters.sorted { $0.key < $1.key }.map {
                PresentReport.Adapter(
                    name: $0.key, state: $0.value.state, since: $0.value.since, reason: $0.value.reason)
            }
            return PresentReport.Gateway(
                name: name, asOf: asOf, isStopped: tracker.isStopped, isAlive: tracker.isAlive(at: now),
                adapters: adapters, deafSince: tracker.scanning.deafSince)
        }
    }

    /// The subject of a presence: a beacon, whatever its conditions, or a condition.
    private enum Key: Hashable {
        case beacon(BeaconIdentity)
        case condition(Identifier)

        init(_ visit: VisitTracker.SubjectVisit) {
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
        of merged: [VisitTracker.SubjectVisit], ongoing: [VisitTracker.SubjectVisit], _ directory: BeaconDirectory
    ) -> [PresentReport.Presence] {
        let ongoingBySubject = Groups(ongoing) { $0.subject }
        let mergedByKey = Groups(merged) { Key($0) }
        // A condition and the beacon that satisfied it are two subjects of one visit. Only the beacon is shown, because
        // it has more information.
        var shown: Set<Identifier> = []
        for visit in merged where visit.subject.beacon != nil { shown.insert(visit.subject.identifier) }
        var presences: [PresentReport.Presence] = []
        presences.reserveCapacity(mergedByKey.firsts.count)
        for first in mergedByKey.firsts {
            let key = Key(merged[first])
            if case .condition(let identifier) = key, shown.contains(identifier) { continue }
            let own = mergedByKey.indices(of: key).map { merged[$0] }
            let ownOngoing = own.flatMap { ongoingBySubject.indices(of: $0.subject).map { ongoing[$0] } }
            presences.append(presence(own, ongoing: ownOngoing, directory))
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

        init(_ visits: [VisitTracker.SubjectVisit], _ key: (VisitTracker.SubjectVisit) -> Key) {
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
        _ visits: [VisitTracker.SubjectVisit], ongoing: [VisitTracker.SubjectVisit], _ directory: BeaconDirectory
    ) -> PresentReport.Presence {
        let states = ongoing.isEmpty ? visits : ongoing
        let knowing = states.filter { $0.notKnownSince == nil }
        let decisive = knowing.isEmpty ? states : knowing
        let beacon = visits.first?.subject.beacon
        let identifiers = Set(decisive.map(\.subject.identifier)).sorted()
        let timeouts = decisive.compactMap { visit in
            visit.gateways.first.flatMap { trackers.tracker(of: $0)?.exitTimeouts[visit.subject.identifier] }
        }
        var seen: Set<String> = []
        // A subject whose presence was assumed, or whose entry line was deleted, has been present since an unknown
        // time.
        let arrivals = visits.compactMap(\.arrival)
        return PresentReport.Presence(
            beacon: beacon, name: directory[beacon]?.name, group: directory[beacon]?.group,
            identifiers: identifiers.map(\.text),
            gateways: decisive.flatMap(\.gateways).filter { seen.insert($0).inserted },
            since: arrivals.count == visits.count ? arrivals.min() : nil,
            lastSighting: decisive.compactMap { $0.lastSighting ?? $0.arrival }.max(), exitTimeout: timeouts.min(),
            notKnownSince: knowing.isEmpty ? states.compactMap(\.notKnownSince).max() : nil,
            sequence: decisive.first?.sequence)
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
