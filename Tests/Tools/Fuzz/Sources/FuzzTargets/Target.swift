internal import Glibc

/// A target of the fuzzer: one input format. The environment variable `FUZZ_TARGET` selects it.
///
/// To add a target, add a case here, a file with its function, and its name and seeds in `run`.
enum Target: String, CaseIterable {
    /// HCI events: their reports, the assembler, AD structures and iBeacons.
    case hci
    /// Frames of the link layer.
    case linkLayer = "link-layer"
    /// Captures: a target for each format, and one for captures of all formats, compressed.
    case btsnoop, pcap, pcapng, hcidump, log, compressed
    case packetLogger = "packet-logger"
    /// Inputs of formats that are recognised but not read.
    case unsupported
    /// Captures of any format, converted to each format that can be written, and read again.
    case convert
    /// Configuration files.
    case yaml
    /// Batches of a site's log.
    case batch

    /// Checks `input` and returns whether libFuzzer should keep it in the corpus, from which new inputs are derived. If
    /// a check fails, the process ends.
    func run(_ input: Span<UInt8>) -> Bool {
        switch self {
        case .hci: fuzzEvents(input)
        case .linkLayer: fuzzFrames(input)
        case .btsnoop, .pcap, .pcapng, .packetLogger, .hcidump, .log, .compressed, .unsupported:
            return fuzzCapture(input, of: self)
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
    // A separate allocation, so that an address sanitizer would detect a read past the end.
    let bytes = unsafe [UInt8](input)
    // If the result is -1, libFuzzer does not add the input to the corpus.
    return Target.chosen.run(bytes.span) ? 0 : -1
}
