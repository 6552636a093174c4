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
        let silences = Dictionary(grouping: books.silences, by: \.gateway)
        var heard: [Stretch] = []
        for gateway in gateways { heard += Self.heard(gateway, silences[gateway] ?? [], books) }
        some = Self.covered(heard, atLeast: 1)
        all = gateways.count == 1 ? some : Self.covered(heard, atLeast: gateways.count)
    }

    private static func heard(
        _ gateway: String, _ silences: [VisitsBook.Silence], _ books: VisitsBooks
    ) -> [Stretch] {
        guard let first = books.first(gateway), let asOf = books.asOf(gateway), first < asOf else { return [] }
        var runs: [Stretch] = []
        var adapters: [String: [Stretch]] = [:]
        for silence in silences {
            let stretch = Stretch(from: silence.from, to: silence.to ?? asOf)
            guard stretch.from < stretch.to else { continue }
            if let adapter = silence.adapter {
                adapters[adapter, default: []].append(stretch)
            } else {
                runs.append(stretch)
            }
        }
        // What an adapter is told twice to have been silent is one silence of it.
        let silent = adapters.values.flatMap { covered($0, atLeast: 1) }
        let deaf = covered(runs + covered(silent, atLeast: books.adapterCount(of: gateway)), atLeast: 1)
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
