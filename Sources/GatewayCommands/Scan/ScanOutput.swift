import EventLoops
import Glibc
import SystemPackage

/// Where a live command writes: a file, a terminal or a pipe, without ever waiting for whoever reads.
///
/// A reader that takes nothing must not keep the process from hearing, or from ending. What it has not taken waits here;
/// how much may wait is its user's to see to, by ``waiting``.
final class ScanOutput {
    /// What is written in one go to what may have no room for more: a pipe that is ready takes PIPE_BUF (pipe(7)).
    private static let chunk = 4096
    // A terminal that is ready promises less.
    private static let terminalChunk = 512

    private let descriptor: FileDescriptor
    private let loop: EventLoop
    private let isOurs: Bool
    // A plain file is always ready, and never waited for.
    private let isFile: Bool
    private let chunk: Int
    private var bytes: [UInt8] = []
    private var written = 0
    private var watch: EventLoop.Watch?
    private var isClosed = false
    /// What went wrong; nothing is written after it.
    private(set) var error: Errno?
    /// Called when an error came up, and when what waited has been written.
    var changed: (() -> Void)?
    /// For how many milliseconds ``close()`` waits for a reader that takes nothing.
    var patience: Int32 = 2_000
    /// How many octets were handed to the system.
    private(set) var total = 0

    /// - Parameters:
    ///   - descriptor: where to.
    ///   - isOurs: whether the descriptor is closed at the end.
    ///   - loop: where it waits until there is room.
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

    /// How many octets wait.
    var waiting: Int { bytes.count - written }

    /// Writes what there is room for; the rest waits.
    func write(_ more: some Collection<UInt8>) {
        guard error == nil else { return }
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
                // EAGAIN: whoever shares this description made it non-blocking.
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
        let result = unsafe bytes.withUnsafeBytes { octets in
            unsafe Glibc.write(descriptor.rawValue, octets.baseAddress.map { unsafe $0 + written }, count)
        }
        guard result >= 0 else { throw Errno(rawValue: errno) }
        return result
    }

    private func isReady(within milliseconds: Int32) -> Bool {
        var entry = pollfd(fd: descriptor.rawValue, events: Int16(POLLOUT), revents: 0)
        // A pipe that nobody reads any more is in error, and writing tells so.
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

    /// Gives up what waits.
    func discard() {
        bytes = []
        written = 0
        arm()
    }

    /// Writes what waits, as long as somebody takes it within ``patience``, and closes what is to be closed.
    ///
    /// - Throws: `Errno` of write(2), also of earlier, and of close(2); ETIMEDOUT where the reader took nothing for so long.
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
