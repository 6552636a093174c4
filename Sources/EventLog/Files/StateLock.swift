public import BeaconMonitoring
import Glibc
import JSON
public import SystemPackage

/// The right to be the one that has a state directory, a monitor's name in it (rule N1), or a folder of event files, until
/// it is released.
///
/// An open file description lock (flock(2)): it ends with the process however that ends, and holds against this process
/// too. The file stays where it is and says who has it.
///
/// On a file system that takes no writing, a lock file that is there is locked all the same: for that it need only be
/// readable. Where there is none and none can be made, nothing is locked, and ``remark`` says so: what can't be written
/// to can't be spoilt by two either, and monitoring goes on (rule N5).
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
    public var isHeld: Bool { descriptor != nil }
    private var descriptor: FileDescriptor?

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
        let file: LockFile
        do throws(Errno) {
            try SystemFiles().makeDirectories(directory)
            file = try LockFile(path)
        } catch {
            if error == .tooManySymbolicLinkLevels { throw .notALock(path.string, "it is a symbolic link") }
            guard Self.writeTroubles.contains(error) else { throw .createFailed(path.string, error) }
            remark =
                "\(path.string) can't be made: \(error); nothing keeps a second gateway from \(scope.words(directory))"
            return
        }
        if let why = file.flaw(in: directory) {
            file.close()
            throw .notALock(path.string, why)
        }
        guard flock(file.descriptor.rawValue, LOCK_EX | LOCK_NB) == 0 else {
            let failure = Errno(rawValue: errno)
            let holder = file.holder
            file.close()
            guard failure == .wouldBlock else { throw .createFailed(path.string, failure) }
            throw .inUse(scope.words(directory), holder: holder, lock: path.string)
        }
        // Where the disk takes nothing nobody learns who has it, but it is had.
        file.write("\(program), process \(getpid())\n")
        descriptor = file.descriptor
        remark = nil
    }

    deinit { release() }

    /// Gives the lock back.
    public func release() {
        // Closing ends the lock; it can't fail in a way that anybody could act on.
        try? descriptor?.close()
        descriptor = nil
    }

    /// What a disk says that takes no writing: none of them is a reason not to monitor (rule N5).
    static let writeTroubles: Set<Errno> = [.readOnlyFileSystem, .noSpace, .diskQuotaExceeded, .ioError]
}

/// A lock's file, open: for writing, or for reading alone where the file system takes no writing.
private struct LockFile {
    let descriptor: FileDescriptor

    // A link would have another's file emptied; a FIFO, or a device, would be waited for.
    private static let options: FileDescriptor.OpenOptions = [.closeOnExec, .noFollow, .nonBlocking]

    init(_ path: FilePath) throws(Errno) {
        do {
            descriptor = try FileDescriptor.open(
                path, .readWrite, options: Self.options.union(.create),
                permissions: [.ownerReadWrite, .groupRead])
        } catch let error as Errno where StateLock.writeTroubles.contains(error) {
            do {
                descriptor = try FileDescriptor.open(path, .readOnly, options: Self.options)
            } catch let second as Errno {
                throw second == .noSuchFileOrDirectory ? error : second
            } catch {
                throw .ioError
            }
        } catch {
            throw error as? Errno ?? .ioError
        }
    }

    func close() { try? descriptor.close() }

    /// What is wrong with it as a lock of ours; `nil` where nothing is.
    func flaw(in directory: FilePath) -> String? {
        var (status, folder) = (stat(), stat())
        guard unsafe fstat(descriptor.rawValue, &status) == 0 else { return "\(Errno(rawValue: errno))" }
        guard status.st_mode & S_IFMT == S_IFREG else { return "it is no plain file" }
        guard status.st_nlink == 1 else { return "it has \(status.st_nlink) names (hard links)" }
        // Whoever has the folder can put there what he likes; in one that is everybody's (/tmp) others can too.
        let isKnown = unsafe directory.withPlatformString { unsafe stat($0, &folder) } == 0
        let owners = [geteuid(), 0] + (isKnown ? [folder.st_uid] : [])
        guard owners.contains(status.st_uid) else { return "it belongs to another user (number \(status.st_uid))" }
        return nil
    }

    /// Who has it, as the file says.
    var holder: String {
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = unsafe bytes.withUnsafeMutableBytes { buffer in
            (try? unsafe descriptor.read(fromAbsoluteOffset: 0, into: buffer)) ?? 0
        }
        let text = String(decoding: bytes[..<count].prefix { $0 != 0x0A }, as: UTF8.self)
        return text.isEmpty ? "another process" : text
    }

    func write(_ text: String) {
        _ = ftruncate(descriptor.rawValue, 0)
        _ = try? descriptor.writeAll(toAbsoluteOffset: 0, text.utf8)
    }
}
