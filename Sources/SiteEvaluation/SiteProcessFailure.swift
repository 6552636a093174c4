package import SiteLog

/// Why a process of a site stopped for good.
package enum SiteProcessFailure: Error, Hashable, Sendable {
    /// What it made of the log is not what was published: which event, what stands there, and what it has.
    case differs(event: UInt64, published: [UInt8], own: [UInt8])
    /// Batches that it has not read are gone: it wanted one, and the log begins with another.
    case batchesGone(wanted: UInt64, first: UInt64)
    /// Events that it has not held its lines against are gone: it wanted one, and the log begins with another.
    case eventsGone(wanted: UInt64, first: UInt64)
    /// The log has trouble that does not pass.
    case log(LogTrouble)
}

extension SiteProcessFailure: CustomStringConvertible {
    /// What, where, and what to do.
    package var description: String {
        switch self {
        case .differs(let event, let published, let own):
            """
            event \(event) of the site is not what this process makes of its log, so it publishes nothing more: another \
            version, or a damaged memory; published: \(Self.text(published)) own: \(Self.text(own))
            """
        case .batchesGone(let wanted, let first):
            "the site's log begins with batch \(first), and batch \(wanted) is wanted: begin from a snapshot"
        case .eventsGone(let wanted, let first):
            "the site's events begin with \(first), and event \(wanted) is wanted: begin from a snapshot"
        case .log(let trouble): trouble.description
        }
    }

    private static func text(_ octets: [UInt8]) -> String {
        String(decoding: octets.prefix(1_024), as: UTF8.self).trimmed
    }
}

extension String {
    // A line without its end.
    fileprivate var trimmed: String { last == "\n" ? String(dropLast()) : self }
}
