package import BeaconMonitoring
package import BluetoothLE
package import EventLog

/// The visits that ended recently, for a program that shows the day of a beacon. It has at least those of 25 hours,
/// which is the longest day, unless there are more than ``most``. Older ones are deleted only to make room.
package struct RecentVisits: Sendable {
    /// A visit that has ended.
    package struct PastVisit: Sendable, Hashable {
        /// The arrival; `nil` if the entry was assumed, or its line was deleted.
        package var arrival: WallDate?
        /// The last sighting; the arrival if there was none.
        package var departure: WallDate
    }

    /// The subject of a visit: a beacon, whatever its conditions, or a condition itself.
    package enum Subject: Sendable, Hashable {
        case beacon(BeaconIdentity)
        case condition(Identifier)
    }

    /// The maximum number of visits. If there are more, visits older than 25 hours are deleted. If there are still too
    /// many, the oldest quarter is deleted.
    package static let most = 20_000
    private static let microsecondsKept: Int64 = 25 * 3600 * 1_000_000

    private struct Entry: ByteCoded {
        var subject: Subject
        var visit: PastVisit

        static var blank: Entry { Entry(subject: .beacon(.blank), visit: PastVisit(arrival: nil, departure: .blank)) }
        mutating func code(with coder: inout ByteCoder) throws(ByteCoder.Damage) {
            try coder.code(&subject)
            try coder.code(&visit.arrival)
            try coder.code(&visit.departure)
        }
    }

    private var entries: [Entry] = []
    private var newest: WallDate?
    /// The number of visits of the last 25 hours that were deleted because there were more than ``most``.
    package private(set) var givenUp = 0

    /// Adds a visit that has ended. A visit with neither a sighting nor an arrival is ignored, because it has no time
    /// in a day.
    mutating func note(_ visit: VisitTracker.SubjectVisit) {
        guard let departure = visit.departure ?? visit.arrival else { return }
        newest = max(newest ?? departure, departure)
        if entries.count >= Self.most { makeRoom() }
        let subject = visit.subject.beacon.map { Subject.beacon($0) } ?? .condition(visit.subject.identifier)
        entries.append(Entry(subject: subject, visit: PastVisit(arrival: visit.arrival, departure: departure)))
    }

    /// Returns the visits that ended at `date` or later, by subject, in the order in which they were added.
    package func since(_ date: WallDate) -> [Subject: [PastVisit]] {
        var visits: [Subject: [PastVisit]] = [:]
        for entry in entries where entry.visit.departure >= date {
            visits[entry.subject, default: []].append(entry.visit)
        }
        return visits
    }

    private mutating func makeRoom() {
        let oldest = (newest?.microseconds ?? 0) - Self.microsecondsKept
        entries.removeAll { $0.visit.departure.microseconds < oldest }
        guard entries.count >= Self.most else { return }
        entries.removeFirst(Self.most / 4)
        givenUp += Self.most / 4
    }
}

extension RecentVisits: ByteCoded {
    package static var blank: RecentVisits { RecentVisits() }

    package mutating func code(with coder: inout ByteCoder) throws(ByteCoder.Damage) {
        try coder.code(&entries)
        try coder.code(&newest)
        try coder.code(&givenUp)
        guard entries.count <= Self.most else { throw ByteCoder.Damage() }
    }
}

extension RecentVisits.Subject: ByteCoded {
    package static var blank: RecentVisits.Subject { .beacon(.blank) }

    package mutating func code(with coder: inout ByteCoder) throws(ByteCoder.Damage) {
        var (beacon, condition): (BeaconIdentity?, Identifier?) = (nil, nil)
        switch self {
        case .beacon(let identity): beacon = identity
        case .condition(let identifier): condition = identifier
        }
        try coder.code(&beacon)
        try coder.code(&condition)
        switch (beacon, condition) {
        case (let beacon?, nil): self = .beacon(beacon)
        case (nil, let condition?): self = .condition(condition)
        default: throw ByteCoder.Damage()
        }
    }
}
