import Foundation

/// Numbers by chance, the same for the same seed on every machine (SplitMix64; Steele, Lea, Flood: "Fast Splittable
/// Pseudorandom Number Generators", 2014).
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// The numbers of a seed, which a test prints and takes again.
    package init(state: UInt64) { self.state = state }

    /// The seed of random tests that is not a constant: `BEACON_SEED` of the environment, else 1.
    package static let seed = UInt64(environment("BEACON_SEED", default: 1))

    /// The seeds of a number of simulation runs: ``seed`` and those after it.
    package static func seeds(_ count: Int) -> ClosedRange<UInt64> { seed...seed + UInt64(count) - 1 }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A number below `count`, which is above 0.
    package mutating func below(_ count: Int) -> Int { Int(next() % UInt64(count)) }
    /// Whether something happens that happens so often in a hundred times.
    package mutating func chance(_ percent: Int) -> Bool { next() % 100 < UInt64(percent) }
    /// One of these, which are some.
    package mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }
}

/// A number from 1 on that the environment can set. Each variable is read by one suite; ``SeededGenerator/seed`` is every suite's.
///
/// - Parameters:
///   - name: the variable.
///   - value: its value if it is not set.
/// - Returns: the number.
package func environment(_ name: String, default value: Int) -> Int {
    guard let text = ProcessInfo.processInfo.environment[name] else { return value }
    guard let number = Int(text), number >= 1 else {
        preconditionFailure("\(name) is \(text), must be a number from 1 on")
    }
    return number
}
