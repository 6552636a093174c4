public import SystemPackage

/// Where lines go: standard output, or the one segment file of a replay.
///
/// Lines wait in a buffer and are written in whole; ``flush()`` writes what waits.
public struct LineOutput: ~Copyable {
    /// What waits to be written.
    public var buffer = LineBuffer(capacity: 128 * 1024)
    private let descriptor: FileDescriptor
    private let ownsDescriptor: Bool
    /// What errors call it.
    public let name: String

    // A write call for each line costs more than the line; more than this gains nothing.
    private static let flushedAt = 64 * 1024

    /// Lines to standard output.
    public static var standardOutput: LineOutput {
        LineOutput(descriptor: .standardOutput, ownsDescriptor: false, name: "standard output")
    }

    private init(descriptor: FileDescriptor, ownsDescriptor: Bool, name: String) {
        self.descriptor = descriptor
        self.ownsDescriptor = ownsDescriptor
        self.name = name
    }

    /// Lines to a new file at `path`.
    ///
    /// - Throws: ``EventLogError/createFailed(_:_:)`` where it can't be made, or is there already.
    public init(creating path: FilePath) throws(EventLogError) {
        do {
            descriptor = try FileDescriptor.open(
                path, .writeOnly, options: [.create, .exclusiveCreate, .closeOnExec],
                permissions: [.ownerReadWrite, .groupRead, .otherRead])
        } catch {
            throw .createFailed(path.string, error as? Errno ?? .ioError)
        }
        ownsDescriptor = true
        name = path.string
    }

    deinit {
        // What could not be written was said by `flush()`; closing a file that was only written can't lose more.
        if ownsDescriptor { try? descriptor.close() }
    }

    /// Writes what waits where it is much.
    @inline(__always)
    public mutating func flushIfFull() throws(EventLogError) {
        if buffer.count >= Self.flushedAt { try flush() }
    }

    /// Writes what waits.
    ///
    /// - Throws: ``EventLogError/writeFailed(_:_:)`` where not all of it could be written.
    public mutating func flush() throws(EventLogError) {
        guard buffer.count > 0 else { return }
        let descriptor = descriptor
        let failure: Errno? = unsafe buffer.withBytes { bytes in
            do {
                try unsafe descriptor.writeAll(bytes)
                return nil
            } catch {
                return error as? Errno ?? .ioError
            }
        }
        buffer.removeAll()
        if let failure { throw .writeFailed(name, failure) }
    }
}

/// Why lines could not be kept.
public enum EventLogError: Error, Hashable {
    /// A file or folder could not be made.
    case createFailed(String, Errno)
    /// The folder for the files of a replay holds something already.
    case directoryNotEmpty(String)
    /// A file could not be written on.
    case writeFailed(String, Errno)
    /// A file or folder could not be read.
    case readFailed(String, Errno)
    /// A file is of a version of its format that came after this program.
    case newerVersion(String, Int)
    /// A file says that a line has a number greater than any can be: the file, and of a line where it stands.
    case numberTooGreat(String, offset: Int?)
    /// Another process, or this one, holds what only one may have (rule N1): what, who, where.
    case inUse(String, holder: String, lock: String)
    /// What stands where a lock's file should be is none of ours: where, and why not.
    case notALock(String, String)
}

extension EventLogError: CustomStringConvertible {
    /// What, where and what to do.
    public var description: String {
        switch self {
        case .createFailed(let path, let error): "\(path) can't be made: \(error)"
        case .directoryNotEmpty(let path): "\(path) is not empty; name a new folder, or empty it"
        case .writeFailed(let path, let error): "\(path) can't be written on: \(error)"
        case .readFailed(let path, .illegalSeek):
            "\(path) is a FIFO, a socket or a device; event files are plain files: take it away"
        case .readFailed(let path, let error): "\(path) can't be read: \(error)"
        case .newerVersion(let path, let version):
            "\(path) has version \(version), which this program does not know; use the one that wrote it, or a newer one"
        case .numberTooGreat(let path, let offset?):
            "\(path) has a line at octet \(offset) whose number is greater than any can be "
                + "(\(LinePosition.sequenceMax)): take the line out, or put the file away"
        case .numberTooGreat(let path, nil):
            "\(path) says that a line has a number greater than any can be (\(LinePosition.sequenceMax)): put the file "
                + "away; the event files stand in for it"
        case .inUse(let what, let holder, let lock):
            "\(what) is in use by \(holder) (\(lock)); end it first, or name another folder"
        case .notALock(let path, let why):
            "\(path) can't be a lock: \(why); see who put it there, and remove it"
        }
    }
}
