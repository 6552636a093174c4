/// A message in a site's log.
package enum SiteMessage: Sendable, Hashable {
    /// The data that a gateway received.
    case batch(Batch)
    /// The configuration that is valid from this message on, which ``SiteSetupReader`` parses.
    case configuration([UInt8])

    // BGSC, and the version of the content. Version 1 is the text of a configuration.
    private static let configurationStart: [UInt8] = [0x42, 0x47, 0x53, 0x43, 1]

    /// Parses a message.
    ///
    /// - Throws: `BatchFormatError` if the bytes are neither a batch nor a configuration.
    package init(octets: [UInt8]) throws(BatchFormatError) {
        if octets.starts(with: Self.configurationStart) {
            self = .configuration(Array(octets.dropFirst(Self.configurationStart.count)))
        } else {
            self = .batch(try Batch(octets: octets))
        }
    }

    /// The encoded message.
    package var octets: [UInt8] {
        switch self {
        case .batch(let batch): batch.octets
        case .configuration(let text): Self.configurationStart + text
        }
    }
}
