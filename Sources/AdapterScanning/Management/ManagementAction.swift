/// What a ``ManagementSession`` wants done.
enum ManagementAction: Sendable, Hashable {
    /// Send the command for the adapter with that number.
    case send(ManagementCommand, index: UInt16)
    /// Tell the handler.
    case tell(ScanChange)
    /// What would have to be undone after a crash has changed: write it down.
    case record
}

/// What this process has changed on an adapter, and what is left of a predecessor's changes: what a crash leaves behind.
struct AdapterChanges: Sendable, Hashable {
    /// The kernel's number of the adapter.
    var index: UInt16
    /// The adapter's address.
    var address: UInt64
    /// The monitors that were put up.
    var handles: [UInt16]
    /// The settings that were there before.
    var previous: ScanConfiguration
}
