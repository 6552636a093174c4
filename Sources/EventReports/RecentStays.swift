package import BeaconMonitoring
package import BluetoothLE

/// The stays that ended within twenty-five hours, as long as a day can be: for whoever shows somebody's day.
package struct RecentStays: Sendable {
    /// A stay that is over.
    package struct Stay: Sendable, Hashable {
        /// When it began; absent where the entry was assumed, or its line has been deleted.
        package var arrival: WallDate?
        /// The last sighting.
        package var departure: WallDate
    }

    /// Whose a stay is: a beacon's, whatever the condition, or a condition's of which no beacon has states of its own.
    package enum Subject: Sendable, Hashable {
        case beacon(BeaconIdentity)
        case condition(Identifier)
    }

    /// How many are kept. Of more, those that are older than a day go; where none is, the oldest quarter.
    package static let most = 20_000
    private static let microsecondsKept: Int64 = 25 * 3600 * 1_000_000

    private var entries: [(subject: Subject, stay: Stay)] = []
    private var newest: WallDate?
    /// How many stays of the last day were given up, since there were more than ``most``.
    package private(set) var givenUp = 0

    /// Nothing has ended yet.
    package init() {}

    /// Takes in a stay that is over. One that ended without a sighting or an arrival is nowhere in a day.
    mutating func note(_ stay: VisitsBook.Stay) {
        guard let departure = stay.departure ?? stay.arrival else { return }
        newest = max(newest ?? departure, departure)
        if entries.count >= Self.most { makeRoom() }
        let subject = stay.subject.beacon.map { Subject.beacon($0) } ?? .condition(stay.subject.identifier)
        entries.append((subject, Stay(arrival: stay.arrival, departure: departure)))
    }

    /// The stays that ended at `date` or later, of each who had any, in the order in which they were told.
    package func since(_ date: WallDate) -> [Subject: [Stay]] {
        var stays: [Subject: [Stay]] = [:]
        for entry in entries where entry.stay.departure >= date { stays[entry.subject, default: []].append(entry.stay) }
        return stays
    }

    private mutating func makeRoom() {
        let oldest = (newest?.microseconds ?? 0) - Self.microsecondsKept
        entries.removeAll { $0.stay.departure.microseconds < oldest }
        guard entries.count >= Self.most else { return }
        entries.removeFirst(Self.most / 4)
        givenUp += Self.most / 4
    }
}
