import AdapterScanning

/// Why nothing can be heard: what `BeaconMonitor.run()` throws where it hears by ``Scanning``.
public struct HearingError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What stands in the way of hearing, for a program to tell cases apart by.
    public enum Kind: Sendable, Hashable {
        /// The kernel, bluetoothd or the bus is not there, or lacks what is needed.
        case unavailable
        /// The process lacks a right that hearing needs.
        case denied
        /// The capture can't be read.
        case captureUnreadable
        /// The process can't wait for events, or the program fetches nothing of what was heard.
        case failed
    }

    /// Which of the cases it is.
    public let kind: Kind
    /// What, where, and what to do, for operators.
    public let description: String

    init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }

    init(_ error: ScannerError) {
        self.init(error.kind == .denied ? .denied : .unavailable, error.description)
    }
}
