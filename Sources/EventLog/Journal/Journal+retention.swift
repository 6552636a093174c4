import BeaconMonitoring
import BluetoothLE
import SystemPackage

// What is deleted, and when: the oldest closed segments, those that were shipped first.
extension Journal {
    /// Deletes closed segments that are too old, or of which all have too much; tries the link again.
    func housekeep() {
        if linkIsStale { refreshLink() }
        while let oldest = segments.first, isClosed(oldest), isShipped(0), isCovered(0), isOld(0) {
            guard delete() else { return }
        }
        var size = segments.reduce(0) { $0 + $1.size } + (open == nil ? 0 : written)
        while size > options.retainSize, let oldest = segments.first, isClosed(oldest) {
            size -= oldest.size
            if !isShipped(0) { noteUnshipped() }
            noteEarly()
            guard delete() else { return }
        }
    }

    private func isClosed(_ segment: Segment) -> Bool { segment.name != open?.name }

    /// The number of the last line of a segment, or one that is not less.
    private func last(of index: Int) -> Int {
        index + 1 < segments.count ? segments[index + 1].begins - 1 : durableSequence
    }

    private func isShipped(_ index: Int) -> Bool { !options.waitsForShipping || last(of: index) <= shipped }

    /// Whether a start can do without it.
    private func isCovered(_ index: Int) -> Bool { last(of: index) <= snapshotSequence }

    private func noteUnshipped() {
        let count = max(0, last(of: 0) - max(shipped, segments[0].begins - 1))
        counters.deletedUnshipped += count
        say(
            "\(segments[0].name) had to be deleted with \(count) lines that were not shipped: all have "
                + "\(options.retainSize) octets at most")
    }

    /// Counts a segment that `retain` would have kept, and says so once an hour: what deletes it is perhaps a flood.
    private func noteEarly() {
        // Its last line is older than the next segment, by the clock of then; reading all of it would take too long here.
        let end = segments.count > 1 ? segments[1].date : segments[0].date
        let (age, overflow) = WallDate(now, offset: clockOffset).microseconds
            .subtractingReportingOverflow(end.microseconds)
        guard overflow || age <= options.retain.nanoseconds / 1000 else { return }
        counters.deletedEarly += 1
        if let last = lastEarlyRemark, now < last + Self.housekeepingInterval { return }
        lastEarlyRemark = now
        say(
            "\(segments[0].name) is deleted before output.retain asks for it, because all files have more than the "
                + "\(options.retainSize) octets of output.retain_size; \(counters.deletedEarly) since the start. Where "
                + "nothing else explains so many lines, somebody may be sending invented beacons")
    }

    private func delete() -> Bool {
        do throws(Errno) {
            try files.remove(options.directory.appending(segments[0].name))
        } catch {
            if error != .noSuchFileOrDirectory {
                counters.failures += 1
                return false
            }
        }
        segments.removeFirst()
        counters.deletedSegments += 1
        return true
    }

    /// Whether the last line of a segment is older than lines are kept, by its date as the clock lines correct it.
    private func isOld(_ index: Int) -> Bool {
        guard let date = lastDate(of: index) else { return false }
        let (age, overflow) = WallDate(now, offset: clockOffset).microseconds
            .subtractingReportingOverflow(date.microseconds)
        return !overflow && age > options.retain.nanoseconds / 1000
    }

    /// The date of a segment's last line, as far as it is known; `nil` where it has none.
    private func lastDate(of index: Int) -> WallDate? {
        if segments[index].age == nil { segments[index].age = age(of: index) }
        guard let age = segments[index].age else { return nil }
        if age.machine == boot.machine {
            // This timeline goes on: what the clock shows now says when that was.
            return WallDate(Instant(nanoseconds: age.monotonic &* 1000), offset: clockOffset)
        }
        return age.restamped ?? age.date
    }

    private func age(of index: Int) -> Segment.Age? {
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
        guard let found = age, found.machine != boot.machine else { return age }
        // A later line of the same start of the machine may tell that the clock was wrong.
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
