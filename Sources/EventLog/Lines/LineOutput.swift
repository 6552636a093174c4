package import JSON
package import SystemPackage

/// Where lines go: standard output, or the one segment file of a replay.
///
/// Lines wait in a buffer and are written in whole; ``flush()`` writes what waits.
package struct LineOutput: ~Copyable {
    /// What waits to be written.
    package var buffer: LineBuffer
    private let descriptor: FileDescriptor
    private let ownsDescriptor: Bool
    /// What errors call it.
    package let name: String

    // A write call for each line costs more than the line; more than this gains nothing.
    private static let flushedAt = 64 * 1024
    private static let bufferSize = 128 * 1024

    /// Lines to standard output.
    package static var standardOutput: LineOutput { LineOutput(standardOutput: LineBuffer(capacity: bufferSize)) }

    /// Lines to standard output, by way of a buffer of the caller's.
    package init(standardOutput buffer: consuming LineBuffer) {
        self.buffer = buffer
        descriptor = .standardOutput
        ownsDescriptor = false
        name = "standard output"
    }

    /// Creates a file at `path` for the lines.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - permissions: its mode, less the umask. Only the owner and the group may read who was present.
    /// - Throws: ``EventLogError/createFailed(_:_:)`` if it can't be created, or exists.
    package init(
        creating path: FilePath, permissions: FilePermissions = [.ownerReadWrite, .groupRead]
    ) throws(EventLogError) {
        do {
            descriptor = try FileDescriptor.open(
                path, .writeOnly, options: [.create, .exclusiveCreate, .closeOnExec],
                permissions: permissions)
        } catch {
            throw .createFailed(path.string, error as? Errno ?? .ioError)
        }
        ownsDescriptor = true
        name = path.string
        buffer = LineBuffer(capacity: Self.bufferSize)
    }

    deinit {
        // What could not be written was said by `flush()`; closing a file that was only written can't lose more.
        if ownsDescriptor { try? descriptor.close() }
    }

    /// Writes what waits where it is much.
    @inline(__always)
    package mutating func flushIfFull() throws(EventLogError) {
        if buffer.count >= Self.flushedAt { try flush() }
    }

    /// Writes what waits.
    ///
    /// - Throws: ``EventLogError/writeFailed(_:_:)`` where not all of it could be written.
    package mutating func flush() throws(EventLogError) {
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
