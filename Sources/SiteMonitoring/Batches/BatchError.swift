/// Why something is no batch.
package enum BatchError: Error, Hashable, Sendable {
    /// What is said of times contradicts itself: whose.
    case outOfOrder(String)
    /// Something has a time that its batch does not tell of: what.
    case outOfSpan(String)
    /// Something is of an adapter that its batch does not name: which place, and how many there are.
    case noAdapter(Int, of: Int)
    /// An adapter's name that can be none.
    case badName(String)
    /// Two adapters of one batch have this name.
    case nameTwice(String)
    /// Words that say why an adapter changed are too long, or hold control characters.
    case badReason
    /// It names more adapters than there may be.
    case adaptersTooMany(Int)
}

extension BatchError: CustomStringConvertible {
    /// What is the matter, for operators.
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
