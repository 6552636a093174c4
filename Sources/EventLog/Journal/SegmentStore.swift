import BaseTypes
import BeaconMonitoring
import JSON
import SystemPackage

/// The event files of a folder in the order of their lines. It deletes the oldest closed files if they are too old or
/// if all files together are too large.
struct SegmentStore {
    /// The values, apart from the files themselves, that decide which files are deleted.
    struct Present {
        var now: Instant
        var clockOffset: ClockOffset
        /// The ID of the start of the machine.
        var machine: String
        /// The name of the open file, which is never deleted, and how many of its bytes are written but not durable.
        var open: String?
        var written: Int
        /// The number of the last durable line.
        var durable: Int
        /// The number up to which a publisher has finished.
        var publishedSequence: Int
        /// The number up to which the last snapshot covers the lines.
        var covered: Int

        /// Returns the time since a date; `nil` if it cannot be computed.
        func age(of date: WallDate) -> Duration? { WallDate(now, offset: clockOffset).duration(since: date) }
    }

    private static let remarkInterval: Duration = .seconds(3600)

    private let options: JournalOptions
    private let files: any FileSystemCalls
    /// In the order of their numbers. The last one is the open file, if one is open.
    private var segments: [Segment]
    private var lastEarlyRemark: Instant?

    init(_ segments: [Segment], _ options: JournalOptions, _ files: any FileSystemCalls) {
        self.segments = segments
        self.options = options
        self.files = files
    }

    /// The date when the last file was started.
    var lastDate: WallDate? { segments.last?.date }

    /// Adds a file that was started.
    mutating func add(_ name: String) {
        if let segment = Segment(name: name) { segments.append(segment) }
    }

    /// Sets the size of the last file.
    mutating func setSize(_ size: Int) {
        if let last = segments.indices.last { segments[last].size = size }
    }

    /// Removes a file that no longer exists.
    ///
    /// - Returns: the number at the start of its name if it was the last file; otherwise `nil`.
    mutating func forget(_ name: String) -> Int? {
        let first = segments.last?.name == name ? segments.last?.first : nil
        segments.removeAll { $0.name == name }
        return first
    }

    /// Deletes closed files that are too old, and the oldest closed files while all together are too large.
    mutating func deleteSome(_ present: Present, _ tally: inout WriteTally, _ remarks: inout RemarkLog) {
        while let oldest = segments.first, oldest.name != present.open, isPublished(0, present),
            last(of: 0, present) <= present.covered, isOld(0, present)
        {
            guard delete(&tally) else { return }
        }
        var size = segments.reduce(0) { $0 + $1.size } + (present.open == nil ? 0 : present.written)
        while size > options.retainSize, let oldest = segments.first, oldest.name != present.open {
            size -= oldest.size
            if !isPublished(0, present) { noteUnpublished(present, &tally, &remarks) }
            noteEarly(present, &tally, &remarks)
            guard delete(&tally) else { return }
        }
    }

    /// Returns the number of the last line of a file, or a number that is not lower.
    private func last(of index: Int, _ present: Present) -> Int {
        index + 1 < segments.count ? segments[index + 1].begins - 1 : present.durable
    }

    private func isPublished(_ index: Int, _ present: Present) -> Bool {
        !options.waitsForPublishing || last(of: index, present) <= present.publishedSequence
    }

    private func noteUnpublished(_ present: Present, _ tally: inout WriteTally, _ remarks: inout RemarkLog) {
        let count = max(0, last(of: 0, present) - max(present.publishedSequence, segments[0].begins - 1))
        tally.counters.deletedUnpublished += count
        remarks.say(
            "\(segments[0].name) had to be deleted with \(count == 1 ? "1 line that was" : "\(count) lines that were") not published: all files together may have at most "
                + "\(options.retainSize) bytes")
    }

    /// Counts a file that `retain` would have kept. A warning about it is written at most once an hour, because the
    /// cause can be a flood of forged beacons.
    private mutating func noteEarly(_ present: Present, _ tally: inout WriteTally, _ remarks: inout RemarkLog) {
        // Its last line is older than the next file, by the clock at that time. To read the whole file would take too
        // long here.
        let end = segments.count > 1 ? segments[1].date : segments[0].date
        if let age = present.age(of: end), age > options.retain { return }
        tally.counters.deletedEarly += 1
        if let last = lastEarlyRemark, present.now < last + Self.remarkInterval { return }
        lastEarlyRemark = present.now
        remarks.say(
            "\(segments[0].name) is deleted before output.retain has passed, because all files have more than the "
                + "\(options.retainSize) bytes of output.retain_size; \(tally.counters.deletedEarly) since the start. "
                + "If the number of lines has no other reason, check for forged beacons")
    }

    /// Deletes the oldest file, and returns true if it could be deleted.
    private mutating func delete(_ tally: inout WriteTally) -> Bool {
        do throws(Errno) {
            try files.remove(options.directory.appending(segments[0].name))
        } catch {
            if error != .noSuchFileOrDirectory {
                tally.counters.failures += 1
                return false
            }
        }
        segments.removeFirst()
        tally.counters.deletedSegments += 1
        return true
    }

    // MARK: Age

    /// Returns true if the last line of a file is older than lines are kept, by its date after the `clock` lines have
    /// corrected it.
    private mutating func isOld(_ index: Int, _ present: Present) -> Bool {
        guard let age = lastDate(of: index, present).flatMap({ present.age(of: $0) }) else { return false }
        return age > options.retain
    }

    /// Returns the date of the last line of a file; `nil` if the file has no line or cannot be read.
    private mutating func lastDate(of index: Int, _ present: Present) -> WallDate? {
        if segments[index].age == nil { segments[index].age = age(of: index, machine: present.machine) }
        guard let age = segments[index].age else { return nil }
        if age.machine == present.machine {
            // The same start of the machine: the present offset of the clock gives the date.
            return WallDate(Instant(nanoseconds: age.monotonic &* 1000), offset: present.clockOffset)
        }
        return age.restamped ?? age.date
    }

    private func age(of index: Int, machine: String) -> Segment.Age? {
        var parser = LineParser()
        var age: Segment.Age?
        guard let reader = try? SegmentReader(options.directory.appending(segments[index].name), files: files) else {
            return nil
        }
        var lines = reader
        while (try? lines.next(into: &parser.text.bytes)) ?? false {
            guard parser.parse() else { continue }
            age = Segment.Age(
                machine: String(BootID.machine(of: parser.boot)), date: parser.head.date,
                monotonic: parser.head.monotonic)
        }
        guard let found = age, found.machine != machine else { return age }
        // A later line of the same start of the machine can show that the clock was wrong.
        var stamper = Restamping()
        for later in segments.indices.dropFirst(index) {
            guard stamper.read(options.directory.appending(segments[later].name), files, until: found.machine) else {
                break
            }
        }
        if let offset = stamper.offset(of: found.machine) {
            age?.restamped = WallDate(
                Instant(nanoseconds: found.monotonic.multipliedReportingOverflow(by: 1000).partialValue), offset: offset
            )
        }
        return age
    }
}

extension WallDate {
    /// Returns the time from another date to this one; `nil` if it exceeds the range of a duration.
    func duration(since other: WallDate) -> Duration? {
        let (microseconds, overflow) = microseconds.subtractingReportingOverflow(other.microseconds)
        return overflow ? nil : .microseconds(microseconds)
    }
}
