public import BeaconMonitoring
public import SystemPackage

/// The exclusive right to use a state directory, the name of a monitor in it (rule N1), or a folder of event files,
/// until it is released.
///
/// It is a lock on a file in that directory (flock(2)). It ends with the process, and excludes other locks of the same
/// process too. The file stays, and has the name of the program that locked it if the disk permits it.
///
/// On a read-only file system, an existing lock file is still locked. If there is none, nothing is locked, and
/// ``remark`` explains that: two processes cannot damage a directory that cannot be written, and monitoring continues
/// (rule N5).
///
///     let lock = try StateLock(in: "/var/lib/my-gateway/state", program: "my-gateway")
///     defer { lock.release() }
///     if let remark = lock.remark { print(remark) }
public final class StateLock {
    /// The resource of the lock.
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

    /// A remark for operators if the lock is not effective; `nil` otherwise.
    public let remark: String?
    /// Whether the right is exclusive; `false` if the lock file does not exist and could not be created.
    public var isHeld: Bool { lock != nil }
    private var lock: FileLock?

    /// Locks the name of a monitor, or the whole state directory if `name` is `nil`.
    ///
    /// - Parameters:
    ///   - name: the name of the monitor.
    ///   - directory: the state directory. It is created if it does not exist.
    ///   - program: the name of the program for people, such as `beacon-gateway run`.
    /// - Throws: ``EventLogError/inUse(_:holder:lock:)`` with the holder, if another process or another lock of this
    ///   process has it; ``EventLogError/notALock(_:_:)`` if the path cannot be a lock file;
    ///   ``EventLogError/createFailed(_:_:)``.
    public convenience init(
        _ name: Identifier? = nil, in directory: FilePath, program: String
    ) throws(EventLogError) {
        try self.init(scope: name.map { .monitor($0) } ?? .directory, in: directory, program: program)
    }

    /// Locks a folder of event files, to which only one journal may write.
    ///
    /// - Parameters:
    ///   - directory: the folder. It is created if it does not exist.
    ///   - program: the name of the program for people.
    /// - Throws: the errors of ``init(_:in:program:)``.
    public convenience init(events directory: FilePath, program: String) throws(EventLogError) {
        try self.init(scope: .events, in: directory, program: program)
    }

    /// Locks erasing in a folder of event files.
    ///
    /// - Parameter directory: the folder.
    /// - Throws: the errors of ``init(_:in:program:)``.
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
        // Monitoring continues in spite of these errors (rule N5).
        guard FileLock.diskErrors.contains(failure) else { throw .createFailed(path.string, failure) }
        remark =
            "\(path.string) can't be created: \(failure); a second gateway is not excluded from \(scope.words(directory))"
    }

    /// Releases the lock.
    public func release() { lock = nil }
}
