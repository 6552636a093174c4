import EventLog
import TestSupport

extension RestartFixture {
    /// The settings of the journal in a simulation run, by its seed.
    struct Plan {
        var durability: JournalOptions.Durability
        var rotateSize: Int
        var retainSize: Int
        var envelope: Bool

        init(seed: UInt64) {
            var random = SeededGenerator(state: seed)
            durability = random.pick([.event, .event, .every(.seconds(2))])
            rotateSize = random.pick([2_000, 6_000, 1 << 20])
            // A configuration with a smaller `retain_size` than `rotate_size` is refused.
            retainSize = max(random.pick([1 << 30, 1 << 30, 20_000]), rotateSize)
            envelope = random.chance(50)
        }
    }
}
