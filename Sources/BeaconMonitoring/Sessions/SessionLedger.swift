/// The service sessions that are held, and what they come to: a value.
///
/// Sessions are layered, not replaced: what the scanners are to do is the most that any of them asks (``effective``), and
/// as they end it falls back to what the others ask.
public struct SessionLedger: Sendable {
    /// A session that is held.
    public struct ID: Sendable, Hashable {
        fileprivate let number: Int
    }

    private struct Entry: Sendable {
        let demand: ServiceDemand?
        let purpose: String?
        let isImplicit: Bool
    }

    /// Whether monitoring and ranging need a session of the program's own, and hold none by themselves.
    ///
    /// Source: Apple, `NSLocationRequireExplicitServiceSession`.
    public let requiresExplicit: Bool
    // One for each object that is alive: whoever holds them bounds them.
    private var entries: [ID: Entry] = [:]
    private var given = 0

    /// A ledger without sessions.
    public init(requiresExplicit: Bool = false) { self.requiresExplicit = requiresExplicit }

    /// Begins a session.
    ///
    /// - Parameters:
    ///   - demand: what it asks of the scanners; nothing where it needs none of them.
    ///   - purpose: why full accuracy is needed, for operators.
    ///   - isImplicit: whether monitoring or ranging holds it, and not the program.
    /// - Returns: what ends it again.
    public mutating func begin(_ demand: ServiceDemand?, purpose: String? = nil, isImplicit: Bool = false) -> ID {
        given += 1
        let id = ID(number: given)
        entries[id] = Entry(demand: demand, purpose: purpose, isImplicit: isImplicit)
        return id
    }

    /// Ends a session; one that has ended stays so.
    ///
    /// - Returns: whether it was held.
    @discardableResult public mutating func end(_ id: ID) -> Bool { entries.removeValue(forKey: id) != nil }

    /// How many sessions the program holds.
    public var explicitSessions: Int { entries.values.count { !$0.isImplicit } }
    /// How many monitoring and ranging hold by themselves, or would.
    public var implicitSessions: Int { entries.values.count { $0.isImplicit } }

    /// What the scanners are to do: the most that any session asks; `nil` where none asks for anything.
    public var effective: ServiceDemand? {
        entries.values.lazy.filter { !$0.isImplicit || !requiresExplicit }.compactMap(\.demand).reduce(nil) {
            sum, demand in
            sum?.joined(with: demand) ?? demand
        }
    }

    /// Why full accuracy is needed, each purpose once, in order.
    public var purposes: [String] { Set(entries.values.compactMap(\.purpose)).sorted() }

    /// What is wrong: explicit sessions are demanded, something monitors or ranges, and the program holds none.
    public var diagnostics: Diagnostics {
        requiresExplicit && implicitSessions > 0 && explicitSessions == 0
            ? [.serviceSessionRequired, .insufficientlyInUse] : []
    }
}
