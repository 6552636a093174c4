import Synchronization

/// The right to be the one monitor of a name in this process (rule N1), given back when it is released or discarded.
///
/// It can be held loosely: then the next who asks for the name gets it, and the holder has lost it. So is it by a monitor
/// whose loop was cancelled: the cancelled task holds the monitor until it has been scheduled once more, which is no reason
/// for its successor to wait.
final class NameLease: Sendable {
    private struct Holder {
        let id: ObjectIdentifier
        /// Called when another takes the name; absent where it is held fast.
        var lost: (@Sendable () -> Void)?
    }

    private static let holders = Mutex<[Identifier: Holder]>([:])
    // It wraps after four milliards of monitors; 0 is nobody's.
    private static let given = Atomic<UInt32>(0)

    let name: Identifier
    /// A number that no other monitor of this process has.
    let number: UInt32

    init(_ name: Identifier) throws(MonitorError) {
        self.name = name
        number = max(Self.given.wrappingAdd(1, ordering: .relaxed).newValue, 1)
        let holder = Holder(id: ObjectIdentifier(self))
        let (isTaken, lost) = Self.holders.withLock { holders -> (Bool, (@Sendable () -> Void)?) in
            if let former = holders[name], former.lost == nil { return (true, nil) }
            let lost = holders[name]?.lost
            holders[name] = holder
            return (false, lost)
        }
        guard !isTaken else { throw .nameTaken(name.text) }
        lost?()
    }

    /// Leaves the name to the next who asks for it.
    ///
    /// - Parameter lost: called when that happens; not from within the lock.
    func loosen(_ lost: @escaping @Sendable () -> Void) { change { $0.lost = lost } }

    /// Holds the name fast again.
    ///
    /// - Returns: whether it is still held.
    func hold() -> Bool { change { $0.lost = nil } }

    @discardableResult private func change(_ body: (inout Holder) -> Void) -> Bool {
        let id = ObjectIdentifier(self)
        return Self.holders.withLock { holders in
            guard holders[name]?.id == id, var holder = holders[name] else { return false }
            body(&holder)
            holders[name] = holder
            return true
        }
    }

    /// Frees the name, unless that has been done: it may be another's by now.
    func release() {
        let id = ObjectIdentifier(self)
        Self.holders.withLock { holders in
            if holders[name]?.id == id { holders[name] = nil }
        }
    }

    deinit { release() }
}
