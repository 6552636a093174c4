import EventLog
import SystemPackage

/// Makes lines durable before they are published, if no gateway reports which lines are durable.
struct LineSynchronizer {
    private let directory: FilePath
    private let files: any FileSystemCalls
    /// The position up to which a file is durable.
    private var synchronized = LinePosition(sequence: 0)

    /// Creates a value for the segments of a folder. None of them counts as durable yet.
    init(_ directory: FilePath, _ files: any FileSystemCalls) {
        self.directory = directory
        self.files = files
    }

    /// Synchronizes the file of the line that ends at `position`, which makes the whole file durable.
    ///
    /// - Throws: `Errno` if the file cannot be synchronized. EROFS and EINVAL are not thrown: nothing can be written to
    ///   such a file system, so no line can disappear.
    mutating func synchronize(_ position: LinePosition) throws(Errno) {
        guard position.segment != synchronized.segment || position.offset > synchronized.offset else { return }
        let file = try files.openForReading(directory.appending(position.segment))
        defer { files.close(file) }
        let size = try files.size(of: file)
        do throws(Errno) {
            try files.synchronize(file)
            // The name of the file must be durable too.
            if position.segment != synchronized.segment { try files.synchronizeDirectory(directory) }
        } catch {
            guard error == .readOnlyFileSystem || error == .invalidArgument else { throw error }
        }
        synchronized = LinePosition(sequence: position.sequence, segment: position.segment, offset: size)
    }
}
