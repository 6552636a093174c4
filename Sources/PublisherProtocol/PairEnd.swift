package import EventLoops
import Glibc
package import SystemPackage

/// One end of the pair of sockets that two processes share: messages whole, and nobody waits.
///
/// What is to be said stands in one slot for each kind of message, where the newest takes the place of the one before: a
/// reader that stands still costs a few messages, and stops nobody (unix(7), SOCK_SEQPACKET).
package final class PairEnd {
    /// A message has at most so many octets; a longer one ends the pair.
    package static let octetsMax = 160 << 10

    /// Why it is over.
    package enum End: Sendable, Hashable {
        /// The other end is gone.
        case closed
        /// What came is no message.
        case garbage
    }

    /// Takes a message, its kind and its octets, and says whether it is one.
    package var take: ((UInt8, ArraySlice<UInt8>) -> Bool)?
    /// Is told once that it is over, after all messages that came before.
    package var ended: ((End) -> Void)?
    /// Messages that gave way to newer ones of a kind of which several may wait.
    package private(set) var dropped = 0

    private let loop: EventLoop
    private let descriptor: FileDescriptor
    private var watch: EventLoop.Watch?
    private var isWaitingToWrite = false
    private var isOver = false
    // Each with its kind in front; there are few.
    private var waiting: [[UInt8]] = []
    private var buffer = [UInt8](repeating: 0, count: PairEnd.octetsMax)

    /// Takes over an end, which is closed with this value; it has to be one that never waits.
    ///
    /// - Throws: `Errno` of epoll_ctl(2).
    package init(_ descriptor: FileDescriptor, on loop: EventLoop) throws(Errno) {
        self.loop = loop
        self.descriptor = descriptor
        watch = try loop.watch(descriptor, for: .read) { [unowned self] readiness in
            if readiness.contains(.write) { flush() }
            receive()
        }
    }

    deinit { close() }

    /// Closes it: the other end hears of it, and nothing comes any more.
    package func close() {
        isOver = true
        guard let watch else { return }
        loop.end(watch)
        self.watch = nil
        _ = try? descriptor.close()
    }

    // MARK: Writing

    /// Says something, now or when there is room.
    ///
    /// - Parameters:
    ///   - kind: which kind.
    ///   - octets: the rest of the message.
    ///   - count: how many of the kind may wait; the oldest gives way.
    package func put(_ kind: UInt8, _ octets: [UInt8], keeping count: Int = 1) {
        guard !isOver else { return }
        let message = [kind] + octets
        let places = waiting.indices.filter { waiting[$0][0] == kind }
        if count == 1, let place = places.first {
            // Where it stood: what was said after it comes after it.
            waiting[place] = message
        } else {
            if places.count >= count, let oldest = places.first {
                waiting.remove(at: oldest)
                dropped += 1
            }
            waiting.append(message)
        }
        flush()
    }

    /// Whether all that was said is on its way.
    package var isFlushed: Bool { waiting.isEmpty }

    /// Sends what there is room for.
    package func flush() {
        while !isOver, let message = waiting.first {
            let result = unsafe message.withUnsafeBytes { bytes in
                unsafe send(
                    descriptor.rawValue, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
            }
            if result < 0 {
                let failure = errno
                if failure == EINTR { continue }
                if failure == EAGAIN || failure == EWOULDBLOCK { break }
                // Too long for the sockets' buffers: the next one of its kind may fit. Else the other end is gone, which
                // reading tells, behind what it said before.
                if failure != EMSGSIZE {
                    waiting.removeAll()
                    break
                }
            }
            waiting.removeFirst()
        }
        guard let watch, isWaitingToWrite != !waiting.isEmpty else { return }
        isWaitingToWrite = !waiting.isEmpty
        // It fails for a descriptor that is not watched alone.
        try? loop.change(watch, to: isWaitingToWrite ? [.read, .write] : .read)
    }

    // MARK: Reading

    /// Takes what came, as much of it as a turn may.
    package func receive() {
        var count = 0
        while !isOver, count < EventLoop.recordsPerTurn {
            count += 1
            let size = unsafe buffer.withUnsafeMutableBytes { bytes in
                unsafe recv(descriptor.rawValue, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_TRUNC))
            }
            if size < 0, errno == EINTR { continue }
            if size < 0, errno == EAGAIN || errno == EWOULDBLOCK { return }
            guard size > 0 else { return end(.closed) }
            guard size <= buffer.count, take?(buffer[0], buffer[1..<size]) ?? true else { return end(.garbage) }
        }
    }

    private func end(_ end: End) {
        guard !isOver else { return }
        close()
        ended?(end)
    }
}
