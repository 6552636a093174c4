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

/// `scan`: what is in range, once a second: on a terminal a table that stays in its place, in a pipe one after another, or
/// JSON lines.
///
/// One thread, as the gateway's. Tables and terminal are others' (``BeaconTable``, ``ScanTerminal``); this only drives them.
package final class LiveScan: ScanHandler {
    /// What is shown, and how.
    package struct Options: Sendable {
        /// How it hears.
        package var observer = ObserverOptions()
        /// Every advertiser in place of beacons.
        package var showsAll = false
        /// JSON lines in place of a table.
        package var writesJSON = false
        /// The beacons of interest, by UUID; empty: all.
        package var uuids: Set<ProximityUUID> = []

        /// Beacons, all of them, as a table.
        package init() {}
    }

    static let interval: Duration = .seconds(1)

    let loop: EventLoop
    private let options: Options
    private let makeScanner: ((ScannerBackend, EventLoop) throws(ScannerError) -> any AdvertisingScanner)?
    private let log: (MessageKind, String) -> Void
    private let terminal: ScanTerminal?
    private let output: ScanOutput
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
    /// Pages that were not written, since whoever reads had not taken the one before.
    private(set) var skippedPages = 0

    /// A scan that has not begun.
    ///
    /// - Parameters:
    ///   - options: what is shown, and how.
    ///   - makeScanner: makes a way's scanner, not started: a test's own, or BlueZ's and the kernel's.
    ///   - log: takes lines for the operator; on a terminal the last of them stands below the table instead.
    /// - Throws: ``ExitFailure`` where the process can't wait for events.
    package convenience init(
        _ options: Options,
        makeScanner: ((ScannerBackend, EventLoop) throws(ScannerError) -> any AdvertisingScanner)? = nil,
        log: @escaping (MessageKind, String) -> Void
    ) throws(ExitFailure) {
        let loop = try ExitFailure.ofLoop(EventLoop())
        self.init(
            options, on: loop, output: ScanOutput(.standardOutput, isOurs: false, on: loop),
            terminal: options.writesJSON ? nil : ScanTerminal(), makeScanner: makeScanner, log: log)
    }

    init(
        _ options: Options, on loop: EventLoop, output: ScanOutput, terminal: ScanTerminal?,
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

    /// Shows until q is pressed, a signal comes, or nobody reads any more.
    ///
    /// - Throws: ``ExitFailure`` where no way of hearing is open to this user on this machine, and what ends it later.
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
            // What is left of a page is of no use to anybody.
            output.discard()
            terminal.restoreKeys()
            output.write(ScanTerminal.leaving.utf8)
        }
        do throws(Errno) {
            try output.close()
        } catch {
            // Whoever read has gone, which is how a pipe's reader says that it has enough.
            if error != .brokenPipe, failure == nil {
                failure = ExitFailure(.cannotWrite, "standard output can't be written to: \(error)")
            }
        }
        // The last words on a terminal are gone with its screen.
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
        // SIGPIPE is blocked by being watched: that a reader has gone is told by writing.
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
            // It has been taken out of the kernel's hands, and has to be done here.
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

    // MARK: What is shown

    /// Writes the present page, where the last one has been taken.
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

    // MARK: What is heard

    /// An adapter gave a report.
    package func heard(_ report: AdvertisingReport, data: Span<UInt8>, on adapter: Int, at time: Instant) {
        reports.heard(nil, at: time)
        guard !options.showsAll else { return advertisers.heard(report, data: data, on: adapter, at: time) }
        var structures = ADStructures()
        // What is malformed ends the report; what stood before counts (rule B3).
        while let beacon = try? structures.nextBeacon(in: data) {
            beacons.heard(beacon, in: report, on: adapter, at: time)
        }
    }

    /// Something became of an adapter, or of the way of hearing; what matters of it the supervisor has said.
    package func changed(_ change: ScanChange, at time: Instant) {
        guard case .ended(let error) = change else { return }
        failure = ExitFailure(error)
        loop.stop()
    }
}
