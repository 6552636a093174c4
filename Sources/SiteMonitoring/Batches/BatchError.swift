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
        case .outOfOrder(let what): "\(what): the later stands before the earlier"
        case .outOfSpan(let what): "\(what) is not in the time that the batch tells of"
        case .noAdapter(let place, let count): "it tells of adapter \(place) and names \(count)"
        case .badName(let name):
            "'\(String(name.prefix(BatchBounds.nameOctetsMax)))' is no adapter's name: 1…\(BatchBounds.nameOctetsMax) octets without slash or control characters"
        case .nameTwice(let name): "two adapters are called '\(name)'"
        case .badReason:
            "why an adapter changed has more than \(BatchBounds.reasonOctetsMax) octets, or control characters"
        case .adaptersTooMany(let count): "it names \(count) adapters; at most \(BatchBounds.adaptersMax) can be"
        }
    }
}
