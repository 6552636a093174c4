/// What stands in a site's log at one offset.
package enum SiteMessage: Sendable, Hashable {
    /// What a gateway heard.
    case batch(Batch)
    /// What is to be monitored from there on, as ``SiteSetupReader`` reads it.
    case configuration([UInt8])

    // BGSC, and the version of what follows: none yet but the text.
    private static let configurationStart: [UInt8] = [0x42, 0x47, 0x53, 0x43, 1]

    /// What octets of the log say.
    ///
    /// - Throws: `BatchFormatError` where they are neither.
    package init(octets: [UInt8]) throws(BatchFormatError) {
        if octets.starts(with: Self.configurationStart) {
            self = .configuration(Array(octets.dropFirst(Self.configurationStart.count)))
        } else {
            self = .batch(try Batch(octets: octets))
        }
    }

    /// The message as it is put into a log.
    package var octets: [UInt8] {
        switch self {
        case .batch(let batch): batch.octets
        case .configuration(let text): Self.configurationStart + text
        }
    }
}
