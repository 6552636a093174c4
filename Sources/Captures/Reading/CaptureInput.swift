/// The origin of a capture.
public enum CaptureInput: Sendable {
    /// The file at a path; `-` is standard input.
    case path(String)
    /// Bytes in memory, with a name for errors.
    case bytes([UInt8], name: String)

    /// Standard input.
    public static var standardInput: CaptureInput { .path("-") }

    /// The name in errors.
    public var name: String {
        switch self {
        case .path(let path): path == "-" ? "standard input" : path
        case .bytes(_, let name): name
        }
    }
}

/// The options for reading a capture.
public struct CaptureOptions: Sendable {
    /// The names of the fields in an advertisement log of another program.
    public var fields: FieldMap
    /// The zone of times without one: those of `hcidump -t`, and those without an offset in the advertisement log. If
    /// it is `nil`, the former are read as UTC and the latter are errors.
    public var zone: CaptureZone?
    /// The size of the window in bytes, at least 1; 64 KiB by default. A longer record makes the window grow, at most
    /// to ``CaptureReader/recordBytesMax``.
    public var windowSize: Int
    /// Whether some records of an advertisement log can lack a time although others have one.
    package var timesAreOptional = false

    /// Creates options. By default: the names of the advertisement log itself, no zone, and a window of 64 KiB.
    public init(fields: FieldMap = FieldMap(), zone: CaptureZone? = nil, windowSize: Int = 64 * 1024) {
        self.fields = fields
        self.zone = zone
        self.windowSize = windowSize
    }
}

/// The state of reading a stream.
package struct CaptureProgress: Sendable {
    /// Whether the next read would wait for another program.
    package let waits: Bool
    /// The number of bytes that were read.
    package let position: Int
    /// The damage so far.
    package let damages: CaptureDamages
}

/// The format of a capture.
public enum CaptureFormat: Sendable, Hashable {
    /// btsnoop, with its datalink: 1001 (H1), 1002 (H4) or 2001 (Linux monitor).
    case btsnoop(datalink: UInt32)
    /// pcap, with its link type.
    case pcap(linkType: UInt32)
    /// pcapng; each interface has its own link type.
    case pcapng
    /// Apple's PacketLogger (`.pklg`).
    case packetLogger
    /// The text of `hcidump --raw`.
    case hcidump
    /// The advertisement log.
    case advertisementLog
}

extension CaptureFormat: CustomStringConvertible {
    /// The name of the format, as in the manual.
    public var description: String {
        switch self {
        case .btsnoop(let datalink): "btsnoop \(datalink)"
        case .pcap(let linkType): "pcap \(linkType)"
        case .pcapng: "pcapng"
        case .packetLogger: "PacketLogger"
        case .hcidump: "hcidump text"
        case .advertisementLog: "advertisement log"
        }
    }
}
