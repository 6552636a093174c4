import BeaconMonitoring
import BluetoothLE
import CommandSupport
import GatewayConfiguration

/// The visits that occupancy counts, by series and by subject. Visits that several conditions or gateways reported are
/// merged.
struct OccupancySheet {
    // About 40 bytes each, and as many again while they are counted.
    static let visitsMax = 2_000_000
    // A site has some hundred conditions, and each is a series.
    static let conditionsMax = 10_000

    /// A visit in a series.
    fileprivate struct Entry {
        var series: Int32
        var subject: Int32
        var from: WallDate
        var to: WallDate
        /// A later entry that starts up to this time belongs to the same visit.
        var until: WallDate
        var isArrival: Bool
        var isDeparture: Bool
    }

    private let options: OccupancyOptions
    private var entries: [Entry] = []
    private var places: [OccupancyReport.Series: Int32] = [:]
    private var names: [OccupancyReport.Series] = []
    private var beacons: [BeaconIdentity: Int32] = [:]
    private var conditions: [Identifier: Int32] = [:]
    /// The conditions that have visits, and whether these are visits of beacons.
    private var hasBeacons: [Identifier: Bool] = [:]
    /// The indices of the entries of each series, in the order of ``series``.
    private var ranges: [Range<Int>] = []
    /// The series in their order. They are complete after ``finish(_:)``.
    private(set) var series: [OccupancyReport.Series] = []

    init(_ options: OccupancyOptions) { self.options = options }

    /// Adds a visit that one gateway reports.
    ///
    /// - Throws: ``ExitFailure`` if there is no room for it, because numbers without it would be wrong.
    mutating func add(_ visit: VisitTracker.SubjectVisit) throws(ExitFailure) {
        let identifier = visit.subject.identifier
        let isOfBeacon = visit.subject.beacon != nil
        // If a condition has visits of beacons, its own visits would count the same time again.
        guard isOfBeacon || hasBeacons[identifier] != true else { return }
        if hasBeacons[identifier] == nil, hasBeacons.count >= Self.conditionsMax {
            throw ExitFailure(
                .dataInvalid,
                "the files contain more than \(Self.conditionsMax) conditions; select one with --condition")
        }
        hasBeacons[identifier] = isOfBeacon
        guard let visit = visit.clipped(from: options.visits.from, to: options.visits.to),
            var entry = entry(of: visit)
        else { return }
        guard entries.count < Self.visitsMax else {
            throw ExitFailure(
                .dataInvalid,
                "the time contains more than \(Self.visitsMax) visits; use a shorter time with --from and --to, or select one "
                    + "condition with --condition")
        }
        if let beacon = visit.subject.beacon {
            entry.subject = Self.number(of: beacon, in: &beacons)
        } else {
            entry.subject = Self.number(of: identifier, in: &conditions)
        }
        entry.series = place(of: Self.series(of: visit, options))
        entries.append(entry)
    }

    private static func number<Key>(of key: Key, in numbers: inout [Key: Int32]) -> Int32 {
        if let number = numbers[key] { return number }
        let number = Int32(truncatingIfNeeded: numbers.count)
        numbers[key] = number
        return number
    }

    private mutating func place(of series: OccupancyReport.Series) -> Int32 {
        if let place = places[series] { return place }
        let place = Int32(truncatingIfNeeded: names.count)
        places[series] = place
        names.append(series)
        return place
    }

    private static func series(of visit: VisitTracker.SubjectVisit, _ options: OccupancyOptions)
        -> OccupancyReport.Series
    {
        let scope: OccupancyReport.Scope = visit.subject.beacon == nil ? .condition : .beacon
        let name: String? =
            switch options.by {
            case .all: nil
            case .condition: visit.subject.identifier.text
            case .group: visit.subject.beacon.flatMap { options.visits.directory[$0]?.group }
            case .gateway: visit.gateways.first
            }
        return OccupancyReport.Series(name: name, scope: scope)
    }

    /// Returns an entry with the time of a clipped visit. If the duration is not known, the entry is the one moment
    /// that is known. Returns `nil` if this moment is outside the requested range.
    private func entry(of visit: VisitTracker.SubjectVisit) -> Entry? {
        var (from, to): (WallDate, WallDate)
        if let arrival = visit.arrival, visit.duration != nil {
            from = max(arrival, visit.clippedFrom ?? arrival)
            to = max(from, min(visit.lastKnown, visit.clippedTo ?? visit.lastKnown))
        } else {
            from = visit.arrival ?? visit.departure ?? visit.until
            to = from
            if let begin = options.visits.from, from < begin { return nil }
            if let end = options.visits.to, from >= end { return nil }
        }
        let hasEnded = visit.end != .open && visit.end != .lost && visit.departure != nil
        return Entry(
            series: 0, subject: 0, from: from, to: to,
            until: visit.isPresent ? WallDate(microseconds: .max) : max(to, visit.until),
            isArrival: visit.arrival != nil && !visit.beganBefore, isDeparture: hasEnded && !visit.goesOn)
    }

    /// Merges the visits that several conditions or gateways reported. As in `visits`, a visit that starts before the
    /// end of the previous one was established belongs to the previous one.
    mutating func finish(_ gateways: [String]) {
        nameSeries(gateways)
        let order = series.enumerated().map { (number, series) in (place(of: series), Int32(truncatingIfNeeded: number))
        }
        let numbers = Dictionary(uniqueKeysWithValues: order)
        entries = entries.compactMap { entry in
            // A condition that later had events of beacons must not be counted too. Its series is not in the list.
            guard let number = numbers[entry.series] else { return nil }
            var entry = entry
            entry.series = number
            return entry
        }
        entries.sort { ($0.series, $0.subject, $0.from) < ($1.series, $1.subject, $1.from) }
        var merged = 0
        for index in entries.indices {
            let entry = entries[index]
            if merged > 0, entries[merged - 1].isOf(entry), entry.from <= entries[merged - 1].until {
                entries[merged - 1].join(entry)
            } else {
                entries[merged] = entry
                merged += 1
            }
        }
        entries.removeLast(entries.count - merged)
        var begin = 0
        for number in series.indices {
            let end = entries[begin...].firstIndex { $0.series > Int32(number) } ?? entries.count
            ranges.append(begin..<end)
            begin = end
        }
    }

    /// Creates the list of series, also of those without visits in the requested time.
    private mutating func nameSeries(_ gateways: [String]) {
        let own = Set(hasBeacons.filter { !$0.value }.keys)
        dropOwnVisits(but: own)
        let ofBeacons: [String?]
        let ofConditions: [String?]
        switch options.by {
        case .all: (ofBeacons, ofConditions) = ([nil], [nil])
        case .condition:
            ofBeacons = hasBeacons.filter(\.value).map(\.key.text)
            ofConditions = own.map(\.text)
        case .group:
            let isAnyInNone = names.contains(OccupancyReport.Series(name: nil, scope: .beacon))
            let groups = options.visits.directory.groups
            ofBeacons = groups.map(\.self) + (isAnyInNone || groups.isEmpty ? [nil] : [])
            ofConditions = [nil]
        case .gateway: (ofBeacons, ofConditions) = (gateways, gateways)
        }
        func sorted(_ names: [String?], _ scope: OccupancyReport.Scope) -> [OccupancyReport.Series] {
            // Series without a name come last.
            names.sorted { left, right in
                guard let left else { return false }
                return right.map { left < $0 } ?? true
            }.map { OccupancyReport.Series(name: $0, scope: scope) }
        }
        series =
            own.isEmpty || hasBeacons.values.contains(true) || options.by == .condition
            ? sorted(ofBeacons, .beacon) : []
        if !own.isEmpty { series += sorted(ofConditions, .condition) }
    }

    private mutating func dropOwnVisits(but own: Set<Identifier>) {
        let wanted = Set(conditions.filter { own.contains($0.key) }.values)
        entries.removeAll { entry in
            names[Int(entry.series)].scope == .condition && !wanted.contains(entry.subject)
        }
    }

    /// Returns the starts and ends of the visits of a series in their order, and the number of subjects.
    func edges(of number: Int) -> (edges: [OccupancyCounter.Edge], subjects: Int) {
        var edges: [OccupancyCounter.Edge] = []
        edges.reserveCapacity(2 * ranges[number].count)
        var (subject, latest): (Int32, Int32?) = (-1, nil)
        for entry in entries[ranges[number]] {
            if entry.subject != latest { subject += 1 }
            latest = entry.subject
            edges.append(
                OccupancyCounter.Edge(date: entry.from, subject: subject, isBegin: true, isCounted: entry.isArrival))
            edges.append(
                OccupancyCounter.Edge(date: entry.to, subject: subject, isBegin: false, isCounted: entry.isDeparture))
        }
        edges.sort { ($0.date, $0.isBegin ? 0 : 1) < ($1.date, $1.isBegin ? 0 : 1) }
        return (edges, Int(subject) + 1)
    }
}

extension OccupancySheet.Entry {
    fileprivate func isOf(_ other: Self) -> Bool { series == other.series && subject == other.subject }

    /// Merges this entry with a later one. The result ends like the one that was known for longer.
    fileprivate mutating func join(_ other: Self) {
        if other.from == from { isArrival = isArrival || other.isArrival }
        if other.to > to || other.to == to && !other.isDeparture { isDeparture = other.isDeparture }
        to = max(to, other.to)
        until = max(until, other.until)
    }
}
