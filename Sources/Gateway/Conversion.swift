public import Captures

#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// One capture taken over into another format.
public struct Conversion {
    /// How it ended.
    public struct Outcome: Sendable {
        /// How many records were read.
        public var records: Int
        /// What the target could not hold, in words.
        public var losses: [String]
        /// What was wrong with the capture, each with its file.
        public var damages: [String]
    }

    private let input: CaptureInput
    private let output: String
    private let format: CaptureWriter.Format
    private let fields: FieldMap
    private let interval: Duration?

    /// A conversion of `input` to a file at `output`, `-` for standard output.
    public init(
        _ input: CaptureInput, to output: String, format: CaptureWriter.Format, fields: FieldMap = FieldMap(),
        interval: Duration? = nil
    ) {
        self.input = input
        self.output = output
        self.format = format
        self.fields = fields
        self.interval = interval
    }

    /// The format that a file name's ending tells; `nil` where it tells none.
    public static func format(ofName name: String) -> CaptureWriter.Format? {
        let ending = name.split(separator: ".", omittingEmptySubsequences: false).last.map { $0.lowercased() }
        switch ending {
        case "btsnoop", "snoop", "cfa": return .btsnoop
        case "pcapng": return .pcapng
        case "jsonl", "json", "ndjson": return .advertisementLog
        default: return nil
        }
    }

    /// Converts all there is.
    ///
    /// - Throws: ``ExitFailure`` where the input or the output can't be used.
    public func run() throws(ExitFailure) -> Outcome {
        guard !isSameFile else {
            throw ExitFailure(.usage, "\(output) is the capture that is read; name another file for the result")
        }
        do throws(CaptureError) {
            var reader = try CaptureReader(input, options: CaptureOptions(fields: fields))
            guard reader.hasTimes || interval != nil else { throw CaptureError.timesAbsent(path: reader.name) }
            var writer = try CaptureWriter(path: output, format: format)
            var converter = CaptureConverter(interval: interval)
            var progress = Progress(size: reader.size)
            try converter.convert(&reader, to: &writer) { position in
                // The converter tells how far it has come every 65,536 records.
                progress.note(65_536) { position }
            }
            progress.end()
            try writer.close()
            return Outcome(
                records: converter.records, losses: converter.losses.map(\.description),
                damages: Replay.describe(reader.damages, of: reader.name))
        } catch {
            throw ExitFailure(error)
        }
    }

    /// Whether the result would take the place of the capture before it is read.
    private var isSameFile: Bool {
        guard case .path(let path) = input, path != "-", output != "-" else { return false }
        var (from, to) = (stat(), stat())
        guard unsafe stat(path, &from) == 0, unsafe stat(output, &to) == 0 else { return false }
        return from.st_dev == to.st_dev && from.st_ino == to.st_ino
    }
}
