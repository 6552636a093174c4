import AdapterScanning
import BaseTypes
import BeaconMonitoring
import BluetoothLE
import EventLoops
import Synchronization
import SystemPackage

/// What goes from the thread that hears to the monitor, and what the monitor wants of that thread.
///
/// Bounds: ``entriesMax`` iBeacons and reports wait, and ``newsMax`` changes. Of more reports none are taken until the
/// monitor has fetched those, and that is told as messages that were lost on their way (rule T5); of more changes the
/// hearing ends. The thread does not wait for room: the kernel's buffer would overflow instead, and not every backend
/// reports that.
final class HandOver: Sendable {
    /// At 2,000 reports a second the program may do something else for eight seconds.
    static let entriesMax = 16_384
    /// Nothing changes so often but in a program that fetches nothing.
    static let newsMax = 4096

    /// What is told between reports.
    enum News: Sendable {
        /// Something became of an adapter, or stands in the way.
        case change(ScanChange, at: Instant)
        /// Whether the wall clock has been set.
        case clock(isSynchronized: Bool)
        /// All that was received when somebody asked for it has been handed over.
        case drained(upTo: Int)
    }

    /// What is fetched in one go, in order.
    struct Batch: Sendable {
        /// What was heard, in the order of time.
        var entries: ContiguousArray<FrameBatch.Entry> = []
        /// What is told between them, each before the report at its place.
        var news: [(place: Int, news: News)] = []

        var isEmpty: Bool { entries.isEmpty && news.isEmpty }
    }

    /// What the thread is asked for.
    struct Wishes: Sendable {
        var isStopped: Bool
        /// The last of those who wait for what was received up to now.
        var drains: Int?
        /// What is asked of the scanners; absent: nothing.
        var demand: ServiceDemand?
    }

    private struct State {
        var batch = Batch()
        var fetcher: CheckedContinuation<Void, Never>?
        var end: Result<Void, any Error>?
        var wishes: Wishes
        var drainsGiven = 0
        var drains: [Int: CheckedContinuation<Void, Never>] = [:]
    }

    /// Wakes the thread.
    let wake: WakeUp
    private let state: Mutex<State>

    /// - Throws: `Errno` of eventfd(2): too many descriptors are open.
    init(demand: ServiceDemand?) throws(Errno) {
        wake = try WakeUp()
        state = Mutex(State(wishes: Wishes(isStopped: false, drains: nil, demand: demand)))
    }

    // MARK: For the thread that hears

    /// Adds reports.
    ///
    /// - Returns: whether there was room; where not, none was added.
    func add(_ entries: ContiguousArray<FrameBatch.Entry>) -> Bool {
        let (isTaken, fetcher) = state.withLock { state -> (Bool, CheckedContinuation<Void, Never>?) in
            guard state.batch.entries.count + entries.count <= Self.entriesMax else { return (false, nil) }
            state.batch.entries += entries
            return (true, state.fetcher.take())
        }
        fetcher?.resume()
        return isTaken
    }

    /// Adds news.
    ///
    /// - Returns: whether there was room.
    func add(_ news: News) -> Bool {
        let (isTaken, fetcher) = state.withLock { state -> (Bool, CheckedContinuation<Void, Never>?) in
            guard state.batch.news.count < Self.newsMax else { return (false, nil) }
            state.batch.news.append((state.batch.entries.count, news))
            return (true, state.fetcher.take())
        }
        fetcher?.resume()
        return isTaken
    }

    /// What is asked of the scanners at present; absent: nothing.
    var demand: ServiceDemand? { state.withLock { $0.wishes.demand } }

    /// What the thread is asked for at present. It answers by news who waits for a drain: that is asked for once.
    func takeWishes() -> Wishes {
        state.withLock { state in
            defer { state.wishes.drains = nil }
            return state.wishes
        }
    }

    /// Nothing comes any more.
    func end(_ result: Result<Void, any Error>) {
        let fetcher = state.withLock { state in
            state.end = state.end ?? result
            return state.fetcher.take()
        }
        fetcher?.resume()
    }

    // MARK: For the monitor's source

    /// What was heard since the last call; `nil` once nothing comes any more.
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

    /// What hearing ended with.
    func outcome() throws { try state.withLock { $0.end }?.get() }

    /// Asks the thread to end.
    func stop() {
        state.withLock { $0.wishes.isStopped = true }
        wake.signal()
    }

    /// Asks for other scanning.
    func want(_ demand: ServiceDemand?) {
        state.withLock { $0.wishes.demand = demand }
        wake.signal()
    }

    /// Returns when everything that was received up to the call has been handed over; at once where nothing comes any more,
    /// and when the task is cancelled.
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
                    state.wishes.drains = id
                    return false
                }
                if isOver { continuation.resume() } else { wake.signal() }
            }
        } onCancel: {
            state.withLock { $0.drains.removeValue(forKey: id) }?.resume()
        }
    }

    /// Answers those who waited for what has been handed over now; all of them, where no more comes.
    func drained(upTo id: Int = .max) {
        let answered = state.withLock { state in
            let answered = state.drains.filter { $0.key <= id }
            for id in answered.keys { state.drains[id] = nil }
            return answered.values.map(\.self)
        }
        for continuation in answered { continuation.resume() }
    }
}
