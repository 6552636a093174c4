package import BeaconMonitoring
package import BluetoothLE
package import EventLog

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

    private struct Entry: Kept {
        var subject: Subject
        var stay: Stay

        static var blank: Entry { Entry(subject: .beacon(.blank), stay: Stay(arrival: nil, departure: .blank)) }
        mutating func pass(_ octets: inout KeptOctets) throws(KeptOctets.Damage) {
            try octets.pass(&subject)
            try octets.pass(&stay.arrival)
            try octets.pass(&stay.departure)
        }
    }

    private var entries: [Entry] = []
    private var newest: WallDate?
    /// How many stays of the last day were given up, since there were more than ``most``.
    package private(set) var givenUp = 0

    /// Takes in a stay that is over. One that ended without a sighting or an arrival is nowhere in a day.
    mutating func note(_ stay: VisitsBook.Stay) {
        guard let departure = stay.departure ?? stay.arrival else { return }
        newest = max(newest ?? departure, departure)
        if entries.count >= Self.most { makeRoom() }
        let subject = stay.subject.beacon.map { Subject.beacon($0) } ?? .condition(stay.subject.identifier)
        entries.append(Entry(subject: subject, stay: Stay(arrival: stay.arrival, departure: departure)))
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

extension RecentStays: Kept {
    package static var blank: RecentStays { RecentStays() }

    package mutating func pass(_ octets: inout KeptOctets) throws(KeptOctets.Damage) {
        try octets.pass(&entries)
        try octets.pass(&newest)
        try octets.pass(&givenUp)
        guard entries.count <= Self.most else { throw KeptOctets.Damage() }
    }
}

extension RecentStays.Subject: Kept {
    package static var blank: RecentStays.Subject { .beacon(.blank) }

    package mutating func pass(_ octets: inout KeptOctets) throws(KeptOctets.Damage) {
        var (beacon, condition): (BeaconIdentity?, Identifier?) = (nil, nil)
        switch self {
        case .beacon(let identity): beacon = identity
        case .condition(let identifier): condition = identifier
        }
        try octets.pass(&beacon)
        try octets.pass(&condition)
        switch (beacon, condition) {
        case (let beacon?, nil): self = .beacon(beacon)
        case (nil, let condition?): self = .condition(condition)
        default: throw KeptOctets.Damage()
        }
    }
}
