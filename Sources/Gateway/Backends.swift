public import BeaconScanning
import BlueZ
public import GatewayConfiguration
public import Polling
import SystemPackage

/// Makes the scanners of the ways that BlueZ and the kernel offer.
public enum Backends {
    /// A way's scanner as the configuration wants it, not started.
    ///
    /// - Throws: ``ScannerError`` where the way is closed from the beginning.
    public static func make(
        _ backend: ScannerBackend, on loop: EventLoop, _ scanner: ScannerConfiguration, state: String
    ) throws(ScannerError) -> any Scanner {
        let numbers = scanner.adapters.compactMap(ScanSupervisor.Options.adapterNumber(of:))
        let adapters = numbers.isEmpty ? nil : Set(numbers)
        switch backend {
        case .management:
            var options = ManagementOptions()
            options.adapters = adapters
            options.recordFile = FilePath(state).appending("monitors")
            return ManagementScanner(loop: loop, options: options)
        case .dbus:
            var options = DBusScanner.Options()
            options.adapters = adapters
            options.isPassive = scanner.mode == .passive
            options.mayPowerCycle = true
            options.waitsForService = scanner.backend == .dbus
            return DBusScanner(options: options, loop: loop)
        case .hci:
            var options = HCIOptions()
            options.adapters = adapters
            options.scansActively = scanner.mode == .active
            return HCIScanner(loop: loop, options: options)
        }
    }
}
