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
    package init(bytes: [UInt8]) throws(BatchFormatError) {
        if bytes.starts(with: Self.configurationStart) {
            self = .configuration(Array(bytes.dropFirst(Self.configurationStart.count)))
        } else {
            self = .batch(try Batch(bytes: bytes))
        }
    }

    /// The encoded message.
    package var bytes: [UInt8] {
        switch self {
        case .batch(let batch): batch.bytes
        case .configuration(let text): Self.configurationStart + text
        }
    }
}
