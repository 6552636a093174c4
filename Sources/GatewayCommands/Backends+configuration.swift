package import AdapterScanning
package import BeaconMonitoring
package import BeaconScanning
package import EventLoops
package import GatewayConfiguration
import SystemPackage

extension Backends {
    /// Creates the scanner of a backend with the settings of a configuration, without starting it.
    ///
    /// - Parameters:
    ///   - backend: the backend.
    ///   - loop: the loop of the scanner.
    ///   - scanner: the section `scanner` of the configuration.
    ///   - state: the state directory, for the file with the changes to undo after a crash.
    ///   - demand: the demand on the scanners; `nil` means that of the configuration.
    ///   - observer: the name of a command that only observes. The scanner then changes no settings of the machine, and
    ///     the name of its file with changes ends with this name. `nil` for a gateway.
    /// - Returns: the scanner.
    /// - Throws: ``ScannerError`` if the backend cannot be used.
    package static func make(
        _ backend: ScannerBackend, on loop: EventLoop, _ scanner: ScannerConfiguration, state: String,
        demand: ServiceDemand? = nil, observer: String? = nil
    ) throws(ScannerError) -> any AdvertisingScanner {
        var options = Options(demand ?? scanner.demand)
        options.adapters = AdapterSelection(scanner.adapters)
        options.isPassive = scanner.mode == .passive
        options.waitsForService = scanner.backend == .dbus
        options.isObserver = observer != nil
        options.recordFile = FilePath(state).appending(observer.map { "monitors-\($0)" } ?? "monitors")
        return try make(backend, on: loop, options)
    }
}
