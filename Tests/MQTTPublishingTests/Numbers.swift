import BrokerSupport
import Foundation
import TestSupport
import Testing

extension BrokerTools {
    /// Why a test is skipped.
    static let missing: Comment = "\(reason)"
}

/// A number from the environment.
func number(_ name: String, default value: Int) -> Int {
    ProcessInfo.processInfo.environment[name].flatMap(Int.init) ?? value
}

extension SeededGenerator {
    /// One whose seed is printed: that of `BEACON_SEED`, or one by chance.
    static func printed(_ test: StaticString = #function) -> SeededGenerator {
        let seed = wanted ?? .random(in: 0...99_999)
        print("\(test): BEACON_SEED=\(seed)")
        return SeededGenerator(state: seed)
    }
}
