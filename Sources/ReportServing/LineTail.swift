import EventLog

/// The lines that were read last, shared by all clients. A client that has reached the end of the files opens none of
/// them.
struct LineTail {
    /// A line as streams send it.
    struct Line {
        /// The sequence number of the line; at least 1.
        let sequence: Int
        /// The number of sequence numbers before it that have no line in the files.
        let missedBefore: Int
        /// The published payload.
        let payload: [UInt8]
    }

    /// The maximum number of lines, and of their bytes: some seconds of a busy site. A client that needs earlier lines
    /// reads the files.
    static let linesMax = 256
    static let bytesMax = 256 << 10

    private var lines: [Line] = []
    private var bytes = 0
    private let payloads = LinePayload()
    // The count of sequence numbers without a line since the last stored line.
    private var missed = 0
    /// The line after which all published lines are stored.
    private(set) var begin: Int
    /// The last line that was noted, published or not.
    private(set) var end: Int

    /// Creates a tail without lines, after the line `sequence`.
    init(after sequence: Int) { (begin, end) = (sequence, sequence) }

    /// Adds the next line. Earlier lines are ignored.
    ///
    /// - Parameters:
    ///   - line: the bytes in the file.
    ///   - message: the same line, parsed.
    ///   - missed: the number of sequence numbers before it that have no line in the files.
    mutating func note(_ line: [UInt8], _ message: LineMessage, missed: Int) {
        guard let sequence = message.sequence, sequence > end else { return }
        end = sequence
        self.missed += missed
        guard message.isPublished else { return }
        // A line with a number whose payload is not a JSON object counts as missed.
        guard let payload = payloads.bytes(line[message.payload]) else {
            self.missed += 1
            return
        }
        lines.append(Line(sequence: sequence, missedBefore: self.missed, payload: payload))
        self.missed = 0
        bytes += payload.count
        while lines.count > Self.linesMax || bytes > Self.bytesMax {
            let oldest = lines.removeFirst()
            bytes -= oldest.payload.count
            begin = oldest.sequence
        }
    }

    /// Returns whether all published lines after `sequence` are stored or still to come.
    func knowsAll(behind sequence: Int) -> Bool { sequence >= begin }

    /// Returns the first line after `sequence`; `nil` if there is none.
    func first(behind sequence: Int) -> Line? {
        var (low, high) = (0, lines.count)
        while low < high {
            let middle = (low + high) / 2
            if lines[middle].sequence > sequence { high = middle } else { low = middle + 1 }
        }
        return low < lines.count ? lines[low] : nil
    }
}
