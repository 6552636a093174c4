import EventLoops
import Synchronization

/// What a connection heard, handed from the library's threads to the loop that drives it.
///
/// It has a bound: what comes beyond is dropped and counted, and whoever waits for it is told that no answer came.
final class NATSInbox: Sendable {
    /// One message as it came.
    struct Message: Sendable {
        /// The subject that it was sent to: of an answer the one that was asked for, of what a consumer hands over its own.
        let subject: String
        /// Of what a consumer hands over `$JS.ACK.…`, with the numbers of it.
        let reply: String?
        /// The header `Status`, such as 404 of a consumer that has nothing.
        let status: String?
        let octets: [UInt8]
    }

    /// How it stands with the connection.
    enum Standing: Sendable { case connecting, connected, closed }

    private struct State {
        var messages: [Message] = []
        var octets = 0
        var dropped = 0
        var standing = Standing.connected
        var lastError: String?
        var denials: [String] = []
    }

    /// How much it holds.
    static let octetsMax = 64 << 20
    static let messagesMax = 65_536
    // A server says it again for each message, of few subjects.
    private static let denialsMax = 256

    private let state = Mutex(State())
    private let wake: WakeUp

    /// - Parameter wake: what wakes the loop.
    init(_ wake: WakeUp) { self.wake = wake }

    /// Takes what came, the oldest first.
    func take() -> [Message] {
        state.withLock { state in
            defer { (state.messages, state.octets) = ([], 0) }
            return state.messages
        }
    }

    /// Takes what the servers did not permit, in their words.
    func takeDenials() -> [String] {
        state.withLock { state in
            defer { state.denials = [] }
            return state.denials
        }
    }

    /// How it stands, what the library last said of an error, and how many messages did not fit.
    var standing: (standing: Standing, lastError: String?, dropped: Int) {
        state.withLock { ($0.standing, $0.lastError, $0.dropped) }
    }

    func note(_ message: Message) {
        state.withLock { state in
            guard state.octets + message.octets.count <= Self.octetsMax, state.messages.count < Self.messagesMax else {
                state.dropped += 1
                return
            }
            state.octets += message.octets.count
            state.messages.append(message)
        }
        wake.signal()
    }

    func note(_ standing: Standing) {
        state.withLock { $0.standing = standing }
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
