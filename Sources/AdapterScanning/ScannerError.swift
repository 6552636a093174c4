/// The reason why a backend, or all backends, cannot be used.
package struct ScannerError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of errors; each has its exit code (sysexits.h).
    package enum Kind: Sendable, Hashable {
        /// The kernel, bluetoothd or the bus is missing or lacks a needed function: 69.
        case unavailable
        /// This user has no permission: 77.
        case denied
    }

    /// The kind of the error.
    package let kind: Kind
    /// The failure and its place, for operators: short, with one line for each backend if several cannot be used.
    package let reason: String
    /// The remedy; `nil` if the reason includes it, or if nothing helps.
    package let remedy: String?

    /// The failure, its place and the remedy, for operators.
    package var description: String {
        guard let remedy else { return reason }
        // After a list, the remedies are on lines of their own.
        return reason.contains("\n") ? "\(reason)\n\(remedy)" : "\(reason). \(remedy)"
    }

    /// Creates an error.
    package init(_ kind: Kind, _ reason: String, remedy: String? = nil) {
        self.kind = kind
        self.reason = reason
        self.remedy = remedy
    }
}
