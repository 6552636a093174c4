import BaseTypes
import CLinux
import Captures
import EventLoops
import Glibc
import Synchronization
import SystemPackage

/// A thread that reads the capture of a pipe or a socket, and the queue of its reports.
///
/// A read can wait for another program at any place in a record, so it cannot be on the thread of the loop. Bounds:
/// ``itemsMax`` items and ``bytesMax`` bytes of AD structures. If there are more, the thread waits for room, and the
/// other program waits too.
final class CaptureStream: Sendable {
    /// At 2,000 reports per second, the loop may be busy for eight seconds.
    static let itemsMax = 16_384
    static let bytesMax = 4 * 1024 * 1024
    /// The number of items that are handled in a turn of the loop.
    static let batchMax = 512
    // The longest wait for the thread, in milliseconds. It only has to read the bytes that the kernel has stored.
    private static let catchUpMax: Int32 = 1000

    /// The end of a stream.
    enum End: Sendable, Hashable {
        /// The other program has closed it.
        case closed
        /// It cannot be read further, for this reason.
        case failed(String)
    }

    /// The next items, remarks, and the end.
    struct Taken: Sendable {
        /// At most ``batchMax`` items, in the order of time.
        var batch = CapturedBatch()
        /// Sentences for operators.
        var remarks: [String] = []
        /// Whether there are further items.
        var hasMore = false
        /// The end, if the stream has ended and there are no further items.
        var end: End?
    }

    private struct State {
        /// The items; each batch but the last is full.
        var batches: [CapturedBatch] = []
        var items = 0
        var bytes = 0
        var remarks: [String] = []
        var damages = DamageReport()
        var end: End?
        /// Whether the thread waits for the other program.
        var isWaiting = false
        var isStopped = false
        /// The number of reads that were started, and of bytes that were read and handled before the last one.
        var reads = 0
        var handled = 0
        /// Whether the loop waits for the progress of the thread.
        var isAwaited = false
        var needsRoom = false
    }

    /// Wakes the loop: there are items, or the stream has ended.
    let wake: WakeUp
    private let attention: WakeUp
    private let descriptor: FileDescriptor
    private let origin: CaptureOrigin
    private let state = Mutex(State())

    /// Creates a stream that no thread reads yet.
    ///
    /// - Parameters:
    ///   - descriptor: the pipe or socket, which is closed together with this value.
    ///   - origin: its name, and how it is read.
    /// - Throws: `Errno` of eventfd(2). The caller must close the descriptor then.
    init(_ descriptor: FileDescriptor, _ origin: CaptureOrigin) throws(Errno) {
        wake = try WakeUp()
        attention = try WakeUp()
        self.descriptor = descriptor
        self.origin = origin
    }

    deinit { _ = try? descriptor.close() }

    /// Starts the thread.
    ///
    /// - Throws: `Errno` of fcntl(2) or pthread_create(3).
    func start() throws(Errno) -> OwnThread {
        // The reader closes its descriptor.
        let reader = try CaptureOrigin.duplicate(descriptor)
        do throws(Errno) {
            return try OwnThread(named: "capture") { self.run(reader) }
        } catch {
            _ = try? reader.close()
            throw error
        }
    }

    /// Whether the thread waits for room in the queue.
    var isFull: Bool { state.withLock { $0.needsRoom } }

    /// Whether the path has another FIFO than the one that is read.
    var isReplaced: Bool { origin.isReplaced(descriptor) }

    // MARK: For the loop

    /// Makes the thread end.
    func stop() {
        state.withLock { $0.isStopped = true }
        attention.signal()
    }

    /// Returns the next items. If there are more, ``wake`` is signalled again.
    func take() -> Taken {
        let (taken, needsRoom) = state.withLock { state in
            var taken = Taken(
                batch: state.batches.isEmpty ? CapturedBatch() : state.batches.removeFirst(), remarks: state.remarks)
            state.items -= taken.batch.items.count
            state.bytes -= taken.batch.bytes.count
            state.remarks = []
            taken.hasMore = !state.batches.isEmpty
            if !taken.hasMore { taken.end = state.end }
            defer { state.needsRoom = false }
            return (taken, state.needsRoom)
        }
        if taken.hasMore { wake.signal() }
        if needsRoom { attention.signal() }
        return taken
    }

    /// Returns whether no items wait.
    private var isEmpty: Bool { state.withLock { $0.batches.isEmpty } }

    /// Waits until the thread has handled everything that the kernel had stored at the call (rule T5). `body` is called
    /// with the items.
    func catchUp(_ body: (Taken) -> Void) {
        let unread = CaptureOrigin.unreadBytes(descriptor)
        let started = state.withLock { state in
            state.isAwaited = true
            return state.reads
        }
        defer { state.withLock { $0.isAwaited = false } }
        var goal: Int?
        // Each turn is a progress of the thread: a read, room in the queue, or the end.
        for _ in 0..<CaptureStream.itemsMax {
            let (isOver, handled, reads) = state.withLock { state in
                let isIdle = state.isWaiting && !Self.ready([descriptor], wait: 0).contains(descriptor)
                return (state.end != nil || isIdle, state.handled, state.reads)
            }
            body(take())
            // As many as there can be.
            for _ in 0..<Self.itemsMax where !isEmpty { body(take()) }
            if isOver { return }
            // All bytes that were read before the call are handled when the next read starts.
            if reads > started {
                let target = goal ?? handled + unread
                if handled >= target { return }
                goal = target
            }
            guard Self.ready([wake.descriptor], wait: Self.catchUpMax).contains(wake.descriptor) else { break }
            wake.clear()
        }
        body(take())
    }

    // MARK: The thread

    private func run(_ reader: FileDescriptor) {
        // A thread has its own capabilities, and this one reads the data of another program. If the call fails, the
        // thread has those of the process, which has none that it does not need.
        _ = clinux_give_up_privileges()
        var end = End.closed
        var batch = CapturedBatch()
        do throws(CaptureError) {
            var feed = try CaptureFeed(reader, origin) { self.mayRead($0) }
            var count = 0
            while let record = try feed.next() {
                let time = BootClock.now
                batch.removeAll()
                feed.take(record, at: time, into: &batch)
                guard add(batch) else { break }
                count += 1
                // Remarks about the form of the records are known after some of them.
                if count & (count - 1) == 0 { note(feed.newRemarks()) }
            }
            batch.removeAll()
            feed.finish(into: &batch)
            _ = add(batch)
            note(state.withLock { $0.damages.new(in: feed.damages, of: origin.name) } + feed.newRemarks())
        } catch .empty {
            // A program has opened the pipe, and closed it again.
        } catch {
            end = .failed("\(error)")
        }
        state.withLock { $0.end = end }
        wake.signal()
    }

    /// Adds items, after there is room for them. Returns `false` if the thread must end.
    private func add(_ batch: CapturedBatch) -> Bool {
        while true {
            let (isDone, isStopped, wasEmpty) = state.withLock { state in
                guard !state.isStopped else { return (false, true, false) }
                guard state.items < Self.itemsMax, state.bytes < Self.bytesMax else {
                    state.needsRoom = true
                    return (false, false, state.isAwaited)
                }
                let wasEmpty = state.batches.isEmpty
                if wasEmpty || state.batches[state.batches.count - 1].items.count >= Self.batchMax {
                    state.batches.append(batch)
                } else {
                    state.batches[state.batches.count - 1].append(batch)
                }
                state.items += batch.items.count
                state.bytes += batch.bytes.count
                return (true, false, wasEmpty)
            }
            if wasEmpty { wake.signal() }
            if isDone || isStopped { return isDone }
            _ = Self.ready([attention.descriptor], wait: -1)
            attention.clear()
        }
    }

    private func note(_ remarks: [String]) {
        guard !remarks.isEmpty else { return }
        state.withLock { $0.remarks += remarks }
        wake.signal()
    }

    /// Waits until a read returns at once. Returns `false` if the thread must end.
    private func mayRead(_ progress: CaptureProgress) -> Bool {
        let isAwaited = state.withLock { state in
            state.isWaiting = progress.waits
            state.reads += 1
            state.handled = progress.position
            let damages = state.damages.new(in: progress.damages, of: origin.name)
            state.remarks += damages
            return state.isAwaited || !damages.isEmpty
        }
        if isAwaited { wake.signal() }
        while !state.withLock({ $0.isStopped }) {
            guard progress.waits else { return true }
            if Self.ready([descriptor, attention.descriptor], wait: -1).contains(descriptor) {
                state.withLock { $0.isWaiting = false }
                return true
            }
            attention.clear()
        }
        return false
    }

    /// Waits at most `milliseconds` until one of the descriptors can be read, and returns those that can; -1 is for any
    /// time.
    private static func ready(_ descriptors: [FileDescriptor], wait milliseconds: Int32) -> [FileDescriptor] {
        var requests = descriptors.map { pollfd(fd: $0.rawValue, events: Int16(POLLIN), revents: 0) }
        // Signals are blocked, but a process that was stopped can get EINTR (signal(7)).
        for _ in 0..<100 {
            let count = unsafe poll(&requests, nfds_t(requests.count), milliseconds)
            if count < 0, errno == EINTR { continue }
            return zip(descriptors, requests).filter { $1.revents != 0 }.map(\.0)
        }
        return []
    }
}
