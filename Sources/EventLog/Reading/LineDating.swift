import BeaconMonitoring
import JSON

/// Decodes lines one by one, with dates corrected by the `clock` lines read so far. It does for followers of files what
/// ``LogReader`` does for complete files.
package struct LineDating {
    private var parser = LineParser()
    private var stamping = Restamping()
    private var boot = LogReader.Boot()
    // The number of the last `clock` line that was applied. If the same line is read again, it is ignored.
    private var clockSequence = 0
    /// Whether a `clock` line has corrected dates of earlier lines. A caller that stores dates must then call
    /// ``prepareForRereading()`` and read all lines again.
    package private(set) var isOutdated = false

    /// Creates a decoder that has read no line.
    package init() {
        parser.readsAddresses = false
        parser.readsSightings = false
    }

    /// Prepares for reading from the first line again. The corrections of dates are kept.
    package mutating func prepareForRereading() { isOutdated = false }

    /// Decodes a line. Returns its head, and its entry if its type and version have one; `nil` if the bytes are not a
    /// line.
    package mutating func read(_ bytes: [UInt8]) -> (head: LineParser.Head, line: LogLine?)? {
        parser.text.bytes.removeAll(keepingCapacity: true)
        parser.text.bytes.append(contentsOf: bytes)
        guard parser.parse() else { return nil }
        guard parser.head.version <= LineVersion.current else { return (parser.head, nil) }
        if parser.head.kind == .clock { noteClock() }
        return (parser.head, LogReader.line(&parser, &boot, stamping))
    }

    /// Returns the date at which a gateway was alive, with the clock corrected.
    package func proof(_ life: ProofOfLife) -> LogReader.Proof {
        let offset = stamping.offset(of: String(BootID.machine(of: life.boot))) ?? life.offset
        return LogReader.Proof(gateway: life.gateway, date: WallDate(life.time, offset: offset))
    }

    private mutating func noteClock() {
        guard let sequence = parser.head.sequence, sequence > clockSequence, let change = parser.clockChange() else {
            return
        }
        clockSequence = sequence
        let machine = String(BootID.machine(of: parser.boot))
        let known = stamping.offset(of: machine) ?? change.before
        stamping.note(change, machine: machine)
        // A smaller difference results from rounding down to microseconds.
        let difference = (stamping.offset(of: machine) ?? known).nanoseconds
            .subtractingReportingOverflow(known.nanoseconds)
        if difference.overflow || difference.partialValue.magnitude > 2000 { isOutdated = true }
        // Values computed for this start are outdated.
        boot = LogReader.Boot()
    }
}

extension LineDating: ByteCoded {
    package static var blank: LineDating { LineDating() }

    /// Writes or reads the content of the `clock` lines. Values computed from them are not stored.
    package mutating func code(with coder: inout ByteCoder) throws(ByteCoder.Damage) {
        try coder.code(&stamping)
        try coder.code(&clockSequence)
        boot = LogReader.Boot()
    }
}
