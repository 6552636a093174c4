package import EventLoops
import Glibc
package import SystemPackage

/// One end of a pair of sockets between two processes. Messages arrive whole, and no call blocks.
///
/// Messages that cannot be sent yet wait in one slot per kind of message, in which the newest message replaces the
/// previous one. A reader that hangs therefore loses a few messages, and does not block the other process (unix(7),
/// SOCK_SEQPACKET).
package final class SocketPairEnd {
    /// The maximum number of bytes of a message. A longer one closes the pair.
    package static let bytesMax = 160 << 10

    /// The reason why the pair was closed.
    package enum End: Sendable, Hashable {
        /// The other end is closed.
        case closed
        /// An invalid message was received.
        case garbage
    }

    /// Called with the kind and the bytes of each message; returns whether the message is valid.
    package var take: ((UInt8, ArraySlice<UInt8>) -> Bool)?
    /// Called once when the pair is closed by the other end or by an invalid message, after all earlier messages.
    package var ended: ((End) -> Void)?
    /// The number of waiting messages that newer ones replaced, of kinds of which several may wait.
    package private(set) var dropped = 0

    private let loop: EventLoop
    private let descriptor: FileDescriptor
    private var watch: EventLoop.Watch?
    private var isWaitingToWrite = false
    private var isOver = false
    // Each message starts with its kind. There are few.
    private var waiting: [[UInt8]] = []
    private var buffer = [UInt8](repeating: 0, count: SocketPairEnd.bytesMax)

    /// Takes ownership of a non-blocking socket, and closes it together with this value.
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

    /// Closes this end. The other end is notified, and no more messages are received.
    package func close() {
        isOver = true
        guard let watch else { return }
        loop.end(watch)
        self.watch = nil
        _ = try? descriptor.close()
    }

    // MARK: Writing

    /// Sends a message of a kind, now or when there is room. At most `count` messages of the kind may wait; if there
    /// are more, the oldest is dropped.
    package func put(_ kind: UInt8, _ bytes: [UInt8], keeping count: Int = 1) {
        guard !isOver else { return }
        let message = [kind] + bytes
        let places = waiting.indices.filter { waiting[$0][0] == kind }
        if count == 1, let place = places.first {
            // The message takes the place of the previous one, so messages that were put after that one are sent after
            // it.
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

    /// Whether no message waits to be sent.
    package var isFlushed: Bool { waiting.isEmpty }

    /// Sends waiting messages as long as there is room.
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
                // The message is too long for the buffers of the sockets; the next one of its kind may fit. Other
                // errors mean that the other end is closed. Reading reports that, after the messages that the other end
                // sent before.
                if failure != EMSGSIZE {
                    waiting.removeAll()
                    break
                }
            }
            waiting.removeFirst()
        }
        guard let watch, isWaitingToWrite != !waiting.isEmpty else { return }
        isWaitingToWrite = !waiting.isEmpty
        // This fails only for a descriptor that is not watched.
        try? loop.change(watch, to: isWaitingToWrite ? [.read, .write] : .read)
    }

    // MARK: Reading

    /// Reads messages, at most ``EventLoop/recordsPerTurn`` in one call.
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
