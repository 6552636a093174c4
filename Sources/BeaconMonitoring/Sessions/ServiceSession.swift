/// The requirements of a feature for the scanners, for as long as the session is held.
///
/// Sessions are combined: the scanners do the most that any session requires, and less again when sessions end. A
/// session ends at ``invalidate()`` and when it is discarded.
///
/// Sessions are not stored. After a restart, a program creates its sessions again; the record store restores
/// conditions, records and states (rule N4), and ``diagnostics`` starts with the state of the machine. A restart alone
/// causes no event.
///
///     let session = ServiceSession(fullAccuracyPurpose: "Find the nearest badge")
///     for await flags in session.diagnostics {
///         print(flags)
///     }
///
/// Source: Apple, `CLServiceSession`.
public final class ServiceSession: Sendable {
    /// The demand of the session.
    public let demand: ServiceDemand
    /// The purpose of full accuracy; `nil` if it is not required.
    public let fullAccuracyPurpose: String?

    private let registry: ServiceRegistry
    private let flags: LatestValue<Diagnostics>
    private let id: SessionLedger.ID

    /// Starts a session.
    ///
    /// - Parameters:
    ///   - scanning: the kind of scanning.
    ///   - fullAccuracyPurpose: the reason why every report with its own RSSI is needed, for operators; `nil` if it is
    ///     not. (`CLServiceSession` has the key of such a text.)
    ///   - adapters: the adapters that must scan.
    ///   - registry: the registry that the driver of the scanners uses.
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

    /// Ends the session. Further calls have no effect.
    public func invalidate() { registry.end(id) }

    deinit { invalidate() }

    /// The diagnostics that concern the session (rfkill, power, bluetoothd, permissions): the current ones, then each
    /// change, until the session ends. A slow reader receives only the newest.
    ///
    /// `accuracyLimited` is left out if the session does not require full accuracy.
    public var diagnostics: DiagnosticUpdates {
        DiagnosticUpdates(source: flags, ignored: demand.needsFullAccuracy ? [] : .accuracyLimited)
    }

    /// The changes of the diagnostics.
    public struct DiagnosticUpdates: AsyncSequence, Sendable {
        let source: LatestValue<Diagnostics>
        let ignored: Diagnostics

        /// Creates a reader that starts with the current diagnostics.
        public func makeAsyncIterator() -> Iterator { Iterator(reader: LatestReader(source), ignored: ignored) }

        /// A reader of the diagnostics.
        public struct Iterator: AsyncIteratorProtocol {
            let reader: LatestReader<Diagnostics>
            let ignored: Diagnostics
            var version = 0
            var last: Diagnostics?

            /// Returns the diagnostics when they differ from the last ones; `nil` after the end of the session or a
            /// cancellation.
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

            /// The same as ``next(isolation:)``, without an actor.
            public mutating func next() async -> Diagnostics? { await next(isolation: nil) }
        }
    }
}
