import EventLog

/// The lines that came last, read once for all who look: whoever has come to the end of the files opens none of them.
struct LineTail {
    /// A line as streams tell it.
    struct Line {
        /// The number that it has in the files, from 1 up.
        let sequence: Int
        /// How many numbers before it have no line in the files.
        let missedBefore: Int
        /// What is published of it.
        let payload: [UInt8]
    }

    /// The most lines that are held, and their octets: some seconds of a busy site. Whoever is further behind reads files.
    static let linesMax = 256
    static let octetsMax = 256 << 10

    private var lines: [Line] = []
    private var octets = 0
    private let payloads = LinePayload()
    // Numbers without a line since the last one that is held.
    private var missed = 0
    /// The line behind which all are known: each that was published since is held.
    private(set) var begin: Int
    /// The last line that was noted, published or not.
    private(set) var end: Int

    /// Nothing has come behind that line yet.
    init(after sequence: Int) { (begin, end) = (sequence, sequence) }

    /// Takes the next line; what was taken before is passed over.
    ///
    /// - Parameters:
    ///   - line: the octets, as they stand in the file.
    ///   - message: the same, taken apart.
    ///   - missed: how many numbers before it have no line in the files.
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
        octets += payload.count
        while lines.count > Self.linesMax || octets > Self.octetsMax {
            let oldest = lines.removeFirst()
            octets -= oldest.payload.count
            begin = oldest.sequence
        }
    }

    /// Whether each line behind that one which is told at all is held, or still to come.
    func knowsAll(behind sequence: Int) -> Bool { sequence >= begin }

    /// The first line behind that number.
    func first(behind sequence: Int) -> Line? {
        var (low, high) = (0, lines.count)
        while low < high {
            let middle = (low + high) / 2
            if lines[middle].sequence > sequence { high = middle } else { low = middle + 1 }
        }
        return low < lines.count ? lines[low] : nil
    }
}
