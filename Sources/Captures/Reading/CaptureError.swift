public import SystemPackage

/// An error that prevents reading, writing or converting a capture. Errors of single records are ``CaptureDamage``.
public enum CaptureError: Error, Hashable {
    /// The file at `path` cannot be opened.
    case openFailed(path: String, Errno)
    /// Reading `path` failed at byte `offset` of the file.
    case readFailed(path: String, offset: Int, Errno)
    /// The file at `path` is empty.
    case empty(path: String)
    /// The file at `path` has a format that is recognised but not read.
    case unsupported(path: String, UnsupportedFormat)
    /// The file at `path` has an unknown format. If it is a text, `beginning` is the start of its first line, quoted.
    case unrecognised(path: String, beginning: String?)
    /// The btsnoop file at `path` has a datalink that is not supported.
    case datalinkUnsupported(path: String, UInt32)
    /// The pcap or pcapng file at `path` has a link type that is not supported.
    case linkTypeUnsupported(path: String, UInt32)
    /// The header of `path` is invalid, with the reason.
    case headerInvalid(path: String, String)
    /// Nothing of the compressed file at `path` can be decompressed, with the reason. A later error is a
    /// ``CaptureDamage``.
    case inflationFailed(path: String, String)
    /// The file at `path` cannot be created.
    case createFailed(path: String, Errno)
    /// Writing to `path` failed.
    case writeFailed(path: String, Errno)
    /// The capture at `path` has no times, but the operation needs them.
    case timesAbsent(path: String)
    /// The text of `--fields` is invalid, with the reason.
    case fieldsInvalid(String)
}

extension CaptureError: CustomStringConvertible {
    private static var formats: String {
        """
        btsnoop, pcap, pcapng, PacketLogger, the text of hcidump --raw and advertisement logs (JSON, or CSV with a header \
        line), each plain or with gzip, bzip2, xz or zstd
        """
    }

    /// A text for operators: what failed, where, and what to do.
    public var description: String {
        switch self {
        case .openFailed(let path, let error): "\(path) can't be opened: \(error)"
        case .readFailed(let path, let offset, let error): "\(path) can't be read from byte \(offset) on: \(error)"
        case .empty(let path): "\(path) is empty"
        case .unsupported(let path, let format): "\(path) is \(format.description(of: path))"
        case .unrecognised(let path, let beginning?):
            """
            \(path) starts with \(beginning), which is the text of an unknown format. Supported are \(Self.formats). Convert \
            the text to JSON, one advertisement per line: {"time":"2026-11-21T07:46:27Z","rssi":-60,"data":"0201…"}
            """
        case .unrecognised(let path, nil):
            """
            \(path) has an unknown format. Supported are \(Self.formats). The command file prints the format of a file; if it \
            can be converted to one of these, convert it.
            """
        case .datalinkUnsupported(let path, let datalink):
            "\(path) is btsnoop of datalink \(datalink); supported are 1001 (H1), 1002 (H4) and 2001 (Linux monitor)"
        case .linkTypeUnsupported(let path, let type):
            """
            \(path) has packets of link type \(type); supported are 187 and 201 (H4), 251 and 256 (LE link layer), \
            254 (Linux monitor), 157 and 272 (nRF sniffer), and 192 (PPI) with one of these
            """
        case .headerInvalid(let path, let reason): "\(path) has an invalid header: \(reason)"
        case .inflationFailed(let path, let reason): "\(path) can't be decompressed: \(reason)"
        case .createFailed(let path, let error): "\(path) can't be written: \(error)"
        case .writeFailed(let path, let error): "\(path) can't be written to: \(error)"
        case .timesAbsent(let path):
            "\(path) has no times; set the time between records, for example --interval 100ms"
        case .fieldsInvalid(let reason): "the field map \(reason)"
        }
    }
}

/// A truncated or corrupt part of a capture. It was skipped, and the complete records were used. In a binary format,
/// nothing after a broken record can be read.
public struct CaptureDamage: Sendable, Hashable {
    /// The offset of its start in bytes, in the decompressed capture.
    public let offset: Int
    /// The number that the record would have had; the first record is 1.
    public let record: Int
    /// The number of the line, from 1; `nil` in a binary format, and for errors of the compression.
    public let line: Int?
    /// The reason as a text.
    public let reason: String
}

extension CaptureDamage: CustomStringConvertible {
    /// The place and the reason: `record 3 at line 3, byte 246: …`.
    public var description: String {
        "record \(record) at \(line.map { "line \($0), " } ?? "")byte \(offset): \(reason)"
    }
}

/// The damage in a capture: the first places with their reasons, and the number of all.
public struct CaptureDamages: Sendable, Hashable {
    /// The maximum number of places with reasons. Further ones are only counted.
    public static let placesMax = 16
    /// The first places, at most ``placesMax``.
    public private(set) var first: [CaptureDamage] = []
    /// The number of all damaged places.
    public private(set) var total = 0
    /// Whether there was no damage.
    public var isEmpty: Bool { total == 0 }

    mutating func note(offset: Int, record: Int, line: Int? = nil, _ reason: @autoclosure () -> String) {
        total += 1
        guard first.count < Self.placesMax else { return }
        first.append(CaptureDamage(offset: offset, record: record, line: line, reason: reason()))
    }
}
