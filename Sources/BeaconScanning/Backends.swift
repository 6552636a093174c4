package import AdapterScanning
package import BeaconMonitoring
package import EventLoops
package import SystemPackage

/// Makes the scanners of the ways that BlueZ and the kernel offer.
package enum Backends {
    /// What is asked of a way's scanner.
    package struct Options: Sendable {
        /// The adapters to hear with.
        package var adapters = AdapterSelection.all
        /// How much of the time is listened.
        package var timing: ScanTiming
        /// Whether advertisers are asked for scan responses, where the way can.
        package var scansActively: Bool
        /// Whether advertisers must not be asked.
        package var isPassive = false
        /// Whether the way is waited for, since no other may be used.
        package var waitsForService = false
        /// Who only looks on changes no settings of the machine's.
        package var isObserver = false
        /// A file of this process's own in which stands what is to be undone after a crash.
        package var recordFile: FilePath?

        /// What a demand asks for.
        package init(_ demand: ServiceDemand) {
            timing = ScanTiming(interval: demand.dutyCycle.interval, window: demand.dutyCycle.window)
            scansActively = demand.isActive
        }
    }

    /// A way's scanner, not started.
    ///
    /// - Throws: `ScannerError` where the way is closed from the beginning.
    package static func make(
        _ backend: ScannerBackend, on loop: EventLoop, _ scanner: Options
    ) throws(ScannerError) -> any AdvertisingScanner {
        switch backend {
        case .management:
            var options = ManagementOptions()
            options.adapters = scanner.adapters
            options.recordFile = scanner.recordFile
            // The settings are the adapter's: put back at the end, they would be taken from a gateway that came meanwhile.
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
            // What is asked for is the least, and the configuration's word the most.
            options.scansActively = scanner.scansActively && !scanner.isPassive
            options.timing = scanner.timing
            options.leavesOthersAlone = scanner.isObserver
            return HCIScanner(loop: loop, options: options)
        }
    }

    /// What of a demand a way can't do, for operators; empty where it can do all.
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
        case .hci: break
        }
        return shortfalls
    }
}
