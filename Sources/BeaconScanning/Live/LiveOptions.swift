import AdapterScanning
import BeaconMonitoring
import EventLoops
import OperatorLogging
import SystemPackage

/// How a monitor hears live.
struct LiveOptions: Sendable {
    typealias MakeScanner =
        @Sendable (ScannerBackend, EventLoop, ServiceDemand) throws(ScannerError) -> any AdvertisingScanner

    /// The ways that may be used, the best first.
    var backends: [ScannerBackend]
    /// The adapters to use, by the kernel's names or by addresses; empty: all.
    var adapters: [String] = []
    /// Rule L5's; absent: off.
    var deafAfter: Duration? = EngineSettings.live.deafAfter
    /// A beacon that must always be heard.
    var canary: Canary?
    /// How long a report may lie in the kernel's buffer where nothing is due before.
    var latency = ScanSupervisor.Options().latency
    /// A file of this monitor's own that says after a crash what is to be undone.
    var recordFile: FilePath?
    /// Takes lines for the operator.
    var log: @Sendable (MessageKind, String) -> Void = { _, _ in }
    /// Makes a test's scanners in place of the machine's.
    var makeScanner: MakeScanner?

    init(_ backends: [ScannerBackend]) { self.backends = backends }

    /// What sees to it that something is heard, not started.
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

    /// The adapters to use: those that sessions ask for, of those that the program hears with.
    private func selection(for demand: ServiceDemand) -> AdapterSelection {
        guard case .only(let wanted) = demand.adapters else { return AdapterSelection(adapters) }
        let both = adapters.filter(wanted.contains)
        // What a session asks for beside what there is to hear with, nobody can give.
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
