/// Why a log did not do what it was asked for.
package enum LogTrouble: Error, Hashable, Sendable {
    /// No log answers there: where, and why. Nothing was done.
    case unavailable(String)
    /// It was sent, and no answer came within so long. It may have been done.
    case unanswered(Duration)
    /// The log takes nothing new until older things have gone: which of its parts.
    case full(String)
    /// What was sent is bigger than it may be.
    case tooBig(String, octets: Int, most: Int)
    /// There is more of something than there may be.
    case tooMany(String, count: Int, most: Int)
    /// Who connects may not do this: what.
    case notPermitted(String)
    /// There is no such part of the log: its name.
    case missing(String)
    /// What is there can't be read: where, and what is the matter.
    case damaged(String, String)
    /// The log can't do what it was asked for, whoever asks and whenever: why.
    case refused(String)
    /// No name: it is empty, longer than ``LogName/octetsMax``, or has other signs than a name may have.
    case badName(String)

    /// Whether the same request may do better later, without anybody's doing.
    package var mayPass: Bool {
        switch self {
        case .unavailable, .unanswered, .full: true
        case .tooBig, .tooMany, .notPermitted, .missing, .damaged, .refused, .badName: false
        }
    }

    /// Whether what was asked for may have been done all the same.
    package var mayBeDone: Bool { if case .unanswered = self { true } else { false } }
}

extension LogTrouble: CustomStringConvertible {
    /// What, where, and what to do.
    package var description: String {
        switch self {
        case .unavailable(let reason): "the site's log can't be reached: \(reason); it is tried again"
        case .unanswered(let time): "the site's log has not answered within \(time); it is asked again"
        case .full(let part):
            "the site's log takes no more (\(part)): give it more room, or let it keep less long"
        case .tooBig(let what, let octets, let most): "\(what) has \(octets) octets; at most \(most) are taken"
        case .tooMany(let what, let count, let most): "\(count) \(what); at most \(most)"
        case .notPermitted(let what):
            "the site's log does not let this user \(what): give him the right, or name another user"
        case .missing(let name): "the site's log has no \(name): make it first"
        case .damaged(let place, let matter): "\(place): \(matter); put it away, or take it from another copy"
        case .refused(let reason): "the site's log refused: \(reason)"
        case .badName(let name):
            "'\(name)' is no name for a site, a gateway or a process: 1…\(LogName.octetsMax) letters, digits, - and _"
        }
    }
}
