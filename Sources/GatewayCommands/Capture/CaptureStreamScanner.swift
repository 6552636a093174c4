import AdapterScanning
import BaseTypes
import EventLoops
import OperatorLogging
import SystemPackage

/// Scans in the capture that another program writes to a pipe or a socket. A record is received when it is read (rule
/// L4). When the program closes the pipe or the socket, the adapters do not scan, until a program writes again.
final class CaptureStreamScanner: AdvertisingScanner {
    let backend = ScannerBackend.capture
    private let origin: CaptureOrigin
    private let loop: EventLoop
    private let log: (MessageKind, String) -> Void
    private var handler: (any ScanHandler)?
    private var stream: CaptureStream?
    private var thread: OwnThread?
    private var watch: EventLoop.Watch?
    private var timer: EventLoop.Timer?
    private var backOff = BackOff(first: .seconds(1), most: .seconds(5))
    /// The last problem that was logged and has not ended.
    private var problem: String?
    private var isPassing = false
    /// Whether no record was received since the input was opened.
    private var isNew = true
    /// The turn of the loop in which adapters were last stopped because this process did not run.
    private var interruptedTurn = 0
    /// How long the process may be without CPU time before the times of records are too uncertain.
    private static let latenessMax = Duration.seconds(1)
    /// How often it is checked whether the FIFO that no program writes to was replaced.
    private static let checkInterval = Duration.seconds(5)

    init(_ origin: CaptureOrigin, on loop: EventLoop, log: @escaping (MessageKind, String) -> Void) {
        self.origin = origin
        self.loop = loop
        self.log = log
    }

    func start(_ handler: any ScanHandler) {
        self.handler = handler
        timer = loop.makeTimer { [unowned self] _ in
            if stream?.isReplaced ?? true { connect() } else { checkLater() }
        }
        connect()
    }

    func drain() {
        // The handler may ask for everything that was received while it is called.
        guard !isPassing else { return }
        var end: CaptureStream.End?
        stream?.catchUp { [self] taken in
            pass(taken)
            end = taken.end
        }
        if let end { finish(end) }
    }

    func take(_ step: WatchdogStep, on adapter: Int) -> WatchdogStep.Outcome {
        .skipped(reason: "the adapter is in a capture")
    }

    func stop() {
        handler = nil
        if let timer { loop.end(timer) }
        timer = nil
        close()
    }

    // MARK: Connections

    private func connect() {
        guard handler != nil else { return }
        do throws(Errno) {
            guard let descriptor = try origin.open() else {
                return retry("no program listens at \(origin.name)")
            }
            let stream = try begin(descriptor)
            // A program that opens a FIFO must always find a reader, so the former one is closed after this.
            close()
            (self.stream, thread) = (stream, try stream.start())
            watch = try loop.watch(stream.wake.descriptor, for: .read, mayRest: true) { [unowned self] _ in receive() }
            isNew = true
            checkLater()
        } catch {
            close()
            retry("\(origin.name) can't be opened: \(error == .invalidArgument ? "its type has changed" : "\(error)")")
        }
    }

    private func begin(_ descriptor: FileDescriptor) throws(Errno) -> CaptureStream {
        do throws(Errno) {
            return try CaptureStream(descriptor, origin)
        } catch {
            _ = try? descriptor.close()
            throw error
        }
    }

    /// Sets the timer for the next check, if nothing else would show that the FIFO was replaced.
    private func checkLater() {
        guard isNew, origin.kind == .pipe, let timer else { return }
        loop.set(timer, at: loop.now + Self.checkInterval)
    }

    private func retry(_ reason: String) {
        report(reason)
        tryAgain()
    }

    private func tryAgain() {
        guard let timer, origin.kind != .passed else { return }
        loop.set(timer, at: loop.now + backOff.next())
    }

    private func report(_ reason: String) {
        guard reason != problem else { return }
        problem = reason
        log(.captureProblem, reason)
    }

    private func close() {
        if let watch { loop.end(watch) }
        watch = nil
        stream?.stop()
        stream = nil
        thread?.join()
        thread = nil
    }

    // MARK: Items

    private func receive() {
        guard let stream else { return }
        stream.wake.clear()
        let taken = stream.take()
        if taken.hasMore { loop.refuseRest() }
        pass(taken)
        if let end = taken.end { finish(end) }
    }

    private func pass(_ taken: CaptureStream.Taken) {
        for remark in taken.remarks { log(.captureProblem, remark) }
        guard let handler, !taken.batch.items.isEmpty else { return }
        backOff.reset()
        problem = nil
        isNew = false
        isPassing = true
        defer { isPassing = false }
        // If the process was stopped, records can have been written long before they were read.
        let lateness = loop.lateness
        let items = taken.batch.items
        let late =
            lateness > Self.latenessMax
            ? items.firstIndex { $0.time > loop.now - lateness } ?? items.endIndex : items.endIndex
        taken.batch.pass(0..<late, from: origin.name, to: handler)
        guard late < items.endIndex else { return }
        if interruptedTurn != loop.turns {
            interruptedTurn = loop.turns
            handler.changed(
                .capture(.interrupted(reason: "this process did not run for \(lateness.inSeconds) s")), at: loop.now)
        }
        taken.batch.pass(late..<items.endIndex, from: origin.name, to: handler)
    }

    private func finish(_ end: CaptureStream.End) {
        guard let handler else { return }
        let now = loop.now
        switch end {
        case .closed:
            handler.changed(.capture(.ended(reason: "\(origin.name) has ended")), at: now)
        case .failed(let reason):
            report(reason)
            handler.changed(.capture(.ended(reason: "\(origin.name) can't be read")), at: now)
        }
        if let watch { loop.end(watch) }
        watch = nil
        if origin.kind == .passed {
            log(.captureProblem, "\(origin.name) has ended; the gateway continues without an adapter")
            return close()
        }
        // After a program that wrote nothing, there is a pause.
        if end == .closed, origin.kind == .pipe, !isNew {
            connect()
        } else {
            close()
            tryAgain()
        }
    }
}
