import BrokerSupport
import Foundation
import Glibc
import Testing

/// A subscriber with a session that outlasts connections. It records the received sequence numbers in order.
final class Subscriber {
    private struct Arrivals: Sendable {
        var numbers: [Int] = []
        var isThere: Set<Int> = []
    }

    private let arrived: Announced<Arrivals>
    private let child: Child

    init(_ broker: Broker, topic: String = "beacons/#", version: String = "mqttv311") throws {
        let arguments = [
            "-p", "\(broker.port)", "-h", "127.0.0.1", "-i", "subscriber", "-c", "-q", "1", "-t", topic, "-V", version,
        ]
        let arrived = Announced(Arrivals())
        self.arrived = arrived
        let take: @Sendable (String) -> Void = { line in
            guard let key = line.range(of: "\"sequence\":"),
                let number = Int(line[key.upperBound...].prefix { $0.isNumber })
            else { return }
            arrived.change {
                $0.numbers.append(number)
                $0.isThere.insert(number)
            }
        }
        // With -E, the program exits when it has subscribed, and from then on no message is missed. If the session
        // existed before, its waiting messages are already delivered here.
        let first = try Child(BrokerTools.subscribe, arguments + ["-E"], each: take)
        try #require(first.wait() == 0, "\(first.said)")
        child = try Child(BrokerTools.subscribe, arguments, each: take)
    }

    func end() { child.end(SIGKILL) }

    /// All received sequence numbers, in order.
    var all: [Int] { arrived.now.numbers }

    /// Waits until this number of different lines has arrived. It returns `false` if no line arrives for `seconds`.
    @discardableResult func wait(for count: Int, quiet seconds: TimeInterval = 300) -> Bool {
        arrived.wait(quiet: seconds) { $0.isThere.count >= count ? true : nil } ?? false
    }

    /// Returns each number once, in the order of first arrivals.
    static func distinct(_ numbers: [Int]) -> [Int] {
        var seen: Set<Int> = []
        return numbers.filter { seen.insert($0).inserted }
    }
}
