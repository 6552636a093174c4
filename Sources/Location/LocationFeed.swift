public import BaseTypes
public import BeaconMonitoring
import Synchronization

/// Where subscribers get updates from, and whoever has fixes puts them: safe from any thread.
///
/// It owns no thread and no clock: who puts fixes, a monitor or ``run(_:clock:)``, tells it the time.
public final class LocationFeed: Sendable {
    /// The process's own, which ``LocationUpdate/liveUpdates(_:filter:from:)`` reads unless told otherwise.
    public static let shared = LocationFeed()

    /// So many updates wait for a subscriber; of more the oldest are dropped and counted.
    public static let updatesMax = 1024

    private struct State {
        var subscribers: [Int: Subscriber] = [:]
        /// What each subscriber holds by itself.
        var sessions: [Int: ImplicitSession] = [:]
        var next = 0
        var now: Instant?
        /// What sources raise, and what is wrong with the sessions.
        var raised: Diagnostics = []
        var diagnostics: Diagnostics = []
        var dropped = 0
    }

    private let state = Mutex(State())
    private let service: ServiceRegistry
    private let observer = Mutex<Int?>(nil)

    /// A feed without subscribers.
    ///
    /// - Parameter service: where each subscriber holds a service session, which asks nothing of the scanners; where
    ///   explicit ones are demanded and none is held, updates say so.
    public init(service: ServiceRegistry = .shared) {
        self.service = service
        let id = service.observeDiagnostics { [weak self] in self?.refreshFlags() }
        observer.withLock { $0 = id }
    }

    deinit {
        if let id = observer.withLock({ $0 }) { service.endObserving(id) }
    }

    /// Updates that were dropped because their subscribers did not take them.
    public var droppedUpdates: Int { state.withLock { $0.dropped } }

    /// How many there are at present.
    public var subscriberCount: Int { state.withLock { $0.subscribers.count } }

    /// A source gave a fix.
    public func located(_ fix: LocationFix) {
        change { subscriber in
            subscriber.located(fix)
        } now: {
            max($0 ?? fix.time, fix.time)
        }
    }

    /// Time goes on.
    public func advance(to now: Instant) {
        change { subscriber in
            subscriber.advance(to: now)
        } now: {
            max($0 ?? now, now)
        }
    }

    /// Says which flags the world outside raises: who refuses, and whether anybody does.
    public func set(_ diagnostics: Diagnostics) {
        state.withLock { $0.raised = diagnostics }
        refreshFlags()
    }

    /// Tells subscribers of the flags, where those have changed.
    private func refreshFlags() {
        // Of the scanners' flags none is about places.
        let sessions = service.diagnostics.intersection([.serviceSessionRequired, .insufficientlyInUse])
        state.withLock { state in
            let flags = state.raised.union(sessions)
            guard flags != state.diagnostics else { return }
            state.diagnostics = flags
            for id in state.subscribers.keys.sorted() {
                guard var subscriber = state.subscribers[id] else { continue }
                state.dropped += subscriber.set(flags)
                state.subscribers[id] = subscriber
            }
        }
    }

    /// When something is next due in it: see ``advance(to:)``.
    public var nextDeadline: Instant? {
        state.withLock { state in state.subscribers.values.compactMap { $0.nextDeadline }.min() }
    }

    private func change(_ body: (inout Subscriber) -> Int, now: (Instant?) -> Instant?) {
        state.withLock { state in
            state.now = now(state.now)
            for id in state.subscribers.keys.sorted() {
                guard var subscriber = state.subscribers[id] else { continue }
                state.dropped += body(&subscriber)
                state.subscribers[id] = subscriber
            }
        }
    }

    func subscribe(_ make: (Instant?, Diagnostics) -> Subscriber) -> Int {
        // Before the lock: its beginning may change the flags.
        let session = ImplicitSession(service, demand: nil)
        refreshFlags()
        return state.withLock { state in
            state.next += 1
            state.subscribers[state.next] = make(state.now, state.diagnostics)
            state.sessions[state.next] = session
            return state.next
        }
    }

    func end(_ id: Int) {
        let session = state.withLock { state in
            state.subscribers[id] = nil
            return state.sessions.removeValue(forKey: id)
        }
        // Behind the lock: its end may change the flags.
        session?.end()
    }

    /// What a subscriber makes of fixes, and where it puts that.
    enum Subscriber: Sendable {
        case live(LiveUpdateFilter, AsyncStream<LocationUpdate>.Continuation)
        case significant(SignificantChangeFilter, AsyncStream<LocationFix>.Continuation)
        case visits(VisitDetector, AsyncStream<LocationVisit>.Continuation)

        var nextDeadline: Instant? {
            if case .live(let filter, _) = self { filter.nextDeadline } else { nil }
        }

        /// - Returns: how many updates were dropped for it, as all of these do.
        mutating func located(_ fix: LocationFix) -> Int {
            switch self {
            case .live(var filter, let continuation):
                let updates = filter.located(fix)
                self = .live(filter, continuation)
                return Self.give(updates, continuation)
            case .significant(var filter, let continuation):
                let change = filter.located(fix)
                self = .significant(filter, continuation)
                return Self.give(change.map { [$0] } ?? [], continuation)
            case .visits(var detector, let continuation):
                let visits = detector.located(fix)
                self = .visits(detector, continuation)
                return Self.give(visits, continuation)
            }
        }

        mutating func advance(to now: Instant) -> Int {
            guard case .live(var filter, let continuation) = self else { return 0 }
            let updates = filter.advance(to: now)
            self = .live(filter, continuation)
            return Self.give(updates, continuation)
        }

        mutating func set(_ diagnostics: Diagnostics) -> Int {
            guard case .live(var filter, let continuation) = self else { return 0 }
            let updates = filter.set(diagnostics)
            self = .live(filter, continuation)
            return Self.give(updates, continuation)
        }

        private static func give<Element: Sendable>(
            _ elements: [Element], _ continuation: AsyncStream<Element>.Continuation
        ) -> Int {
            var dropped = 0
            for element in elements {
                if case .dropped = continuation.yield(element) { dropped += 1 }
            }
            return dropped
        }
    }
}
