public import BaseTypes
public import BeaconMonitoring
import Synchronization

/// Delivers fixes from sources to subscribers of updates. It can be used from any thread.
///
/// It has no thread and no clock: a monitor or ``run(_:clock:)`` passes it fixes and the time.
///
///     let feed = LocationFeed()
///     var updates = LocationUpdate.liveUpdates(from: feed).makeAsyncIterator()
///     feed.located(fix)
///     #expect(await updates.next()?.location == fix)
public final class LocationFeed: Sendable {
    /// The feed of the process, which ``LocationUpdate/liveUpdates(_:filter:from:)`` uses by default.
    public static let shared = LocationFeed()

    /// The maximum number of updates that wait for a subscriber. If there are more, the oldest are dropped and counted.
    public static let updatesMax = 1024

    private struct State {
        var subscribers: [Int: Subscriber] = [:]
        /// The service session of each subscriber.
        var sessions: [Int: ImplicitSession] = [:]
        var next = 0
        var now: Instant?
        /// The diagnostics of the sources, and those of the sessions.
        var raised: Diagnostics = []
        var diagnostics: Diagnostics = []
        var dropped = 0
    }

    private let state = Mutex(State())
    private let service: ServiceRegistry
    private let observer = Mutex<Int?>(nil)

    /// Creates a feed without subscribers.
    ///
    /// - Parameter service: the registry in which each subscriber holds a service session. The session needs no
    ///   scanners. If explicit sessions are required and none is held, updates have the diagnostics for that.
    public init(service: ServiceRegistry = .shared) {
        self.service = service
        let id = service.observeDiagnostics { [weak self] in self?.refreshFlags() }
        observer.withLock { $0 = id }
    }

    deinit {
        if let id = observer.withLock({ $0 }) { service.endObserving(id) }
    }

    /// The number of updates that were dropped because their subscribers did not take them.
    public var droppedUpdates: Int { state.withLock { $0.dropped } }

    /// The current number of subscribers.
    public var subscriberCount: Int { state.withLock { $0.subscribers.count } }

    /// Takes a fix of a source.
    public func located(_ fix: LocationFix) {
        change { subscriber in
            subscriber.located(fix)
        } now: {
            max($0 ?? fix.time, fix.time)
        }
    }

    /// Takes the current time.
    public func advance(to now: Instant) {
        change { subscriber in
            subscriber.advance(to: now)
        } now: {
            max($0 ?? now, now)
        }
    }

    /// Sets the diagnostics of the sources, for example that access is denied.
    public func set(_ diagnostics: Diagnostics) {
        state.withLock { $0.raised = diagnostics }
        refreshFlags()
    }

    /// Delivers the diagnostics to subscribers if they have changed.
    private func refreshFlags() {
        // None of the scanners' flags concerns locations.
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

    /// The next time at which ``advance(to:)`` must be called; `nil` if there is none.
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
        // Created before the lock is taken, because that can change the diagnostics.
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
        // Ended after the lock is released, because that can change the diagnostics.
        session?.end()
    }

    /// The filter of a subscriber, and the stream for its output.
    enum Subscriber: Sendable {
        case live(LiveUpdateFilter, AsyncStream<LocationUpdate>.Continuation)
        case significant(SignificantChangeFilter, AsyncStream<LocationFix>.Continuation)
        case visits(VisitDetector, AsyncStream<LocationVisit>.Continuation)

        var nextDeadline: Instant? {
            if case .live(let filter, _) = self { filter.nextDeadline } else { nil }
        }

        /// Handles a fix.
        ///
        /// - Returns: the number of updates that were dropped for the subscriber, as for the other functions.
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
