import Synchronization

/// The exclusive right to the name of a monitor in this process (rule N1). It ends when it is released or discarded.
///
/// It can be loosened: then the next monitor that asks for the name gets it, and the holder loses it. A monitor whose
/// `run()` was cancelled does this, because the cancelled task keeps the monitor alive until it is scheduled once more,
/// and its successor should not wait for that.
final class NameLease: Sendable {
    private struct Holder {
        let id: ObjectIdentifier
        /// Called when another monitor takes the name; `nil` unless the lease was loosened.
        var lost: (@Sendable () -> Void)?
    }

    private static let holders = Mutex<[Identifier: Holder]>([:])
    // It wraps after 2³² monitors. 0 means no monitor.
    private static let given = Atomic<UInt32>(0)

    let name: Identifier
    /// A number of the monitor, unique in this process.
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

    /// Lets the next monitor that asks for the name take it.
    ///
    /// - Parameter lost: called when that happens, outside the lock.
    func loosen(_ lost: @escaping @Sendable () -> Void) { change { $0.lost = lost } }

    /// Makes the lease exclusive again.
    ///
    /// - Returns: `false` if another monitor has taken the name.
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

    /// Releases the name, unless another monitor has it already.
    func release() {
        let id = ObjectIdentifier(self)
        Self.holders.withLock { holders in
            if holders[name]?.id == id { holders[name] = nil }
        }
    }

    deinit { release() }
}
