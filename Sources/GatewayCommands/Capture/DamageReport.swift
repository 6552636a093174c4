import Captures

/// Selects the damage of a capture that is logged while it is read: the first places, and then the number of all places
/// whenever it has doubled.
struct DamageReport: Sendable {
    /// The number of places that were reported or counted.
    private var noted = 0

    /// Returns sentences about the damage since the last call.
    ///
    /// - Parameters:
    ///   - damages: all damage so far.
    ///   - name: the name of the capture.
    /// - Returns: the sentences, with the name.
    mutating func new(in damages: CaptureDamages, of name: String) -> [String] {
        guard damages.total > noted else { return [] }
        let new = damages.first.dropFirst(noted).map { "\(name): \($0)" }
        if new.isEmpty {
            guard damages.total >= 2 * noted else { return [] }
            noted = damages.total
            return ["\(name): \(damages.total) places are damaged so far"]
        }
        noted = damages.first.count
        return new
    }
}
