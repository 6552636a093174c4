import BrokerSupport
import Foundation
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// A real broker at the loopback, beside a gateway.
final class LocalBroker {
    static let subscriber = BrokerTools.subscribe
    static let isThere = BrokerTools.areThere
    static let reason: Comment = "\(BrokerTools.reason)"

    private let broker: Broker
    var port: UInt16 { broker.port }

    /// One that is not started.
    init() throws { broker = try Broker(TestFolder(), isStarted: false) }

    func start() throws { try broker.start() }

    /// Kills it, with all that it kept.
    func stop() { broker.stop(SIGKILL) }

    /// The first `count` messages of a subscription, each as its topic, a space and its payload; within half a minute.
    func messages(_ count: Int, of topics: String..., location: SourceLocation = #_sourceLocation) throws -> [String] {
        let ending = try run(
            Self.subscriber,
            ["-h", "127.0.0.1", "-p", "\(port)", "-q", "1", "-v", "-C", "\(count)", "-W", "30"]
                + topics.flatMap { ["-t", $0] })
        #expect(ending.status == 0, "\(ending.errors) \(ending.lines)", sourceLocation: location)
        return ending.lines
    }
}
