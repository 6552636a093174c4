import EventLog
import SiteMonitoring
import SystemPackage

/// A file of batches, as consecutive records. `batches-00000000000000000001.log` starts with batch 1.
struct BatchFile {
    // BGSL, the version, `b` for batches, and two reserved bytes.
    private static let head = Array("BGSL".utf8) + [1, 0x62, 0, 0]
    private static let prefix = "batches-"

    let path: FilePath
    let first: UInt64
    private let files: any FileSystemCalls
    /// The start of each record, then the end of the last one; empty if the file was not scanned.
    private(set) var places: [Int] = []
    /// Whether the records are followed by an incomplete one that could not be removed. Opening the directory for
    /// writing removes it.
    private(set) var isTorn = false
    /// The error of the data after the records.
    private(set) var damage: SiteLogError?

    /// Creates a file that is not read until it is needed.
    init(from first: UInt64, in directory: FilePath, _ files: any FileSystemCalls) {
        let digits = String(first)
        path = directory.appending(
            "\(Self.prefix)\(String(repeating: "0", count: 20 - digits.count))\(digits).log")
        self.first = first
        self.files = files
    }

    /// Returns the number of the first batch by a file's name, 1…2⁶³ − 1; `nil` if the name is of another file.
    static func first(_ name: String) -> UInt64? {
        guard name.hasPrefix(prefix), name.hasSuffix(".log") else { return nil }
        let digits = name.dropFirst(prefix.count).dropLast(4)
        guard digits.utf8.count == 20, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int64(digits).flatMap { $0 > 0 ? UInt64($0) : nil }
    }

    /// The number of records that were found or written.
    var count: Int { max(places.count - 1, 0) }
    /// The end of the last of these records, in bytes.
    var end: Int { places.last ?? 0 }

    /// Forgets the places of the records until the file is scanned again.
    mutating func forget() { places = [] }

    /// Creates the file, without records.
    mutating func make() throws(Errno) {
        let file = try files.open(path, isNew: true)
        defer { files.close(file) }
        do throws(Errno) { try files.writeAll(file, at: 0, Self.head) } catch {
            // The next attempt creates it again.
            try? files.remove(path)
            throw error
        }
        places = [Self.head.count]
    }

    /// Writes a record at the end. If this fails, an incomplete record is removed.
    mutating func append(_ record: [UInt8]) throws(Errno) {
        let file = try files.open(path, isNew: false)
        defer { files.close(file) }
        do throws(Errno) { try files.writeAll(file, at: end, record) } catch {
            do throws(Errno) { try files.truncate(file, to: end) } catch { isTorn = true }
            throw error
        }
        places.append(end + record.count)
    }

    /// Flushes the file to the disk.
    func synchronize() throws(Errno) {
        let file = try files.open(path, isNew: false)
        defer { files.close(file) }
        try files.synchronize(file)
    }

    /// Removes everything after the last complete record.
    func cut() throws(Errno) {
        let file = try files.open(path, isNew: false)
        defer { files.close(file) }
        try files.truncate(file, to: end)
        try files.synchronize(file)
    }

    /// Finds the records, and checks each.
    ///
    /// - Parameter isLast: whether the end can be incomplete, as after a power failure.
    /// - Returns: whether there are data after the last complete record.
    /// - Throws: ``SiteLogError/damaged(_:_:)``. The records before the damage can be read.
    mutating func scan(isLast: Bool) throws(SiteLogError) -> Bool {
        do throws(SiteLogError) { return try walk(isLast) } catch {
            damage = error
            throw error
        }
    }

    private mutating func walk(_ isLast: Bool) throws(SiteLogError) -> Bool {
        let file = try opened()
        defer { files.close(file) }
        let size = try reading { () throws(Errno) in try files.size(of: file) }
        let head = try read(file, at: 0, Self.head.count)
        guard head == Self.head else {
            // The power failed after the file was created.
            if isLast, Self.head.starts(with: head) {
                places = []
                return true
            }
            throw .damaged(path.string, "it does not start like a file of batches of version 1")
        }
        var place = head.count
        places = [place]
        while place < size {
            let head = try read(file, at: place, BatchRecord.headBytes)
            guard head.count == BatchRecord.headBytes, let length = BatchRecord.bodyLength(head[...]) else {
                if isLast, head.count < BatchRecord.headBytes || isZero(file, from: place, to: size) { return true }
                throw harm(place)
            }
            let end = place + head.count + length
            guard end <= size else {
                if isLast { return true }
                throw harm(place)
            }
            guard BatchRecord(try read(file, at: place, end - place)[...]) != nil else {
                if isLast, end == size { return true }
                throw harm(place)
            }
            place = end
            places.append(place)
        }
        return false
    }

    /// Returns the record of a batch, which must be one of those that were found.
    func record(_ number: UInt64, _ file: FileSystemCalls.Handle) throws(SiteLogError) -> BatchRecord {
        let index = Int(number - first)
        let bytes = try read(file, at: places[index], places[index + 1] - places[index])
        guard let record = BatchRecord(bytes[...]) else { throw harm(places[index]) }
        return record
    }

    /// Opens the file for reading records.
    func opened() throws(SiteLogError) -> FileSystemCalls.Handle {
        try reading { () throws(Errno) in try files.openForReading(path) }
    }

    private func harm(_ place: Int) -> SiteLogError {
        .damaged(path.string, "there is no valid record at byte \(place)")
    }

    // A file system can allocate space before a power failure without writing the data.
    private func isZero(_ file: FileSystemCalls.Handle, from place: Int, to size: Int) -> Bool {
        guard size - place <= 8 << 20, let rest = try? read(file, at: place, size - place) else { return false }
        return rest.allSatisfy { $0 == 0 }
    }

    private func read(_ file: FileSystemCalls.Handle, at place: Int, _ count: Int) throws(SiteLogError) -> [UInt8] {
        try reading { () throws(Errno) in try files.readAll(file, at: place, count: count) }
    }

    private func reading<Value>(_ body: () throws(Errno) -> Value) throws(SiteLogError) -> Value {
        do throws(Errno) { return try body() } catch { throw .damaged(path.string, "it can't be read: \(error)") }
    }
}
