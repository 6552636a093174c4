package import Captures

extension CaptureWriter.Format {
    /// The format that a file name's ending tells; `nil` where it tells none.
    package init?(fileName name: String) {
        let ending = name.split(separator: ".", omittingEmptySubsequences: false).last.map { $0.lowercased() }
        switch ending {
        case "btsnoop", "snoop", "cfa": self = .btsnoop
        case "pcapng": self = .pcapng
        case "jsonl", "json", "ndjson": self = .advertisementLog
        default: return nil
        }
    }
}
