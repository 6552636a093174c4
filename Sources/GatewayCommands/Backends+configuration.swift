package import AdapterScanning
package import BeaconMonitoring
package import BeaconScanning
package import EventLoops
package import GatewayConfiguration
import SystemPackage

extension Backends {
    /// A way's scanner as the configuration wants it, not started.
    ///
    /// - Parameters:
    ///   - backend: the way.
    ///   - loop: where the scanner lives.
    ///   - scanner: what the configuration says of scanners.
    ///   - state: the folder of what survives the process.
    ///   - demand: what is asked of the scanners; absent: what the configuration asks.
    ///   - observer: who only looks on: it changes no settings of the machine's, and what it writes down to be undone after
    ///     a crash has this name at its end.
    /// - Returns: the scanner.
    /// - Throws: ``ScannerError`` where the way is closed from the beginning.
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
