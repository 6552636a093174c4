package import EventLog
import OperatorLogging
import SystemPackage

extension ExitFailure {
    /// The failure that an event log's error is.
    package init(_ error: EventLogError) {
        switch error {
        case .createFailed(_, .permissionDenied), .readFailed(_, .permissionDenied):
            self.init(.noPermission, error.description)
        case .createFailed, .directoryNotEmpty, .notALock: self.init(.cannotCreate, error.description)
        // The target of a link can be any text.
        case .linked: self.init(.dataInvalid, PlainText.safe(error.description))
        case .ownerNotKept: self.init(.noPermission, error.description)
        case .writeFailed, .changedMeanwhile: self.init(.cannotWrite, error.description)
        case .readFailed: self.init(.inputMissing, error.description)
        case .newerVersion, .numberTooGreat: self.init(.dataInvalid, error.description)
        case .inUse: self.init(.serviceUnavailable, error.description)
        }
    }
}
