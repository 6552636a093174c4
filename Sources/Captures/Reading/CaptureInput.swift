/// Where a capture comes from.
public enum CaptureInput: Sendable {
    /// The file at a path; `-` is standard input.
    case path(String)
    /// Bytes in memory, with the name that errors call them by.
    case bytes([UInt8], name: String)

    /// Standard input.
    public static var standardInput: CaptureInput { .path("-") }

    /// What errors call it.
    public var name: String {
        switch self {
        case .path(let path): path == "-" ? "standard input" : path
        case .bytes(_, let name): name
        }
    }
}

/// How a capture is read.
public struct CaptureOptions: Sendable {
    /// How other people's advertisement logs name the fields.
    public var fields: FieldMap
    /// The zone of times that name none: those of `hcidump -t`, and in the advertisement log those without an offset.
    /// If it is absent, the former are read as UTC and the latter are refused.
    public var zone: CaptureZone?
    /// The bytes that are held at once, at least 1. One record that is longer makes the window grow, at most to
    /// ``CaptureReader/recordBytesMax``.
    public var windowSize: Int

    /// Creates options for a capture; the defaults are the log's own names, no zone, and a window of 64 KiB.
    public init(fields: FieldMap = FieldMap(), zone: CaptureZone? = nil, windowSize: Int = 64 * 1024) {
        self.fields = fields
        self.zone = zone
        self.windowSize = windowSize
    }
}

/// What a capture turned out to be.
public enum CaptureFormat: Sendable, Hashable {
    /// btsnoop, with its datalink: 1001 (H1), 1002 (H4) or 2001 (Linux monitor).
    case btsnoop(datalink: UInt32)
    /// pcap, with its link type.
    case pcap(linkType: UInt32)
    /// pcapng; each interface has its own link type.
    case pcapng
    /// The text of `hcidump --raw`.
    case hcidump
    /// The advertisement log.
    case advertisementLog
}

extension CaptureFormat: CustomStringConvertible {
    /// Its name, as the manual has it.
    public var description: String {
        switch self {
        case .btsnoop(let datalink): "btsnoop \(datalink)"
        case .pcap(let linkType): "pcap \(linkType)"
        case .pcapng: "pcapng"
        case .hcidump: "hcidump text"
        case .advertisementLog: "advertisement log"
        }
    }
}
