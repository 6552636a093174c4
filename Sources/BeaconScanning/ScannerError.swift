/// Why a way of hearing is closed.
public struct ScannerError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What it comes to; each has its exit code (sysexits.h).
    public enum Kind: Sendable, Hashable {
        /// The kernel, bluetoothd or the bus is not there, or lacks what is needed: 69.
        case unavailable
        /// This user may not: 77.
        case denied
    }

    /// What it comes to.
    public let kind: Kind
    /// What, where, and what to do, for operators.
    public let description: String

    /// Makes an error.
    public init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }
}
