import BaseTypes
import BeaconMonitoring
import SystemPackage

/// Writes to the open event file, and maintains the link `current` to it.
///
/// It only executes and reports errors. The journal decides when to try again and what happens to the lines.
struct SegmentWriter: ~Copyable {
    private struct Open {
        let name: String
        /// `nil` after a failure, until the file is opened again.
        var file: FileSystemCalls.Handle?
        /// The number of durable bytes.
        var durable: Int
        /// The time at which it is old enough to be closed.
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

    /// The name of the open file; `nil` if the next line starts a file.
    var name: String? { open?.name }
    /// The number of durable bytes in the open file.
    var durable: Int { open?.durable ?? 0 }
    /// The time at which the open file is old enough to be closed.
    var rotateAt: Instant? { open?.rotateAt }

    /// Sets the time at which the open file is old enough, while it has no lines yet.
    mutating func rotate(at time: Instant) { open?.rotateAt = time }

    // MARK: Open

    /// Continues a file that an earlier start left. The file has `size` bytes, of which the first `end` bytes are
    /// lines.
    ///
    /// - Throws: `Errno`; then the file is not open.
    mutating func resume(
        with name: String, size: Int, end: Int, rotateAt: Instant, at now: Instant, _ tally: inout WriteTally
    ) throws(Errno) {
        let file = try files.open(directory.appending(name), isNew: false)
        do throws(Errno) {
            if size > end { try files.truncate(file, to: end) }
            // Lines that the earlier process wrote but did not synchronize were read as durable, so they must become
            // durable.
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

    /// Starts a file. Its first line has the number `first`.
    ///
    /// - Returns: the name of the file.
    /// - Throws: `Errno`; then no file is open.
    mutating func begin(
        first: Int, date: WallDate, rotateAt: Instant, at now: Instant, _ tally: inout WriteTally
    ) throws(Errno) -> String {
        try files.makeDirectories(directory)
        let (name, file) = try create(first: first, date: date)
        open = Open(name: name, file: file, durable: 0, rotateAt: rotateAt)
        linkIsStale = true
        refreshLink(&tally)
        do throws(Errno) {
            // Both names must exist before the first line does: a missing file means missing lines.
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
                // A file that cannot be used has the name. The name of the next second serves as well.
                date = WallDate(microseconds: date.microseconds + 1_000_000)
            }
        }
        throw .fileExists
    }

    /// Points the link `current` to the open file. It is only a convenience: if it fails, lines are still written.
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

    // MARK: Write

    /// Writes after the durable bytes and `written` more, and returns how many bytes were written.
    func write(_ bytes: UnsafeRawBufferPointer, behind written: Int) throws(Errno) -> Int {
        guard let open, let file = open.file else { throw .badFileDescriptor }
        return try unsafe files.write(file, at: open.durable + written, bytes)
    }

    /// Truncates the file after the durable bytes and `written` more. The rest is not a line yet, and must not be read.
    func cut(behind written: Int) {
        guard let open, let file = open.file else { return }
        // If this fails too, the next attempt truncates the file.
        try? files.truncate(file, to: open.durable + written)
    }

    /// Synchronizes the file: the next `count` bytes become durable.
    mutating func synchronize(_ count: Int, at now: Instant, _ tally: inout WriteTally) throws(Errno) {
        guard let file = open?.file else { throw .badFileDescriptor }
        try files.synchronize(file)
        tally.note(synchronizations: 1, at: now)
        open?.durable += count
    }

    // MARK: Failures and end

    /// Closes the file after a failure. It is opened again before more is written.
    mutating func suspend() {
        guard let file = open?.file else { return }
        files.close(file)
        open?.file = nil
    }

    /// Opens the file again after ``suspend()``.
    ///
    /// - Returns: true if the file still has its durable bytes; bytes after them are removed. False if it is missing,
    ///   too short, or a symbolic link.
    mutating func resume() throws(Errno) -> Bool {
        guard let open, open.file == nil else { return true }
        // The target of a link is not written to.
        guard !files.isLink(directory.appending(open.name)) else { return false }
        do throws(Errno) {
            let file = try files.open(directory.appending(open.name), isNew: false)
            do throws(Errno) {
                let size = try files.size(of: file)
                // Durable lines are missing.
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

    /// Returns true if the file was deleted, renamed, truncated, or replaced by a symbolic link.
    func isTakenAway() throws(Errno) -> Bool {
        guard let open, let file = open.file else { return false }
        let path = directory.appending(open.name)
        guard try files.leads(path, to: file), !files.isLink(path) else { return true }
        return try files.size(of: file) < open.durable
    }

    /// Closes the file. The next line starts another one.
    mutating func close() {
        suspend()
        open = nil
    }
}
