import Foundation
import TestSupport

extension SeededGenerator {
    /// What a random test begins with: `BEACON_SEED`, or another each time.
    static var seed: UInt64 {
        ProcessInfo.processInfo.environment["BEACON_SEED"].flatMap { UInt64($0) } ?? .random(in: 0...UInt64.max)
    }
}
