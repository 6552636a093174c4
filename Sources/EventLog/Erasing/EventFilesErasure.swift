import JSON
package import SystemPackage

/// Takes a beacon out of the event files of a folder.
///
/// A file that tells of it is written anew beside itself, synchronised and put in its own place by rename(2): whoever
/// follows it notices another file and goes on at the same octet. There is the old one or the new one, whole, whenever
/// this is interrupted; begun again, it goes on. What tells nothing of the beacon is not touched.
package struct EventFilesErasure {
    /// What a file is called while it is written anew; no segment, and nobody reads it.
    package static let temporaryName = ".erasing.new"

    private static let window = 256 << 10
    // A name in what has no line end is found wherever it stands, though it is looked at piece by piece.
    private static let overlap = 256

    /// What came of it: how many files were written anew, and what was taken out of them.
    package private(set) var files = 0
    /// What was taken out of lines.
    package var counts: ErasureCounts { erasure.counts }
    /// How many octets of files were read.
    package private(set) var octets = 0

    private let directory: FilePath
    private let system: any FileSystemCalls
    private let last: Int?
    private var erasure: LineErasure

    /// An erasure that has not begun.
    ///
    /// - Parameters:
    ///   - directory: the folder; nobody else writes the files that are looked at.
    ///   - request: whom it is to forget.
    ///   - number: files that begin with a later line are not looked at; without one, all are.
    ///   - files: the file system.
    package init(
        _ directory: FilePath, _ request: ErasureRequest, upTo number: Int? = nil,
        files: any FileSystemCalls = SystemFiles()
    ) {
        self.directory = directory
        system = files
        last = number
        erasure = LineErasure(request)
    }

    /// Does it, or only finds out what it would do.
    ///
    /// - Parameters:
    ///   - isDryRun: whether no file is touched.
    ///   - progress: called now and then with how many octets have been read.
    /// - Throws: ``EventLogError``; what was done until then is done.
    package mutating func run(isDryRun: Bool = false, progress: (Int) -> Void = { _ in }) throws(EventLogError) {
        if !isDryRun { try clean() }
        let paths = try paths()
        if erasure.request.before != nil {
            for path in paths { try erasure.stamping.note(clockLinesOf: path, system) }
        }
        for path in paths {
            var learning = erasure
            try each(path, progress) { buffer, range in
                learning.learn(buffer, range)
                return false
            } body: { _ throws(Errno) in
            }
            erasure = learning
        }
        for stage in [LineErasure.Stage.others, .named] where stage == .named || !erasure.addresses.isEmpty {
            erasure.stage = stage
            for path in paths { try erase(path, isDryRun: isDryRun, progress) }
        }
    }

    private func paths() throws(EventLogError) -> [FilePath] {
        var list = SegmentList()
        do throws(Errno) {
            return try list.read(directory, system).filter { segment in last.map { segment.begins <= $0 } ?? true }
                .map { directory.appending($0.name) }
        } catch {
            guard error == .noSuchFileOrDirectory else { throw .readFailed(directory.string, error) }
            return []
        }
    }

    /// Takes away what an erasure left in a folder that was interrupted, where none is under way: a file of lines that
    /// nobody would delete when they are old.
    package static func tidy(_ directory: FilePath) {
        guard (try? SystemFiles().names(in: directory))?.contains(temporaryName) ?? false,
            let lock = try? StateLock(erasing: directory)
        else { return }
        // Where it can't be taken away, the next erasure says so.
        try? SystemFiles().remove(directory.appending(temporaryName))
        lock.release()
    }

    /// Takes away what an erasure left that was interrupted.
    private func clean() throws(EventLogError) {
        let temporary = directory.appending(Self.temporaryName)
        do throws(Errno) { try system.remove(temporary) } catch {
            guard error == .noSuchFileOrDirectory else { throw .writeFailed(temporary.string, error) }
        }
    }

    private mutating func erase(
        _ path: FilePath, isDryRun: Bool, _ progress: (Int) -> Void
    ) throws(EventLogError) {
        var probe = erasure
        let isDifferent = try each(path, progress) { buffer, range in
            probe.erase(&buffer, range)
        } body: { _ throws(Errno) in
        }
        if isDifferent, !isDryRun {
            guard try replace(path, progress) else { return }
        } else {
            erasure = probe
        }
        if isDifferent { files += 1 }
    }

    /// Writes a file anew, and puts it in its own place.
    ///
    /// - Returns: whether it was still there: retention may have deleted it.
    private mutating func replace(_ path: FilePath, _ progress: (Int) -> Void) throws(EventLogError) -> Bool {
        let temporary = directory.appending(Self.temporaryName)
        var changed = erasure
        do throws(Errno) {
            let source = try system.openForReading(path)
            defer { system.close(source) }
            let size = try system.size(of: source)
            let file = try system.open(temporary, isNew: true)
            do throws(Errno) {
                defer { system.close(file) }
                var (read, written) = (octets, 0)
                defer { octets = read }
                _ = try pass(source, &read, progress) { buffer, range in
                    changed.erase(&buffer, range)
                } body: { octets throws(Errno) in
                    try write(octets, to: file, at: &written)
                }
                try system.synchronize(file)
                guard written == size else { throw Errno.resourceBusy }
            } catch {
                try? system.remove(temporary)
                throw error
            }
            guard try system.leads(path, to: source) else {
                try system.remove(temporary)
                return false
            }
            try system.rename(temporary, to: path)
            try system.synchronizeDirectory(directory)
        } catch {
            throw .writeFailed(path.string, error)
        }
        erasure = changed
        return true
    }

    private func write(_ octets: ArraySlice<UInt8>, to file: Int32, at place: inout Int) throws(Errno) {
        var rest = octets
        while !rest.isEmpty {
            let offset = place
            let count = try unsafe rest.span.withUnsafeBytes { bytes throws(Errno) in
                try unsafe system.write(file, at: offset, bytes)
            }
            place += count
            rest = rest.dropFirst(count)
        }
    }

    // MARK: Reading

    /// Goes through the lines of a file.
    ///
    /// - Parameters:
    ///   - path: the file; one that is no more has no lines.
    ///   - progress: called with how many octets have been read of all files.
    ///   - edit: takes the octets between two line ends, or behind the last; gives whether it changed them.
    ///   - body: takes the file's octets as they are then, in order.
    /// - Returns: whether any were changed.
    /// - Throws: ``EventLogError/readFailed(_:_:)``.
    @discardableResult private mutating func each(
        _ path: FilePath, _ progress: (Int) -> Void, edit: (inout [UInt8], Range<Int>) -> Bool,
        body: (ArraySlice<UInt8>) throws(Errno) -> Void
    ) throws(EventLogError) -> Bool {
        do throws(Errno) {
            let source = try system.openForReading(path)
            defer { system.close(source) }
            var read = octets
            defer { octets = read }
            return try pass(source, &read, progress, edit: edit, body: body)
        } catch {
            // What retention has deleted tells of nobody.
            if error == .noSuchFileOrDirectory { return false }
            throw .readFailed(path.string, error)
        }
    }

    private func pass(
        _ source: Int32, _ read: inout Int, _ progress: (Int) -> Void,
        edit: (inout [UInt8], Range<Int>) -> Bool, body: (ArraySlice<UInt8>) throws(Errno) -> Void
    ) throws(Errno) -> Bool {
        var (buffer, offset, isDifferent): ([UInt8], Int, Bool) = ([], 0, false)
        while true {
            let count = try system.read(source, at: offset, count: Self.window, appendingTo: &buffer)
            offset += count
            read += count
            progress(read)
            var begin = 0
            while let end = buffer.span.first(of: [0x0A], from: begin) {
                if edit(&buffer, begin..<end) { isDifferent = true }
                begin = end + 1
            }
            if count == 0 || buffer.count - begin > SegmentReader.lineMax {
                // No line ends there.
                if begin < buffer.count, edit(&buffer, begin..<buffer.count) { isDifferent = true }
                begin = count == 0 ? buffer.count : buffer.count - Self.overlap
            }
            try body(buffer[..<begin])
            if count == 0 { return isDifferent }
            buffer.removeFirst(begin)
        }
    }
}
