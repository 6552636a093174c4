import BaseTypes
import BluetoothLE
import EventLoops

@testable import AdapterScanning

/// A scanner that reports the events that a test passes to it.
final class ScriptedScanner: AdvertisingScanner {
    let backend: ScannerBackend
    /// The error that ``start(_:)`` throws; `nil` if it succeeds.
    var closed: ScannerError?
    /// The changes that it reports while it starts.
    var opening: [ScanChange] = []
    /// The results of steps. A step that is not in it is taken.
    var outcomes: [WatchdogStep: WatchdogStep.Outcome] = [:]
    /// Called when a step has been taken.
    var onStep: ((WatchdogStep, Int) -> Void)?
    /// The deliveries of messages that were received but not read yet. ``drain()`` performs them.
    var unread: [(ScriptedScanner) -> Void] = []
    /// Called when ``drain()`` has delivered everything.
    var onDrained: (() -> Void)?

    private(set) var isStarted = false
    private(set) var stops = 0
    private(set) var drains = 0
    private(set) var steps: [String] = []
    private var handler: (any ScanHandler)?
    private let now: () -> Instant

    init(_ backend: ScannerBackend, now: @escaping () -> Instant) {
        self.backend = backend
        self.now = now
    }

    func start(_ handler: any ScanHandler) throws(ScannerError) {
        if let closed { throw closed }
        isStarted = true
        self.handler = handler
        for change in opening { say(change) }
    }

    func drain() {
        drains += 1
        let received = unread
        unread = []
        for item in received { item(self) }
        onDrained?()
    }

    func take(_ step: WatchdogStep, on adapter: Int) -> WatchdogStep.Outcome {
        let outcome = outcomes[step] ?? .taken
        if outcome == .taken {
            steps.append("\(step) hci\(adapter)")
            onStep?(step, adapter)
        }
        return outcome
    }

    func stop() {
        if isStarted { stops += 1 }
        isStarted = false
        handler = nil
    }

    // MARK: Events from the test

    func say(_ change: ScanChange, at time: Instant? = nil) { handler?.changed(change, at: time ?? now()) }

    func appear(_ adapter: Int = 0) { say(.appeared(adapter: adapter, controller: "a test's")) }
    func listen(_ adapter: Int = 0) { say(.listening(adapter: adapter, reason: "scripted")) }
    func cease(_ adapter: Int = 0) { say(.stopped(adapter: adapter, since: now(), reason: "scripted")) }

    /// Delivers a report of the beacon, or one without an iBeacon if `beacon` is `nil`.
    func report(_ beacon: BeaconIdentity? = nil, on adapter: Int = 0, at time: Instant? = nil) {
        var data: [UInt8] = [2, 1, 6]
        if let beacon { data += [26, 0xFF] + IBeacon(identity: beacon, measuredPower: -59).manufacturerData }
        let report = AdvertisingReport(
            address: DeviceAddress(0xC098_E500_0007, kind: .random), rssi: RSSI(dBm: -60), properties: .legacy,
            data: 0..<data.count)
        handler?.received(report, data: data.span, on: adapter, at: time ?? now())
    }
}

/// A handler that records its calls as short texts.
final class NotingHandler: ScanHandler {
    var notes: [String] = []
    var reports: [Instant] = []
    var onReport: (() -> Void)?

    func received(_ report: AdvertisingReport, data: Span<UInt8>, on adapter: Int, at time: Instant) {
        reports.append(time)
        notes.append("report hci\(adapter) \(time.words)")
        onReport?()
    }

    func changed(_ change: ScanChange, at time: Instant) {
        switch change {
        case .appeared(let adapter, _, _): notes.append("appeared hci\(adapter) \(time.words)")
        case .disappeared(let adapter): notes.append("disappeared hci\(adapter) \(time.words)")
        case .listening(let adapter, _): notes.append("listening hci\(adapter) \(time.words)")
        case .stopped(let adapter, let since, _):
            notes.append("stopped hci\(adapter) \(time.words)" + (since == time ? "" : " since \(since.words)"))
        case .lost(let adapter, let count, let since): notes.append("lost hci\(adapter) \(count) since \(since.words)")
        case .needs(let adapter, let step, _): notes.append("hci\(adapter) needs \(step) \(time.words)")
        case .capture(let change): notes.append("\(change) \(time.words)")
        case .obstacles(let obstacles): notes.append("obstacles \(obstacles.map { "\($0)" }.sorted())")
        case .ended: notes.append("ended")
        }
    }

    /// Returns the changes since the last call, without the reports.
    func changes() -> [String] {
        defer { notes = [] }
        return notes.filter { !$0.hasPrefix("report") }
    }
}

extension Instant {
    /// The time in seconds, as short as possible.
    var words: String {
        let seconds = Double(nanoseconds) / 1e9
        return seconds == seconds.rounded() ? "\(Int(seconds))" : "\(seconds)"
    }
}

/// A supervisor on an event loop whose time the test sets.
final class ScanFixture {
    let loop: EventLoop
    let supervisor: ScanSupervisor
    let handler = NotingHandler()
    let clock: Clock
    var log: [String] { bench.log }

    /// The scanner that was created last for each backend.
    var scanners: [ScannerBackend: ScriptedScanner] { bench.scanners }

    final class Clock {
        var now = at(0)
    }

    // The state of the factory, which is created before the supervisor.
    final class Bench {
        var scanners: [ScannerBackend: ScriptedScanner] = [:]
        var made: [ScannerBackend: Int] = [:]
        var prepare: (ScriptedScanner) -> Void = { _ in }
        var log: [String] = []
    }
    let bench: Bench

    init(
        _ options: ScanSupervisor.Options = .init(), exitTimeout: Duration? = nil,
        prepare: @escaping (ScriptedScanner) -> Void = { _ in }
    ) throws {
        let clock = Clock()
        let bench = Bench()
        bench.prepare = prepare
        let loop = try EventLoop(clock: { clock.now })
        supervisor = ScanSupervisor(
            loop: loop, options: options,
            make: { backend throws(ScannerError) in
                let scanner = ScriptedScanner(backend, now: { clock.now })
                bench.scanners[backend] = scanner
                bench.made[backend, default: 0] += 1
                bench.prepare(scanner)
                return scanner
            },
            exitTimeout: { _ in exitTimeout },
            log: { kind, line in bench.log.append("\(kind.level): \(line)") })
        self.loop = loop
        self.clock = clock
        self.bench = bench
    }

    /// Advances to a time, and wakes at each deadline before it as a real loop does, at most `wakeUpsMax` times.
    func go(to time: Double, wakeUpsMax: Int = 10_000) throws {
        for _ in 0..<wakeUpsMax {
            try loop.turn(waits: false)
            guard let next = supervisor.nextDeadline, next <= at(time) else { break }
            clock.now = max(clock.now, next)
        }
        clock.now = at(time)
        try loop.turn(waits: false)
    }

    func made(_ backend: ScannerBackend) -> Int { bench.made[backend] ?? 0 }
}
