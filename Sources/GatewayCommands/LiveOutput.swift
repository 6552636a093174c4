import EventLoops
import Glibc
import SystemPackage

/// The output of a live command: a file, a terminal or a pipe. It never waits for the reader.
///
/// A reader that does not read must not prevent the process from scanning or from ending. Bytes that it has not read
/// wait here. The caller must limit their number with ``waiting``.
final class LiveOutput {
    /// The maximum number of bytes in one write to an output that can be full. If a pipe is ready, it accepts PIPE_BUF
    /// bytes (pipe(7)).
    private static let chunk = 4096
    /// The maximum number of written bytes that are kept, if others wait.
    private static let keptMax = 64 << 10
    // A terminal that is ready can accept less.
    private static let terminalChunk = 512

    private let descriptor: FileDescriptor
    private let loop: EventLoop
    private let isOurs: Bool
    // A regular file is always ready, so no wait is needed.
    private let isFile: Bool
    private let chunk: Int
    private var bytes: [UInt8] = []
    private var written = 0
    private var watch: EventLoop.Watch?
    private var isClosed = false
    /// The error of writing. After an error, nothing is written.
    private(set) var error: Errno?
    /// Called by the loop when an error has occurred, and when all waiting bytes were written. ``write(_:)`` does not
    /// call it.
    var changed: (() -> Void)?
    /// For how many milliseconds ``close()`` waits for a reader that reads nothing.
    var patience: Int32 = 2_000
    /// The number of bytes that the system has accepted.
    private(set) var total = 0

    /// Creates an output.
    ///
    /// - Parameters:
    ///   - descriptor: the file, terminal or pipe.
    ///   - isOurs: whether the descriptor must be closed at the end.
    ///   - loop: the loop that waits until there is room.
    init(_ descriptor: FileDescriptor, isOurs: Bool, on loop: EventLoop) {
        self.descriptor = descriptor
        self.isOurs = isOurs
        self.loop = loop
        var status = stat()
        let isKnown = unsafe fstat(descriptor.rawValue, &status) == 0
        isFile = isKnown && status.st_mode & S_IFMT == S_IFREG
        chunk = isatty(descriptor.rawValue) == 1 ? Self.terminalChunk : Self.chunk
    }

    deinit {
        if let watch { loop.end(watch) }
        if isOurs, !isClosed { _ = try? descriptor.close() }
    }

    /// The number of bytes that wait.
    var waiting: Int { bytes.count - written }

    /// Writes the bytes for which there is room. The rest waits.
    func write(_ more: some Collection<UInt8>) {
        guard error == nil else { return }
        if written >= Self.keptMax {
            bytes.removeFirst(written)
            written = 0
        }
        bytes += more
        pump()
        arm()
    }

    private func pump() {
        while written < bytes.count, error == nil {
            let count = isFile ? bytes.count - written : min(chunk, bytes.count - written)
            guard isFile || isReady(within: 0) else { return }
            do throws(Errno) {
                let sent = try writeOnce(count)
                written += sent
                total += sent
            } catch {
                // EAGAIN: another process that shares this file description has made it non-blocking.
                if error == .wouldBlock || error == .interrupted { return }
                self.error = error
                bytes = []
                written = 0
            }
        }
        if written == bytes.count {
            bytes.removeAll(keepingCapacity: true)
            written = 0
        }
    }

    private func writeOnce(_ count: Int) throws(Errno) -> Int {
        let result = unsafe bytes.withUnsafeBytes { bytes in
            unsafe Glibc.write(descriptor.rawValue, bytes.baseAddress.map { unsafe $0 + written }, count)
        }
        guard result >= 0 else { throw Errno(rawValue: errno) }
        return result
    }

    private func isReady(within milliseconds: Int32) -> Bool {
        var entry = pollfd(fd: descriptor.rawValue, events: Int16(POLLOUT), revents: 0)
        // If a pipe has no reader any more, poll(2) reports that as ready, and the write returns the error.
        return unsafe poll(&entry, 1, milliseconds) > 0
    }

    private func arm() {
        if written < bytes.count, error == nil {
            guard watch == nil else { return }
            watch = try? loop.watch(descriptor, for: .write) { [unowned self] _ in
                pump()
                guard written == bytes.count || error != nil else { return }
                if let watch { loop.end(watch) }
                watch = nil
                changed?()
            }
        } else if let watch {
            loop.end(watch)
            self.watch = nil
        }
    }

    /// Discards the waiting bytes.
    func discard() {
        bytes = []
        written = 0
        arm()
    }

    /// Writes the waiting bytes if the reader accepts some within each ``patience``, and closes the descriptor if it
    /// must be closed.
    ///
    /// - Throws: `Errno` of write(2), also of an earlier one, and of close(2). ETIMEDOUT if the reader read nothing for
    ///   ``patience``.
    func close() throws(Errno) {
        if let watch { loop.end(watch) }
        watch = nil
        while waiting > 0, error == nil {
            guard isFile || isReady(within: patience) else { throw .timedOut }
            pump()
        }
        if let error { throw error }
        guard isOurs, !isClosed else { return }
        isClosed = true
        do {
            try descriptor.close()
        } catch {
            throw error as? Errno ?? .ioError
        }
    }
}
