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

/// The command `record`: writes all received reports to a capture.
///
/// It runs on one thread, as the gateway does. Reports are stored in memory (``RecordingWriter``) and written to the
/// file in pieces of 64 KiB, or after one second. If the reader of a pipe does not read, reports are lost, but scanning
/// continues.
package final class Recording: ScanHandler {
    /// The output and its form.
    package struct Options: Sendable {
        /// The adapters and the backend.
        package var observer: ObserverOptions
        /// The path of the output; `-` is standard output.
        package var path: String
        /// The format of the capture.
        package var format: CaptureWriter.Format
        /// The time after which the recording ends; `nil` means that it does not end by itself.
        package var duration: Duration?

        /// Creates options to record everything until a signal ends it.
        package init(to path: String, format: CaptureWriter.Format, observer: ObserverOptions = ObserverOptions()) {
            self.path = path
            self.format = format
            self.observer = observer
        }
    }

    /// The result of a recording.
    package struct Outcome: Sendable, Hashable {
        /// The number of advertising reports that were written.
        package var reports: Int
        /// The number of iBeacons in them.
        package var sightings: Int
        /// The number of reports that were left out because the output was not read. The capture records this.
        package var dropped: Int
        /// The number of messages that the kernel dropped, if it reported that. The capture records this.
        package var lost: Int
        /// The number of bytes that were written.
        package var bytes: Int
        /// The duration of the recording.
        package var duration: Duration

        /// The result, in the words that `record` prints at its end.
        package var words: String {
            var words =
                "\(PlainText.count(reports, "report")) with \(PlainText.count(sightings, "iBeacon")) in "
                + "\(duration.inWords), \(bytes) bytes"
            if lost > 0 { words += "; the kernel dropped \(PlainText.count(lost, "message"))" }
            if dropped > 0 {
                let left = PlainText.count(dropped, "report was", "reports were")
                words += "; \(left) skipped, because the output was not read"
            }
            return words
        }
    }

    /// The maximum number of bytes that wait for the reader of a pipe: about 60,000 reports.
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

    /// Opens the file. Its content stays until a backend is open.
    ///
    /// - Parameters:
    ///   - options: the output and its form.
    ///   - makeScanner: creates the scanner of a backend without starting it, for tests; `nil` means the scanners of
    ///     BlueZ and the kernel.
    ///   - log: receives the messages for the operator.
    /// - Throws: ``ExitFailure`` if the file cannot be created.
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

    /// Records until a signal such as SIGTERM or SIGINT, or until the duration has passed.
    ///
    /// - Throws: ``ExitFailure`` if this user cannot open any backend on this machine, or if the file cannot be
    ///   written.
    package func run() throws(ExitFailure) -> Outcome {
        // Watching SIGPIPE blocks it. If a reader has exited, the write returns an error.
        signals = try ExitFailure.ofLoop(
            SignalWatch([SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE], on: loop) { [unowned self] signal in
                if signal != SIGPIPE { loop.stop() }
            })
        try begin()
        do throws(Errno) { try loop.run() } catch { failure = failure ?? ExitFailure(ofLoop: error) }
        return try finish()
    }

    /// Starts scanning.
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

    /// Stops scanning, and writes the rest.
    func finish() throws(ExitFailure) -> Outcome {
        // Everything received until now is part of the recording. The clock must be read first (rule T5), because later
        // reports are not all read.
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
            lost: lost, bytes: output.output.total, duration: now - start)
    }

    // MARK: Reports

    /// Handles a report of an adapter.
    package func received(_ report: AdvertisingReport, data: Span<UInt8>, on adapter: Int, at time: Instant) {
        let hasRoom = output.output.waiting + writer.waiting < Self.waitingMax
        do throws(CaptureError) {
            try writer.received(report, data: data, on: adapter, at: time, hasRoom: hasRoom)
        } catch {
            fail(ExitFailure(error))
        }
        flushSoon()
    }

    /// Handles a change of an adapter or a backend.
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
        // Nothing must be written before the file was emptied.
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
    let output: LiveOutput
    private let path: String?
    private let isNew: Bool
    private let descriptor: FileDescriptor
    /// Whether the file was emptied and is written.
    private(set) var isBegun = false

    /// Opens the file, and creates it if it does not exist. Its content stays for now.
    init(_ path: String, on loop: EventLoop) throws(CaptureError) {
        guard path != "-" else {
            name = "standard output"
            self.path = nil
            isNew = false
            descriptor = .standardOutput
            output = LiveOutput(.standardOutput, isOurs: false, on: loop)
            return
        }
        let (descriptor, isNew) = try Self.open(path)
        name = path
        self.path = path
        self.isNew = isNew
        self.descriptor = descriptor
        output = LiveOutput(descriptor, isOurs: true, on: loop)
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

    /// Empties the file. From now on it is written.
    ///
    /// - Returns: the error if this fails.
    func begin() -> Errno? {
        isBegun = true
        guard path != nil else { return nil }
        // EINVAL: a device or a named pipe, which cannot be emptied.
        if ftruncate(descriptor.rawValue, 0) < 0, errno != EINVAL { return Errno(rawValue: errno) }
        return nil
    }

    /// Deletes the file if this value has created it.
    func giveUp() {
        if isNew, let path { _ = unsafe unlink(path) }
    }
}
