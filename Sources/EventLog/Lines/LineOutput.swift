package import JSON
package import SystemPackage

/// The output for lines: standard output, or the event file of a replay.
///
/// Lines are buffered and written in blocks. ``flush()`` writes the buffered lines.
package struct LineOutput: ~Copyable {
    /// The buffered lines.
    package var buffer: LineBuffer
    private let descriptor: FileDescriptor
    private let ownsDescriptor: Bool
    /// The name of the output in errors.
    package let name: String

    // A system call for each line takes longer than encoding it. A larger block does not make it faster.
    private static let flushedAt = 64 * 1024
    private static let bufferSize = 128 * 1024

    /// Creates an output to standard output.
    package static var standardOutput: LineOutput { LineOutput(standardOutput: LineBuffer(capacity: bufferSize)) }

    /// Creates an output to standard output with a buffer of the caller.
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
    ///   - permissions: its mode before the umask is applied. Only the owner and the group must be able to read who was
    ///     present.
    /// - Throws: ``EventLogError/createFailed(_:_:)`` if the file cannot be created or exists already.
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
        // `flush()` has reported all failed writes. To close a file after writing cannot lose more.
        if ownsDescriptor { try? descriptor.close() }
    }

    /// Writes the buffered lines if there are many.
    @inline(__always)
    package mutating func flushIfFull() throws(EventLogError) {
        if buffer.count >= Self.flushedAt { try flush() }
    }

    /// Writes the buffered lines.
    ///
    /// - Throws: ``EventLogError/writeFailed(_:_:)`` if not all of them could be written.
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
