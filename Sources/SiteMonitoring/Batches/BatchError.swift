/// A reason why values do not form a valid batch.
package enum BatchError: Error, Hashable, Sendable {
    /// Times contradict each other. The text names them.
    case outOfOrder(String)
    /// A part has a time outside the period of its batch. The text names the part.
    case outOfSpan(String)
    /// A part refers to an adapter that the batch does not have: the index, and the number of adapters.
    case noAdapter(Int, of: Int)
    /// An adapter's name is invalid.
    case badName(String)
    /// Two adapters of one batch have this name.
    case nameTwice(String)
    /// The reason for a change of an adapter is too long, or contains control characters.
    case badReason
    /// The batch has more adapters than ``BatchBounds/adaptersMax``.
    case adaptersTooMany(Int)
}

extension BatchError: CustomStringConvertible {
    /// The error, in words for operators.
    package var description: String {
        switch self {
        case .outOfOrder(let what): "\(what): not in the required order"
        case .outOfSpan(let what): "\(what) is outside the period of the batch"
        case .noAdapter(let place, let count):
            "it refers to the adapter with the index \(place), but has \(count) adapters"
        case .badName(let name):
            "'\(String(name.prefix(BatchBounds.nameBytesMax)))' is not a valid name of an adapter: use 1…\(BatchBounds.nameBytesMax) bytes without slash or control characters"
        case .nameTwice(let name): "two adapters have the name '\(name)'"
        case .badReason:
            "the reason for an adapter's change has more than \(BatchBounds.reasonBytesMax) bytes, or control characters"
        case .adaptersTooMany(let count): "it has \(count) adapters; at most \(BatchBounds.adaptersMax) are allowed"
        }
    }
}
