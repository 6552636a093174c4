/// The error of ``BeaconMonitor/run()`` if a monitor with a `Scanning` of the `BeaconScanning` library cannot scan.
public struct ScanningError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of errors, for programs that handle them differently.
    public enum Kind: Sendable, Hashable {
        /// The kernel, bluetoothd or the bus is missing, or lacks a required function.
        case unavailable
        /// The process lacks a permission that scanning needs.
        case denied
        /// The capture cannot be read.
        case captureUnreadable
        /// The process cannot wait for events, or cannot scan in the background, or the program does not take the
        /// changes of adapters.
        case failed
    }

    /// The kind of the error.
    public let kind: Kind
    /// A text for operators: what failed, where, and what to do.
    public let description: String

    package init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }
}
