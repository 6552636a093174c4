import AdapterScanning
import BaseTypes
import BluetoothLE
import Captures
import EventLoops
import OperatorLogging
import ProgramSupport

@testable import GatewayCommands

/// A scanner of `run --from` on a loop, and its reports and changes in short texts.
final class CapturedScan: ScanHandler {
    let loop: EventLoop
    private(set) var notes: [String] = []
    private(set) var log: [String] = []
    private(set) var reports = 0
    private var scanner: (any AdvertisingScanner)?
    /// The time of a loop that a test drives.
    private final class Clock {
        var now = BootClock.now
        /// A jump of the clock in the next wait of the loop, which reads the clock twice before it.
        var jump: Duration?
        var reads = 0

        func read() -> Instant {
            reads += 1
            if reads > 2, let jump {
                now = now + jump
                self.jump = nil
            }
            return now
        }
    }
    private let clock = Clock()
    /// The time of the start.
    let start: Instant

    /// Starts the scanner. If the time is not that of the machine, only ``go(to:)`` and ``set(_:)`` change it.
    init(
        _ path: String, hasOwnTime: Bool = false, options: CaptureOptions = CaptureOptions(), repeats: Bool = false
    ) throws {
        let clock = clock
        start = clock.now
        loop = hasOwnTime ? try EventLoop(clock: { clock.read() }) : try EventLoop()
        let origin = try CaptureOrigin(path, options: options, repeats: repeats)
        let scanner = try origin.makeScanner(on: loop) { [unowned self] kind, text in
            log.append("\(kind.level) \(text)")
        }
        self.scanner = scanner
        try scanner.start(self)
    }

    func drain() { scanner?.drain() }

    func stop() {
        scanner?.stop()
        scanner = nil
    }

    /// Sets the time, in seconds after the start, and handles everything that is due.
    func go(to seconds: Double) throws {
        set(seconds)
        try loop.turn(waits: false)
    }

    /// Takes a turn of the loop in whose wait the process is stopped for some seconds.
    func turn(stoppedFor seconds: Int) throws {
        (clock.jump, clock.reads) = (.seconds(seconds), 0)
        try loop.turn(waits: false)
    }

    /// Sets the time, in seconds after the start.
    func set(_ seconds: Double) { clock.now = start + .nanoseconds(Int64(seconds * 1e9)) }

    /// Returns whether a note since the last call of ``takeNotes()`` has this text.
    func noted(_ text: String) -> Bool { notes.contains { $0.contains(text) } }

    /// Returns the notes since the last call.
    func takeNotes() -> [String] {
        defer { notes = [] }
        return notes
    }

    private func text(_ time: Instant) -> String {
        "\(Double((time - start).nanoseconds / 1_000_000) / 1000)"
    }

    func received(_ report: AdvertisingReport, data: Span<UInt8>, on adapter: Int, at time: Instant) {
        reports += 1
        var structures = ADStructures()
        let beacon = try? structures.nextBeacon(in: data)
        let power = beacon?.measuredPower.map { "/\($0)" } ?? ""
        let what = beacon.map { "badge \($0.identity.minor)\(power)" } ?? "report"
        notes.append("\(text(time)) \(adapter): \(what) \(report.rssi.map { "\($0.dBm)" } ?? "-")")
    }

    func changed(_ change: ScanChange, at time: Instant) {
        switch change {
        case .capture(.added(let adapter, let name, let address, _, let listens)):
            let state = listens ? "scans" : "off"
            notes.append("\(text(time)) \(adapter): \(name)\(address.map { " \($0)" } ?? "") \(state)")
        case .capture(.marked(let adapter, let isListening, let since)):
            let earlier = since.map { " since \(text($0))" } ?? ""
            notes.append("\(text(time)) \(adapter): \(isListening ? "scans" : "stops")\(earlier)")
        case .capture(.interrupted(let reason)): notes.append("\(text(time)) interrupted: \(reason)")
        case .capture(.ended(let reason)): notes.append("\(text(time)) end: \(reason)")
        case .appeared, .disappeared, .listening, .stopped, .lost, .needs, .obstacles, .ended:
            notes.append("\(change)")
        }
    }
}
