import BrokerSupport
import Foundation
import Glibc
import Testing

/// A real broker at the loopback, beside a gateway.
package final class LocalBroker {
    package static let subscriber = BrokerTools.subscribe

    private let broker: Broker
    package var port: UInt16 { broker.port }

    /// One that is not started.
    package init() throws { broker = try Broker(TestFolder(), isStarted: false) }

    package func start() throws { try broker.start() }

    /// Kills it, with all that it kept.
    package func stop() { broker.stop(SIGKILL) }

    /// Waits until a message of a topic contains a text, the retained one included; five minutes at most.
    package func waitForMessage(with text: String, of topic: String) throws {
        let subscriber = try Child(
            Self.subscriber, ["-h", "127.0.0.1", "-p", "\(port)", "-q", "1", "-v", "-t", topic])
        defer { subscriber.end(SIGKILL) }
        try subscriber.line(with: text)
    }

    /// The first `count` messages of a subscription, each as its topic, a space and its payload; within five minutes.
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
