import Foundation

/// The correct results of a simulated site, as reports show them to people.
extension SiteModel {
    /// Returns the stays at some gateways that are partly or completely within `clip`.
    private func stays(of names: Set<String>, in clip: Span) -> [SubjectVisit] {
        stays(of: names).filter { stay in
            stay.from < clip.to && (stay.isOpen ? stay.to > clip.from : stay.to >= clip.from)
        }
    }

    /// Returns the gateways among `names` that reported a stay.
    private func places(_ stay: SubjectVisit, of names: Set<String>) -> Set<String> {
        let telling = gateways.filter { gateway in
            gateway.stays.contains { $0.minor == stay.minor && (stay.from...stay.until).contains($0.from) }
        }
        return Set(telling.map(\.name)).intersection(names)
    }

    func visits(of names: Set<String>, in clip: Span, _ forms: SiteForms) -> [SiteForms.Visit] {
        stays(of: names, in: clip).map { stay in
            SiteForms.Visit(
                minor: stay.minor, arrival: stay.from < clip.from ? "before range" : forms.text(stay.from),
                lastHeard: stay.to > clip.to ? "continues" : stay.isOpen ? "-" : forms.text(stay.to),
                seconds: max(0, min(stay.to, clip.to) - max(stay.from, clip.from)), places: places(stay, of: names))
        }
    }

    func totals(of names: Set<String>, in clip: Span) -> [Int: SiteForms.Total] {
        var totals: [Int: SiteForms.Total] = [:]
        for stay in stays(of: names, in: clip) {
            totals[stay.minor, default: SiteForms.Total(visits: 0, seconds: 0)].visits += 1
            totals[stay.minor]?.seconds += max(0, min(stay.to, clip.to) - max(stay.from, clip.from))
        }
        return totals
    }

    /// Returns the beacons that had not exited at the end. The end is long ago, so their state is unknown since the
    /// gateways that held them were last known to be alive.
    func presences(of names: Set<String>, _ forms: SiteForms) -> [SiteForms.Presence] {
        stays(of: names).filter(\.isOpen).map { stay in
            let holding = gateways.filter { gateway in
                names.contains(gateway.name) && gateway.stays.contains { $0.minor == stay.minor && $0.isOpen }
            }
            let arrivals = holding.flatMap(\.stays).filter { $0.minor == stay.minor && $0.isOpen }.map(\.from)
            return SiteForms.Presence(
                minor: stay.minor, since: forms.text(stay.from), lastHeard: forms.text(arrivals.max() ?? 0),
                notKnownSince: forms.text(holding.map(\.asOf).max() ?? 0), places: Set(holding.map(\.name)))
        }
    }
}

extension SiteModel.Expected {
    private enum Kind { case empty, unknown, told }

    private var kind: Kind {
        if known == to - from, partlyKnown == 0, distinct == 0, arrivals == 0 { return .empty }
        return known == 0 ? .unknown : .told
    }

    private var cells: [String] {
        switch kind {
        case .empty: return ["0", "0.00", "0", "0", "0", ""]
        case .unknown: return ["-", "-", "-", "-", "-", "100.0%"]
        case .told:
            let share = ((to - from - known) * 2000 + (to - from)) / (2 * (to - from))
            return [
                "\(peak ?? -1)", String(format: "%.2f", mean ?? -1), "\(arrivals ?? -1)", "\(departures ?? -1)",
                "\(distinct ?? -1)", share > 0 ? "\(share / 10).\(share % 10)%" : partlyKnown > 0 ? "partly" : "",
            ]
        }
    }

    /// Returns the rows of a table for people. Consecutive intervals without a beacon are one row, and so are
    /// consecutive unknown intervals.
    static func rows(_ intervals: [SiteModel.Expected], _ forms: SiteForms) -> [SiteForms.Interval] {
        var rows: [SiteForms.Interval] = []
        var before = Kind.told
        for interval in intervals {
            defer { before = interval.kind }
            if before == interval.kind, before != .told { continue }
            rows.append(SiteForms.Interval(begin: String(forms.text(interval.from).prefix(16)), cells: interval.cells))
        }
        return rows
    }
}
