package import BaseTypes
package import EventLog
package import SiteMonitoring
package import SystemPackage

/// The batches of a site's log in files of a directory, numbered from 1.
///
/// One process writes (flock(2)). Others can read at the same time, and see the batches that existed when they opened
/// the directory. A power failure can shorten the last file. Batches that were flushed by ``synchronize()`` remain
/// complete.
package final class BatchFiles {
    private let directory: FilePath
    private let files: any FileSystemCalls
    private let fileBytesMax: Int
    // `nil` if the directory is only read.
    private let lock: FileLock?
    // Sorted by number. The places of records are known in the last file, and in that of the others that was read last.
    private var segments: [BatchFile] = []
    private var scanned: Int?
    private var isDirty = false
    // Set when a flush failed. Data that were written before can be lost, so nothing is written after that.
    private var failure: SiteLogError?

    /// Opens the batches of a directory. If it is opened for writing, the directory is created if it does not exist,
    /// and an incomplete batch at the end of the last file is removed.
    ///
    /// - Parameters:
    ///   - directory: the directory of the files.
    ///   - isWriting: whether batches are appended.
    ///   - fileBytesMax: the size at which a new file is started.
    ///   - files: the file system.
    /// - Throws: ``SiteLogError/unavailable(_:)`` if the directory cannot be used or another process writes to it.
    ///   ``SiteLogError/damaged(_:_:)`` if it is opened for writing and nothing can be appended because of damage.
    package init(
        _ directory: FilePath, isWriting: Bool, fileBytesMax: Int = 64 << 20,
        files: any FileSystemCalls = SystemFiles()
    ) throws(SiteLogError) {
        self.directory = directory
        self.files = files
        self.fileBytesMax = fileBytesMax
        let names: [String]
        do throws(Errno) {
            if isWriting { try files.makeDirectory(directory) }
        } catch { throw .unavailable("\(directory) cannot be created: \(error)") }
        lock = isWriting ? try Self.lock(directory.appending("lock")) : nil
        do throws(Errno) { names = try files.names(in: directory) } catch {
            throw .unavailable("\(directory) cannot be read: \(error)")
        }
        segments = names.compactMap { BatchFile.first($0) }.sorted().map { BatchFile(from: $0, in: directory, files) }
        guard let last = segments.indices.last else { return }
        do throws(SiteLogError) {
            if try segments[last].scan(isLast: true), isWriting { try repair(last) }
        } catch {
            guard !isWriting else { throw error }
        }
    }

    private static func lock(_ path: FilePath) throws(SiteLogError) -> FileLock {
        do throws(FileLock.Failure) {
            return try FileLock(path, program: "a site's log")
        } catch {
            switch error {
            case .held(let holder): throw .unavailable("\(path) is held by another process (\(holder))")
            case .notALock(let reason): throw .unavailable("\(path) can't be locked: \(reason)")
            case .missing(let error), .unopened(let error): throw .unavailable("\(path) can't be opened: \(error)")
            case .failed(let error): throw .unavailable("\(path) can't be locked: \(error)")
            }
        }
    }

    private func repair(_ last: Int) throws(SiteLogError) {
        do throws(Errno) {
            if segments[last].end > 0 { return try segments[last].cut() }
            try files.remove(segments[last].path)
        } catch { throw .damaged(segments[last].path.string, "its end cannot be removed: \(error)") }
        segments.removeLast()
        // The previous file was complete when this one was started.
        guard let last = segments.indices.last else { return }
        _ = try segments[last].scan(isLast: false)
    }

    /// The number of the oldest batch; 1 if there is none.
    package var first: UInt64 { segments.first?.first ?? 1 }
    /// The number of the newest batch; 0 if there is none.
    package var last: UInt64 { segments.last.map { $0.first + UInt64($0.count) - 1 } ?? 0 }

    /// Appends a batch. It is on the disk after ``synchronize()``.
    ///
    /// - Parameters:
    ///   - batch: its bytes, at most 8 MiB.
    ///   - stored: when the log accepted it, since 1970.
    /// - Returns: its number.
    /// - Throws: ``SiteLogError``. ``SiteLogError/full(_:)`` means that the disk is full; then nothing of the batch is
    ///   stored.
    package func append(_ batch: [UInt8], stored: Instant) throws(SiteLogError) -> UInt64 {
        guard lock != nil else { throw .refused("\(directory) was opened for reading") }
        if let failure { throw failure }
        guard batch.count <= BatchRecord.bytesMax else {
            throw .tooBig("a batch", bytes: batch.count, most: BatchRecord.bytesMax)
        }
        let record = BatchRecord(stored: stored, bytes: batch).encoded
        if segments.last.map({ $0.end + record.count > fileBytesMax && $0.count > 0 }) ?? true {
            // The old file must be on the disk before a new one exists.
            try synchronize()
            try writing { () throws(Errno) in try begin(BatchFile(from: last + 1, in: directory, files)) }
        }
        isDirty = true
        let newest = segments.count - 1
        do throws(SiteLogError) { try writing { () throws(Errno) in try segments[newest].append(record) } } catch {
            // A later record would be followed by the rest of this one.
            if segments[newest].isTorn {
                failure = .unavailable(
                    "\(segments[newest].path) ends with an incomplete batch; open the directory again")
            }
            throw error
        }
        return last
    }

    private func begin(_ file: BatchFile) throws(Errno) {
        var file = file
        try file.make()
        do throws(Errno) {
            try file.synchronize()
            try files.synchronizeDirectory(directory)
        } catch {
            // The next append creates it again.
            try? files.remove(file.path)
            throw error
        }
        segments.indices.last.map { segments[$0].forget() }
        segments.append(file)
    }

    /// Flushes all batches to the disk.
    ///
    /// - Throws: ``SiteLogError/unavailable(_:)``. It is then unknown whether the batches are on the disk, so nothing
    ///   can be written any more.
    package func synchronize() throws(SiteLogError) {
        if let failure { throw failure }
        guard isDirty, let last = segments.last else { return }
        do throws(Errno) { try last.synchronize() } catch {
            let failure = SiteLogError.unavailable("\(last.path) cannot be flushed to the disk: \(error)")
            self.failure = failure
            throw failure
        }
        isDirty = false
    }

    /// Returns batches from a number on. ``LogRange/patience`` has no effect.
    ///
    /// - Throws: ``SiteLogError/damaged(_:_:)`` if the first batch cannot be read. If a later one is damaged, the page
    ///   ends before it.
    package func page(_ range: LogRange) throws(SiteLogError) -> LogPage {
        var entries: [LogEntry] = []
        var room = range.bytesMax
        let all = (first, last)
        var number = max(range.from, first)
        while number <= last, entries.count < range.countMax {
            let index = segment(of: number)
            let segment = segments[index]
            guard number - segment.first < UInt64(segment.count) else {
                if !entries.isEmpty { break }
                throw segment.damage ?? .damaged(segment.path.string, "it ends before the next file starts")
            }
            do throws(SiteLogError) {
                let file = try segment.opened()
                defer { files.close(file) }
                let end = segment.first + UInt64(segment.count)
                while number < end, entries.count < range.countMax {
                    let record = try segment.record(number, file)
                    guard entries.isEmpty || record.bytes.count <= room else {
                        return LogPage(entries: entries, first: all.0, last: all.1)
                    }
                    room -= record.bytes.count
                    entries.append(LogEntry(number: number, stored: record.stored, bytes: record.bytes))
                    number += 1
                }
            } catch {
                // The file changed after it was scanned. The batches before are valid; the next page throws.
                if entries.isEmpty { throw error }
                break
            }
        }
        // Batches can follow the damage, and an empty page would mean that there are none.
        if entries.isEmpty, let damage = segments.last?.damage { throw damage }
        return LogPage(entries: entries, first: all.0, last: all.1)
    }

    private func segment(of number: UInt64) -> Int {
        var (low, high) = (0, segments.count)
        while low + 1 < high {
            let middle = (low + high) / 2
            if segments[middle].first <= number { low = middle } else { high = middle }
        }
        if low < segments.count - 1, segments[low].places.isEmpty {
            // The places of only one older file are stored, because those of all files would grow with the number of
            // batches.
            if let scanned { segments[scanned].forget() }
            scanned = low
            do throws(SiteLogError) { _ = try segments[low].scan(isLast: false) } catch {
                // The batches before the damage can be read.
            }
        }
        return low
    }

    private func writing(_ body: () throws(Errno) -> Void) throws(SiteLogError) {
        do throws(Errno) { try body() } catch {
            if error == .noSpace { throw .full("\(directory): \(error)") }
            throw .unavailable("\(directory) cannot be written: \(error)")
        }
    }
}
