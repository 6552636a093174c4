import BeaconMonitoring
import BluetoothLE
import EventLog
import GatewayConfiguration

/// Finds out of what goes on in the books of gateways who is here, and since when that is not known.
struct PresenceFinder {
    private let books: VisitsBooks
    let gateways: [PresentReport.Gateway]

    init(_ books: VisitsBooks, now: WallDate) {
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

    /// Whose stay it is: a person's, whatever the condition, or a condition's.
    private enum Key: Hashable {
        case beacon(BeaconIdentity)
        case condition(Identifier)

        init(_ stay: VisitsBook.Stay) {
            if let beacon = stay.subject.beacon {
                self = .beacon(beacon)
            } else {
                self = .condition(stay.subject.identifier)
            }
        }
    }

    /// Who is here: `merged` is what goes on, put together over all gateways, and says since when; `goingOn` is what goes on
    /// in the book of each gateway, and says who knows of it.
    func presences(
        of merged: [VisitsBook.Stay], goingOn: [VisitsBook.Stay], _ directory: BeaconDirectory
    ) -> [PresentReport.Presence] {
        var told: [VisitsBook.Subject: [VisitsBook.Stay]] = [:]
        for stay in goingOn { told[stay.subject, default: []].append(stay) }
        var stays: [Key: [VisitsBook.Stay]] = [:]
        for stay in merged { stays[Key(stay), default: []].append(stay) }
        // A condition and the beacon that satisfied it are two subjects of one stay: the beacon says more.
        let shown = Set(merged.filter { $0.subject.beacon != nil }.map(\.subject.identifier))
        let presences = stays.compactMap { key, stays -> PresentReport.Presence? in
            if case .condition(let identifier) = key, shown.contains(identifier) { return nil }
            return presence(stays, told: stays.flatMap { told[$0.subject] ?? [] }, directory)
        }
        return presences.sorted { Self.order($0) < Self.order($1) }
    }

    private func presence(
        _ stays: [VisitsBook.Stay], told: [VisitsBook.Stay], _ directory: BeaconDirectory
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
        // What was assumed to be there, or has lost its line, has been there since nobody knows when.
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

    private static func order(_ presence: PresentReport.Presence) -> (String, Int, String, BeaconIdentity) {
        let none = BeaconIdentity(uuid: ProximityUUID(high: 0, low: 0), major: 0, minor: 0)
        return (
            presence.section, presence.notKnownSince == nil ? 0 : 1, presence.name ?? "\u{10FFFF}",
            presence.beacon ?? none
        )
    }
}
