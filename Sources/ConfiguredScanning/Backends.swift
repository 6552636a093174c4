package import BeaconMonitoring
package import BeaconScanning
import BlueZ
package import GatewayConfiguration
package import Polling
import SystemPackage

/// Makes the scanners of the ways that BlueZ and the kernel offer.
package enum Backends {
    /// A way's scanner as the configuration wants it, not started.
    ///
    /// - Parameters:
    ///   - backend: the way.
    ///   - loop: where it waits.
    ///   - scanner: what the configuration says of scanners.
    ///   - state: the folder in which it writes down what is to be undone after a crash.
    ///   - demand: what is asked of the scanners; absent: what the configuration asks.
    ///   - observer: who only looks on: it changes no settings of the machine's, and what it writes down to be undone after
    ///     a crash has this name at its end.
    /// - Returns: the scanner.
    /// - Throws: ``ScannerError`` where the way is closed from the beginning.
    package static func make(
        _ backend: ScannerBackend, on loop: EventLoop, _ scanner: ScannerConfiguration, state: String,
        demand: ServiceDemand? = nil, observer: String? = nil
    ) throws(ScannerError) -> any AdvertisingScanner {
        let adapters = AdapterSelection(scanner.adapters)
        let demand = demand ?? scanner.demand
        let timing = ScanTiming(interval: demand.dutyCycle.interval, window: demand.dutyCycle.window)
        switch backend {
        case .management:
            var options = ManagementOptions()
            options.adapters = adapters
            options.recordFile = FilePath(state).appending(observer.map { "monitors-\($0)" } ?? "monitors")
            // The settings are the adapter's: put back at the end, they would be taken from a gateway that came meanwhile.
            options.widensWindow = observer == nil
            options.timing = timing
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
            // What is asked for is the least, and the configuration's word the most.
            options.scansActively = demand.isActive && scanner.mode != .passive
            options.timing = timing
            options.leavesOthersAlone = observer != nil
            return HCIScanner(loop: loop, options: options)
        }
    }

    /// What of a demand a way can't do, for operators; empty where it can do all.
    package static func shortfalls(of backend: ScannerBackend, for demand: ServiceDemand) -> [String] {
        var shortfalls: [String] = []
        switch backend {
        case .management:
            if demand.isActive {
                shortfalls.append("the kernel's monitors scan passively, so no advertiser is asked for scan responses")
            }
        case .dbus:
            if !demand.dutyCycle.isContinuous {
                shortfalls.append("bluetoothd decides how much of the time is listened, so no power is saved")
            }
        case .hci: break
        }
        return shortfalls
    }
}
