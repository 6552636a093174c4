import BaseTypes
import EventLoops
import SystemPackage

/// The messages that the kernel has received for one socket, one after the other, and the places where it dropped some.
///
/// While the buffer of a socket is full, the kernel drops each new message and counts it (Linux: `sock_queue_rcv_skb()` in
/// net/core/sock.c). So a loss is after everything that the buffer holds when the counter is read, and before everything
/// that is received later.
final class ReceiveQueue {
    /// One attempt to receive.
    enum Item {
        /// A message.
        case message
        /// A message that was longer than the buffer and is lost.
        case tooLong
        /// The socket has failed. There are no more messages.
        case failed(Errno)
    }

    /// How precisely a loss is placed among the messages.
    struct Timing {
        /// The counter is read again after this time: in each turn, and during a long one.
        var lookInterval: Duration = .milliseconds(10)
        /// How much later than its computed time a message can have come to the buffer, if the process was interrupted
        /// between two readings of a clock, or the kernel was busy. Two losses that were noticed within this time count as
        /// one.
        var precision: Duration = .milliseconds(100)
    }

    let socket: BluetoothSocket
    private let readClock: () -> Instant
    private let readWall: () -> Int64
    private let timing: Timing
    // Longer than any message: a Device Found with everything that an extended advertisement can have.
    private var buffer = [UInt8](repeating: 0, count: 8192)
    private var next: (item: Item, length: Int, time: Instant)?
    // The losses that were not taken yet: at most one for each message in the buffer.
    private var losses: [(count: Int, noticed: Instant)] = []
    private var lookedAt = Instant.earliest
    // Whether the last attempt of this turn found no message.
    private var isEmpty = false
    private var failure: Errno?

    /// The time of the last message that was taken; before the first one, the time at which the socket was opened.
    private(set) var lastTime: Instant

    /// Creates the queue of a socket.
    ///
    /// - Parameters:
    ///   - socket: an open socket.
    ///   - clock: the timeline.
    ///   - wall: the wall clock, in nanoseconds.
    ///   - timing: how precisely a loss is placed.
    init(
        _ socket: BluetoothSocket, clock: @escaping () -> Instant, wall: @escaping () -> Int64 = { BootClock.wall },
        timing: Timing = Timing()
    ) {
        self.socket = socket
        readClock = clock
        readWall = wall
        self.timing = timing
        lastTime = socket.emptyAt
    }

    /// The time of the next item, if there is one: the receive time of a message (rule T1).
    var nextTime: Instant? { next?.time }

    /// Starts a turn: ``fill(before:)`` asks the socket at least once.
    func beginTurn() { isEmpty = false }

    /// Receives the next item, unless it is there or the socket was found empty in this turn, at `limit` or later.
    ///
    /// - Returns: whether there is an item.
    @discardableResult
    func fill(before limit: Instant) -> Bool {
        guard next == nil, !isEmpty || socket.emptyAt < limit else { return next != nil }
        let now = readClock()
        if now - lookedAt >= timing.lookInterval { _ = look(at: now) }
        receive(at: now)
        // If messages were dropped meanwhile, the buffer has others that came before them.
        if next == nil, look(at: now) { receive(at: now) }
        isEmpty = next == nil
        return next != nil
    }

    /// Takes the next item out of the queue.
    ///
    /// - Parameter body: receives the item, the bytes of the message and its time.
    func take(_ body: (Item, Span<UInt8>, Instant) -> Void) {
        guard let (item, length, time) = next.take() else { return }
        lastTime = max(lastTime, time)
        // Moved out meanwhile, so that nothing that `body` calls can change it.
        var buffer: [UInt8] = []
        swap(&buffer, &self.buffer)
        defer { swap(&buffer, &self.buffer) }
        body(item, buffer.span.extracting(0..<length), time)
    }

    /// Takes the number of messages that the kernel dropped between the last one that was taken and the next item.
    func takeLoss() -> Int {
        var count = 0
        while let loss = losses.first, isEmpty || next.map({ loss.noticed - timing.precision < $0.time }) ?? false {
            count &+= loss.count
            losses.removeFirst()
        }
        return count
    }

    /// Reads the counter; `now` was read before the call, so that a stop of the process in between is followed by a new look.
    ///
    /// - Returns: whether messages were dropped since the last look.
    private func look(at now: Instant) -> Bool {
        lookedAt = now
        let count = socket.takeDrops()
        guard count > 0 else { return false }
        // Read after the counter: if the process is stopped between the two, the full buffer stays as it is.
        let noticed = readClock()
        if let last = losses.indices.last, noticed - losses[last].noticed < timing.precision {
            losses[last].count &+= count
        } else {
            losses.append((count, noticed))
        }
        return true
    }

    private func receive(at now: Instant) {
        var received = socket.receive(into: &buffer, at: now)
        if case .failed(let error) = received, failure == nil {
            // The kernel reports an error once, before the messages that it received earlier (sock_error(), skb_recv_datagram()
            // in net/core).
            failure = error
            received = socket.receive(into: &buffer, at: now)
        }
        switch received {
        case .message(let length, let stamp): next = (.message, length, receiveTime(stamp, since: now))
        case .tooLong: next = (.tooLong, 0, lastTime)
        case .failed(let error): next = (.failed(failure ?? error), 0, readClock())
        case .nothing: next = failure.map { (.failed($0), 0, readClock()) }
        }
    }

    private func receiveTime(_ stamp: Int64?, since begin: Instant) -> Instant {
        // In this order: if the process is stopped between the two, the message seems too old to be plausible, never
        // too new.
        let now = readClock()
        let wall = readWall()
        // If the process was stopped before it received the message, the buffer was full until then.
        if now - begin >= timing.lookInterval { _ = look(at: now) }
        return ReceiveTime.time(stamp: stamp, now: now, wall: wall, emptyAt: socket.emptyAt)
    }
}
