package import AdapterScanning
package import CommandSupport

extension ExitFailure {
    /// The failure that a scanner's error is: why in short lines, and who says what to do about it.
    package init(_ error: ScannerError) {
        self.init(
            error.kind == .denied ? .noPermission : .serviceUnavailable,
            "\(error.reason)\nto find the remedy, run beacon-gateway doctor")
    }
}
