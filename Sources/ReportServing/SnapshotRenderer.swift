import BaseTypes
import EventLoops
import Synchronization
import SystemPackage

/// Makes answers from snapshots on a separate thread, so that the loop serves other clients meanwhile.
///
/// One snapshot is made at a time. Requests for the same state in the same second share its answers. Any other request
/// waits for the next snapshot, which all waiting requests share. So a request is answered after two snapshots at most,
/// unless lines are erased or names change meanwhile. At most ``waitersMax`` requests wait, and the server limits their
/// time. Answers are cached for a second.
final class SnapshotRenderer {
    /// The state from which answers are made, in one second.
    struct Key: Sendable, Equatable {
        /// The value of ``Following/version``.
        var version: Int
        /// Seconds since 1970.
        var second: Int64
        /// A number that changes when earlier answers must not be sent any more, because lines were erased or names
        /// have changed.
        var epoch: Int
    }

    /// Functions that return the current state. The loop calls them.
    struct Inputs {
        var key: () -> Key
        var source: () throws(HTTPProblem) -> Snapshot.Source
        /// Adds the metrics of the server.
        var addServer: (inout Metrics) -> Void
    }

    /// The maximum number of waiting requests: half of the connections that a server can have.
    static let waitersMax = 256
    private static let keptFor: Duration = .seconds(1)

    /// The number of snapshots that were started.
    private(set) var count = 0

    private struct Waiter {
        var path: SnapshotPath
        var promise: HTTPPromise
    }

    private struct Running {
        var key: Key
        var paths: Set<SnapshotPath>
        var waiters: [Waiter]
        var job: Job
        var thread: OwnThread
    }

    private final class Job: Sendable {
        private let source: Mutex<Snapshot.Source?>
        private let made = Mutex<SnapshotAnswers?>(nil)

        init(_ source: Snapshot.Source) { self.source = Mutex(source) }

        /// The answers; `nil` until they are made.
        var answers: SnapshotAnswers? { made.withLock { $0 } }

        func run(_ paths: Set<SnapshotPath>) {
            guard let source = source.withLock({ $0.take() }) else { return }
            let answers = SnapshotAnswers(paths, Snapshot(source))
            made.withLock { $0 = answers }
        }
    }

    private let loop: EventLoop
    private let inputs: Inputs
    private let wakeUp: WakeUp
    private var watch: EventLoop.Watch?
    private var expiry: EventLoop.Timer?
    private var waiting: [Waiter] = []
    private var running: Running?
    private var kept: (key: Key, answers: SnapshotAnswers)?

    /// Creates a renderer of the state that `inputs` returns.
    ///
    /// - Throws: `Errno` of eventfd(2) and epoll_ctl(2).
    init(on loop: EventLoop, _ inputs: Inputs) throws(Errno) {
        (self.loop, self.inputs) = (loop, inputs)
        wakeUp = try WakeUp()
        watch = try loop.watch(wakeUp.descriptor, for: .read) { [unowned self] _ in finish() }
        expiry = loop.makeTimer { [unowned self] _ in kept = nil }
    }

    deinit { stop() }

    /// Waits for the snapshot that is being made, and stops. Promises are not fulfilled.
    func stop() {
        running?.thread.join()
        (running, waiting, kept) = (nil, [], nil)
        if let watch { loop.end(watch) }
        if let expiry { loop.end(expiry) }
        (watch, expiry) = (nil, nil)
    }

    /// Fulfills `promise` with the answer for `path`.
    func answer(_ path: SnapshotPath, _ promise: HTTPPromise) {
        let key = inputs.key()
        if let kept, kept.key == key, let response = kept.answers.response(path, inputs.addServer) {
            return promise.fulfil(.whole(response))
        }
        guard waiting.count + (running?.waiters.count ?? 0) < Self.waitersMax else {
            return promise.fulfil(
                .problem(
                    HTTPProblem(
                        503, "too many clients are waiting for a page", hint: "try again in 5 s", retryAfter: 5)))
        }
        let waiter = Waiter(path: path, promise: promise)
        promise.abandoned = { [weak self, unowned promise] in
            self?.waiting.removeAll { $0.promise === promise }
            self?.running?.waiters.removeAll { $0.promise === promise }
        }
        if let running, running.key == key, running.paths.contains(path) {
            self.running?.waiters.append(waiter)
        } else {
            waiting.append(waiter)
            start()
        }
    }

    private func start() {
        guard running == nil, !waiting.isEmpty else { return }
        let waiters = waiting
        waiting = []
        do throws(HTTPProblem) {
            let key = inputs.key()
            let job = Job(try inputs.source())
            let paths = Set(waiters.map(\.path))
            let thread = try Self.thread { [wakeUp] in
                job.run(paths)
                wakeUp.signal()
            }
            running = Running(key: key, paths: paths, waiters: waiters, job: job, thread: thread)
            count += 1
        } catch {
            for waiter in waiters { waiter.promise.fulfil(.problem(error)) }
        }
    }

    private static func thread(_ body: @escaping @Sendable () -> Void) throws(HTTPProblem) -> OwnThread {
        do throws(Errno) {
            return try OwnThread(named: "beacon-snapshot", body)
        } catch {
            throw HTTPProblem(
                503, "the server cannot start a thread: \(error)",
                hint: "try again in 10 s; if this continues, raise TasksMax of the service", retryAfter: 10)
        }
    }

    private func finish() {
        wakeUp.clear()
        guard let running, let answers = running.job.answers else { return }
        running.thread.join()
        self.running = nil
        if running.key.epoch == inputs.key().epoch {
            if kept?.key == running.key { kept?.answers.add(answers) } else { kept = (running.key, answers) }
            if let expiry { loop.set(expiry, at: loop.now + Self.keptFor) }
            // The metrics of the server are added once for all waiting requests.
            var responses: [SnapshotPath: HTTPResponse] = [:]
            for path in running.paths { responses[path] = answers.response(path, inputs.addServer) }
            for waiter in running.waiters {
                if let response = responses[waiter.path] { waiter.promise.fulfil(.whole(response)) }
            }
        } else {
            waiting = running.waiters + waiting
        }
        start()
    }
}
