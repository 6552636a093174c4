import BaseTypes

/// Decides which ways of hearing are begun, which one is used, and when that changes.
///
/// The ways stand in a rank. The best that is open is used; while something stands in its way that waiting may not mend,
/// the next one is begun beside it, and used once it hears. The better one goes on waiting, driven by its own events, and
/// takes over again as soon as it hears. With one way alone there is nothing to change to: it waits, and is tried again.
///
/// A value: what the ways tell goes in with its time, what is to be done comes out of ``next(at:)``.
struct WayChooser: Sendable {
    enum Action: Sendable, Hashable {
        /// Make this way's scanner and start it, then tell ``began(_:at:)`` or ``failed(_:_:at:)``.
        case begin(Int)
        /// Stop this way's scanner.
        case end(Int)
        /// Use this way from now on; `because` is for operators.
        case use(Int, because: String)
    }

    private struct Way: Sendable {
        let backend: ScannerBackend
        var isBegun = false
        var obstacles: Set<ScanObstacle> = []
        var listening = 0
        var failure: ScannerError?
        /// When a failed one is tried again; never where absent.
        var retry: Instant?
        var backOff = BackOff(first: .seconds(1), most: WayChooser.retryMax)
        /// From when on something has stood in its way that is a reason to look for another.
        var outSince: Instant?
        /// Whether that has lasted for long enough.
        var isOut = false
    }

    // A daemon that is being restarted is back by then; what waits longer loses more than a change costs.
    static let grace: Duration = .seconds(2)
    // Where nothing else hears: the longest that a return of the radio may go unnoticed.
    static let retryMax: Duration = .seconds(5)
    // Where another way hears meanwhile.
    static let retryBeside: Duration = .seconds(60)

    private var ways: [Way]
    private(set) var used: Int?

    /// - Parameter backends: the ways that may be used, the best first; at least one.
    init(_ backends: [ScannerBackend]) { ways = backends.map { Way(backend: $0) } }

    var count: Int { ways.count }
    func backend(of index: Int) -> ScannerBackend { ways[index].backend }
    func isBegun(_ index: Int) -> Bool { ways[index].isBegun }
    func obstacles(of index: Int) -> Set<ScanObstacle> { ways[index].obstacles }
    func isDenied(_ index: Int) -> Bool { ways[index].failure?.kind == .denied }

    /// What all ways being closed comes to, where they are: of the best one's kind, with a line for each reason in the order
    /// of the ways, and each remedy once.
    var closure: ScannerError? {
        guard !ways.contains(where: { $0.isBegun }), let best = ways.first?.failure else { return nil }
        guard ways.count > 1 else { return best }
        var lines: [(names: String, reason: String)] = []
        var remedies: [String] = []
        for way in ways {
            guard let failure = way.failure else { continue }
            let name = way.backend.rawValue
            // What closes two of them is said once.
            if let index = lines.firstIndex(where: { $0.reason == failure.reason }) {
                lines[index].names += ", \(name)"
            } else {
                lines.append((name, failure.reason))
            }
            if let remedy = failure.remedy, !remedies.contains(remedy) { remedies.append(remedy) }
        }
        let reasons = lines.map { "\n  \($0.names): \($0.reason)" }.joined()
        return ScannerError(
            best.kind, "no backend can be used:\(reasons)",
            remedy: remedies.isEmpty ? nil : remedies.joined(separator: "\n"))
    }
}

// MARK: What the ways tell

extension WayChooser {
    mutating func began(_ index: Int, at time: Instant) {
        ways[index].isBegun = true
        ways[index].failure = nil
        ways[index].retry = nil
        ways[index].outSince = nil
        ways[index].isOut = false
        ways[index].obstacles = []
        ways[index].listening = 0
        for other in ways.indices where other != index && !ways[other].isBegun {
            // Rights do not come back to a process; what was not there may come.
            guard let failure = ways[other].failure else { continue }
            ways[other].retry = failure.kind == .denied ? nil : time + Self.retryBeside
        }
    }

    /// A way could not be begun, or has ended.
    mutating func failed(_ index: Int, _ error: ScannerError, at time: Instant) {
        ways[index].isBegun = false
        ways[index].failure = error
        ways[index].obstacles = []
        ways[index].listening = 0
        ways[index].outSince = nil
        ways[index].isOut = false
        let pause = ways[index].backOff.next()
        if !ways.contains(where: { $0.isBegun }) {
            ways[index].retry = time + pause
        } else {
            ways[index].retry = error.kind == .denied ? nil : time + Self.retryBeside
        }
        if used == index { used = nil }
    }

    mutating func obstacles(_ obstacles: Set<ScanObstacle>, of index: Int, at time: Instant) {
        ways[index].obstacles = obstacles
        weigh(index, at: time)
    }

    /// How many adapters listen by this way.
    mutating func listening(_ count: Int, by index: Int, at time: Instant) {
        ways[index].listening = count
        if count > 0 { ways[index].backOff.reset() }
        weigh(index, at: time)
    }

    private mutating func weigh(_ index: Int, at time: Instant) {
        let isOut =
            ways[index].listening == 0 && !ways[index].obstacles.isDisjoint(with: reasons(to: ways[index].backend))
        if !isOut {
            ways[index].outSince = nil
            ways[index].isOut = false
        } else if ways[index].outSince == nil {
            ways[index].outSince = time
        }
    }

    // What another way may not suffer from. rfkill and a missing adapter stop all of them alike; that bluetoothd is away
    // only the one that needs it.
    private func reasons(to backend: ScannerBackend) -> Set<ScanObstacle> {
        backend == .dbus ? [.denied, .unavailable] : [.denied]
    }
}

// MARK: What is to be done

extension WayChooser {
    /// When ``next(at:)`` may have something to say though nobody told anything; `nil`: never.
    var nextDeadline: Instant? {
        var next: Instant?
        for way in ways {
            if way.isBegun {
                if way.isOut { continue }
                if let since = way.outSince { next = min(next ?? .latest, since + grace(of: way)) }
                break
            }
            if let retry = way.retry { next = min(next ?? .latest, retry) }
        }
        return next
    }

    /// What is to be done now; to be asked again until there is nothing.
    mutating func next(at now: Instant) -> Action? {
        // The best that hears is used, and what is worse than it is not needed.
        if let best = ways.indices.first(where: { ways[$0].isBegun && ways[$0].listening > 0 }) {
            if used != best, used.map({ ways[$0].listening == 0 || best < $0 }) ?? true { return use(best, at: now) }
            if let worse = ways.indices.first(where: { $0 > best && ways[$0].isBegun }), used == best {
                end(worse)
                return .end(worse)
            }
        }
        // The next one is begun where all before it are closed or out.
        for index in ways.indices {
            let way = ways[index]
            if way.isBegun {
                if let since = way.outSince, since + grace(of: way) <= now { ways[index].isOut = true }
                guard ways[index].isOut else { break }
            } else if way.failure == nil || way.retry.map({ $0 <= now }) ?? false {
                // So that it is given once, whatever comes of it.
                ways[index].retry = nil
                return .begin(index)
            }
        }
        // While none hears, the best that is open is used, so that what it waits for is said.
        if used == nil, let open = ways.indices.first(where: { ways[$0].isBegun }) { return use(open, at: now) }
        return nil
    }

    private mutating func use(_ index: Int, at now: Instant) -> Action {
        let because = reason(for: index)
        used = index
        return .use(index, because: because)
    }

    private mutating func end(_ index: Int) {
        ways[index].isBegun = false
        ways[index].failure = nil
        ways[index].listening = 0
        ways[index].obstacles = []
        ways[index].outSince = nil
        ways[index].isOut = false
        // It may be begun again as soon as it is needed.
        ways[index].retry = nil
    }

    private func grace(of way: Way) -> Duration { way.obstacles.contains(.denied) ? .zero : Self.grace }

    private func reason(for index: Int) -> String {
        let better = ways.indices.prefix(index)
        guard !better.isEmpty else { return ways.count == 1 ? "set in the configuration" : "the best backend" }
        return better.map { place in
            let way = ways[place]
            let why =
                way.failure?.description
                ?? (way.isBegun && way.listening == 0
                    ? way.obstacles.map(\.words).sorted().joined(separator: ", ") : "not used")
            return "\(way.backend.rawValue): \(why)"
        }.joined(separator: "; ")
    }

    /// How a way stands, for operators.
    func standing(of index: Int) -> String {
        let way = ways[index]
        if let failure = way.failure { return "not available: \(failure.description)" }
        guard way.isBegun else { return "not needed" }
        let waits = way.obstacles.map(\.words).sorted().joined(separator: ", ")
        return (used == index ? "in use" : "standing by") + (waits.isEmpty ? "" : ": \(waits)")
    }
}

extension ScanObstacle {
    /// What it is, for operators.
    package var words: String {
        switch self {
        case .denied: "this user has no permission"
        case .blocked: "rfkill blocks Bluetooth"
        case .blockedByHardware: "a hardware switch blocks Bluetooth"
        case .waiting: "waiting for bluetoothd or for the power of an adapter"
        case .unavailable: "no running bluetoothd or no adapter"
        case .thinned: "not all reports are delivered"
        }
    }
}
