import AdapterScanning
import BaseTypes
import Captures
import EventLoops
import OperatorLogging

/// Scans in a capture in a file: its first record is received when the scanner starts, and each later one as long after
/// it as its time says (rule L4). After the last one, its adapters do not scan.
final class CaptureFileScanner: AdvertisingScanner {
    let backend = ScannerBackend.capture
    private let origin: CaptureOrigin
    private let loop: EventLoop
    private let log: (MessageKind, String) -> Void
    private var handler: (any ScanHandler)?
    private var feed: CaptureFeed
    /// The next record; `nil` after the last one.
    private var pending: CaptureRecord?
    private var batch = CapturedBatch()
    private var damages = DamageReport()
    private var isPassing = false
    private var timer: EventLoop.Timer?
    /// When the first record was received, and its time in the capture.
    private var start = Instant.earliest
    private var firstTime = Instant.earliest
    private var last = Instant.earliest
    private var hasEnded = false
    /// The number of times that the file started again.
    private var repetitions = 0
    /// The number of records that are handled in a turn of the loop.
    private static let recordsPerTurn = 512
    /// A gap between records that is so long that it is logged.
    private static let gapToReport = Duration.seconds(3600)
    /// The time from the last record to the first one if the file starts again.
    private static let pause = Duration.seconds(1)

    /// Opens the file.
    ///
    /// - Throws: `CaptureError` if it cannot be read up to its first record.
    init(
        _ origin: CaptureOrigin, on loop: EventLoop, log: @escaping (MessageKind, String) -> Void
    ) throws(CaptureError) {
        self.origin = origin
        self.loop = loop
        self.log = log
        feed = try CaptureFeed(origin)
        pending = try feed.next()
        report()
    }

    func start(_ handler: any ScanHandler) {
        self.handler = handler
        (start, firstTime) = (loop.now, pending?.time ?? .earliest)
        last = start
        let timer = loop.makeTimer { [unowned self] now in advance(to: now, most: Self.recordsPerTurn) }
        self.timer = timer
        // The handler is not called from within this call.
        loop.set(timer, at: start)
    }

    func drain() { advance(to: loop.now, most: .max) }

    func take(_ step: WatchdogStep, on adapter: Int) -> WatchdogStep.Outcome {
        .skipped(reason: "the adapter is in a capture")
    }

    func stop() {
        handler = nil
        if let timer { loop.end(timer) }
        timer = nil
    }

    /// Passes on the records that are due at or before `now`, at most `most`. The others follow in the next turn.
    private func advance(to now: Instant, most: Int) {
        // The handler may ask for everything that was received while it is called.
        guard let handler, !hasEnded, !isPassing else { return }
        isPassing = true
        defer { isPassing = false }
        var left = most
        repeat {
            guard pass(until: now, &left, to: handler) else { return }
            for line in feed.newRemarks() where repetitions == 0 { log(.captureProblem, line) }
            handler.changed(.capture(.ended(reason: "\(origin.name) has ended")), at: last)
        } while origin.repeats && startAgain()
        hasEnded = true
    }

    /// Passes on records, and returns whether the last one was passed on. `left` is the number of records that are
    /// still allowed in this turn.
    private func pass(until now: Instant, _ left: inout Int, to handler: any ScanHandler) -> Bool {
        while let record = pending {
            // A record that is earlier than the first one is received at the start (rule T2).
            let due = max(start + ((record.time ?? firstTime) - firstTime), start)
            guard due <= now else {
                wait(until: due, from: now)
                return false
            }
            guard left > 0 else {
                if let timer { loop.set(timer, at: now) }
                return false
            }
            left -= 1
            last = max(last, due)
            batch.removeAll()
            feed.take(record, at: due, into: &batch)
            pending = next()
            if pending == nil { feed.finish(into: &batch) }
            batch.pass(from: origin.name, to: handler)
        }
        return true
    }

    /// Opens the file again, and returns whether it has a record.
    private func startAgain() -> Bool {
        repetitions += 1
        // Opening a FIFO would wait for another program.
        guard origin.isFile else {
            log(.captureProblem, "\(origin.name) does not exist any more, or is not a file")
            return false
        }
        do throws(CaptureError) {
            feed = try CaptureFeed(origin)
            pending = try feed.next()
            guard let time = pending?.time else {
                log(.captureProblem, "\(origin.name) has no records any more")
                return false
            }
            (start, firstTime) = (last + Self.pause, time)
            return true
        } catch {
            log(.captureProblem, "\(error)")
            return false
        }
    }

    private func wait(until due: Instant, from now: Instant) {
        guard let timer else { return }
        if due - now >= Self.gapToReport, loop.time(of: timer) != due {
            // A wrong time would otherwise look like a silent radio.
            log(.captureProblem, "the next record of \(origin.name) is \((due - now).inWords) later")
        }
        loop.set(timer, at: due)
    }

    /// Returns the next record; `nil` at the end, and if the rest cannot be read.
    private func next() -> CaptureRecord? {
        var record: CaptureRecord?
        do throws(CaptureError) {
            record = try feed.next()
        } catch {
            log(.captureProblem, "\(error)")
        }
        report()
        return record
    }

    private func report() {
        guard repetitions == 0 else { return }
        for line in damages.new(in: feed.damages, of: origin.name) { log(.captureProblem, line) }
    }
}
