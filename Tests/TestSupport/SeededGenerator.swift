import Foundation

/// Random numbers that are the same for a seed on every machine (SplitMix64; Steele, Lea, Flood: "Fast Splittable
/// Pseudorandom Number Generators", 2014).
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Creates the numbers of a seed, which a test should print and accept.
    package init(state: UInt64) { self.state = state }

    /// The seed of random tests without a constant seed: `BEACON_SEED` of the environment, otherwise 1.
    package static let seed = UInt64(environment("BEACON_SEED", default: 1))

    /// Returns the seeds of `count` simulation runs: ``seed`` and those after it.
    package static func seeds(_ count: Int) -> ClosedRange<UInt64> { seed...seed + UInt64(count) - 1 }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Returns a random number below `count`, which must be above 0.
    package mutating func below(_ count: Int) -> Int { Int(next() % UInt64(count)) }
    /// Returns `true` in `percent` of a hundred cases, at random.
    package mutating func chance(_ percent: Int) -> Bool { next() % 100 < UInt64(percent) }
    /// Returns a random element of an array, which must not be empty.
    package mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }
}

/// Returns a number from 1 on that an environment variable can set. Only one suite reads each variable, except
/// ``SeededGenerator/seed``, which all suites use. Traps if the value is not such a number.
///
/// - Parameters:
///   - name: the name of the variable.
///   - value: the number if the variable is not set.
/// - Returns: the number.
package func environment(_ name: String, default value: Int) -> Int {
    guard let text = ProcessInfo.processInfo.environment[name] else { return value }
    guard let number = Int(text), number >= 1 else {
        preconditionFailure("\(name) is \(text), must be a number from 1 on")
    }
    return number
}
