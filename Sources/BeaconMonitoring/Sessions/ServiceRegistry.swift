import Synchronization

/// Where service sessions meet who drives the scanners.
///
/// Sessions come from wherever a feature needs one; a driver reads what they come to (``demand``), is told when that
/// changes (``onDemandChange(_:)``, ``demands``), and tells how the machine stands (``report(_:)``), which sessions and
/// monitors pass on. It is safe from any thread, and calls nobody while it holds its lock.
public final class ServiceRegistry: Sendable {
    /// The process's own: where sessions and monitors belong that name no other. It demands no explicit sessions.
    public static let shared = ServiceRegistry()

    private struct State {
        var ledger: SessionLedger
        var reported: Diagnostics = []
        var sessions: [SessionLedger.ID: LatestValue<Diagnostics>] = [:]
        var observers: [@Sendable () -> Void] = []
        /// Who is told of flags that change, by their numbers.
        var flagObservers: [Int: @Sendable () -> Void] = [:]
        var flagObserversGiven = 0
    }

    private let state: Mutex<State>
    private let latest = LatestValue<ServiceDemand?>(nil)

    /// A registry without sessions.
    ///
    /// - Parameter requiresExplicitSessions: whether monitoring and ranging need a session of the program's own; else they
    ///   hold one by themselves.
    public init(requiresExplicitSessions: Bool = false) {
        state = Mutex(State(ledger: SessionLedger(requiresExplicit: requiresExplicitSessions)))
    }

    // MARK: For drivers

    /// What the scanners are to do; `nil`: nobody needs them.
    public var demand: ServiceDemand? { state.withLock { $0.ledger.effective } }

    /// Why full accuracy is needed, each purpose once, in order.
    public var purposes: [String] { state.withLock { $0.ledger.purposes } }

    /// Has `body` called after each change of ``demand``, on the thread that made it: it should only wake somebody, who
    /// then reads ``demand``. It is kept as long as the registry.
    public func onDemandChange(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.observers.append(body) } }

    /// What the scanners are to do: at once as it is, and then each time it has changed. Who is slow is given the newest.
    public var demands: Demands { Demands(source: latest) }

    /// Takes how the machine stands, all flags that hold (`docs/monitor.md`, "Diagnostics"); sessions and monitors have it
    /// from now on.
    public func report(_ diagnostics: Diagnostics) {
        change { $0.reported = diagnostics }
    }

    /// The flags that hold: what was reported, and what is wrong with the sessions.
    public var diagnostics: Diagnostics { state.withLock { $0.reported.union($0.ledger.diagnostics) } }

    /// Has `body` called after each change of ``diagnostics``, on the thread that made it, until ``endObserving(_:)``.
    package func observeDiagnostics(_ body: @escaping @Sendable () -> Void) -> Int {
        state.withLock { state in
            state.flagObserversGiven += 1
            state.flagObservers[state.flagObserversGiven] = body
            return state.flagObserversGiven
        }
    }

    /// Ends what ``observeDiagnostics(_:)`` began.
    package func endObserving(_ observer: Int) { state.withLock { $0.flagObservers[observer] = nil } }

    // MARK: For sessions

    /// Begins a session.
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
            // They resume tasks and call nobody: in order only while nobody else changes something.
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

    /// What the scanners are to do, as it changes.
    public struct Demands: AsyncSequence, Sendable {
        let source: LatestValue<ServiceDemand?>

        /// Begins with what it is now.
        public func makeAsyncIterator() -> Iterator { Iterator(reader: LatestReader(source)) }

        /// One reader of it.
        public struct Iterator: AsyncIteratorProtocol {
            let reader: LatestReader<ServiceDemand?>
            var version = 0

            /// What it is, once that is another than before (`.some(nil)`: nobody needs the scanners); `nil` when cancelled.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> ServiceDemand?? {
                guard let answer = await reader.source.next(reader.id, after: version, isolation: actor) else {
                    return nil
                }
                version = answer.version
                return .some(answer.value)
            }

            /// As ``next(isolation:)``, on no actor.
            public mutating func next() async -> ServiceDemand?? { await next(isolation: nil) }
        }
    }
}

/// A session that monitoring, ranging or a reader of locations holds by itself; it ends with the last reference.
package final class ImplicitSession: Sendable {
    private let registry: ServiceRegistry
    private let id: SessionLedger.ID

    /// Begins one.
    ///
    /// - Parameters:
    ///   - registry: where it is held.
    ///   - demand: what it asks of the scanners.
    package init(_ registry: ServiceRegistry, demand: ServiceDemand? = .implicit) {
        self.registry = registry
        id = registry.begin(demand, purpose: nil, diagnostics: nil)
    }

    /// Ends it; once is enough.
    package func end() { registry.end(id) }

    deinit { end() }
}
