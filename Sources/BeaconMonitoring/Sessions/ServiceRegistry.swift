import Synchronization

/// Connects service sessions with the code that controls the scanners.
///
/// Features create sessions. A driver of scanners reads the combined ``demand``, is notified of its changes
/// (``onDemandChange(_:)``, ``demands``), and reports the state of the machine (``report(_:)``), which sessions and
/// monitors receive. It can be used from any thread, and calls no other code while it holds its lock.
///
/// Monitors with the same registry share the places for conditions (rule C4, ``EngineSettings/conditionLimit``).
///
///     let registry = ServiceRegistry()
///     let session = ServiceSession(.active, in: registry)
///     #expect(registry.demand?.isActive == true)
///     session.invalidate()
///     #expect(registry.demand == nil)
public final class ServiceRegistry: Sendable {
    /// The registry of sessions and monitors that name no other. It does not require explicit sessions.
    public static let shared = ServiceRegistry()

    private struct State {
        var ledger: SessionLedger
        var reported: Diagnostics = []
        var sessions: [SessionLedger.ID: LatestValue<Diagnostics>] = [:]
        var observers: [@Sendable () -> Void] = []
        /// The observers of diagnostics, by their numbers.
        var flagObservers: [Int: @Sendable () -> Void] = [:]
        var flagObserversGiven = 0
    }

    private let state: Mutex<State>
    private let latest = LatestValue<ServiceDemand?>(nil)
    /// The limit of conditions of all monitors with this registry.
    let conditionLimit = SharedConditionLimit()

    /// Creates a registry without sessions.
    ///
    /// - Parameter requiresExplicitSessions: whether monitoring and ranging require a session of the program; if not,
    ///   they hold one themselves.
    public init(requiresExplicitSessions: Bool = false) {
        state = Mutex(State(ledger: SessionLedger(requiresExplicit: requiresExplicitSessions)))
    }

    // MARK: For drivers

    /// The combined demand for the scanners; `nil` if no session needs them.
    public var demand: ServiceDemand? { state.withLock { $0.ledger.effective } }

    /// The purposes of full accuracy, without duplicates, sorted.
    public var purposes: [String] { state.withLock { $0.ledger.purposes } }

    /// Calls `body` after each change of ``demand``, on the thread that made it. `body` should only wake a task that
    /// then reads ``demand``. It is stored as long as the registry.
    public func onDemandChange(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.observers.append(body) } }

    /// The demand as a sequence: the current one, then each change. A slow reader receives only the newest.
    public var demands: Demands { Demands(source: latest) }

    /// Sets the diagnostics of the machine (`docs/monitor.md`, "Diagnostics"). Sessions and monitors receive them.
    public func report(_ diagnostics: Diagnostics) {
        change { $0.reported = diagnostics }
    }

    /// The current diagnostics: those of ``report(_:)``, and those of the sessions.
    public var diagnostics: Diagnostics { state.withLock { $0.reported.union($0.ledger.diagnostics) } }

    /// Calls `body` after each change of ``diagnostics``, on the thread that made it, until ``endObserving(_:)``.
    ///
    /// - Returns: a number for ``endObserving(_:)``.
    package func observeDiagnostics(_ body: @escaping @Sendable () -> Void) -> Int {
        state.withLock { state in
            state.flagObserversGiven += 1
            state.flagObservers[state.flagObserversGiven] = body
            return state.flagObserversGiven
        }
    }

    /// Ends an observation of ``observeDiagnostics(_:)``.
    package func endObserving(_ observer: Int) { state.withLock { $0.flagObservers[observer] = nil } }

    // MARK: For sessions

    /// Starts a session.
    func begin(_ demand: ServiceDemand?, purpose: String?, diagnostics: LatestValue<Diagnostics>?) -> SessionLedger.ID {
        change { state in
            let id = state.ledger.begin(demand, purpose: purpose, isImplicit: diagnostics == nil)
            if let diagnostics { state.sessions[id] = diagnostics }
            return id
        }
    }

    /// Ends a session.
    func end(_ id: SessionLedger.ID) {
        let ended = change { state in
            state.ledger.end(id)
            return state.sessions.removeValue(forKey: id)
        }
        ended?.finish()
    }

    private func change<Result: Sendable>(_ body: (inout State) -> sending Result) -> Result {
        let (result, observers) = state.withLock { state in
            let before = state.ledger.effective
            let former = state.reported.union(state.ledger.diagnostics)
            let result = body(&state)
            let flags = state.reported.union(state.ledger.diagnostics)
            // This resumes tasks but calls no code of others. Under the lock, the changes stay in order.
            for session in state.sessions.values { session.set(flags) }
            let after = state.ledger.effective
            latest.set(after)
            var observers = before != after ? state.observers : []
            if flags != former { observers += state.flagObservers.values }
            return (result, observers)
        }
        for observer in observers { observer() }
        return result
    }

    /// The changes of the combined demand.
    public struct Demands: AsyncSequence, Sendable {
        let source: LatestValue<ServiceDemand?>

        /// Creates a reader that starts with the current demand.
        public func makeAsyncIterator() -> Iterator { Iterator(reader: LatestReader(source)) }

        /// A reader of the demand.
        public struct Iterator: AsyncIteratorProtocol {
            let reader: LatestReader<ServiceDemand?>
            var version = 0

            /// Returns the demand when it differs from the last one (`.some(nil)`: no session needs the scanners);
            /// `nil` after a cancellation.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> ServiceDemand?? {
                guard let answer = await reader.source.next(reader.id, after: version, isolation: actor) else {
                    return nil
                }
                version = answer.version
                return .some(answer.value)
            }

            /// The same as ``next(isolation:)``, without an actor.
            public mutating func next() async -> ServiceDemand?? { await next(isolation: nil) }
        }
    }
}

/// A session that monitoring, ranging or a reader of locations holds itself. It ends with the last reference.
package final class ImplicitSession: Sendable {
    private let registry: ServiceRegistry
    private let id: SessionLedger.ID

    /// Starts a session.
    ///
    /// - Parameters:
    ///   - registry: the registry of the session.
    ///   - demand: its demand for the scanners.
    package init(_ registry: ServiceRegistry, demand: ServiceDemand? = .implicit) {
        self.registry = registry
        id = registry.begin(demand, purpose: nil, diagnostics: nil)
    }

    /// Ends the session. Further calls have no effect.
    package func end() { registry.end(id) }

    deinit { end() }
}
