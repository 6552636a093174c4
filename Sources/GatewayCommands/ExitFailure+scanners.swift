package import AdapterScanning
package import CommandSupport

extension ExitFailure {
    /// Creates the failure for an error of a scanner: the reason in short lines, and the command that shows the remedy.
    package init(_ error: ScannerError) {
        self.init(
            error.kind == .denied ? .noPermission : .serviceUnavailable,
            "\(error.reason)\nto find the remedy, run beacon-gateway doctor")
    }
}
