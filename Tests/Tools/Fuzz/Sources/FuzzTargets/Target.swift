internal import Glibc

/// What is fuzzed: one input format each, chosen by the environment's `FUZZ_TARGET`.
///
/// Another one is a case here, a file with its function, and seeds in `run`.
enum Target: String, CaseIterable {
    /// HCI events: the reports in them, the assembler, AD structures, iBeacons.
    case hci
    /// Frames of the link layer.
    case linkLayer = "link-layer"
    /// Captures, a target for each format, and one for all of them in gzip or zstd.
    case btsnoop, pcap, pcapng, hcidump, log, compressed
    /// Captures of any format, taken over into each that is written, and read back.
    case convert
    /// Configuration files.
    case yaml
    /// Batches of a site's log.
    case batch

    /// Whether the input is worth being kept as one to derive others from.
    func run(_ input: Span<UInt8>) -> Bool {
        switch self {
        case .hci: fuzzEvents(input)
        case .linkLayer: fuzzFrames(input)
        case .btsnoop, .pcap, .pcapng, .hcidump, .log, .compressed: return fuzzCapture(input, of: self)
        case .convert: return fuzzConversion(input)
        case .yaml: fuzzConfiguration(input)
        case .batch: return fuzzBatch(input)
        }
        return true
    }

    static let chosen: Target = {
        let name = unsafe getenv("FUZZ_TARGET").flatMap { unsafe String(validatingCString: $0) } ?? ""
        guard let target = Target(rawValue: name) else {
            let names = allCases.map(\.rawValue).joined(separator: ", ")
            print("FUZZ_TARGET is '\(name)'; expected one of \(names)")
            exit(64)
        }
        return target
    }()
}

/// libFuzzer's entry point.
@c(LLVMFuzzerTestOneInput)
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = unsafe UnsafeBufferPointer(start: start, count: count)
    // Its own allocation, so that an address sanitizer would see a read past the end.
    let bytes = unsafe [UInt8](input)
    // -1 keeps an input out of the corpus.
    return Target.chosen.run(bytes.span) ? 0 : -1
}
