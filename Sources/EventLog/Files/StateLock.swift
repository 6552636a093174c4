public import BeaconMonitoring
public import SystemPackage

/// The exclusive right to use a state directory, a monitor's name in it (rule N1), or a folder of event files, until it is
/// released.
///
/// It is a lock on a file in that directory (flock(2)). It ends with the process, and excludes other locks of the same process
/// too. The file stays, and has the name of the program that locked it if the disk permits it.
///
/// On a read-only file system, a lock file that exists is locked all the same. If there is none, nothing is locked, and
/// ``remark`` explains that: two processes cannot damage a directory that cannot be written, and monitoring continues (rule
/// N5).
public final class StateLock {
    /// What the lock stands for.
    enum Scope {
        case directory
        case monitor(Identifier)
        case events
        case erasing

        var fileName: String {
            switch self {
            case .directory: "gateway.lock"
            case .monitor(let name): "monitor-\(name.text).lock"
            case .events: "events.lock"
            case .erasing: "erase.lock"
            }
        }

        func words(_ directory: FilePath) -> String {
            switch self {
            case .directory: "the state directory \(directory.string)"
            case .monitor(let name): "the monitor “\(name.text)”"
            case .events: "the folder of event files \(directory.string)"
            case .erasing: "erasing in \(directory.string)"
            }
        }
    }

    /// What operators should know of a lock that was not had as it should be; absent where all is well.
    public let remark: String?
    /// Whether nobody else can have what it stands for; `false` where its file is not there and could not be made.
    public var isHeld: Bool { lock != nil }
    private var lock: FileLock?

    /// Takes the lock of a monitor's name, or without one of the state directory as a whole.
    ///
    /// - Parameters:
    ///   - name: the monitor's.
    ///   - directory: the state directory; made where it is not there.
    ///   - program: who takes it, for people: `beacon-gateway run`.
    /// - Throws: ``EventLogError/inUse(_:holder:lock:)`` with who has it, ``EventLogError/notALock(_:_:)`` where what
    ///   stands in the file's place is none, ``EventLogError/createFailed(_:_:)``.
    public convenience init(
        _ name: Identifier? = nil, in directory: FilePath, program: String
    ) throws(EventLogError) {
        try self.init(scope: name.map { .monitor($0) } ?? .directory, in: directory, program: program)
    }

    /// Takes the lock of a folder of event files: one journal at a time writes there.
    ///
    /// - Parameters:
    ///   - directory: the folder; made where it is not there.
    ///   - program: who takes it, for people.
    /// - Throws: as the other does.
    public convenience init(events directory: FilePath, program: String) throws(EventLogError) {
        try self.init(scope: .events, in: directory, program: program)
    }

    /// Takes the right to be the one that erases in a folder of event files.
    ///
    /// - Parameter directory: the folder.
    /// - Throws: as the others do.
    package convenience init(erasing directory: FilePath) throws(EventLogError) {
        try self.init(scope: .erasing, in: directory, program: "beacon-gateway erase")
    }

    init(scope: Scope, in directory: FilePath, program: String) throws(EventLogError) {
        let path = directory.appending(scope.fileName)
        let failure: Errno
        do throws(FileLock.Failure) {
            do throws(Errno) { try SystemFiles().makeDirectories(directory) } catch { throw .missing(error) }
            lock = try FileLock(path, program: program, readingAfter: FileLock.diskErrors)
            remark = nil
            return
        } catch {
            switch error {
            case .held(let holder): throw .inUse(scope.words(directory), holder: holder, lock: path.string)
            case .notALock(let reason): throw .notALock(path.string, reason)
            case .failed(let error): throw .createFailed(path.string, error)
            case .missing(let error), .unopened(let error): failure = error
            }
        }
        // Monitoring continues in spite of these (rule N5).
        guard FileLock.diskErrors.contains(failure) else { throw .createFailed(path.string, failure) }
        remark =
            "\(path.string) can't be created: \(failure); a second gateway is not excluded from \(scope.words(directory))"
    }

    /// Releases the lock.
    public func release() { lock = nil }
}
