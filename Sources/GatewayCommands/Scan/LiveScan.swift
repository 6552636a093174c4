package import AdapterScanning
package import BaseTypes
import BeaconMonitoring
import BeaconScanning
package import BluetoothLE
package import CommandSupport
package import EventLoops
import GatewayConfiguration
import Glibc
package import OperatorLogging
import SystemPackage

/// The command `scan`: shows once per second what is in range. On a terminal it updates one table, and in a pipe it
/// prints one after the other, or JSON lines.
///
/// It runs on one thread, as the gateway does. Other types make the tables and the terminal output (``BeaconTable``,
/// ``ScanTerminal``). This type only drives them.
package final class LiveScan: ScanHandler {
    /// The content and form of the output.
    package struct Options: Sendable {
        /// The settings of scanning.
        package var observer = ObserverOptions()
        /// Whether every advertiser is listed instead of beacons.
        package var showsAll = false
        /// Whether JSON lines are written instead of a table.
        package var writesJSON = false
        /// The UUIDs of the beacons to list; empty means all.
        package var uuids: Set<ProximityUUID> = []

        /// Creates options for a table of all beacons.
        package init() {}
    }

    static let interval: Duration = .seconds(1)

    let loop: EventLoop
    private let options: Options
    private let makeScanner: ((ScannerBackend, EventLoop) throws(ScannerError) -> any AdvertisingScanner)?
    private let log: (MessageKind, String) -> Void
    private let terminal: ScanTerminal?
    private let output: LiveOutput
    private var supervisor: ScanSupervisor?
    private var beacons: BeaconTable
    private var advertisers = AdvertiserTable()
    private var reports: SignalMeter
    private var lastWords = ""
    /// How many of the reversed UUIDs were reported.
    private var reversedReported = 0
    private var failure: ExitFailure?
    private var signals: SignalWatch?
    private var keys: EventLoop.Watch?
    private var timer: EventLoop.Timer?
    /// The number of pages that were not written because the reader had not read the one before.
    private(set) var skippedPages = 0

    /// Creates a scan without starting it.
    ///
    /// - Parameters:
    ///   - options: the content and form of the output.
    ///   - makeScanner: creates the scanner of a backend without starting it, for tests; `nil` means the scanners of
    ///     BlueZ and the kernel.
    ///   - log: receives the messages for the operator. On a terminal, the last one is shown below the table instead.
    /// - Throws: ``ExitFailure`` if the process cannot wait for events.
    package convenience init(
        _ options: Options,
        makeScanner: ((ScannerBackend, EventLoop) throws(ScannerError) -> any AdvertisingScanner)? = nil,
        log: @escaping (MessageKind, String) -> Void
    ) throws(ExitFailure) {
        let loop = try ExitFailure.ofLoop(EventLoop())
        self.init(
            options, on: loop, output: LiveOutput(.standardOutput, isOurs: false, on: loop),
            terminal: options.writesJSON ? nil : ScanTerminal(), makeScanner: makeScanner, log: log)
    }

    init(
        _ options: Options, on loop: EventLoop, output: LiveOutput, terminal: ScanTerminal?,
        makeScanner: ((ScannerBackend, EventLoop) throws(ScannerError) -> any AdvertisingScanner)?,
        log: @escaping (MessageKind, String) -> Void
    ) {
        self.options = options
        self.loop = loop
        self.makeScanner = makeScanner
        self.log = log
        self.output = output
        self.terminal = terminal
        let conditions = options.observer.configuration.map { ScanConditions($0) } ?? ScanConditions()
        let ranging = options.observer.configuration?.ranging ?? RangingSettings()
        beacons = BeaconTable(
            conditions: conditions, uuids: options.uuids, ranging: ranging,
            names: options.observer.configuration?.beacons ?? BeaconNames())
        reports = SignalMeter(at: loop.now)
    }

    /// Shows the table until q is pressed, a signal such as SIGTERM or SIGINT arrives, or the reader of the output
    /// exits.
    ///
    /// - Throws: ``ExitFailure`` if this user cannot open any backend on this machine, or for an error that ends the
    ///   scan later.
    package func run() throws(ExitFailure) {
        let supervisor = options.observer.supervisor(on: loop, makeScanner: makeScanner) { [unowned self] level, text in
            note(level, text)
        }
        try ExitFailure.ofLoop(arrange())
        try options.observer.start(supervisor, self)
        self.supervisor = supervisor
        enter()
        showAndWait(at: loop.now)
        do throws(Errno) { try loop.run() } catch { failure = ExitFailure(ofLoop: error) }
        supervisor.stop()
        self.supervisor = nil
        end()
        if let failure { throw failure }
    }

    private func end() {
        if let keys { loop.end(keys) }
        keys = nil
        if let terminal {
            // The rest of a page is of no use any more.
            output.discard()
            terminal.restoreKeys()
            output.write(ScanTerminal.leaving.utf8)
        }
        do throws(Errno) {
            try output.close()
        } catch {
            // A broken pipe must not be an error: the reader of a pipe exits when it has enough.
            if error != .brokenPipe, failure == nil {
                failure = ExitFailure(.cannotWrite, "standard output can't be written to: \(error)")
            }
        }
        // On a terminal, these messages were shown only below the table and have disappeared with the screen, so they
        // are logged now.
        if terminal != nil { for found in beacons.reversed.found { log(.uuidReversed, Self.words(found)) } }
        let unlisted = beacons.unlisted + advertisers.unlisted
        if unlisted > 0 {
            let reports = PlainText.count(unlisted, "report was", "reports were")
            log(.reportsNotListed, "\(reports) not listed, because the list of beacons or advertisers is full")
        }
        if skippedPages > 0, terminal == nil {
            let seconds = PlainText.count(skippedPages, "second was", "seconds were")
            log(.reportsNotListed, "\(seconds) skipped, because the output was not read")
        }
    }

    // MARK: The loop

    private func arrange() throws(Errno) {
        // Watching SIGPIPE blocks it. If a reader has exited, the write returns an error.
        var watched = [SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE]
        if terminal != nil { watched += [SIGWINCH, SIGTSTP, SIGCONT] }
        signals = try SignalWatch(watched, on: loop) { [unowned self] signal in handle(signal) }
        timer = loop.makeTimer { [unowned self] now in showAndWait(at: now) }
        loop.afterWaiting = { [unowned self] in supervisor?.woke() }
        output.changed = { [unowned self] in if output.error != nil { loop.stop() } }
        guard let terminal, terminal.hasKeys else { return }
        keys = try loop.watch(terminal.input, for: .read) { [unowned self] _ in readKeys(terminal) }
    }

    private func readKeys(_ terminal: ScanTerminal) {
        guard let pressed = terminal.readKeys() else { return loop.stop() }
        if pressed.contains(UInt8(ascii: "q")) || pressed.contains(UInt8(ascii: "Q")) { loop.stop() }
    }

    private func handle(_ signal: Int32) {
        switch signal {
        case SIGWINCH: show(at: loop.now)
        case SIGTSTP:
            terminal?.restoreKeys()
            output.discard()
            output.write(ScanTerminal.leaving.utf8)
            // The signal is watched, so the kernel does not stop the process. It must be stopped here.
            kill(getpid(), SIGSTOP)
        case SIGCONT:
            enter()
            show(at: loop.now)
        case SIGPIPE: break
        default: loop.stop()
        }
    }

    private func enter() {
        guard let terminal else { return }
        terminal.takeKeys()
        output.discard()
        output.write(ScanTerminal.entering.utf8)
    }

    private func showAndWait(at now: Instant) {
        show(at: now)
        if let timer { loop.set(timer, at: now + Self.interval) }
    }

    // MARK: Output

    /// Writes the present page, if the reader has read the last one.
    func show(at now: Instant) {
        supervisor?.drain()
        reportReversed()
        guard output.waiting == 0 else {
            skippedPages += 1
            return
        }
        let now = max(now, loop.now)
        output.write((options.writesJSON ? json(at: now) : text(at: now)).utf8)
        if output.error != nil { loop.stop() }
    }

    private func reportReversed() {
        for found in beacons.reversed.found[reversedReported...] { note(.uuidReversed, Self.words(found)) }
        reversedReported = beacons.reversed.found.count
    }

    private static func words(_ found: ReversedUUID) -> String { "\(found.summary); \(found.remedy)" }

    private func json(at now: Instant) -> String {
        let date = WallDate(now, offset: SystemMonitorClock().offset)
        return options.showsAll
            ? advertisers.rows(at: now).map { ScanJSON.line($0, date: date) }.joined()
            : beacons.rows(at: now).map { ScanJSON.line($0, date: date) }.joined()
    }

    private func text(at now: Instant) -> String {
        guard let terminal else {
            let page = page(at: now, width: nil)
            let date = WallDate(now, offset: SystemMonitorClock().offset).lineText
            return ([date + "  " + title(at: now), page.heading] + page.lines + ["", ""]).joined(separator: "\n")
        }
        let (columns, rows) = terminal.size
        let footing = lastWords.isEmpty ? "q quits" : "q quits    \(lastWords)"
        return ScanTerminal.picture(
            page(at: now, width: columns).fitted(
                title: title(at: now), footing: footing, columns: columns, rows: rows))
    }

    private func page(at now: Instant, width: Int?) -> ScanPage {
        options.showsAll
            ? ScanPage(advertisers.rows(at: now)) : ScanPage(beacons.rows(at: now), width: width)
    }

    private func title(at now: Instant) -> String {
        let count = options.showsAll ? advertisers.count : beacons.count
        let what = PlainText.count(count, options.showsAll ? "advertiser" : "beacon")
        let status = supervisor?.status.words ?? "ends"
        return "\(status); \(what), \(ScanText.tenths(reports.rate(at: now))) reports/s"
    }

    private func note(_ kind: MessageKind, _ text: String) {
        guard terminal != nil else { return log(kind, text) }
        guard kind.level <= .notice else { return }
        lastWords = PlainText.safe(Array(text.utf8.prefix(512)))
    }

    // MARK: Reports

    /// Handles a report of an adapter.
    package func received(_ report: AdvertisingReport, data: Span<UInt8>, on adapter: Int, at time: Instant) {
        reports.received(nil, at: time)
        guard !options.showsAll else { return advertisers.received(report, data: data, on: adapter, at: time) }
        var structures = ADStructures()
        // A malformed structure ends the report. The structures before it count (rule B3).
        while let beacon = try? structures.nextBeacon(in: data) {
            beacons.received(beacon, in: report, on: adapter, at: time)
        }
    }

    /// Handles a change of an adapter or a backend. The supervisor has already logged it if it is important.
    package func changed(_ change: ScanChange, at time: Instant) {
        guard case .ended(let error) = change else { return }
        failure = ExitFailure(error)
        loop.stop()
    }
}
