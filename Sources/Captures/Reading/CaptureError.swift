public import SystemPackage

/// Why a capture can't be read, written or converted at all. What is wrong with single records is ``CaptureDamage``.
public enum CaptureError: Error, Hashable {
    /// The file at `path` can't be opened.
    case openFailed(path: String, Errno)
    /// Reading `path` stopped at `offset` of the file.
    case readFailed(path: String, offset: Int, Errno)
    /// Nothing is in `path`.
    case empty(path: String)
    /// `path` begins with `beginning`, which no format that is read does.
    case unrecognised(path: String, beginning: String)
    /// A btsnoop file of a datalink that is not read.
    case datalinkUnsupported(path: String, UInt32)
    /// A pcap or pcapng file of a link type that is not read.
    case linkTypeUnsupported(path: String, UInt32)
    /// The header of `path` is no header: what is wrong with it.
    case headerInvalid(path: String, String)
    /// Nothing of a compressed file can be inflated: why.
    case inflationFailed(path: String, String)
    /// The file at `path` can't be made.
    case createFailed(path: String, Errno)
    /// Writing `path` stopped.
    case writeFailed(path: String, Errno)
    /// The capture at `path` has no times, and what was asked for needs them.
    case timesAbsent(path: String)
    /// What `--fields` says can't be followed: why.
    case fieldsInvalid(String)
}

extension CaptureError: CustomStringConvertible {
    /// What is wrong, where, and what to do.
    public var description: String {
        switch self {
        case .openFailed(let path, let error): "\(path) can't be opened: \(error)"
        case .readFailed(let path, let offset, let error): "\(path) can't be read from byte \(offset) on: \(error)"
        case .empty(let path): "\(path) is empty"
        // PK\u{3}\u{4} (APPNOTE.TXT §4.3.7). Android hands its log out in one.
        case .unrecognised(let path, let beginning) where beginning.hasPrefix("50 4B 03 04"):
            """
            \(path) is a zip archive, which is not supported; for an Android bug report: unzip -p FILE '*/btsnoop_hci.log' | \
            beacon-gateway replay -
            """
        case .unrecognised(let path, let beginning):
            """
            \(path) starts with \(beginning), which is not a supported format: btsnoop, pcap, pcapng, the text of \
            hcidump --raw or the advertisement log (JSON), each plain or compressed with gzip or zstd
            """
        case .datalinkUnsupported(let path, let datalink):
            "\(path) is btsnoop of datalink \(datalink); supported are 1001 (H1), 1002 (H4) and 2001 (Linux monitor)"
        case .linkTypeUnsupported(let path, let type):
            """
            \(path) has packets of link type \(type); supported are 187 and 201 (H4), 251 and 256 (LE link layer), \
            254 (Linux monitor) and 272 (nRF sniffer)
            """
        case .headerInvalid(let path, let reason): "\(path) has an invalid header: \(reason)"
        case .inflationFailed(let path, let reason): "\(path) can't be decompressed: \(reason)"
        case .createFailed(let path, let error): "\(path) can't be written: \(error)"
        case .writeFailed(let path, let error): "\(path) can't be written to: \(error)"
        case .timesAbsent(let path):
            "\(path) has no times; set the time between records, for example --interval 100ms"
        case .fieldsInvalid(let reason): "--fields \(reason)"
        }
    }
}

/// Something in a capture that is cut off or corrupt: it was passed over, and what is whole was used.
public struct CaptureDamage: Sendable, Hashable {
    /// Where it begins: bytes from the beginning of the capture, inflated where it is compressed.
    public let offset: Int
    /// The number of the record that it would have been, the first being 1.
    public let record: Int
    /// The number of its line, from 1; absent in a binary format, and for a fault of the compression.
    public let line: Int?
    /// What is wrong, in words.
    public let reason: String
}

extension CaptureDamage: CustomStringConvertible {
    /// The place and the reason: `record 3 at line 3, byte 246: …`.
    public var description: String {
        "record \(record) at \(line.map { "line \($0), " } ?? "")byte \(offset): \(reason)"
    }
}

/// The damage that was met in a capture: the first of it in words, all of it in number.
public struct CaptureDamages: Sendable, Hashable {
    /// How many places are described; those beyond are counted.
    public static let keptMax = 16
    /// The first ones, at most ``keptMax``.
    public private(set) var first: [CaptureDamage] = []
    /// How many places were damaged in all.
    public private(set) var total = 0
    /// Whether nothing was wrong.
    public var isEmpty: Bool { total == 0 }

    mutating func note(offset: Int, record: Int, line: Int? = nil, _ reason: @autoclosure () -> String) {
        total += 1
        guard first.count < Self.keptMax else { return }
        first.append(CaptureDamage(offset: offset, record: record, line: line, reason: reason()))
    }
}
