import Glibc
import SiteMonitoring
import SystemPackage

/// Keeps others from writing in a folder (flock(2)); it ends with whoever has it.
final class FolderLock {
    private let descriptor: FileDescriptor

    /// - Throws: ``LogTrouble/unavailable(_:)`` where another has it.
    init(_ directory: FilePath) throws(LogTrouble) {
        let path = directory.appending("lock")
        do {
            descriptor = try FileDescriptor.open(
                path, .readWrite, options: [.create, .closeOnExec], permissions: [.ownerReadWrite, .groupRead])
        } catch { throw .unavailable("\(path) can't be opened: \(error)") }
        guard flock(descriptor.rawValue, LOCK_EX | LOCK_NB) == 0 else {
            let error = Errno(rawValue: errno)
            try? descriptor.close()
            throw .unavailable("\(path) is held by another process (\(error))")
        }
    }

    deinit { try? descriptor.close() }
}
