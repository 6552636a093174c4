import Foundation

/// Numbers by chance, the same for the same seed on every machine (SplitMix64; Steele, Lea, Flood: "Fast Splittable
/// Pseudorandom Number Generators", 2014).
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// The numbers of a seed, which a test prints and takes again.
    package init(state: UInt64) { self.state = state }

    /// The seed of the environment's `BEACON_SEED`; absent where it names none.
    package static var wanted: UInt64? { ProcessInfo.processInfo.environment["BEACON_SEED"].flatMap { UInt64($0) } }

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
