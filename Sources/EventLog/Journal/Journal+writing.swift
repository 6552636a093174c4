import BeaconMonitoring
import BluetoothLE
import SystemPackage

// How lines get to the disk, and what becomes of them when they don't.
extension Journal {
    /// Writes what waits, whole lines only.
    func write() throws(Errno) {
        try reopenSegment()
        guard written < buffer.count else { return }
        try leaveWhatIsGone()
        if let open, open.durable + written > 0, open.durable + buffer.count > options.rotateSize {
            try closeSegment()
        }
        if open == nil { try makeSegment() }
        guard let open else { return }
        reserve()
        let start = written
        while written < buffer.count {
            let (offset, from) = (open.durable + written, written)
            do throws(Errno) {
                let files = files
                let count = try unsafe buffer.withBytes { bytes throws(Errno) in
                    try unsafe files.write(open.file, at: offset, UnsafeRawBufferPointer(rebasing: bytes[from...]))
                }
                written += min(count, buffer.count - from)
            } catch {
                // What stands there is no line yet: nobody shall read it. Where this fails too, the next try cuts it off.
                written = start
                try? files.truncate(open.file, to: open.durable + start)
                throw error
            }
        }
        note(bytes: buffer.count - start)
        let hasNumbers = groups[writtenGroups...].contains { $0.last >= $0.first }
        writtenGroups = groups.count
        let wait: Duration =
            switch options.durability {
            case _ where !hasNumbers: Self.lazyInterval
            case .event: .zero
            case .every(let interval): interval
            }
        synchronizeAt = min(synchronizeAt ?? .latest, now + wait)
    }

    /// Puts what was written on the disk where it is time.
    func synchronizeIfDue() throws(Errno) {
        guard written > 0, synchronizeAt.map({ $0 <= now }) ?? true || written >= Self.unsynchronizedMax else { return }
        try synchronize()
    }

    /// Puts what was written on the disk: it counts then.
    func synchronize() throws(Errno) {
        synchronizeAt = nil
        guard written > 0, let file = open?.file else { return }
        try files.synchronize(file)
        noteSynchronization()
        open?.durable += written
        octetsSinceSnapshot += written
        if let last = segments.indices.last, let open { segments[last].size = open.durable }
        for group in groups[..<writtenGroups] {
            counters.lines += group.lines
            if group.last >= group.first {
                durableSequence = group.last
                linesSinceSnapshot += group.lines
            }
            for update in group.updates { Self.apply(update, to: &records) }
        }
        if linesSinceSnapshot >= Self.snapshotLines { snapshotIsWished = true }
        groups.removeFirst(writtenGroups)
        buffer.removeFirst(written)
        written = 0
        writtenGroups = 0
    }

    /// Takes a failure in: lines wait, and are tried again.
    ///
    /// What was written before it may be on the disk or not, and the kernel does not try again what it failed to put
    /// there (fsync(2) tells of an error once), so it is written again from where it was durable last.
    func fail(_ error: Errno) {
        counters.failures += 1
        if written > 0, (try? synchronizeAfterFailure()) == nil {
            written = 0
            writtenGroups = 0
        }
        synchronizeAt = nil
        lineTrouble = "events can't be kept in \(options.directory.string): \(error); they wait in memory"
        retryAt = now + backOff.next()
        if let open {
            files.close(open.file)
            self.open?.file = -1
        }
        dropOldest()
    }

    /// Lines that stand whole in the file are worth a try, before the file is closed.
    private func synchronizeAfterFailure() throws(Errno) {
        // Where it was the synchronising that failed, another success would prove nothing.
        guard synchronizeAt != nil else { throw .ioError }
        try synchronize()
    }

    /// Drops the oldest lines where more wait than memory has room for: a gap in `sequence`, and counted.
    func dropOldest() {
        guard buffer.count > options.queueSize else { return }
        var (size, count) = (0, 0)
        while buffer.count - size > options.queueSize, count < groups.count {
            let group = groups[count]
            let numbered = max(0, group.last - group.first + 1)
            counters.dropped += numbered
            counters.droppedUnnumbered += group.lines - numbered
            orphans += group.updates
            size += group.size
            count += 1
        }
        groups.removeFirst(count)
        buffer.removeFirst(size)
        // The last event of each record is enough.
        if orphans.count > 4096 { compactOrphans() }
    }

    private func compactOrphans() {
        var last: [Identifier: Int] = [:]
        for (index, update) in orphans.enumerated() { last[Identifier(lookup: update.identifier)] = index }
        orphans = last.values.sorted().map { orphans[$0] }
    }

    // MARK: Segments

    /// Opens the segment again that was closed after a failure.
    private func reopenSegment() throws(Errno) {
        guard let open, open.file < 0 else { return }
        do throws(Errno) {
            let file = try files.open(options.directory.appending(open.name), isNew: false)
            do throws(Errno) {
                let size = try files.size(of: file)
                // It is no longer what was written: what was durable is gone, and a new one begins.
                if size < open.durable { throw .noSuchFileOrDirectory }
                if size > open.durable { try files.truncate(file, to: open.durable) }
                self.open?.file = file
            } catch {
                files.close(file)
                throw error
            }
        } catch {
            guard error == .noSuchFileOrDirectory else { throw error }
            leave(open)
        }
    }

    /// Begins another segment where somebody has deleted, renamed or cut the open one.
    private func leaveWhatIsGone() throws(Errno) {
        guard let open, open.file >= 0 else { return }
        let isThere = try files.leads(options.directory.appending(open.name), to: open.file)
        if isThere, try files.size(of: open.file) >= open.durable { return }
        files.close(open.file)
        leave(open)
    }

    /// Lines that are not durable are written to the next segment; those that were are gone, for whoever deletes a file
    /// wants no other to have them.
    private func leave(_ gone: Open) {
        let first = segments.last?.name == gone.name ? segments.last?.first ?? 0 : 0
        let lost = first > 0 && first <= durableSequence ? "lines \(first) to \(durableSequence) are gone with it" : ""
        say(
            "\(gone.name) was deleted, renamed or cut while it was written to\(lost.isEmpty ? "" : "; \(lost)")"
                + "; the next line begins another file")
        counters.segmentsTakenAway += 1
        segments.removeAll { $0.name == gone.name }
        (written, writtenGroups, synchronizeAt, open) = (0, 0, nil, nil)
    }

    private func makeSegment() throws(Errno) {
        let first = groups[writtenGroups...].first { $0.last >= $0.first }?.first ?? encoder.sequence + 1
        try makeDirectories(options.directory)
        var date = WallDate(now, offset: clockOffset)
        var (name, file): (String, FileSystemCalls.Handle) = ("", -1)
        for attempt in 0... {
            name = SegmentDirectory.segmentName(first: first, date: date)
            do throws(Errno) {
                file = try files.open(options.directory.appending(name), isNew: true)
                break
            } catch {
                guard error == .fileExists, attempt < 8 else { throw error }
                // One that can't be used has the name: the next second's is as good.
                date = WallDate(microseconds: date.microseconds + 1_000_000)
            }
        }
        open = Open(name: name, file: file, durable: 0, rotateAt: now + options.rotateInterval)
        linkIsStale = true
        refreshLink()
        do throws(Errno) {
            // Both names are there before the first line is: where one is missing, lines are.
            try files.synchronizeDirectory(options.directory)
            noteSynchronization()
        } catch {
            open = nil
            files.close(file)
            try? files.remove(options.directory.appending(name))
            throw error
        }
        if let segment = Segment(name: name) { segments.append(segment) }
        counters.segments += 1
    }

    /// Lets `current` show the open segment. It is a convenience: that it fails is no reason not to keep lines.
    func refreshLink() {
        guard linkIsStale, let open else { return }
        let (temporary, link) = (options.directory.appending(".current"), options.directory.appending("current"))
        do throws(Errno) {
            do throws(Errno) { try files.remove(temporary) } catch .noSuchFileOrDirectory {}
            try files.link(temporary, to: open.name)
            try files.rename(temporary, to: link)
            linkIsStale = false
        } catch {
            counters.failures += 1
        }
    }

    /// Closes the open segment, all of it durable; the next line opens another.
    func closeSegment() throws(Errno) {
        guard let open else { return }
        if open.file >= 0 {
            try synchronize()
            files.close(open.file)
        }
        self.open = nil
        snapshotIsWished = true
        housekeepAt = min(housekeepAt, now)
    }

    /// Closes the open segment, as logrotate asks for with SIGUSR1; one that is empty stays.
    public func rotate() {
        guard let open, lineTrouble == nil else { return }
        if open.durable + written == 0 {
            self.open?.rotateAt = now + options.rotateInterval
            return
        }
        do throws(Errno) { try closeSegment() } catch { fail(error) }
    }

    /// Makes a folder and those above it, where they are not there.
    func makeDirectories(_ path: FilePath) throws(Errno) {
        do throws(Errno) {
            try files.makeDirectory(path)
        } catch .noSuchFileOrDirectory {
            var parent = path
            guard parent.removeLastComponent(), !parent.isEmpty else { throw .noSuchFileOrDirectory }
            try makeDirectories(parent)
            try files.makeDirectory(path)
        }
    }

    func note(bytes: Int) {
        counters.bytes += bytes
        budget.note(bytes: bytes, synchronizations: 0, at: now)
    }

    func noteSynchronization() {
        counters.synchronizations += 1
        budget.note(bytes: 0, synchronizations: 1, at: now)
    }
}

extension Journal.RecordUpdate {
    var identifier: String {
        switch self {
        case .event(let event, _): event.identifier
        case .begun(let change): change.identifier
        case .removed(let identifier): identifier
        }
    }
}
