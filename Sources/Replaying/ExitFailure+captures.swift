package import Captures
package import CommandSupport
import SystemPackage

extension ExitFailure {
    /// Creates the failure for an error of a capture.
    package init(_ error: CaptureError) {
        switch error {
        case .openFailed(_, .noSuchFileOrDirectory): self.init(.inputMissing, error.description)
        case .openFailed(_, .permissionDenied): self.init(.noPermission, error.description)
        case .openFailed, .readFailed: self.init(.inputMissing, error.description)
        case .createFailed(_, .permissionDenied): self.init(.noPermission, error.description)
        case .createFailed: self.init(.cannotCreate, error.description)
        case .writeFailed: self.init(.cannotWrite, error.description)
        case .fieldsInvalid(let reason): self.init(.usage, "--fields \(reason)")
        default: self.init(.dataInvalid, error.description)
        }
    }
}
