/// Why a way of hearing is closed, or all of them are.
package struct ScannerError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What it comes to; each has its exit code (sysexits.h).
    package enum Kind: Sendable, Hashable {
        /// The kernel, bluetoothd or the bus is not there, or lacks what is needed: 69.
        case unavailable
        /// This user may not: 77.
        case denied
    }

    /// What it comes to.
    package let kind: Kind
    /// What, and where, for operators: short, and a line for each way where several are closed.
    package let reason: String
    /// What to do; absent where the reason says that, or nothing helps.
    package let remedy: String?

    /// What, where, and what to do, for operators.
    package var description: String {
        guard let remedy else { return reason }
        // Behind a list the remedies have lines of their own.
        return reason.contains("\n") ? "\(reason)\n\(remedy)" : "\(reason). \(remedy)"
    }

    /// Makes an error.
    package init(_ kind: Kind, _ reason: String, remedy: String? = nil) {
        self.kind = kind
        self.reason = reason
        self.remedy = remedy
    }
}
