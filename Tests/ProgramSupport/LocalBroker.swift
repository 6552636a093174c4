import BrokerSupport
import Foundation
import Glibc
import Testing

/// A real broker at the loopback address, for a gateway on this machine.
package final class LocalBroker {
    package static let subscriber = BrokerTools.subscribe

    private let broker: Broker
    package var port: UInt16 { broker.port }

    /// Creates a broker that is not started.
    package init() throws { broker = try Broker(TestFolder(), isStarted: false) }

    package func start() throws { try broker.start() }

    /// Kills the broker, with all data that it has only in memory.
    package func stop() { broker.stop(SIGKILL) }

    /// Waits until a message of a topic contains a text, for at most five minutes. A retained message counts too.
    package func waitForMessage(with text: String, of topic: String) throws {
        let subscriber = try Child(
            Self.subscriber, ["-h", "127.0.0.1", "-p", "\(port)", "-q", "1", "-v", "-t", topic])
        defer { subscriber.end(SIGKILL) }
        try subscriber.line(with: text)
    }

    /// Returns the first `count` messages of a subscription within five minutes. Each is its topic, a space and its
    /// payload.
    package func messages(_ count: Int, of topics: String..., location: SourceLocation = #_sourceLocation) throws
        -> [String]
    {
        let ending = try run(
            Self.subscriber,
            ["-h", "127.0.0.1", "-p", "\(port)", "-q", "1", "-v", "-C", "\(count)", "-W", "300"]
                + topics.flatMap { ["-t", $0] })
        #expect(ending.status == 0, "\(ending.errors) \(ending.lines)", sourceLocation: location)
        return ending.lines
    }
}
