import EventLog
import Polling
import SystemPackage

// Where no gateway says what is durable: what stands in the files is made to, before anybody is told of it.
extension Publisher {
    /// Puts the line that was read last, and all that stands in its file, on the disk.
    ///
    /// - Throws: `Errno` of what synchronises files.
    func synchronizeLine() throws(Errno) {
        guard !options.isTold else { return }
        let position = follower.position
        guard position.segment != synchronized.segment || position.offset > synchronized.offset else { return }
        let files = SystemFiles()
        let file = try files.openForReading(options.directory.appending(position.segment))
        defer { files.close(file) }
        let size = try files.size(of: file)
        do throws(Errno) {
            try files.synchronize(file)
            // The name too.
            if position.segment != synchronized.segment { try files.synchronizeDirectory(options.directory) }
        } catch {
            // Nobody can take back what stands where nothing can be written.
            guard error == .readOnlyFileSystem || error == .invalidArgument else { throw error }
        }
        synchronized = LinePosition(sequence: position.sequence, segment: position.segment, offset: size)
    }
}
