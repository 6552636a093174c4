import Foundation

/// The correct results of a simulated site, computed second by second. This is slow and simple, and independent of the
/// computation in reports.
extension SiteModel {
    /// The correct numbers of an interval.
    struct Expected: Equatable {
        var from: Int
        var to: Int
        var known = 0
        var partlyKnown = 0
        var peak: Int?
        var mean: Double?
        var arrivals: Int?
        var departures: Int?
        var distinct: Int?
    }

    /// Returns the visits at some gateways, each once. If a visit starts while another gateway still holds the beacon,
    /// it is part of the same visit.
    func subjectVisits(of names: Set<String>) -> [SubjectVisit] {
        var all: [SubjectVisit] = []
        let ofAll = gateways.filter { names.contains($0.name) }.flatMap(\.subjectVisits)
        for ofBeacon in Dictionary(grouping: ofAll, by: \.minor).values {
            var pending = ofBeacon.sorted { $0.from < $1.from }
            while !pending.isEmpty {
                var subjectVisit = pending.removeFirst()
                var until = subjectVisit.until
                while let next = pending.first, next.from <= until {
                    pending.removeFirst()
                    // The visit that ends last defines the end.
                    if next.to > subjectVisit.to || next.to == subjectVisit.to && next.isOpen {
                        (subjectVisit.to, subjectVisit.isOpen) = (next.to, next.isOpen)
                    }
                    until = max(until, next.until)
                }
                all.append(subjectVisit)
            }
        }
        return all
    }

    /// Returns the correct numbers of intervals, for the gateways together.
    ///
    /// - Parameters:
    ///   - bounds: the starts of the intervals, and the end of the last one.
    ///   - names: the names of the gateways.
    /// - Returns: the numbers of each interval.
    func truth(_ bounds: [Int], of names: Set<String>) -> [Expected] {
        let (origin, count) = (begin - 90_000, end - begin + 180_000)
        // For each second: the number of beacons that are present at its start, and during all of it.
        var (at, over) = ([Int32](repeating: 0, count: count + 2), [Int32](repeating: 0, count: count + 2))
        // For each second: the number of gateways that scan.
        var scanning = [Int32](repeating: 0, count: count + 2)
        func add(_ span: Span, to counts: inout [Int32], _ change: Int32) {
            guard span.to > span.from else { return }
            counts[span.from - origin] += change
            counts[span.to - origin] -= change
        }
        let subjectVisits = subjectVisits(of: names)
        for subjectVisit in subjectVisits {
            add(Span(from: subjectVisit.from, to: subjectVisit.to + 1), to: &at, 1)
            add(Span(from: subjectVisit.from, to: subjectVisit.to), to: &over, 1)
        }
        for gateway in gateways where names.contains(gateway.name) {
            add(Span(from: gateway.first, to: gateway.asOf), to: &scanning, 1)
            for span in gateway.unknown { add(span, to: &scanning, -1) }
        }
        for second in 1..<count + 2 {
            at[second] += at[second - 1]
            over[second] += over[second - 1]
            scanning[second] += scanning[second - 1]
        }
        // A year has about 10,000 stays and more intervals, so each interval is only compared with the visits of its
        // days.
        var byDay: [Int: [SubjectVisit]] = [:]
        for subjectVisit in subjectVisits {
            for day in subjectVisit.from / 86_400...subjectVisit.to / 86_400 {
                byDay[day, default: []].append(subjectVisit)
            }
        }
        return zip(bounds, bounds.dropFirst()).map { from, to in
            var (expected, present) = (Expected(from: from, to: to), 0)
            for second in from - origin..<to - origin where scanning[second] > 0 {
                expected.known += 1
                if Int(scanning[second]) < names.count { expected.partlyKnown += 1 }
                expected.peak = max(expected.peak ?? 0, Int(at[second]))
                present += Int(over[second])
            }
            if expected.known > 0 { expected.mean = (Double(present) * 100 / Double(expected.known)).rounded() / 100 }
            return expected
        }.map { expected in
            var expected = expected
            guard expected.known > 0 else { return expected }
            let near = Set((expected.from / 86_400...expected.to / 86_400).flatMap { byDay[$0] ?? [] })
            let inside = near.filter { $0.from < expected.to && $0.to >= expected.from }
            expected.arrivals = inside.count { $0.from >= expected.from }
            expected.departures = inside.count { !$0.isOpen && $0.to < expected.to }
            expected.distinct = Set(inside.map(\.minor)).count
            return expected
        }
    }

    /// Returns how long beacons were present, in seconds, as `visits` counts it.
    func total(of names: Set<String>, in clip: Span) -> [Int: Int] {
        subjectVisits(of: names).reduce(into: [:]) { totals, subjectVisit in
            guard subjectVisit.from < clip.to,
                subjectVisit.isOpen ? subjectVisit.to > clip.from : subjectVisit.to >= clip.from
            else { return }
            totals[subjectVisit.minor, default: 0] += max(
                0, min(subjectVisit.to, clip.to) - max(subjectVisit.from, clip.from))
        }
    }
}
