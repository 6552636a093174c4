import BrokerSupport
import Foundation
import Glibc
import Testing

/// Who subscribes with a session that outlasts connections, and notes which numbers came, in order.
final class Subscriber {
    private struct Came: Sendable {
        var numbers: [Int] = []
        var isThere: Set<Int> = []
    }

    private let came: Announced<Came>
    private let child: Child

    init(_ broker: Broker, topic: String = "beacons/#", version: String = "mqttv311") throws {
        let arguments = [
            "-p", "\(broker.port)", "-h", "127.0.0.1", "-i", "subscriber", "-c", "-q", "1", "-t", topic, "-V", version,
        ]
        let came = Announced(Came())
        self.came = came
        let take: @Sendable (String) -> Void = { line in
            guard let key = line.range(of: "\"sequence\":"),
                let number = Int(line[key.upperBound...].prefix { $0.isNumber })
            else { return }
            came.change {
                $0.numbers.append(number)
                $0.isThere.insert(number)
            }
        }
        // With -E it ends once it has subscribed: from here on nothing passes it by. To a session that was there before it
        // is already given what waits.
        let first = try Child(BrokerTools.subscribe, arguments + ["-E"], each: take)
        try #require(first.wait() == 0, "\(first.said)")
        child = try Child(BrokerTools.subscribe, arguments, each: take)
    }

    func end() { child.end(SIGKILL) }

    /// All that came, in order.
    var all: [Int] { came.now.numbers }

    /// Waits until so many different ones came, or nothing came for a while.
    @discardableResult func wait(for count: Int, quiet seconds: TimeInterval = 300) -> Bool {
        came.wait(quiet: seconds) { $0.isThere.count >= count ? true : nil } ?? false
    }

    /// Those that came, each at its first time.
    static func distinct(_ numbers: [Int]) -> [Int] {
        var seen: Set<Int> = []
        return numbers.filter { seen.insert($0).inserted }
    }
}
