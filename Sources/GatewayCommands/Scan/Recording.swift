package import AdapterScanning
package import BaseTypes
import BeaconMonitoring
import BeaconScanning
package import BluetoothLE
package import Captures
package import CommandSupport
package import EventLoops
import Glibc
package import OperatorLogging
import Replaying
import SystemPackage

/// `record`: writes what a scanner hears to a capture.
///
/// One thread, as the gateway's. What it hears goes into memory (``RecordingWriter``) and from there to the file, 64 KiB at a
/// time or after a second; a reader of a pipe that takes nothing costs reports, never the hearing.
package final class Recording: ScanHandler {
    /// What is written, and how.
    package struct Options: Sendable {
        /// Which adapters it hears with, and by which way.
        package var observer: ObserverOptions
        /// Where it is written; `-` is standard output.
        package var path: String
        /// The capture's format.
        package var format: CaptureWriter.Format
        /// When it ends by itself; absent: never.
        package var duration: Duration?

        /// A recording of everything, until it is ended.
        package init(to path: String, format: CaptureWriter.Format, observer: ObserverOptions = ObserverOptions()) {
            self.path = path
            self.format = format
            self.observer = observer
        }
    }

    /// What a recording came to.
    package struct Outcome: Sendable, Hashable {
        /// Advertising reports that were written.
        package var reports: Int
        /// The iBeacons in them.
        package var sightings: Int
        /// Reports that were left out, since the output was not read; the capture says so.
        package var dropped: Int
        /// Messages that the kernel dropped, where it told; the capture says so.
        package var lost: Int
        /// Octets that were written.
        package var octets: Int
        /// How long it was recorded.
        package var duration: Duration

        /// The outcome as `record` says it at its end.
        package var words: String {
            var words =
                "\(PlainText.count(reports, "report")) with \(PlainText.count(sightings, "iBeacon")) in "
                + "\(duration.inWords), \(octets) bytes"
            if lost > 0 { words += "; the kernel dropped \(PlainText.count(lost, "message"))" }
            if dropped > 0 {
                let left = PlainText.count(dropped, "report was", "reports were")
                words += "; \(left) skipped, because the output was not read"
            }
            return words
        }
    }

    /// What waits at most for a pipe's reader: some 60,000 reports.
    static let waitingMax = 8 << 20
    private static let batch = 64 * 1024
    private static let interval: Duration = .seconds(1)

    let loop: EventLoop
    private let options: Options
    private let makeScanner: ((ScannerBackend, EventLoop) throws(ScannerError) -> any AdvertisingScanner)?
    private let log: (MessageKind, String) -> Void
    private var writer: RecordingWriter
    private let output: RecordingFile
    private let start: Instant
    private var supervisor: ScanSupervisor?
    private var lost = 0
    private var failure: ExitFailure?
    private var signals: SignalWatch?
    private var flushTimer: EventLoop.Timer?
    private var isFlushSet = false
    private var endTimer: EventLoop.Timer?

    /// Opens the file; what is in it stays until something is heard with.
    ///
    /// - Parameters:
    ///   - options: what is recorded, and where to.
    ///   - makeScanner: makes a way's scanner, not started: a test's own, or BlueZ's and the kernel's.
    ///   - log: takes lines for the operator.
    /// - Throws: ``ExitFailure`` where the file can't be made.
    package convenience init(
        _ options: Options,
        makeScanner: ((ScannerBackend, EventLoop) throws(ScannerError) -> any AdvertisingScanner)? = nil,
        log: @escaping (MessageKind, String) -> Void
    ) throws(ExitFailure) {
        let loop = try ExitFailure.ofLoop(EventLoop())
        try self.init(options, on: loop, offset: SystemMonitorClock().offset, makeScanner: makeScanner, log: log)
    }

    init(
        _ options: Options, on loop: EventLoop, offset: ClockOffset,
        makeScanner: ((ScannerBackend, EventLoop) throws(ScannerError) -> any AdvertisingScanner)?,
        log: @escaping (MessageKind, String) -> Void
    ) throws(ExitFailure) {
        self.options = options
        self.loop = loop
        self.makeScanner = makeScanner
        self.log = log
        start = loop.now
        do throws(CaptureError) {
            output = try RecordingFile(options.path, on: loop)
            writer = try RecordingWriter(format: options.format, offset: offset, start: start)
        } catch {
            throw ExitFailure(error)
        }
    }

    /// Records until SIGTERM or SIGINT, or until the duration has passed.
    ///
    /// - Throws: ``ExitFailure`` where no way of hearing is open to this user on this machine, or the file can't be written.
    package func run() throws(ExitFailure) -> Outcome {
        // SIGPIPE is blocked by being watched: that a reader has gone is told by writing.
        signals = try ExitFailure.ofLoop(
            SignalWatch([SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE], on: loop) { [unowned self] signal in
                if signal != SIGPIPE { loop.stop() }
            })
        try begin()
        do throws(Errno) { try loop.run() } catch { failure = failure ?? ExitFailure(ofLoop: error) }
        return try finish()
    }

    /// Begins to hear.
    func begin() throws(ExitFailure) {
        let supervisor = options.observer.supervisor(on: loop, makeScanner: makeScanner, log: log)
        self.supervisor = supervisor
        flushTimer = loop.makeTimer { [unowned self] _ in
            isFlushSet = false
            flush()
        }
        loop.afterWaiting = { [unowned self] in self.supervisor?.woke() }
        output.output.changed = { [unowned self] in noteError() }
        do throws(ExitFailure) {
            try options.observer.start(supervisor, self)
        } catch {
            self.supervisor = nil
            output.giveUp()
            throw error
        }
        if let error = output.begin() { return fail(error) }
        log(.recordingStarts, "\(supervisor.status.words); writes to \(output.name)")
        guard let duration = options.duration else { return }
        let timer = loop.makeTimer { [unowned self] _ in loop.stop() }
        endTimer = timer
        loop.set(timer, at: start + duration)
    }

    /// Ends hearing and writes what is left.
    func finish() throws(ExitFailure) -> Outcome {
        // What was received until now is part of it. The clock is read first (rule T5): of what comes later, not all was read.
        let now = loop.now
        supervisor?.drain()
        supervisor?.stop()
        supervisor = nil
        write { (writer: inout RecordingWriter) throws(CaptureError) in try writer.end(at: now) }
        flush()
        do throws(Errno) {
            try output.output.close()
        } catch {
            fail(error)
        }
        if let failure { throw failure }
        return Outcome(
            reports: writer.counts.reports, sightings: writer.counts.sightings, dropped: writer.counts.dropped,
            lost: lost, octets: output.output.total, duration: now - start)
    }

    // MARK: What is heard

    /// An adapter gave a report.
    package func heard(_ report: AdvertisingReport, data: Span<UInt8>, on adapter: Int, at time: Instant) {
        let hasRoom = output.output.waiting + writer.waiting < Self.waitingMax
        do throws(CaptureError) {
            try writer.heard(report, data: data, on: adapter, at: time, hasRoom: hasRoom)
        } catch {
            fail(ExitFailure(error))
        }
        flushSoon()
    }

    /// Something became of an adapter, or of the way of hearing.
    package func changed(_ change: ScanChange, at time: Instant) {
        switch change {
        case .lost(_, let count, _): lost &+= max(count, 0)
        case .ended(let error): fail(ExitFailure(error))
        default: break
        }
        write { (writer: inout RecordingWriter) throws(CaptureError) in try writer.changed(change, at: time) }
        flushSoon()
    }

    private func write(_ body: (inout RecordingWriter) throws(CaptureError) -> Void) {
        do throws(CaptureError) {
            try body(&writer)
        } catch {
            fail(ExitFailure(error))
        }
    }

    // MARK: Writing

    private func flushSoon() {
        // Nothing goes to the file before it is ours.
        guard output.isBegun else { return }
        if writer.waiting >= Self.batch, output.output.waiting == 0 { return flush() }
        guard !isFlushSet, let flushTimer else { return }
        isFlushSet = true
        loop.set(flushTimer, at: loop.now + Self.interval)
    }

    private func flush() {
        guard output.isBegun, writer.waiting > 0 else { return }
        output.output.write(writer.drain())
        noteError()
    }

    private func noteError() {
        if let error = output.output.error { fail(error) }
    }

    private func fail(_ error: Errno) {
        let what = error == .timedOut ? "no program reads it" : "\(error)"
        fail(ExitFailure(.cannotWrite, "\(output.name) can't be written to: \(what)"))
    }

    private func fail(_ failure: ExitFailure) {
        if self.failure == nil { self.failure = failure }
        loop.stop()
    }
}

/// The file of a recording, or standard output.
final class RecordingFile {
    let name: String
    let output: ScanOutput
    private let path: String?
    private let isNew: Bool
    private let descriptor: FileDescriptor
    /// Whether it has been emptied, and is written.
    private(set) var isBegun = false

    /// Opens it, made where it is not there; what is in it stays for now.
    init(_ path: String, on loop: EventLoop) throws(CaptureError) {
        guard path != "-" else {
            name = "standard output"
            self.path = nil
            isNew = false
            descriptor = .standardOutput
            output = ScanOutput(.standardOutput, isOurs: false, on: loop)
            return
        }
        let (descriptor, isNew) = try Self.open(path)
        name = path
        self.path = path
        self.isNew = isNew
        self.descriptor = descriptor
        output = ScanOutput(descriptor, isOurs: true, on: loop)
    }

    private static func open(_ path: String) throws(CaptureError) -> (FileDescriptor, isNew: Bool) {
        do {
            do {
                let made = try FileDescriptor.open(
                    FilePath(path), .writeOnly, options: [.create, .exclusiveCreate, .closeOnExec],
                    permissions: [.ownerReadWrite, .groupRead])
                return (made, true)
            } catch Errno.fileExists {
                return (try FileDescriptor.open(FilePath(path), .writeOnly, options: .closeOnExec), false)
            }
        } catch {
            throw .createFailed(path: path, error as? Errno ?? .ioError)
        }
    }

    /// Empties it: from here on it is written.
    ///
    /// - Returns: why that can't be.
    func begin() -> Errno? {
        isBegun = true
        guard path != nil else { return nil }
        // EINVAL: a device or a named pipe, which has nothing to be emptied of.
        if ftruncate(descriptor.rawValue, 0) < 0, errno != EINVAL { return Errno(rawValue: errno) }
        return nil
    }

    /// Leaves things as they were.
    func giveUp() {
        if isNew, let path { _ = unsafe unlink(path) }
    }
}
