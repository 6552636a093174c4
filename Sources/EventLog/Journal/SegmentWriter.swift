import BaseTypes
import BeaconMonitoring
import SystemPackage

/// The segment that lines are written to, and the link `current` that shows it.
///
/// It does what it is told and says what stood in the way: when to try again, and what becomes of the lines, is the
/// journal's to decide.
struct SegmentWriter: ~Copyable {
    private struct Open {
        let name: String
        /// Absent after a failure, until it is opened again.
        var file: FileSystemCalls.Handle?
        /// How long it is as far as it is durable.
        var durable: Int
        /// When it will be old enough to be closed.
        var rotateAt: Instant
    }

    private let directory: FilePath
    private let files: any FileSystemCalls
    private var open: Open?
    private var linkIsStale = false

    init(_ directory: FilePath, _ files: any FileSystemCalls) {
        self.directory = directory
        self.files = files
    }

    deinit {
        if let file = open?.file { files.close(file) }
    }

    /// The name of the open segment; `nil` where the next line begins one.
    var name: String? { open?.name }
    /// How many octets of it are durable.
    var durable: Int { open?.durable ?? 0 }
    /// When it will be old enough to be closed.
    var rotateAt: Instant? { open?.rotateAt }

    /// Puts off when it is old enough: nothing stands in it yet.
    mutating func rotate(at time: Instant) { open?.rotateAt = time }

    // MARK: Beginning

    /// Goes on with a segment that an earlier start left, `size` octets long, of which `end` are lines.
    ///
    /// - Throws: `Errno`; it is not open then.
    mutating func goOn(
        with name: String, size: Int, end: Int, rotateAt: Instant, at now: Instant, _ tally: inout WriteTally
    ) throws(Errno) {
        let file = try files.open(directory.appending(name), isNew: false)
        do throws(Errno) {
            if size > end { try files.truncate(file, to: end) }
            // What the process before wrote and did not live to synchronise was taken for durable when it was read.
            try files.synchronize(file)
            tally.note(synchronizations: 1, at: now)
            open = Open(name: name, file: file, durable: end, rotateAt: rotateAt)
            linkIsStale = true
            refreshLink(&tally)
            try files.synchronizeDirectory(directory)
            tally.note(synchronizations: 1, at: now)
        } catch {
            files.close(file)
            open = nil
            throw error
        }
    }

    /// Begins a segment whose first line has the number `first`.
    ///
    /// - Returns: its name.
    /// - Throws: `Errno`; there is none then.
    mutating func begin(
        first: Int, date: WallDate, rotateAt: Instant, at now: Instant, _ tally: inout WriteTally
    ) throws(Errno) -> String {
        try files.makeDirectories(directory)
        let (name, file) = try create(first: first, date: date)
        open = Open(name: name, file: file, durable: 0, rotateAt: rotateAt)
        linkIsStale = true
        refreshLink(&tally)
        do throws(Errno) {
            // Both names are there before the first line is: where one is missing, lines are.
            try files.synchronizeDirectory(directory)
        } catch {
            open = nil
            files.close(file)
            try? files.remove(directory.appending(name))
            throw error
        }
        tally.note(synchronizations: 1, at: now)
        tally.counters.segments += 1
        return name
    }

    private func create(first: Int, date: WallDate) throws(Errno) -> (String, FileSystemCalls.Handle) {
        var date = date
        for attempt in 0... {
            let name = SegmentDirectory.segmentName(first: first, date: date)
            do throws(Errno) {
                return (name, try files.open(directory.appending(name), isNew: true))
            } catch {
                guard error == .fileExists, attempt < 8 else { throw error }
                // One that can't be used has the name: the next second's is as good.
                date = WallDate(microseconds: date.microseconds + 1_000_000)
            }
        }
        throw .fileExists
    }

    /// Lets `current` show the open segment. It is a convenience: that it fails is no reason not to keep lines.
    mutating func refreshLink(_ tally: inout WriteTally) {
        guard linkIsStale, let open else { return }
        let (temporary, link) = (directory.appending(".current"), directory.appending("current"))
        do throws(Errno) {
            try files.removeIfPresent(temporary)
            try files.link(temporary, to: open.name)
            try files.rename(temporary, to: link)
            linkIsStale = false
        } catch {
            tally.counters.failures += 1
        }
    }

    // MARK: Writing

    /// Writes behind what is durable and `written` octets more; gives how many octets were.
    func write(_ octets: UnsafeRawBufferPointer, behind written: Int) throws(Errno) -> Int {
        guard let open, let file = open.file else { throw .badFileDescriptor }
        return try unsafe files.write(file, at: open.durable + written, octets)
    }

    /// Takes away what stands behind the durable octets and `written` more: it is no line yet, and nobody shall read it.
    func cut(behind written: Int) {
        guard let open, let file = open.file else { return }
        // Where this fails too, the next try cuts it off.
        try? files.truncate(file, to: open.durable + written)
    }

    /// Puts the next `count` octets on the disk: they are durable then.
    mutating func synchronize(_ count: Int, at now: Instant, _ tally: inout WriteTally) throws(Errno) {
        guard let file = open?.file else { throw .badFileDescriptor }
        try files.synchronize(file)
        tally.note(synchronizations: 1, at: now)
        open?.durable += count
    }

    // MARK: Giving up and ending

    /// Lets go of the file after a failure; it is opened again before more is written.
    mutating func suspend() {
        guard let file = open?.file else { return }
        files.close(file)
        open?.file = nil
    }

    /// Opens the segment again that was suspended.
    ///
    /// - Returns: whether it is still what was written.
    mutating func resume() throws(Errno) -> Bool {
        guard let open, open.file == nil else { return true }
        // The target of a link is not written to.
        guard !files.isLink(directory.appending(open.name)) else { return false }
        do throws(Errno) {
            let file = try files.open(directory.appending(open.name), isNew: false)
            do throws(Errno) {
                let size = try files.size(of: file)
                // What was durable is gone.
                if size < open.durable { throw .noSuchFileOrDirectory }
                if size > open.durable { try files.truncate(file, to: open.durable) }
                self.open?.file = file
                return true
            } catch {
                files.close(file)
                throw error
            }
        } catch {
            guard error == .noSuchFileOrDirectory else { throw error }
            return false
        }
    }

    /// Whether it was deleted, renamed, cut, or moved with a symbolic link left in its place.
    func isTakenAway() throws(Errno) -> Bool {
        guard let open, let file = open.file else { return false }
        let path = directory.appending(open.name)
        guard try files.leads(path, to: file), !files.isLink(path) else { return true }
        return try files.size(of: file) < open.durable
    }

    /// Closes it: what is written next begins another.
    mutating func close() {
        suspend()
        open = nil
    }
}
