/// An action that a ``ManagementSession`` requests.
enum ManagementAction: Sendable, Hashable {
    /// Send the command for the adapter with this number.
    case send(ManagementCommand, index: UInt16)
    /// Notify the handler.
    case report(ScanChange)
    /// Write the record file, because the changes that must be undone after a crash have changed.
    case record
}

/// The changes that this process made on an adapter, together with the remaining changes of an earlier process. They
/// remain after a crash.
struct AdapterChanges: Sendable, Hashable {
    /// The kernel's number of the adapter.
    var index: UInt16
    /// The adapter's address.
    var address: UInt64
    /// The handles of the monitors that were added.
    var handles: [UInt16]
    /// The settings before the changes.
    var previous: ScanConfiguration
}
