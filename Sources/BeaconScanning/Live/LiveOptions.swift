import AdapterScanning
import BeaconMonitoring
import EventLoops
import OperatorLogging
import SystemPackage

/// The options for scanning with the adapters of the machine.
struct LiveOptions: Sendable {
    typealias MakeScanner =
        @Sendable (ScannerBackend, EventLoop, ServiceDemand) throws(ScannerError) -> any AdvertisingScanner

    /// The backends that may be used, the best first.
    var backends: [ScannerBackend]
    /// The adapters to use, by the kernel's names or by addresses; empty means all.
    var adapters: [String] = []
    /// The limit of rule L5; `nil` disables it.
    var deafAfter: Duration? = EngineSettings.live.deafAfter
    /// A beacon that must always be received.
    var canary: Canary?
    /// The longest time for which a report may wait in the kernel's buffer if nothing is due before.
    var latency = ScanSupervisor.Options().latency
    /// A file, used only by this monitor, with the changes to undo after a crash.
    var recordFile: FilePath?
    /// Receives lines for the operator.
    var log: @Sendable (MessageKind, String) -> Void = { _, _ in }
    /// Creates the scanners of a test instead of the machine's.
    var makeScanner: MakeScanner?

    init(_ backends: [ScannerBackend]) { self.backends = backends }

    /// Creates the supervisor of the scanners without starting it.
    func supervisor(on loop: EventLoop, for demand: ServiceDemand) -> ScanSupervisor {
        var options = ScanSupervisor.Options()
        options.backends = backends
        options.adapters = selection(for: demand)
        options.deafAfter = deafAfter
        options.canary = canary
        options.latency = latency
        return ScanSupervisor(
            loop: loop, options: options,
            make: { backend throws(ScannerError) in
                if let makeScanner { return try makeScanner(backend, loop, demand) }
                return try Backends.make(backend, on: loop, scanner(for: demand))
            }, log: log)
    }

    /// Returns the adapters to use: those that the sessions request, among those of the program.
    private func selection(for demand: ServiceDemand) -> AdapterSelection {
        guard case .only(let wanted) = demand.adapters else { return AdapterSelection(adapters) }
        let both = adapters.filter(wanted.contains)
        // If no requested adapter is among those of the program, the program's adapters are used.
        return AdapterSelection(adapters.isEmpty ? Array(wanted) : both.isEmpty ? adapters : both)
    }

    private func scanner(for demand: ServiceDemand) -> Backends.Options {
        var scanner = Backends.Options(demand)
        scanner.adapters = selection(for: demand)
        scanner.waitsForService = backends == [.dbus]
        scanner.recordFile = recordFile
        return scanner
    }
}
