import Synchronization

/// The right to be the one monitor of a name in this process (rule N1), given back when it is released or discarded.
final class NameLease: Sendable {
    private static let holders = Mutex<[Identifier: ObjectIdentifier]>([:])

    let name: Identifier

    init(_ name: Identifier) throws(MonitorError) {
        self.name = name
        let holder = ObjectIdentifier(self)
        let isTaken = Self.holders.withLock { holders in
            guard holders[name] == nil else { return true }
            holders[name] = holder
            return false
        }
        guard !isTaken else { throw .nameTaken(name.text) }
    }

    /// Frees the name, unless that has been done: it may be another's by now.
    func release() {
        let holder = ObjectIdentifier(self)
        Self.holders.withLock { holders in
            if holders[name] == holder { holders[name] = nil }
        }
    }

    deinit { release() }
}
