import AdapterScanning
import BaseTypes
import BeaconMonitoring
import BluetoothLE
import EventLoops
import OperatorLogging
import SystemPackage

/// Scans on a thread of its own, with one event loop like the gateway. At the end of each turn, it delivers the reports
/// of the turn.
final class ScanThread: ScanHandler {
    private let loop: EventLoop
    private let options: LiveOptions
    private let handOver: HandOver
    private var supervisor: ScanSupervisor?
    private var demand: ServiceDemand?
    private var decoder = ReportDecoder()
    private var reports = ReportCollector()
    private var losses = ReportLosses()
    private var failure: ScanningError?
    private var watch: EventLoop.Watch?
    private var clockAlarm: WallClockAlarm?
    private var clockReading: (isSynchronized: Bool, at: Instant)?

    // The minimum interval between checks whether the wall clock was synchronized without a step.
    private static let clockInterval: Duration = .seconds(60)

    /// Scans until it is stopped or fails. It must be called on a thread of its own.
    static func run(_ options: LiveOptions, _ handOver: HandOver) {
        do throws(ScanningError) {
            try ScanThread(options, handOver).run()
            handOver.end(.success(()))
        } catch {
            handOver.end(.failure(error))
        }
        handOver.drained()
    }

    private init(_ options: LiveOptions, _ handOver: HandOver) throws(ScanningError) {
        self.options = options
        self.handOver = handOver
        demand = handOver.demand
        do throws(Errno) {
            loop = try EventLoop()
        } catch {
            throw Self.cannotWait(error)
        }
    }

    private static func cannotWait(_ error: Errno) -> ScanningError {
        ScanningError(.failed, "the process can't wait for events: \(error)")
    }

    private func run() throws(ScanningError) {
        do throws(Errno) {
            watch = try loop.watch(handOver.wake.descriptor, for: .read) { [unowned self] _ in attend() }
            clockAlarm = try WallClockAlarm(on: loop) { [unowned self] in readClock() }
        } catch {
            throw Self.cannotWait(error)
        }
        loop.afterWaiting = { [unowned self] in supervisor?.woke() }
        loop.beforeWaiting = { [unowned self] in finishTurn() }
        defer { close() }
        readClock()
        try listen()
        // Requests that were made during the start.
        attend()
        do throws(Errno) {
            try loop.run()
        } catch {
            throw Self.cannotWait(error)
        }
        if let failure { throw failure }
    }

    /// Ends scanning and delivers the reports that were received so far.
    private func close() {
        supervisor?.drain()
        finishTurn()
        supervisor?.stop()
        supervisor = nil
        clockAlarm = nil
        if let watch { loop.end(watch) }
    }

    private func listen() throws(ScanningError) {
        guard let demand else { return }
        let supervisor = options.supervisor(on: loop, for: demand)
        self.supervisor = supervisor
        do throws(ScannerError) {
            try supervisor.start(self)
        } catch {
            self.supervisor = nil
            throw ScanningError(error)
        }
    }

    // MARK: Requests of the monitor

    private func attend() {
        handOver.wake.clear()
        let requests = handOver.takeRequests()
        if requests.isStopped { return loop.stop() }
        if requests.demand != demand { scan(for: requests.demand) }
        guard let id = requests.drains else { return }
        supervisor?.drain()
        finishTurn()
        report(.drained(upTo: id))
    }

    /// Changes the scanners to a new demand. Without a demand, they stop.
    private func scan(for wanted: ServiceDemand?) {
        let now = loop.now
        supervisor?.drain()
        let before = supervisor?.status.adapters ?? []
        supervisor?.stop()
        supervisor = nil
        let reason = wanted == nil ? "no session needs scanning" : "the sessions need other scan settings"
        for adapter in before where adapter.activity != .absent {
            changed(.stopped(adapter: adapter.number, since: now, reason: reason), at: now)
        }
        demand = wanted
        do throws(ScanningError) {
            try listen()
        } catch {
            end(error)
        }
    }

    // MARK: Reports

    func received(_ report: AdvertisingReport, data: Span<UInt8>, on adapter: Int, at time: Instant) {
        decoder.hand(report, data, adapter, time, to: &reports)
        if reports.entries.count >= HandOver.entriesMax / 4 { handReports() }
    }

    func changed(_ change: ScanChange, at time: Instant) {
        if case .ended(let error) = change { return end(ScanningError(error)) }
        handReports()
        switch change {
        case .listening(let adapter, _), .stopped(let adapter, _, _): losses.changed(adapter, at: time)
        default: break
        }
        report(.change(change, at: time))
    }

    private func finishTurn() {
        handReports()
        if let reading = clockReading, loop.now - reading.at >= Self.clockInterval { readClock() }
    }

    private func handReports() {
        let entries = reports.take()
        guard !entries.isEmpty else { return }
        if handOver.add(entries) { losses.handed(entries) } else { lose(entries) }
    }

    private func lose(_ entries: ContiguousArray<FrameBatch.Entry>) {
        if !losses.areUnderWay {
            options.log(.reportsNotTaken, "the program does not take the reports; they are dropped until it does")
        }
        for (change, time) in losses.lost(entries) { report(.change(change, at: time)) }
    }

    private func report(_ change: HandOver.Change) {
        guard !handOver.add(change) else { return }
        end(
            ScanningError(
                .failed, "\(HandOver.changesMax) changes of adapters are waiting, and the program does not take them"))
    }

    private func end(_ error: ScanningError) {
        failure = failure ?? error
        loop.stop()
    }

    private func readClock() {
        let isSynchronized = WallClock.isSynchronized
        if clockReading?.isSynchronized != isSynchronized { report(.clock(isSynchronized: isSynchronized)) }
        clockReading = (isSynchronized, loop.now)
    }
}
