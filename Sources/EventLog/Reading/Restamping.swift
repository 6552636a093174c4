import BeaconMonitoring
import JSON
import SystemPackage

/// What the `clock` lines say about dates that were printed before them.
///
/// The offset between wall clock and timeline is one number between steps, and a step corrects an error. So the dates of
/// all lines of one start of the machine become right with the offset that it had last while it was synchronised, or
/// had last where it never was.
struct Restamping: Kept {
    private struct Known: Kept {
        var offset: ClockOffset
        var isSynchronized: Bool

        static var blank: Known { Known(offset: .zero, isSynchronized: false) }
        mutating func pass(_ octets: inout KeptOctets) throws(KeptOctets.Damage) {
            try octets.pass(&offset)
            try octets.pass(&isSynchronized)
        }
    }

    private var offsets: [String: Known] = [:]

    init() {}

    static var blank: Restamping { Restamping() }
    mutating func pass(_ octets: inout KeptOctets) throws(KeptOctets.Damage) { try octets.pass(&offsets) }

    /// Takes in a `clock` line.
    mutating func note(_ change: ClockChange, machine: String) {
        if let known = offsets[machine], known.isSynchronized, !change.isSynchronized { return }
        offsets[machine] = Known(offset: change.after, isSynchronized: change.isSynchronized)
    }

    /// What the dates of a start of the machine are to be printed with; `nil` where they are as they should be.
    func offset(of machine: String) -> ClockOffset? { offsets[machine]?.offset }

    /// A date of a line, put right.
    func date(_ date: WallDate, printedWith offset: ClockOffset, machine: String) -> WallDate {
        guard let right = offsets[machine]?.offset else { return date }
        let (difference, overflow) = right.nanoseconds.subtractingReportingOverflow(offset.nanoseconds)
        // Less is what cutting to microseconds leaves.
        guard !overflow, difference.magnitude > 2000 else { return date }
        let (moved, overflowed) = date.microseconds.addingReportingOverflow(difference / 1000)
        return overflowed ? date : WallDate(microseconds: moved)
    }

    /// Takes in the `clock` lines of a segment, which need not be the last.
    ///
    /// - Throws: ``EventLogError/readFailed(_:_:)``.
    mutating func note(clockLinesOf path: FilePath, _ files: any FileSystemCalls) throws(EventLogError) {
        var parser = LineParser()
        do throws(Errno) {
            var reader = try SegmentReader(path, files: files)
            while try reader.next(containing: "\"type\":\"clock\"", into: &parser.text.bytes) {
                guard parser.parse(), parser.head.kind == .clock, let change = parser.clockChange() else { continue }
                note(change, machine: String(BootID.machine(of: parser.boot)))
            }
        } catch {
            throw .readFailed(path.string, error)
        }
    }

    /// Takes in the `clock` lines of a segment.
    ///
    /// - Returns: whether its last line is of the start of the machine that is asked for, so that more may follow.
    mutating func read(_ path: FilePath, _ files: any FileSystemCalls, until machine: String) -> Bool {
        var parser = LineParser()
        var isSame = false
        guard var reader = try? SegmentReader(path, files: files) else { return false }
        while (try? reader.next(into: &parser.text.bytes)) ?? false {
            guard parser.parse() else { continue }
            let boot = parser.boot
            isSame = BootID.machine(of: boot) == machine
            if parser.head.kind == .clock, let change = parser.clockChange() {
                note(change, machine: String(BootID.machine(of: boot)))
            }
        }
        return isSame
    }
}
