package import Captures
package import CommandSupport
import Glibc

/// Converts one capture to another format.
package struct Conversion {
    /// The result of a conversion.
    package struct Outcome: Sendable {
        /// The number of records that were read.
        package var records: Int
        /// Sentences about the data that the output format could not store.
        package var losses: [String]
        /// Sentences about how times without a time zone were interpreted.
        package var remarks: [String]
        /// Sentences about the damage in the capture, each with the name of the file.
        package var damages: [String]
    }

    private let input: CaptureInput
    private let output: String
    private let format: CaptureWriter.Format
    private let fields: FieldMap
    private let zone: CaptureZone?
    private let interval: Duration?

    /// Creates a conversion of `input` to a file at `output`; `-` is standard output.
    package init(
        _ input: CaptureInput, to output: String, format: CaptureWriter.Format, fields: FieldMap = FieldMap(),
        zone: CaptureZone? = nil, interval: Duration? = nil
    ) {
        self.input = input
        self.output = output
        self.format = format
        self.fields = fields
        self.zone = zone
        self.interval = interval
    }

    /// Converts all records.
    ///
    /// - Throws: ``ExitFailure`` if the input or the output cannot be used.
    package func run() throws(ExitFailure) -> Outcome {
        guard !isSameFile else {
            throw ExitFailure(.usage, "\(output) is also the input; use another file for the output")
        }
        var advice: [String] = []
        do throws(CaptureError) {
            var reader = try CaptureReader(input, options: CaptureOptions(fields: fields, zone: zone))
            guard reader.hasTimes || interval != nil else {
                advice = reader.unreadKeyRemarks.map { "warning: \($0)" }
                throw CaptureError.timesAbsent(path: reader.name)
            }
            var writer = try CaptureWriter(path: output, format: format)
            var converter = CaptureConverter(interval: interval)
            var progress = Progress(size: reader.size)
            try converter.convert(&reader, to: &writer) { position in
                // The converter calls this every 65,536 records.
                progress.note(65_536) { position }
            }
            progress.end()
            try writer.close()
            var outcome = Outcome(
                records: converter.records, losses: converter.losses.map(\.description),
                remarks: reader.remarks.map { "warning: \($0)" }, damages: reader.damages.lines(of: reader.name))
            if !converter.hasBeacon, let misplaced = reader.misplacedAdvertisement {
                outcome.damages.append("\(reader.name): \(misplaced)")
            }
            return outcome
        } catch {
            let failure = ExitFailure(error)
            throw ExitFailure(failure.code, (advice + [failure.message]).joined(separator: "\n"))
        }
    }

    /// Whether the output is the same file as the input. It would be overwritten before it is read.
    private var isSameFile: Bool {
        guard case .path(let path) = input, path != "-", output != "-" else { return false }
        var (from, to) = (stat(), stat())
        guard unsafe stat(path, &from) == 0, unsafe stat(output, &to) == 0 else { return false }
        return from.st_dev == to.st_dev && from.st_ino == to.st_ino
    }
}
