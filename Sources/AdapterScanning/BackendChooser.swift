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

    private var candidates: [Candidate]
    private(set) var used: Int?

    /// - Parameter backends: the usable backends, the best first; at least one.
    init(_ backends: [ScannerBackend]) { candidates = backends.map { Candidate(backend: $0) } }

    var count: Int { candidates.count }
    func backend(of index: Int) -> ScannerBackend { candidates[index].backend }
    func isBegun(_ index: Int) -> Bool { candidates[index].isBegun }
    func obstacles(of index: Int) -> Set<ScanObstacle> { candidates[index].obstacles }
    func isDenied(_ index: Int) -> Bool { candidates[index].failure?.kind == .denied }

    /// The error if all backends are closed, otherwise `nil`. It has the kind of the best one, one line for each reason
    /// in the order of the backends, and each remedy once.
    var closure: ScannerError? {
        guard !candidates.contains(where: { $0.isBegun }), let best = candidates.first?.failure else { return nil }
        guard candidates.count > 1 else { return best }
        var lines: [(names: String, reason: String)] = []
        var remedies: [String] = []
        for candidate in candidates {
            guard let failure = candidate.failure else { continue }
            let name = candidate.backend.rawValue
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
        candidates[index].isBegun = true
        candidates[index].failure = nil
        candidates[index].retry = nil
        candidates[index].outSince = nil
        candidates[index].isOut = false
        candidates[index].obstacles = []
        candidates[index].listening = 0
        for other in candidates.indices where other != index && !candidates[other].isBegun {
            // A process does not get permissions back, but a missing part of the machine can appear later.
            guard let failure = candidates[other].failure else { continue }
            candidates[other].retry = failure.kind == .denied ? nil : time + Self.retryBeside
        }
    }

    /// Records that a backend could not be started, or has stopped.
    mutating func failed(_ index: Int, _ error: ScannerError, at time: Instant) {
        candidates[index].isBegun = false
        candidates[index].failure = error
        candidates[index].obstacles = []
        candidates[index].listening = 0
        candidates[index].outSince = nil
        candidates[index].isOut = false
        let pause = candidates[index].backOff.next()
        if !candidates.contains(where: { $0.isBegun }) {
            candidates[index].retry = time + pause
        } else {
            candidates[index].retry = error.kind == .denied ? nil : time + Self.retryBeside
        }
        if used == index { used = nil }
    }

    mutating func obstacles(_ obstacles: Set<ScanObstacle>, of index: Int, at time: Instant) {
        candidates[index].obstacles = obstacles
        weigh(index, at: time)
    }

    /// Records how many adapters are listening through this backend.
    mutating func listening(_ count: Int, by index: Int, at time: Instant) {
        candidates[index].listening = count
        if count > 0 { candidates[index].backOff.reset() }
        weigh(index, at: time)
    }

    private mutating func weigh(_ index: Int, at time: Instant) {
        let isOut =
            candidates[index].listening == 0
            && !candidates[index].obstacles.isDisjoint(with: reasons(to: candidates[index].backend))
        if !isOut {
            candidates[index].outSince = nil
            candidates[index].isOut = false
        } else if candidates[index].outSince == nil {
            candidates[index].outSince = time
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
        for candidate in candidates {
            if candidate.isBegun {
                if candidate.isOut { continue }
                if let since = candidate.outSince { next = min(next ?? .latest, since + grace(of: candidate)) }
                break
            }
            if let retry = candidate.retry { next = min(next ?? .latest, retry) }
        }
        return next
    }

    /// Returns the next action. Call it until it returns `nil`.
    mutating func next(at now: Instant) -> Action? {
        // The best backend that scans is used. Those that rank below it are stopped.
        if let best = candidates.indices.first(where: { candidates[$0].isBegun && candidates[$0].listening > 0 }) {
            if used != best, used.map({ candidates[$0].listening == 0 || best < $0 }) ?? true {
                return use(best, at: now)
            }
            if let worse = candidates.indices.first(where: { $0 > best && candidates[$0].isBegun }), used == best {
                end(worse)
                return .end(worse)
            }
        }
        // A backend is started if all that rank above it are closed or have lasting obstacles.
        for index in candidates.indices {
            let candidate = candidates[index]
            if candidate.isBegun {
                if let since = candidate.outSince, since + grace(of: candidate) <= now {
                    candidates[index].isOut = true
                }
                guard candidates[index].isOut else { break }
            } else if candidate.failure == nil || candidate.retry.map({ $0 <= now }) ?? false {
                // Cleared, so that the action is returned once, whatever its result is.
                candidates[index].retry = nil
                return .begin(index)
            }
        }
        // While no backend scans, the best open one is used, so that its obstacles are reported.
        if used == nil, let open = candidates.indices.first(where: { candidates[$0].isBegun }) {
            return use(open, at: now)
        }
        return nil
    }

    private mutating func use(_ index: Int, at now: Instant) -> Action {
        let because = reason(for: index)
        used = index
        return .use(index, because: because)
    }

    private mutating func end(_ index: Int) {
        candidates[index].isBegun = false
        candidates[index].failure = nil
        candidates[index].listening = 0
        candidates[index].obstacles = []
        candidates[index].outSince = nil
        candidates[index].isOut = false
        // It can be started again as soon as it is needed.
        candidates[index].retry = nil
    }

    private func grace(of candidate: Candidate) -> Duration {
        candidate.obstacles.contains(.denied) ? .zero : Self.grace
    }

    private func reason(for index: Int) -> String {
        let better = candidates.indices.prefix(index)
        guard !better.isEmpty else {
            if candidates.count > 1 { return "the best backend" }
            return candidates[index].backend == .capture ? "set on the command line" : "set in the configuration"
        }
        return better.map { place in
            let candidate = candidates[place]
            let why =
                candidate.failure?.description
                ?? (candidate.isBegun && candidate.listening == 0
                    ? candidate.obstacles.map(\.words).sorted().joined(separator: ", ") : "not used")
            return "\(candidate.backend.rawValue): \(why)"
        }.joined(separator: "; ")
    }

    /// Returns the state of a backend, for operators.
    func state(of index: Int) -> String {
        let candidate = candidates[index]
        if let failure = candidate.failure { return "not available: \(failure.description)" }
        guard candidate.isBegun else { return "not needed" }
        let waits = candidate.obstacles.map(\.words).sorted().joined(separator: ", ")
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
