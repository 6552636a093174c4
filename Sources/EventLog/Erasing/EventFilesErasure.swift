import JSON
package import SystemPackage

/// Erases a beacon from the event files of a folder.
///
/// A file that contains the beacon is written again under another name, with the same mode, user and group,
/// synchronized, and renamed over the old file (rename(2)). A reader that follows it detects the new file and continues
/// at the same byte. If this is interrupted, each file is complete, old or new, and the next erasure continues. Other
/// files do not change.
package struct EventFilesErasure {
    /// The name of the temporary file. It is not a segment, so no program reads it.
    package static let temporaryName = ".erasing.new"

    private static let window = 256 << 10
    // Text without line ends is searched in pieces that overlap by this much, so that a beacon at their border is
    // found.
    private static let overlap = 256

    /// The number of files that were written again.
    package private(set) var files = 0
    /// How many lines were changed, by the kind of change.
    package var counts: ErasureCounts { erasure.counts }
    /// The number of bytes that were read.
    package private(set) var bytesRead = 0

    private let directory: FilePath
    private let system: any FileSystemCalls
    private var erasure: LineErasure
    // The files when this value was created. A running gateway must be asked to erase the beacon after that: then it no
    // longer writes to any of them.
    private let names: Set<String>

    /// Lists the event files of a folder, before anything is erased.
    ///
    /// - Parameters:
    ///   - directory: the folder.
    ///   - request: the beacon and the date limit.
    ///   - files: the file system.
    /// - Throws: ``EventLogError/linked(_:target:)`` if an event file is a symbolic link, because readers follow links.
    ///   ``EventLogError/readFailed(_:_:)`` if one cannot be opened.
    package init(
        _ directory: FilePath, _ request: ErasureRequest, files: any FileSystemCalls = SystemFiles()
    ) throws(EventLogError) {
        self.directory = directory
        system = files
        erasure = LineErasure(request)
        let segments = try Self.segments(of: directory, files)
        for path in segments.map({ directory.appending($0.name) }) {
            do throws(Errno) { files.close(try files.openForReading(path)) } catch {
                guard error == .noSuchFileOrDirectory else { throw .readFailed(path.string, error) }
            }
        }
        names = Set(segments.map(\.name))
    }

    /// Erases the beacon, or only counts the lines that would change. No other process must write to the files
    /// meanwhile.
    ///
    /// - Parameters:
    ///   - last: the last line of the files that a running gateway has closed. Files that it started later are not
    ///     read. `nil` means all files.
    ///   - isDryRun: whether no file is changed.
    ///   - progress: called from time to time with the number of bytes that were read.
    /// - Throws: ``EventLogError``. Earlier changes remain.
    package mutating func run(
        upTo last: Int? = nil, isDryRun: Bool = false, progress: (Int) -> Void = { _ in }
    ) throws(EventLogError) {
        if !isDryRun { try clean() }
        let paths = try paths(upTo: last)
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

    private func paths(upTo last: Int?) throws(EventLogError) -> [FilePath] {
        // Lines of another gateway have other numbers, so files that existed before are always included.
        try Self.segments(of: directory, system)
            .filter { segment in last.map { names.contains(segment.name) || segment.begins <= $0 } ?? true }
            .map { directory.appending($0.name) }
    }

    private static func segments(
        of directory: FilePath, _ system: any FileSystemCalls
    ) throws(EventLogError) -> [Segment] {
        var list = SegmentList()
        let segments: [Segment]
        do throws(Errno) { segments = try list.read(directory, system) } catch {
            guard error == .noSuchFileOrDirectory else { throw .readFailed(directory.string, error) }
            return []
        }
        for segment in segments { try checkIsFile(directory.appending(segment.name), system) }
        return segments
    }

    /// Throws ``EventLogError/linked(_:target:)`` if an event file of a folder is a symbolic link.
    package static func check(_ directory: FilePath) throws(EventLogError) {
        // Readers report the errors of a path that cannot be listed.
        let names = (try? SystemFiles().names(in: directory)) ?? []
        try check(names.filter { Segment(name: $0) != nil }, in: directory)
    }

    /// Checks that no file of a folder is a symbolic link.
    ///
    /// - Parameters:
    ///   - names: the names of the files, of which some or all can be missing.
    ///   - directory: the folder.
    ///   - system: the file system.
    /// - Throws: ``EventLogError/linked(_:target:)``.
    package static func check(
        _ names: [String], in directory: FilePath, _ system: any FileSystemCalls = SystemFiles()
    ) throws(EventLogError) {
        for name in names { try checkIsFile(directory.appending(name), system) }
    }

    private static func checkIsFile(_ path: FilePath, _ system: any FileSystemCalls) throws(EventLogError) {
        guard let target = try? system.target(of: path) else { return }
        throw .linked(path.string, target: target)
    }

    /// Deletes the temporary file of an interrupted erasure, unless an erasure is running. Retention would never delete
    /// it.
    package static func tidy(_ directory: FilePath) {
        guard (try? SystemFiles().names(in: directory))?.contains(temporaryName) ?? false,
            let lock = try? StateLock(erasing: directory)
        else { return }
        // If this fails, the next erasure reports it.
        try? SystemFiles().remove(directory.appending(temporaryName))
        lock.release()
    }

    /// Deletes the temporary file that an interrupted erasure left.
    package func clean() throws(EventLogError) {
        let temporary = directory.appending(Self.temporaryName)
        try EventLogError.writing(temporary, system.removeIfPresent(temporary))
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

    /// Writes a file again and replaces it.
    ///
    /// - Returns: `false` if the file does not exist any more, because retention can have deleted it.
    private mutating func replace(_ path: FilePath, _ progress: (Int) -> Void) throws(EventLogError) -> Bool {
        let temporary = directory.appending(Self.temporaryName)
        var changed = erasure
        var isOwnerKept = true
        do throws(Errno) {
            let source: FileSystemCalls.Handle
            do throws(Errno) { source = try system.openForReading(path) } catch .noSuchFileOrDirectory { return false }
            defer { system.close(source) }
            // It can have become a link to a file of another user.
            guard try isStill(path, source) else { return false }
            let size = try system.size(of: source)
            let file = try system.open(temporary, replacing: source)
            do throws(Errno) {
                defer { system.close(file) }
                var (read, written) = (bytesRead, 0)
                defer { bytesRead = read }
                _ = try pass(source, &read, progress) { buffer, range in
                    changed.erase(&buffer, range)
                } body: { bytes throws(Errno) in
                    try write(bytes, to: file, at: &written)
                }
                guard written == size else { throw Errno.staleNFSFileHandle }
                isOwnerKept = false
                try system.copyOwnership(of: source, to: file)
                isOwnerKept = true
                try system.synchronize(file)
                guard try isStill(path, source) else {
                    try system.remove(temporary)
                    return false
                }
                try system.rename(temporary, to: path)
            } catch {
                try? system.remove(temporary)
                throw error
            }
            try system.synchronizeDirectory(directory)
        } catch {
            if !isOwnerKept { throw .ownerNotKept(path.string, error) }
            throw error == .staleNFSFileHandle ? .changedMeanwhile(path.string) : .writeFailed(path.string, error)
        }
        erasure = changed
        return true
    }

    /// Whether `path` is still the file that is open as `source`; `false` if it was deleted.
    ///
    /// - Throws: `staleNFSFileHandle` if another file, or a link, is in its place.
    private func isStill(_ path: FilePath, _ source: FileSystemCalls.Handle) throws(Errno) -> Bool {
        if try system.leads(path, to: source), !system.isLink(path) { return true }
        guard try system.names(in: directory).contains(path.lastComponent?.string ?? "") else { return false }
        throw .staleNFSFileHandle
    }

    private func write(_ bytes: ArraySlice<UInt8>, to file: Int32, at place: inout Int) throws(Errno) {
        var rest = bytes
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

    /// Reads the lines of a file.
    ///
    /// - Parameters:
    ///   - path: the file. A file that does not exist has no lines.
    ///   - progress: called with the number of bytes that were read from all files.
    ///   - edit: called with the bytes between two line ends, or after the last; returns whether it changed them.
    ///   - body: called with the resulting bytes of the file, in order.
    /// - Returns: whether any bytes were changed.
    /// - Throws: ``EventLogError/readFailed(_:_:)``.
    @discardableResult private mutating func each(
        _ path: FilePath, _ progress: (Int) -> Void, edit: (inout [UInt8], Range<Int>) -> Bool,
        body: (ArraySlice<UInt8>) throws(Errno) -> Void
    ) throws(EventLogError) -> Bool {
        do throws(Errno) {
            let source = try system.openForReading(path)
            defer { system.close(source) }
            var read = bytesRead
            defer { bytesRead = read }
            return try pass(source, &read, progress, edit: edit, body: body)
        } catch {
            // Retention has deleted the file, so it contains nothing.
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
                // This part has no line end.
                if begin < buffer.count, edit(&buffer, begin..<buffer.count) { isDifferent = true }
                begin = count == 0 ? buffer.count : buffer.count - Self.overlap
            }
            try body(buffer[..<begin])
            if count == 0 { return isDifferent }
            buffer.removeFirst(begin)
        }
    }
}
