/// How batches are written: what docs/site-format.md says octet by octet. Numbers have their lowest octet first.
enum BatchFormat {
    /// What stands first: `BGSB`.
    static let magic: [UInt8] = [0x42, 0x47, 0x53, 0x42]
    /// The one version that is written.
    static let version: UInt8 = 1
    /// The octets of the check at the end.
    static let checkOctets = 4

    /// The bit of the batch's own flags.
    static let isStart: UInt8 = 1
    /// Bits of an adapter's flags.
    static let isListening: UInt8 = 1, hasAddress: UInt8 = 2, hasReports: UInt8 = 4
    /// What a change is; with the bit, it says why.
    static let started: UInt8 = 0, stopped: UInt8 = 1, removed: UInt8 = 2, hasReason: UInt8 = 0x80
    /// In the place of an address's type: there is none.
    static let noAddress: UInt8 = 0xFF

    /// The least that one takes, so that a count says no more than can be there.
    static let changeOctetsMin = 3, uuidOctetsMin = 16, advertiserOctetsMin = 7, sightingOctetsMin = 4
}

/// Why octets are no batch. What is refused has changed nothing.
package enum BatchFormatError: Error, Hashable, Sendable {
    /// They do not begin as a batch.
    case notABatch
    /// They are a batch of another version.
    case version(UInt8)
    /// The check at the end is not that of what stands before it: they are damaged, or shortened.
    case damaged
    /// They end before the batch does: at which octet, and in what.
    case short(at: Int, String)
    /// What stands there can't stand there: at which octet, and what it is.
    case invalid(at: Int, String)
    /// They say what is no batch.
    case contradiction(BatchError)
}

extension BatchFormatError: CustomStringConvertible {
    /// What is the matter, for operators.
    package var description: String {
        switch self {
        case .notABatch: "it is no batch of a gateway"
        case .version(let version):
            "it is a batch of version \(version); this program reads version \(BatchFormat.version): upgrade it"
        case .damaged: "the batch is damaged: its check does not hold"
        case .short(let place, let what): "the batch ends at octet \(place), in \(what)"
        case .invalid(let place, let what): "at octet \(place) of the batch: \(what)"
        case .contradiction(let error): "the batch contradicts itself: \(error)"
        }
    }
}
