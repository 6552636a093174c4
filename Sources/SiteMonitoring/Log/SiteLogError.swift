/// A reason why a log did not execute a request.
package enum SiteLogError: Error, Hashable, Sendable {
    /// No log answers: where, and why. Nothing was done.
    case unavailable(String)
    /// The request was sent, and no answer arrived within this time. It can have been executed.
    case unanswered(Duration)
    /// A part of the log accepts nothing new until older data have been deleted. The text names the part.
    case full(String)
    /// The data are larger than allowed: their description, size, and the maximum size.
    case tooBig(String, bytes: Int, most: Int)
    /// There are more elements than allowed: their description, number, and the maximum number.
    case tooMany(String, count: Int, most: Int)
    /// The connected user does not have the permission. The text names the action.
    case notPermitted(String)
    /// A part of the log does not exist. The text names it.
    case missing(String)
    /// Stored data cannot be read: where, and why.
    case damaged(String, String)
    /// The log cannot execute the request, for any user and at any time. The text is the reason.
    case refused(String)
    /// A name is empty, longer than ``LogName/bytesMax``, or contains characters that are not allowed.
    case badName(String)

    /// Whether the same request can succeed later, without any action by an operator.
    package var mayPass: Bool {
        switch self {
        case .unavailable, .unanswered, .full: true
        case .tooBig, .tooMany, .notPermitted, .missing, .damaged, .refused, .badName: false
        }
    }

    /// Whether the request can have been executed although it failed.
    package var mayBeDone: Bool { if case .unanswered = self { true } else { false } }
}

extension SiteLogError: CustomStringConvertible {
    /// The error, its place, and the required action.
    package var description: String {
        switch self {
        case .unavailable(let reason): "the site's log is not reachable: \(reason); it will be tried again"
        case .unanswered(let time): "the site's log has not answered within \(time); it will be tried again"
        case .full(let part):
            "the site's log is full (\(part)): give it more space, or shorten the time for which it stores data"
        case .tooBig(let what, let bytes, let most): "\(what) has \(bytes) bytes; at most \(most) are accepted"
        case .tooMany(let what, let count, let most): "\(count) \(what); at most \(most)"
        case .notPermitted(let what):
            "the user has no permission to \(what): grant it in the site's log, or configure another user"
        case .missing(let name): "the site's log has no \(name): create it first"
        case .damaged(let place, let matter): "\(place): \(matter); move it away, or restore it from another copy"
        case .refused(let reason): "the site's log refused: \(reason)"
        case .badName(let name):
            "'\(name)' is not a valid name of a site, a gateway or a process: use 1…\(LogName.bytesMax) letters, digits, - and _"
        }
    }
}
