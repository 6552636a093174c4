import EventLog
import SiteMonitoring
import SystemPackage

/// The place of a batch on the disk.
struct QueuePlace: Sendable, Hashable {
    /// The number of the file.
    let file: UInt64
    /// The index of its first byte.
    let offset: Int
    let count: Int
}

/// Batches in files of a directory, one after the other. The file with the lowest number, such as
/// `waiting-00000000000000000001.batches`, has the oldest.
///
/// A file starts with `BGSQ` and the version of the format. Each batch follows its length and the same number with all
/// bits inverted, 32 bits each, the lowest byte first. A batch contains a check. Incomplete data at the end, after a
/// kill or a power failure, are skipped. After a start, existing files are not appended to. A file is deleted when none
/// of its batches is needed.
struct QueueFiles {
    /// A batch that was on the disk at the start.
    struct Found {
        let key: BatchKey
        let site: LogName
        let place: QueuePlace
    }

    private struct File {
        let number: UInt64
        var end: Int
        // The number of its batches that are needed.
        var wanted = 0
    }

    private static let head: [UInt8] = Array("BGSQ".utf8) + [1, 0, 0, 0]
    private static let lengthBytes = 8
    // The maximum size of a batch. No log contains a larger one, so a greater length is damage.
    private static let batchBytesMax = 8 << 20

    private let directory: FilePath
    private let fileBytesMax: Int
    private let files: any FileSystemCalls
    // Sorted by number.
    private var all: [File] = []
    // Whether batches are appended to the last file.
    private var isOpen = false
    private var nextNumber: UInt64 = 1

    /// The total size of the files in bytes.
    private(set) var totalSize = 0

    init(_ directory: FilePath, fileBytesMax: Int, files: any FileSystemCalls) {
        self.directory = directory
        self.fileBytesMax = fileBytesMax
        self.files = files
    }

    // MARK: At the start

    /// Finds the existing batches, in their order.
    ///
    /// - Returns: the batches, and the number of files with data that are not a valid batch, or that cannot be read.
    mutating func open() throws(Errno) -> (found: [Found], damaged: Int) {
        try files.makeDirectory(directory)
        var found: [Found] = []
        var damaged = 0
        for number in try files.names(in: directory).compactMap(Self.number).sorted() {
            nextNumber = max(nextNumber, number &+ 1)
            let before = found.count
            do throws(Errno) {
                let (end, isDamaged) = try scan(number, into: &found)
                if isDamaged { damaged += 1 }
                all.append(File(number: number, end: end, wanted: found.count - before))
                totalSize += end
            } catch {
                // The file remains for a process that can read it.
                found.removeSubrange(before...)
                damaged += 1
            }
        }
        sweep()
        return (found, damaged)
    }

    private func scan(_ number: UInt64, into found: inout [Found]) throws(Errno) -> (end: Int, isDamaged: Bool) {
        let file = try files.openForReading(path(of: number))
        defer { files.close(file) }
        let size = try files.size(of: file)
        guard try files.readAll(file, at: 0, count: Self.head.count) == Self.head else { return (size, size > 0) }
        var place = Self.head.count
        var isDamaged = false
        while place < size {
            let head = try files.readAll(file, at: place, count: Self.lengthBytes)
            guard let count = Self.length(head), place + Self.lengthBytes + count <= size else { return (size, true) }
            let bytes = try files.readAll(file, at: place + Self.lengthBytes, count: count)
            let offset = place + Self.lengthBytes
            do throws(BatchFormatError) {
                let batch = try Batch(bytes: bytes)
                let place = QueuePlace(file: number, offset: offset, count: count)
                found.append(Found(key: batch.key, site: batch.site, place: place))
            } catch { isDamaged = true }
            place = offset + count
        }
        return (size, isDamaged)
    }

    // MARK: Batches

    /// Appends batches to the files, and flushes them to the disk.
    ///
    /// - Returns: the place of each batch, in their order.
    mutating func append(_ batches: [[UInt8]]) throws(Errno) -> [QueuePlace] {
        do throws(Errno) { return try write(batches) } catch {
            // It is unknown how much of the data is on the disk, so the next batch is written to another file.
            isOpen = false
            sweep()
            throw error
        }
    }

    private mutating func write(_ batches: [[UInt8]]) throws(Errno) -> [QueuePlace] {
        if !isOpen || all[all.count - 1].end >= fileBytesMax { try begin() }
        let last = all.count - 1
        let file = try files.open(path(of: all[last].number), isNew: false)
        defer { files.close(file) }
        var places: [QueuePlace] = []
        var bytes: [UInt8] = []
        for batch in batches {
            let length = UInt32(batch.count)
            for number in [length, ~length] {
                for shift in stride(from: 0, to: 32, by: 8) {
                    bytes.append(UInt8(truncatingIfNeeded: number >> shift))
                }
            }
            places.append(
                QueuePlace(file: all[last].number, offset: all[last].end + bytes.count, count: batch.count))
            bytes += batch
        }
        try files.writeAll(file, at: all[last].end, bytes)
        try files.synchronize(file)
        all[last].end += bytes.count
        all[last].wanted += batches.count
        totalSize += bytes.count
        return places
    }

    private mutating func begin() throws(Errno) {
        isOpen = false
        sweep()
        try files.makeDirectory(directory)
        let number = nextNumber
        nextNumber += 1
        let file = try files.open(path(of: number), isNew: true)
        defer { files.close(file) }
        all.append(File(number: number, end: Self.head.count))
        totalSize += Self.head.count
        try files.writeAll(file, at: 0, Self.head)
        try files.synchronizeDirectory(directory)
        isOpen = true
    }

    /// Returns a stored batch; `nil` if it cannot be read.
    func batch(at place: QueuePlace) -> [UInt8]? {
        do throws(Errno) {
            let file = try files.openForReading(path(of: place.file))
            defer { files.close(file) }
            let bytes = try files.readAll(file, at: place.offset, count: place.count)
            return bytes.count == place.count ? bytes : nil
        } catch { return nil }
    }

    /// Records that a batch is not needed any more.
    mutating func release(_ place: QueuePlace) {
        guard let index = all.firstIndex(where: { $0.number == place.file }) else { return }
        all[index].wanted -= 1
        if all[index].wanted == 0 { sweep() }
    }

    /// The number of the file with the oldest batches.
    var oldest: UInt64? { all.first { $0.wanted > 0 }?.number }

    /// Deletes the files of which no batch is needed, except the one that is appended to and has room.
    private mutating func sweep() {
        let last = all.last
        let written = isOpen ? last.flatMap { $0.end < fileBytesMax ? $0.number : nil } : nil
        for file in all where file.wanted == 0 && file.number != written {
            // If the deletion fails, the next start finds the file. Its batches are then sent again, and recognized by
            // their keys.
            do throws(Errno) { try files.remove(path(of: file.number)) } catch {}
            totalSize -= file.end
        }
        all.removeAll { $0.wanted == 0 && $0.number != written }
        if all.isEmpty { isOpen = false }
    }

    // MARK: Files

    private func path(of number: UInt64) -> FilePath {
        let digits = String(number)
        return directory.appending("waiting-\(String(repeating: "0", count: 20 - digits.count))\(digits).batches")
    }

    private static func number(_ name: String) -> UInt64? {
        guard name.hasPrefix("waiting-"), name.hasSuffix(".batches") else { return nil }
        let digits = name.dropFirst(8).dropLast(8)
        guard digits.utf8.count == 20, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return UInt64(digits)
    }

    private static func length(_ head: [UInt8]) -> Int? {
        guard head.count == lengthBytes else { return nil }
        let (length, other) = (number(head[..<4]), number(head[4...]))
        return length == ~other && length <= batchBytesMax ? Int(length) : nil
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }
}
