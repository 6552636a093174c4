import BluetoothLE
import EventLog
import SiteLog
import SystemPackage

/// Batches or events in files of a folder, numbered from 1.
struct RecordList {
    private let kind: LogSegment.Kind
    private let directory: FilePath
    private let files: any FileSystemCalls
    private let segmentOctetsMax: Int
    // In the order of their numbers. The last one was scanned, and of the others the one that was read last.
    private var segments: [LogSegment] = []
    private var scanned: Int?
    /// Whether something was written that may not be on the disk.
    private(set) var isDirty = false

    /// Those in a folder.
    ///
    /// Where it is written in, what a power cut left at the end is cut off.
    ///
    /// - Throws: ``LogTrouble/damaged(_:_:)`` where they can't be continued, or read at all.
    init(
        _ kind: LogSegment.Kind, in directory: FilePath, names: [String], segmentOctetsMax: Int, isWriting: Bool,
        _ files: any FileSystemCalls
    ) throws(LogTrouble) {
        self.kind = kind
        self.directory = directory
        self.files = files
        self.segmentOctetsMax = segmentOctetsMax
        segments = names.compactMap { LogSegment.first($0, kind) }.sorted()
            .map { LogSegment(kind, from: $0, in: directory, files) }
        guard let last = segments.indices.last else { return }
        do throws(LogTrouble) {
            if try segments[last].scan(isLast: true), isWriting { try repair(last) }
        } catch {
            guard !isWriting else { throw error }
        }
    }

    private mutating func repair(_ last: Int) throws(LogTrouble) {
        do throws(Errno) {
            if segments[last].end > 0 { return try segments[last].cut() }
            try files.remove(segments[last].path)
        } catch { throw .damaged(segments[last].path.string, "its end can't be cut off: \(error)") }
        segments.removeLast()
        // The one before it was whole when this one was begun.
        guard let last = segments.indices.last else { return }
        _ = try segments[last].scan(isLast: false)
    }

    /// The number of the oldest; 1 where none ever was.
    var first: UInt64 { segments.first?.first ?? 1 }
    /// The number of the newest; 0 where none ever was.
    var last: UInt64 { segments.last.map { $0.first + UInt64($0.count) - 1 } ?? 0 }

    /// Writes one at the end; it is on the disk after ``synchronize()``.
    mutating func append(_ record: LogRecord) throws(Errno) -> UInt64 {
        let octets = record.encoded
        if segments.last.map({ $0.end + octets.count > segmentOctetsMax && $0.count > 0 }) ?? true {
            // What is in the old file has to be there before there is a new one.
            try synchronize()
            var new = LogSegment(kind, from: last + 1, in: directory, files)
            try new.make()
            try new.synchronize()
            try files.synchronizeDirectory(directory)
            segments.append(new)
        }
        isDirty = true
        try segments[segments.count - 1].append(octets)
        return last
    }

    /// Puts all on the disk.
    mutating func synchronize() throws(Errno) {
        guard isDirty, let last = segments.last else { return }
        try last.synchronize()
        isDirty = false
    }

    /// What is asked for.
    ///
    /// - Throws: ``LogTrouble/damaged(_:_:)`` where the first of it can't be read; what stands before a damage comes without.
    mutating func page(_ range: LogRange) throws(LogTrouble) -> LogPage {
        var entries: [LogEntry] = []
        var room = range.octetsMax
        let all = (first, last)
        var number = max(range.from, first)
        while number <= last, entries.count < range.countMax {
            let index = try segment(of: number)
            let segment = segments[index]
            guard number - segment.first < UInt64(segment.count) else {
                if !entries.isEmpty { break }
                throw segment.damage ?? .damaged(segment.path.string, "it ends before the next file begins")
            }
            let file = try segment.opened()
            defer { files.close(file) }
            let end = segment.first + UInt64(segment.count)
            while number < end, entries.count < range.countMax {
                let record = try segment.record(number, file)
                guard entries.isEmpty || record.octets.count <= room else {
                    return LogPage(entries: entries, first: all.0, last: all.1)
                }
                room -= record.octets.count
                entries.append(LogEntry(number: number, stored: record.stored, octets: record.octets))
                number += 1
            }
        }
        // What may follow behind a damage is not nothing.
        if entries.isEmpty, let damage = segments.last?.damage { throw damage }
        return LogPage(entries: entries, first: all.0, last: all.1)
    }

    /// Hands over the keys of what was stored in the last `time` before the newest, the oldest first.
    mutating func recent(_ time: Duration, _ each: (UInt64, LogRecord) -> Void) throws(LogTrouble) {
        var found: [(UInt64, LogRecord)] = []
        var newest: Instant?
        for index in segments.indices.reversed() {
            var records: [(UInt64, LogRecord)] = []
            var number = segments[index].first
            _ = try segments[index].scan(isLast: index == segments.count - 1) { record in
                records.append((number, LogRecord(stored: record.stored, key: record.key, octets: [])))
                number += 1
            }
            newest = newest ?? records.last?.1.stored
            guard let newest else { continue }
            let late = records.filter { newest - $0.1.stored < time }
            found = late + found
            if late.count < records.count { break }
        }
        for (number, record) in found { each(number, record) }
    }

    private mutating func segment(of number: UInt64) throws(LogTrouble) -> Int {
        var (low, high) = (0, segments.count)
        while low + 1 < high {
            let middle = (low + high) / 2
            if segments[middle].first <= number { low = middle } else { high = middle }
        }
        if low < segments.count - 1, segments[low].places.isEmpty {
            // What it has is found anew when it is wanted again: places of all would be as many as there are records.
            if let scanned { segments[scanned].forget() }
            scanned = low
            do throws(LogTrouble) { _ = try segments[low].scan(isLast: false) } catch {
                // What stands before the damage can be read.
            }
        }
        return low
    }
}
