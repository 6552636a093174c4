public import SystemPackage

/// An error of reading, writing or locking files of the event log.
public enum EventLogError: Error, Hashable {
    /// A file or folder cannot be created.
    case createFailed(String, Errno)
    /// The folder for the files of a replay is not empty.
    case directoryNotEmpty(String)
    /// A file cannot be written.
    case writeFailed(String, Errno)
    /// A file or folder cannot be read.
    case readFailed(String, Errno)
    /// A file to be rewritten is a symbolic link: the file, and its target.
    case linked(String, target: String)
    /// A file was changed or replaced while it was rewritten.
    case changedMeanwhile(String)
    /// The user and group of a file cannot be given to its replacement: the file, and the error.
    case ownerNotKept(String, Errno)
    /// A file has a later version of its format than this program supports.
    case newerVersion(String, Int)
    /// A line has a number above the maximum: the file, and the offset of the line in an event file; `nil` for
    /// `state.json`.
    case numberTooGreat(String, offset: Int?)
    /// Another process, or this one, has the exclusive right (rule N1): to what, the process, and the lock file.
    case inUse(String, holder: String, lock: String)
    /// The path of a lock has something that cannot be a lock file: the path, and the reason.
    case notALock(String, String)
}

extension EventLogError {
    /// Evaluates an expression that reads the file or folder at `path`.
    ///
    /// - Parameters:
    ///   - path: the file or folder.
    ///   - value: the expression.
    /// - Returns: its value.
    /// - Throws: ``readFailed(_:_:)`` with the error of the expression.
    package static func reading<Value>(
        _ path: FilePath, _ value: @autoclosure () throws(Errno) -> Value
    ) throws(EventLogError) -> Value {
        do throws(Errno) { return try value() } catch { throw .readFailed(path.string, error) }
    }

    /// Evaluates an expression that writes or removes the file at `path`; throws its error as ``writeFailed(_:_:)``.
    static func writing(_ path: FilePath, _ change: @autoclosure () throws(Errno) -> Void) throws(EventLogError) {
        do throws(Errno) { try change() } catch { throw .writeFailed(path.string, error) }
    }
}

extension EventLogError: CustomStringConvertible {
    /// A text for operators: what failed, where, and what to do.
    public var description: String {
        switch self {
        case .createFailed(let path, let error): "\(path) can't be created: \(error)"
        case .directoryNotEmpty(let path): "\(path) is not empty; use a new folder, or empty it"
        case .writeFailed(let path, let error): "\(path) can't be written to: \(error)"
        case .readFailed(let path, .illegalSeek):
            "\(path) is a FIFO, a socket or a device; event files must be regular files, so remove it"
        case .readFailed(let path, let error): "\(path) can't be read: \(error)"
        case .linked(let path, let target):
            "\(path) is a symbolic link to \(target), and erase does not follow links. Replace the link by "
                + "the file and run erase again; if you only remove the link, its target still names the beacon"
        case .changedMeanwhile(let path): "\(path) was changed or replaced while it was rewritten. Run erase again"
        case .ownerNotKept(let path, let error):
            "\(path) belongs to another user or group, and the new file can't have the same owner: \(error). "
                + "Run erase as root"
        case .newerVersion(let path, let version):
            "\(path) has version \(version), which is newer than this program; use the program that wrote it, or a newer one"
        case .numberTooGreat(let path, let offset?):
            "\(path) has a line at byte \(offset) whose sequence number exceeds the maximum "
                + "(\(LinePosition.sequenceMax)); remove the line, or move the file away"
        case .numberTooGreat(let path, nil):
            "\(path) has a sequence number that exceeds the maximum (\(LinePosition.sequenceMax)); move the file "
                + "away: the event files replace it"
        case .inUse(let what, let holder, let lock):
            "\(what) is in use by \(holder) (\(lock)); stop it first, or use another folder"
        case .notALock(let path, let why):
            "\(path) can't be a lock: \(why); check where it comes from, and remove it"
        }
    }
}
