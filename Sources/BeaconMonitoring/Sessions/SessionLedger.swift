/// The service sessions that are held, and their combined demand: a value.
///
/// Sessions are combined, not replaced: the scanners do the most that any of them requires (``effective``). When a
/// session ends, the demand of the others remains.
///
///     var ledger = SessionLedger()
///     let session = ledger.begin(ServiceDemand(.active))
///     #expect(ledger.effective?.isActive == true)
///     ledger.end(session)
///     #expect(ledger.effective == nil)
public struct SessionLedger: Sendable {
    /// The ID of a session.
    public struct ID: Sendable, Hashable {
        fileprivate let number: Int
    }

    private struct Entry: Sendable {
        let demand: ServiceDemand?
        let purpose: String?
        let isImplicit: Bool
    }

    /// Whether monitoring and ranging require a session of the program and hold none themselves.
    ///
    /// Source: Apple, `NSLocationRequireExplicitServiceSession`.
    public let requiresExplicit: Bool
    // One entry for each session object, so their number is limited by the callers.
    private var entries: [ID: Entry] = [:]
    private var given = 0

    /// Creates a ledger without sessions.
    public init(requiresExplicit: Bool = false) { self.requiresExplicit = requiresExplicit }

    /// Starts a session.
    ///
    /// - Parameters:
    ///   - demand: its demand for the scanners; `nil` if it does not need them.
    ///   - purpose: the purpose of full accuracy, for operators.
    ///   - isImplicit: whether monitoring or ranging holds it, and not the program.
    /// - Returns: the ID of the session.
    public mutating func begin(_ demand: ServiceDemand?, purpose: String? = nil, isImplicit: Bool = false) -> ID {
        given += 1
        let id = ID(number: given)
        entries[id] = Entry(demand: demand, purpose: purpose, isImplicit: isImplicit)
        return id
    }

    /// Ends a session. Nothing changes if it has ended already.
    ///
    /// - Returns: whether it was held.
    @discardableResult public mutating func end(_ id: ID) -> Bool { entries.removeValue(forKey: id) != nil }

    /// The number of sessions that the program holds.
    public var explicitSessions: Int { entries.values.count { !$0.isImplicit } }
    /// The number of sessions that monitoring and ranging hold, or would hold.
    public var implicitSessions: Int { entries.values.count { $0.isImplicit } }

    /// The combined demand for the scanners; `nil` if no session has one.
    public var effective: ServiceDemand? {
        entries.values.lazy.filter { !$0.isImplicit || !requiresExplicit }.compactMap(\.demand).reduce(nil) {
            sum, demand in
            sum?.joined(with: demand) ?? demand
        }
    }

    /// The purposes of full accuracy, without duplicates, sorted.
    public var purposes: [String] { Set(entries.values.compactMap(\.purpose)).sorted() }

    /// The diagnostics: explicit sessions are required, monitoring or ranging is in use, and the program holds no
    /// session.
    public var diagnostics: Diagnostics {
        requiresExplicit && implicitSessions > 0 && explicitSessions == 0
            ? [.serviceSessionRequired, .insufficientlyInUse] : []
    }
}
