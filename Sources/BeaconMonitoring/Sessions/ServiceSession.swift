/// What a feature of a program needs of the scanners, for as long as it is held.
///
/// Source: Apple, `CLServiceSession`. Sessions are layered: the scanners do the most that any live session asks, and fall
/// back as they end. A session ends at ``invalidate()`` and when it is discarded.
///
/// Nothing of a session is written down. After a restart a program makes its sessions again; conditions, records and
/// states are there again by the record store (rule N4), ``diagnostics`` begins with how the machine stands, and what is
/// heard goes on from where it was: a restart alone makes no event.
public final class ServiceSession: Sendable {
    /// What the session asks for while it is held.
    public let demand: ServiceDemand
    /// Why full accuracy is needed; absent where it is not asked for.
    public let fullAccuracyPurpose: String?

    private let registry: ServiceRegistry
    private let flags: LatestValue<Diagnostics>
    private let id: SessionLedger.ID

    /// Begins a session.
    ///
    /// - Parameters:
    ///   - scanning: how it is listened.
    ///   - fullAccuracyPurpose: why every report is needed, with its own RSSI, in words for operators; absent: it is not.
    ///     (`CLServiceSession` takes the key of such a text.)
    ///   - adapters: with which adapters.
    ///   - registry: where who drives the scanners looks.
    public init(
        _ scanning: ServiceDemand.Scanning = .passive, fullAccuracyPurpose: String? = nil,
        adapters: ServiceDemand.Adapters = .all, in registry: ServiceRegistry = .shared
    ) {
        demand = ServiceDemand(scanning, needsFullAccuracy: fullAccuracyPurpose != nil, adapters: adapters)
        self.fullAccuracyPurpose = fullAccuracyPurpose
        self.registry = registry
        flags = LatestValue(registry.diagnostics)
        id = registry.begin(demand, purpose: fullAccuracyPurpose, diagnostics: flags)
    }

    /// Ends the session; once is enough, and more does no harm.
    public func invalidate() { registry.end(id) }

    deinit { invalidate() }

    /// What stands in the session's way, live as the machine changes (rfkill, power, bluetoothd, rights): at once as it is,
    /// then each time it has changed, until the session ends. Who is slow is given the newest.
    ///
    /// A session that does not ask for full accuracy is not told of `accuracyLimited`: it got what it asked for.
    public var diagnostics: DiagnosticUpdates {
        DiagnosticUpdates(source: flags, ignored: demand.needsFullAccuracy ? [] : .accuracyLimited)
    }

    /// Flags as they change.
    public struct DiagnosticUpdates: AsyncSequence, Sendable {
        let source: LatestValue<Diagnostics>
        let ignored: Diagnostics

        /// Begins with the flags that hold now.
        public func makeAsyncIterator() -> Iterator { Iterator(reader: LatestReader(source), ignored: ignored) }

        /// One reader of them.
        public struct Iterator: AsyncIteratorProtocol {
            let reader: LatestReader<Diagnostics>
            let ignored: Diagnostics
            var version = 0
            var last: Diagnostics?

            /// The flags that hold, once they are others than before; `nil` at the session's end, and when cancelled.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Diagnostics? {
                while let answer = await reader.source.next(reader.id, after: version, isolation: actor) {
                    version = answer.version
                    let flags = answer.value.subtracting(ignored)
                    guard flags != last else { continue }
                    last = flags
                    return flags
                }
                return nil
            }

            /// As ``next(isolation:)``, on no actor.
            public mutating func next() async -> Diagnostics? { await next(isolation: nil) }
        }
    }
}
