import EventLoops
import Synchronization

/// The messages of a connection, passed from the library's threads to the loop that drives it.
///
/// The inbox has a limit. Further messages are dropped and counted. A request whose answer was dropped counts as
/// unanswered.
final class NATSInbox: Sendable {
    /// A received message.
    struct Message: Sendable {
        /// The subject of the message. An answer has the reply subject of its request; a consumer's message has its own
        /// subject.
        let subject: String
        /// The reply subject. For a consumer's message it is `$JS.ACK.…` and contains the message's numbers.
        let reply: String?
        /// The header `Status`, such as 404 if a consumer has no messages.
        let status: String?
        let bytes: [UInt8]
    }

    /// The state of the connection.
    enum ConnectionState: Sendable { case connecting, connected, closed }

    private struct State {
        var messages: [Message] = []
        var bytes = 0
        var dropped = 0
        var connectionState = ConnectionState.connected
        var lastError: String?
        var denials: [String] = []
    }

    /// The capacity of the inbox: bytes of payload, and messages.
    static let bytesMax = 64 << 20
    static let messagesMax = 65_536
    // A server repeats a denial for each message, but there are only a few subjects.
    private static let denialsMax = 256

    private let state = Mutex(State())
    private let wake: WakeUp

    /// Creates an empty inbox.
    ///
    /// - Parameter wake: wakes the loop.
    init(_ wake: WakeUp) { self.wake = wake }

    /// Removes and returns the messages, the oldest first.
    func take() -> [Message] {
        state.withLock { state in
            defer { (state.messages, state.bytes) = ([], 0) }
            return state.messages
        }
    }

    /// Removes and returns the errors about missing permissions, with the servers' text.
    func takeDenials() -> [String] {
        state.withLock { state in
            defer { state.denials = [] }
            return state.denials
        }
    }

    /// The state of the connection, the last error that the library reported, and the number of dropped messages.
    var status: (state: ConnectionState, lastError: String?, dropped: Int) {
        state.withLock { ($0.connectionState, $0.lastError, $0.dropped) }
    }

    func note(_ message: Message) {
        state.withLock { state in
            guard state.bytes + message.bytes.count <= Self.bytesMax, state.messages.count < Self.messagesMax else {
                state.dropped += 1
                return
            }
            state.bytes += message.bytes.count
            state.messages.append(message)
        }
        wake.signal()
    }

    func note(_ connectionState: ConnectionState) {
        state.withLock { $0.connectionState = connectionState }
        wake.signal()
    }

    func note(error: String) {
        state.withLock { $0.lastError = error }
        wake.signal()
    }

    func note(denial: String) {
        state.withLock { state in
            guard state.denials.count < Self.denialsMax, !state.denials.contains(denial) else { return }
            state.denials.append(denial)
        }
        wake.signal()
    }
}
