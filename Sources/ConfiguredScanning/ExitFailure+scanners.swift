package import BeaconScanning
package import CommandSupport

extension ExitFailure {
    /// The failure that a scanner's error is.
    package init(_ error: ScannerError) {
        self.init(error.kind == .denied ? .noPermission : .serviceUnavailable, error.description)
    }
}
