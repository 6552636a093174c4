package import AdapterScanning
import BeaconMonitoring
import BeaconScanning
import CommandSupport

extension ScanStatus {
    /// The state of scanning, for operators: `scans on hci0 with management`.
    package var words: String {
        let listening = adapters.filter { $0.activity == .listening }.map(\.name)
        if let backend, !listening.isEmpty {
            return "scans on \(listening.joined(separator: ", ")) with \(backend.rawValue)"
        }
        let names = Diagnostics(obstacles).listed.joined(separator: ", ")
        let why = names.isEmpty ? "" : " (\(names))"
        if backend == .capture { return "no adapter of the capture scans" }
        return adapters.contains { $0.activity != .absent }
            ? "waits for an adapter to scan\(why)" : "waits for a Bluetooth adapter\(why)"
    }
}
