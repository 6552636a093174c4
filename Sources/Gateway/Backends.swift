public import BeaconScanning
import BlueZ
public import GatewayConfiguration
public import Polling
import SystemPackage

/// Makes the scanners of the ways that BlueZ and the kernel offer.
public enum Backends {
    /// A way's scanner as the configuration wants it, not started.
    ///
    /// - Parameter observer: who only looks on: it changes no settings of the machine's, and what it writes down to be
    ///   undone after a crash has this name at its end.
    /// - Throws: ``ScannerError`` where the way is closed from the beginning.
    public static func make(
        _ backend: ScannerBackend, on loop: EventLoop, _ scanner: ScannerConfiguration, state: String,
        observer: String? = nil
    ) throws(ScannerError) -> any Scanner {
        let numbers = scanner.adapters.compactMap(ScanSupervisor.Options.adapterNumber(of:))
        let adapters = numbers.isEmpty ? nil : Set(numbers)
        switch backend {
        case .management:
            var options = ManagementOptions()
            options.adapters = adapters
            options.recordFile = FilePath(state).appending(observer.map { "monitors-\($0)" } ?? "monitors")
            // The settings are the adapter's: put back at the end, they would be taken from a gateway that came meanwhile.
            options.widensWindow = observer == nil
            return ManagementScanner(loop: loop, options: options)
        case .dbus:
            var options = DBusScanner.Options()
            options.adapters = adapters
            options.isPassive = scanner.mode == .passive
            options.mayPowerCycle = observer == nil
            options.waitsForService = scanner.backend == .dbus
            return DBusScanner(options: options, loop: loop)
        case .hci:
            var options = HCIOptions()
            options.adapters = adapters
            options.scansActively = scanner.mode == .active
            options.leavesOthersAlone = observer != nil
            return HCIScanner(loop: loop, options: options)
        }
    }
}
