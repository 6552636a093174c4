/// Constants of the batch format, which docs/site-format.md describes byte by byte. Numbers have their lowest byte
/// first.
enum BatchFormat {
    /// The first bytes of a batch: `BGSB`.
    static let magic: [UInt8] = [0x42, 0x47, 0x53, 0x42]
    /// The only version that is written.
    static let version: UInt8 = 1
    /// The size of the check at the end, in bytes.
    static let checkBytes = 4

    /// The bit of the batch's own flags.
    static let isStart: UInt8 = 1
    /// The bits of an adapter's flags.
    static let isListening: UInt8 = 1, hasAddress: UInt8 = 2, hasReports: UInt8 = 4
    /// The kinds of a change. The bit `hasReason` means that a reason follows.
    static let started: UInt8 = 0, stopped: UInt8 = 1, removed: UInt8 = 2, hasReason: UInt8 = 0x80
    /// The value in place of an address type if there is no address.
    static let noAddress: UInt8 = 0xFF

    /// The minimum sizes of the elements, in bytes. With them, a count that cannot fit into the remaining bytes is
    /// refused.
    static let changeBytesMin = 3, uuidBytesMin = 16, advertiserBytesMin = 7, sightingBytesMin = 4
}

/// A reason why bytes are not a valid batch. A refused batch has changed nothing.
package enum BatchFormatError: Error, Hashable, Sendable {
    /// The bytes do not start like a batch.
    case notABatch
    /// The batch has another version.
    case version(UInt8)
    /// The check at the end does not match the bytes before it: the batch is damaged or shortened.
    case damaged
    /// The bytes end before the batch does: the index of the byte, and the incomplete part.
    case short(at: Int, String)
    /// A part is invalid: the index of the byte, and a description.
    case invalid(at: Int, String)
    /// The parts are valid, but do not form a valid batch.
    case contradiction(BatchError)
}

extension BatchFormatError: CustomStringConvertible {
    /// The error, in words for operators.
    package var description: String {
        switch self {
        case .notABatch: "it is not a batch of a gateway"
        case .version(let version):
            "it is a batch of version \(version); this program reads version \(BatchFormat.version): upgrade it"
        case .damaged: "the batch is damaged: its checksum does not match"
        case .short(let place, let what): "the batch ends at byte \(place), in \(what)"
        case .invalid(let place, let what): "at byte \(place) of the batch: \(what)"
        case .contradiction(let error): "the batch contradicts itself: \(error)"
        }
    }
}
