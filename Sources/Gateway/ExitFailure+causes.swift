public import Captures
public import EventLog
import SystemPackage

extension ExitFailure {
    /// The failure that a capture's error is.
    public init(_ error: CaptureError) {
        switch error {
        case .openFailed(_, .noSuchFileOrDirectory): self.init(.inputMissing, error.description)
        case .openFailed(_, .permissionDenied): self.init(.noPermission, error.description)
        case .openFailed, .readFailed: self.init(.inputMissing, error.description)
        case .createFailed(_, .permissionDenied): self.init(.noPermission, error.description)
        case .createFailed: self.init(.cannotCreate, error.description)
        case .writeFailed: self.init(.cannotWrite, error.description)
        case .fieldsInvalid: self.init(.usage, error.description)
        default: self.init(.dataInvalid, error.description)
        }
    }

    /// The failure that an event log's error is.
    public init(_ error: EventLogError) {
        switch error {
        case .createFailed(_, .permissionDenied), .readFailed(_, .permissionDenied):
            self.init(.noPermission, error.description)
        case .createFailed, .directoryNotEmpty, .notALock: self.init(.cannotCreate, error.description)
        case .writeFailed: self.init(.cannotWrite, error.description)
        case .readFailed: self.init(.inputMissing, error.description)
        case .newerVersion, .numberTooGreat: self.init(.dataInvalid, error.description)
        case .inUse: self.init(.serviceUnavailable, error.description)
        }
    }
}
