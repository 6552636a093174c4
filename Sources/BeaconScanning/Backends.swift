package import AdapterScanning
package import BeaconMonitoring
package import EventLoops
package import SystemPackage

extension ScanningError {
    init(_ error: ScannerError) { self.init(error.kind == .denied ? .denied : .unavailable, error.description) }
}

/// Creates the scanners of the backends.
package enum Backends {
    /// The options of a scanner.
    package struct Options: Sendable {
        /// The adapters to scan with.
        package var adapters = AdapterSelection.all
        /// The scan interval and window.
        package var timing: ScanTiming
        /// Whether scan responses are requested, if the backend supports it.
        package var scansActively: Bool
        /// Whether scan responses must not be requested.
        package var isPassive = false
        /// Whether the scanner waits for the service of its backend, because no other backend is allowed.
        package var waitsForService = false
        /// Whether the scanner must not change settings of the machine, because it only observes.
        package var isObserver = false
        /// A file, used only by this process, with the changes to undo after a crash.
        package var recordFile: FilePath?

        /// Creates the options that a demand requires.
        package init(_ demand: ServiceDemand) {
            timing = ScanTiming(interval: demand.dutyCycle.interval, window: demand.dutyCycle.window)
            scansActively = demand.isActive
        }
    }

    /// Creates the scanner of a backend without starting it.
    ///
    /// - Throws: `ScannerError` if the backend cannot be used.
    package static func make(
        _ backend: ScannerBackend, on loop: EventLoop, _ scanner: Options
    ) throws(ScannerError) -> any AdvertisingScanner {
        switch backend {
        case .management:
            var options = ManagementOptions()
            options.adapters = scanner.adapters
            options.recordFile = scanner.recordFile
            // These are settings of the adapter. An observer that restored them at its end would change them for a
            // gateway that was started in the meantime.
            options.widensWindow = !scanner.isObserver
            options.timing = scanner.timing
            return ManagementScanner(loop: loop, options: options)
        case .dbus:
            var options = DBusScanner.Options()
            options.adapters = scanner.adapters
            options.isPassive = scanner.isPassive
            options.mayPowerCycle = !scanner.isObserver
            options.waitsForService = scanner.waitsForService
            return DBusScanner(options: options, loop: loop)
        case .hci:
            var options = HCIOptions()
            options.adapters = scanner.adapters
            // The demand is the minimum, and the configuration the maximum.
            options.scansActively = scanner.scansActively && !scanner.isPassive
            options.timing = scanner.timing
            options.leavesOthersAlone = scanner.isObserver
            return HCIScanner(loop: loop, options: options)
        case .capture:
            throw ScannerError(.unavailable, "a capture is not a backend of this machine")
        }
    }

    /// Returns the parts of a demand that a backend does not support, for operators; empty if it supports all.
    package static func shortfalls(of backend: ScannerBackend, for demand: ServiceDemand) -> [String] {
        var shortfalls: [String] = []
        switch backend {
        case .management:
            if demand.isActive {
                shortfalls.append("the kernel's monitors scan passively, so scan responses are not requested")
            }
        case .dbus:
            if !demand.dutyCycle.isContinuous {
                shortfalls.append("bluetoothd sets the duty cycle, so no power is saved")
            }
        case .hci, .capture: break
        }
        return shortfalls
    }
}
