import BeaconMonitoring
import JSON

/// Makes lines of octets as they come, with the dates that the `clock` lines so far put right: what ``LogReader`` does with
/// files that are whole, for whoever follows them.
package struct LineDating {
    private var parser = LineParser()
    private var stamping = Restamping()
    private var boot = LogReader.Boot()
    // The last `clock` line that was taken in: read once more, it says nothing new.
    private var clockSequence = 0
    /// Whether a `clock` line has put right what was dated before it: whoever keeps dates reads all lines once more, after
    /// ``beginAnew()``.
    package private(set) var isOutdated = false

    /// Nothing has been read yet.
    package init() {
        parser.readsAddresses = false
        parser.readsSightings = false
    }

    /// Goes back to the first line, with what is known of dates by now.
    package mutating func beginAnew() { isOutdated = false }

    /// What a line begins with, and what it says; `nil` where it is none, or of a greater version, and no entry where its
    /// type has none.
    package mutating func read(_ octets: [UInt8]) -> (head: LineParser.Head, line: LogLine?)? {
        parser.text.bytes.removeAll(keepingCapacity: true)
        parser.text.bytes.append(contentsOf: octets)
        guard parser.parse() else { return nil }
        guard parser.head.version <= LineVersion.current else { return (parser.head, nil) }
        if parser.head.kind == .clock { noteClock() }
        return (parser.head, LogReader.line(&parser, &boot, stamping))
    }

    /// That a gateway was alive, with its date put right.
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
        // Less is what cutting to microseconds leaves.
        let difference = (stamping.offset(of: machine) ?? known).nanoseconds
            .subtractingReportingOverflow(known.nanoseconds)
        if difference.overflow || difference.partialValue.magnitude > 2000 { isOutdated = true }
        // What it holds of the start is not so any more.
        boot = LogReader.Boot()
    }
}

extension LineDating: Kept {
    package static var blank: LineDating { LineDating() }

    /// What the `clock` lines said; not what is made of each line anew.
    package mutating func pass(_ octets: inout KeptOctets) throws(KeptOctets.Damage) {
        try octets.pass(&stamping)
        try octets.pass(&clockSequence)
        boot = LogReader.Boot()
    }
}
