import BaseTypes

/// Decides which backends are started, which one is used, and when that changes.
///
/// The backends are ranked. The best one that is open is used. If it has an obstacle that waiting may not remove, the
/// next one is started too, and is used as soon as it scans. The better one continues to wait for its own events and is
/// used again as soon as it scans. A single backend cannot be replaced: it waits, and is retried.
///
/// A value without side effects: the reports of the backends are passed in with their times, and ``next(at:)`` returns
/// the actions.
struct BackendChooser: Sendable {
    enum Action: Sendable, Hashable {
        /// Create and start the scanner of this backend, then call ``began(_:at:)`` or ``failed(_:_:at:)``.
        case begin(Int)
        /// Stop the scanner of this backend.
        case end(Int)
        /// Use this backend from now on; `because` is for operators.
        case use(Int, because: String)
    }

    private struct Candidate: Sendable {
        let backend: ScannerBackend
        var isBegun = false
        var obstacles: Set<ScanObstacle> = []
        var listening = 0
        var failure: ScannerError?
        /// When a failed backend is retried; `nil`: never.
        var retry: Instant?
        var backOff = BackOff(first: .seconds(1), most: BackendChooser.retryMax)
        /// The time since which the backend has had an obstacle that is a reason to start another one.
        var outSince: Instant?
        /// Whether the obstacle has lasted long enough.
        var isOut = false
    }

    // A restart of a daemon takes less time. Waiting longer would lose more sightings than a change of the backend.
    static let grace: Duration = .seconds(2)
    // Used if no backend is open: the longest time for which a radio can be available again without being noticed.
    static let retryMax: Duration = .seconds(5)
    // Used if another backend is open meanwhile, even if it does not scan.
    static let retryBeside: Duration = .seconds(60)

    private var ways: [Candidate]
    private(set) var used: Int?

    /// - Parameter backends: the usable backends, the best first; at least one.
    init(_ backends: [ScannerBackend]) { ways = backends.map { Candidate(backend: $0) } }

    var count: Int { ways.count }
    func backend(of index: Int) -> ScannerBackend { ways[index].backend }
    func isBegun(_ index: Int) -> Bool { ways[index].isBegun }
    func obstacles(of index: Int) -> Set<ScanObstacle> { ways[index].obstacles }
    func isDenied(_ index: Int) -> Bool { ways[index].failure?.kind == .denied }

    /// The error if all backends are closed, otherwise `nil`. It has the kind of the best one, one line for each reason
    /// in the order of the backends, and each remedy once.
    var closure: ScannerError? {
        guard !ways.contains(where: { $0.isBegun }), let best = ways.first?.failure else { return nil }
        guard ways.count > 1 else { return best }
        var lines: [(names: String, reason: String)] = []
        var remedies: [String] = []
        for way in ways {
            guard let failure = way.failure else { continue }
            let name = way.backend.rawValue
            // A reason that two backends share is printed once.
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

// MARK: Reports of the backends

extension BackendChooser {
    mutating func began(_ index: Int, at time: Instant) {
        ways[index].isBegun = true
        ways[index].failure = nil
        ways[index].retry = nil
        ways[index].outSince = nil
        ways[index].isOut = false
        ways[index].obstacles = []
        ways[index].listening = 0
        for other in ways.indices where other != index && !ways[other].isBegun {
            // A process does not get permissions back, but a missing part of the machine can appear later.
            guard let failure = ways[other].failure else { continue }
            ways[other].retry = failure.kind == .denied ? nil : time + Self.retryBeside
        }
    }

    /// Records that a backend could not be started, or has stopped.
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

    /// Records how many adapters are listening through this backend.
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

    // The obstacles that another backend may not have. rfkill and a missing adapter stop all backends; a missing
    // bluetoothd stops only the one that needs it.
    private func reasons(to backend: ScannerBackend) -> Set<ScanObstacle> {
        backend == .dbus ? [.denied, .unavailable] : [.denied]
    }
}

// MARK: Actions

extension BackendChooser {
    /// The next time at which ``next(at:)`` can return an action without a new report; `nil`: never.
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

    /// Returns the next action. Call it until it returns `nil`.
    mutating func next(at now: Instant) -> Action? {
        // The best backend that scans is used. Those that rank below it are stopped.
        if let best = ways.indices.first(where: { ways[$0].isBegun && ways[$0].listening > 0 }) {
            if used != best, used.map({ ways[$0].listening == 0 || best < $0 }) ?? true { return use(best, at: now) }
            if let worse = ways.indices.first(where: { $0 > best && ways[$0].isBegun }), used == best {
                end(worse)
                return .end(worse)
            }
        }
        // A backend is started if all that rank above it are closed or have lasting obstacles.
        for index in ways.indices {
            let way = ways[index]
            if way.isBegun {
                if let since = way.outSince, since + grace(of: way) <= now { ways[index].isOut = true }
                guard ways[index].isOut else { break }
            } else if way.failure == nil || way.retry.map({ $0 <= now }) ?? false {
                // Cleared, so that the action is returned once, whatever its result is.
                ways[index].retry = nil
                return .begin(index)
            }
        }
        // While no backend scans, the best open one is used, so that its obstacles are reported.
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
        // It can be started again as soon as it is needed.
        ways[index].retry = nil
    }

    private func grace(of way: Candidate) -> Duration { way.obstacles.contains(.denied) ? .zero : Self.grace }

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

    /// Returns the state of a backend, for operators.
    func standing(of index: Int) -> String {
        let way = ways[index]
        if let failure = way.failure { return "not available: \(failure.description)" }
        guard way.isBegun else { return "not needed" }
        let waits = way.obstacles.map(\.words).sorted().joined(separator: ", ")
        return (used == index ? "in use" : "standing by") + (waits.isEmpty ? "" : ": \(waits)")
    }
}

extension ScanObstacle {
    /// The obstacle in words, for operators.
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
