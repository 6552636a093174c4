import EventLog
import SystemPackage

/// Puts lines on the disk before anybody is told of them, where no gateway says what is durable.
struct LineSynchronizer {
    private let directory: FilePath
    private let files: any FileSystemCalls
    /// Up to where a file is on the disk.
    private var synchronized = LinePosition(sequence: 0)

    /// For the segments of a folder, of which nothing is known yet.
    init(_ directory: FilePath, _ files: any FileSystemCalls) {
        self.directory = directory
        self.files = files
    }

    /// Puts the line that ends at `position`, and all that stands in its file, on the disk.
    ///
    /// - Throws: `Errno` of what synchronises files; not where nothing can be written, and so nothing be taken back.
    mutating func synchronize(_ position: LinePosition) throws(Errno) {
        guard position.segment != synchronized.segment || position.offset > synchronized.offset else { return }
        let file = try files.openForReading(directory.appending(position.segment))
        defer { files.close(file) }
        let size = try files.size(of: file)
        do throws(Errno) {
            try files.synchronize(file)
            // The name too.
            if position.segment != synchronized.segment { try files.synchronizeDirectory(directory) }
        } catch {
            guard error == .readOnlyFileSystem || error == .invalidArgument else { throw error }
        }
        synchronized = LinePosition(sequence: position.sequence, segment: position.segment, offset: size)
    }
}
