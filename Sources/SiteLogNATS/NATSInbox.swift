import Polling
import Synchronization
import SystemPackage

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
        var standing = Standing.connecting
        var connections = 0
        var lastError: String?
    }

    private static let octetsMax = 64 << 20

    private let state = Mutex(State())
    private let wake: WakeUp

    init() throws(Errno) { wake = try WakeUp() }

    /// What the loop watches.
    var descriptor: FileDescriptor { wake.descriptor }

    /// Takes what came, the oldest first.
    func take() -> [Message] {
        wake.clear()
        return state.withLock { state in
            defer { (state.messages, state.octets) = ([], 0) }
            return state.messages
        }
    }

    /// How it stands, how often it was connected, and what the library last said of an error.
    var standing: (standing: Standing, connections: Int, lastError: String?, dropped: Int) {
        state.withLock { ($0.standing, $0.connections, $0.lastError, $0.dropped) }
    }

    func note(_ message: Message) {
        state.withLock { state in
            guard state.octets + message.octets.count <= Self.octetsMax else {
                state.dropped += 1
                return
            }
            state.octets += message.octets.count
            state.messages.append(message)
        }
        wake.signal()
    }

    func note(_ standing: Standing) {
        state.withLock { state in
            if standing == .connected { state.connections += 1 }
            state.standing = standing
        }
        wake.signal()
    }

    func note(error: String) {
        state.withLock { $0.lastError = error }
        wake.signal()
    }
}
