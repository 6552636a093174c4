import BeaconMonitoring
import JSON
import SystemPackage

/// The corrections that `clock` lines make to dates printed before them.
///
/// The offset between wall clock and timeline is constant between steps, and a step corrects an error. So for all lines
/// of a start of the machine, the right offset is the last one while the clock was synchronized. If it never was, it is
/// the last offset.
struct Restamping: ByteCoded {
    private struct Known: ByteCoded {
        var offset: ClockOffset
        var isSynchronized: Bool

        static var blank: Known { Known(offset: .zero, isSynchronized: false) }
        mutating func code(with coder: inout ByteCoder) throws(ByteCoder.Damage) {
            try coder.code(&offset)
            try coder.code(&isSynchronized)
        }
    }

    private var offsets: [String: Known] = [:]

    init() {}

    static var blank: Restamping { Restamping() }
    mutating func code(with coder: inout ByteCoder) throws(ByteCoder.Damage) { try coder.code(&offsets) }

    /// Applies a `clock` line.
    mutating func note(_ change: ClockChange, machine: String) {
        if let known = offsets[machine], known.isSynchronized, !change.isSynchronized { return }
        offsets[machine] = Known(offset: change.after, isSynchronized: change.isSynchronized)
    }

    /// Returns the right offset for the dates of a start of the machine; `nil` if no correction is needed.
    func offset(of machine: String) -> ClockOffset? { offsets[machine]?.offset }

    /// Returns a date of a line, corrected.
    func date(_ date: WallDate, printedWith offset: ClockOffset, machine: String) -> WallDate {
        guard let right = offsets[machine]?.offset else { return date }
        let (difference, overflow) = right.nanoseconds.subtractingReportingOverflow(offset.nanoseconds)
        // A smaller difference results from rounding down to microseconds.
        guard !overflow, difference.magnitude > 2000 else { return date }
        let (moved, overflowed) = date.microseconds.addingReportingOverflow(difference / 1000)
        return overflowed ? date : WallDate(microseconds: moved)
    }

    /// Applies the `clock` lines of a segment, which need not be the last one.
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

    /// Applies the `clock` lines of a segment.
    ///
    /// - Returns: true if its last line belongs to the given start of the machine, so that the next segment can have
    ///   more of its lines.
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
