import AdapterScanning
import BaseTypes
import BeaconMonitoring
import BluetoothLE
import EventLoops
import Synchronization
import SystemPackage

/// The queue from the scanning thread to the monitor, and the requests of the monitor to that thread.
///
/// Bounds: ``entriesMax`` reports and ``changesMax`` changes. If there are more reports, they are dropped until the
/// monitor has taken the waiting ones, and reported as lost messages (rule T5). If there are more changes, scanning
/// ends. The thread does not wait for room: the kernel's buffer would overflow instead, and not every backend reports
/// that.
final class HandOver: Sendable {
    /// At 2,000 reports per second, the program may be busy for eight seconds.
    static let entriesMax = 16_384
    /// Only a program that takes nothing can reach this number.
    static let changesMax = 4096

    /// The changes between reports.
    enum Change: Sendable {
        /// A change of an adapter, or an obstacle.
        case change(ScanChange, at: Instant)
        /// Whether the wall clock is synchronized.
        case clock(isSynchronized: Bool)
        /// All reports that were received before a request for them have been delivered.
        case drained(upTo: Int)
    }

    /// The elements that are taken at once, in order.
    struct Batch: Sendable {
        /// The reports, in the order of time.
        var entries: ContiguousArray<FrameBatch.Entry> = []
        /// The changes, each with the index of the report that follows it.
        var changes: [(place: Int, change: Change)] = []

        var isEmpty: Bool { entries.isEmpty && changes.isEmpty }
    }

    /// The requests to the thread.
    struct Requests: Sendable {
        var isStopped: Bool
        /// The number of the last task that waits for the reports received so far.
        var drains: Int?
        /// The demand for the scanners; `nil` if they are not needed.
        var demand: ServiceDemand?
    }

    private struct State {
        var batch = Batch()
        var fetcher: CheckedContinuation<Void, Never>?
        var end: Result<Void, any Error>?
        var requests: Requests
        var drainsGiven = 0
        var drains: [Int: CheckedContinuation<Void, Never>] = [:]
    }

    /// Wakes the thread.
    let wake: WakeUp
    private let state: Mutex<State>

    /// Creates an empty queue.
    ///
    /// - Throws: `Errno` of eventfd(2) if too many descriptors are open.
    init(demand: ServiceDemand?) throws(Errno) {
        wake = try WakeUp()
        state = Mutex(State(requests: Requests(isStopped: false, drains: nil, demand: demand)))
    }

    // MARK: For the scanning thread

    /// Adds reports.
    ///
    /// - Returns: `false` if there was no room; none was added then.
    func add(_ entries: ContiguousArray<FrameBatch.Entry>) -> Bool {
        let (isTaken, fetcher) = state.withLock { state -> (Bool, CheckedContinuation<Void, Never>?) in
            guard state.batch.entries.count + entries.count <= Self.entriesMax else { return (false, nil) }
            state.batch.entries += entries
            return (true, state.fetcher.take())
        }
        fetcher?.resume()
        return isTaken
    }

    /// Adds a change.
    ///
    /// - Returns: whether there was room.
    func add(_ change: Change) -> Bool {
        let (isTaken, fetcher) = state.withLock { state -> (Bool, CheckedContinuation<Void, Never>?) in
            guard state.batch.changes.count < Self.changesMax else { return (false, nil) }
            state.batch.changes.append((state.batch.entries.count, change))
            return (true, state.fetcher.take())
        }
        fetcher?.resume()
        return isTaken
    }

    /// The current demand for the scanners; `nil` if they are not needed.
    var demand: ServiceDemand? { state.withLock { $0.requests.demand } }

    /// Returns the current requests. A request for a drain is returned once; the thread answers it with a change.
    func takeRequests() -> Requests {
        state.withLock { state in
            defer { state.requests.drains = nil }
            return state.requests
        }
    }

    /// Ends the queue after its waiting elements.
    func end(_ result: Result<Void, any Error>) {
        let fetcher = state.withLock { state in
            state.end = state.end ?? result
            return state.fetcher.take()
        }
        fetcher?.resume()
    }

    // MARK: For the monitor's source

    /// Returns the elements since the last call, and waits if there are none; `nil` after the end.
    func fetch() async -> Batch? {
        while true {
            let (batch, isEnded) = state.withLock { state in
                defer { state.batch = Batch() }
                return (state.batch, state.end != nil)
            }
            if !batch.isEmpty { return batch }
            if isEnded { return nil }
            await withCheckedContinuation { continuation in
                let isDue = state.withLock { state in
                    if !state.batch.isEmpty || state.end != nil { return true }
                    state.fetcher = continuation
                    return false
                }
                if isDue { continuation.resume() }
            }
        }
    }

    /// Throws the error with which scanning ended, if there was one.
    func outcome() throws { try state.withLock { $0.end }?.get() }

    /// Requests the end of the thread.
    func stop() {
        state.withLock { $0.requests.isStopped = true }
        wake.signal()
    }

    /// Requests other scanning.
    func want(_ demand: ServiceDemand?) {
        state.withLock { $0.requests.demand = demand }
        wake.signal()
    }

    /// Returns when all reports that were received before the call have been delivered; immediately after the end of
    /// the queue, and when the task is cancelled.
    func drain() async {
        let id = state.withLock { state in
            state.drainsGiven += 1
            return state.drainsGiven
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    guard state.end == nil, !Task.isCancelled else { return true }
                    state.drains[id] = continuation
                    state.requests.drains = id
                    return false
                }
                if isOver { continuation.resume() } else { wake.signal() }
            }
        } onCancel: {
            state.withLock { $0.drains.removeValue(forKey: id) }?.resume()
        }
    }

    /// Resumes the tasks that wait for reports that have now been delivered; all of them if no more reports follow.
    func drained(upTo id: Int = .max) {
        let answered = state.withLock { state in
            let answered = state.drains.filter { $0.key <= id }
            for id in answered.keys { state.drains[id] = nil }
            return answered.values.map(\.self)
        }
        for continuation in answered { continuation.resume() }
    }
}
