import BeaconMonitoring

/// When gateways heard, so that it is known who was there: from a gateway's first line to when it was last known to be alive,
/// without the stretches in which it was not running, or none of its adapters listened.
struct KnownTime {
    /// A stretch of time.
    struct Stretch: Hashable {
        var from: WallDate
        var to: WallDate
    }

    /// When at least one of the gateways heard, in order and apart.
    private(set) var some: [Stretch] = []
    /// When all of them did.
    private(set) var all: [Stretch] = []

    /// The known time of gateways by their names.
    init(of gateways: [String], _ books: VisitsBooks) {
        let heard = gateways.flatMap { Self.heard($0, books) }
        some = Self.covered(heard, atLeast: 1)
        all = gateways.count == 1 ? some : Self.covered(heard, atLeast: gateways.count)
    }

    private static func heard(_ gateway: String, _ books: VisitsBooks) -> [Stretch] {
        guard let book = books.book(of: gateway), let first = book.first, let asOf = book.asOf, first < asOf else {
            return []
        }
        // Without an adapter: it was not running, or had none, which is among the other, too.
        let runs = book.hearing.silences.filter { $0.adapter == nil }.map { Stretch(from: $0.from, to: $0.to ?? asOf) }
        let deafness = book.hearing.deafness.map { Stretch(from: $0.from, to: $0.to ?? asOf) }
        let deaf = covered((runs + deafness).filter { $0.from < $0.to }, atLeast: 1)
        var heard: [Stretch] = []
        var from = first
        for stretch in deaf {
            if stretch.from > from { heard.append(Stretch(from: from, to: min(stretch.from, asOf))) }
            from = max(from, stretch.to)
            if from >= asOf { break }
        }
        if from < asOf { heard.append(Stretch(from: from, to: asOf)) }
        return heard
    }

    /// When none of the gateways heard, between two moments.
    func unknown(from: WallDate, to: WallDate) -> [Stretch] {
        var unknown: [Stretch] = []
        var since = from
        for stretch in some where stretch.to > from && stretch.from < to {
            if stretch.from > since { unknown.append(Stretch(from: since, to: stretch.from)) }
            since = max(since, stretch.to)
        }
        if since < to { unknown.append(Stretch(from: since, to: to)) }
        return unknown
    }

    /// The time that at least so many of the stretches cover.
    static func covered(_ stretches: [Stretch], atLeast count: Int) -> [Stretch] {
        let edges = stretches.flatMap { [($0.from, 1), ($0.to, -1)] }
            // What ends where another begins leaves nothing between them.
            .sorted { ($0.0, -$0.1) < ($1.0, -$1.1) }
        var covered: [Stretch] = []
        var (depth, since) = (0, WallDate(microseconds: 0))
        for (date, change) in edges {
            if depth < count, depth + change >= count { since = date }
            // Where two only touch, they cover nothing together.
            if depth >= count, depth + change < count, since < date { covered.append(Stretch(from: since, to: date)) }
            depth += change
        }
        return covered
    }
}
