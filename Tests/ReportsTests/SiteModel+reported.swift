import Foundation

/// The correct results of a simulated site, as reports show them to people.
extension SiteModel {
    /// Returns the visits at some gateways that are partly or completely within `clip`.
    private func subjectVisits(of names: Set<String>, in clip: Span) -> [SubjectVisit] {
        subjectVisits(of: names).filter { subjectVisit in
            subjectVisit.from < clip.to
                && (subjectVisit.isOpen ? subjectVisit.to > clip.from : subjectVisit.to >= clip.from)
        }
    }

    /// Returns the gateways among `names` that reported a visit.
    private func places(_ subjectVisit: SubjectVisit, of names: Set<String>) -> Set<String> {
        let reporting = gateways.filter { gateway in
            gateway.subjectVisits.contains {
                $0.minor == subjectVisit.minor && (subjectVisit.from...subjectVisit.until).contains($0.from)
            }
        }
        return Set(reporting.map(\.name)).intersection(names)
    }

    func visits(of names: Set<String>, in clip: Span, _ forms: SiteForms) -> [SiteForms.Visit] {
        subjectVisits(of: names, in: clip).map { subjectVisit in
            SiteForms.Visit(
                minor: subjectVisit.minor,
                arrival: subjectVisit.from < clip.from ? "before range" : forms.text(subjectVisit.from),
                lastSighting: subjectVisit.to > clip.to
                    ? "continues" : subjectVisit.isOpen ? "-" : forms.text(subjectVisit.to),
                seconds: max(0, min(subjectVisit.to, clip.to) - max(subjectVisit.from, clip.from)),
                places: places(subjectVisit, of: names))
        }
    }

    func totals(of names: Set<String>, in clip: Span) -> [Int: SiteForms.Total] {
        var totals: [Int: SiteForms.Total] = [:]
        for subjectVisit in subjectVisits(of: names, in: clip) {
            totals[subjectVisit.minor, default: SiteForms.Total(visits: 0, seconds: 0)].visits += 1
            totals[subjectVisit.minor]?.seconds += max(
                0, min(subjectVisit.to, clip.to) - max(subjectVisit.from, clip.from))
        }
        return totals
    }

    /// Returns the beacons that had not exited at the end. The end is long ago, so their state is unknown since the
    /// gateways that held them were last known to be alive.
    func presences(of names: Set<String>, _ forms: SiteForms) -> [SiteForms.Presence] {
        subjectVisits(of: names).filter(\.isOpen).map { subjectVisit in
            let holding = gateways.filter { gateway in
                names.contains(gateway.name)
                    && gateway.subjectVisits.contains { $0.minor == subjectVisit.minor && $0.isOpen }
            }
            let arrivals = holding.flatMap(\.subjectVisits).filter { $0.minor == subjectVisit.minor && $0.isOpen }.map(
                \.from)
            return SiteForms.Presence(
                minor: subjectVisit.minor, since: forms.text(subjectVisit.from),
                lastSighting: forms.text(arrivals.max() ?? 0),
                notKnownSince: forms.text(holding.map(\.asOf).max() ?? 0), places: Set(holding.map(\.name)))
        }
    }
}

extension SiteModel.Expected {
    private enum Kind { case empty, unknown, known }

    private var kind: Kind {
        if known == to - from, partlyKnown == 0, distinct == 0, arrivals == 0 { return .empty }
        return known == 0 ? .unknown : .known
    }

    private var cells: [String] {
        switch kind {
        case .empty: return ["0", "0.00", "0", "0", "0", ""]
        case .unknown: return ["-", "-", "-", "-", "-", "100.0%"]
        case .known:
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
        var before = Kind.known
        for interval in intervals {
            defer { before = interval.kind }
            if before == interval.kind, before != .known { continue }
            rows.append(SiteForms.Interval(begin: String(forms.text(interval.from).prefix(16)), cells: interval.cells))
        }
        return rows
    }
}
