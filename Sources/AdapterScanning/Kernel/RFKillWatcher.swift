import EventLoops
import SystemPackage

/// Reads /dev/rfkill as it speaks.
final class RFKillWatcher {
    private let loop: EventLoop
    private let device: FileDescriptor
    private var watch: EventLoop.Watch?
    private(set) var state = RFKillState()
    /// Called after each change that is about Bluetooth.
    var changed: ((RFKillState) -> Void)?

    /// Opens it; what is known at once is read before this returns.
    ///
    /// - Throws: `Errno` of open(2): ENOENT where the kernel has no rfkill, EACCES where this user may not read it.
    init(loop: EventLoop, path: FilePath) throws(Errno) {
        self.loop = loop
        do {
            device = try FileDescriptor.open(path, .readOnly, options: [.nonBlocking, .closeOnExec])
        } catch let error as Errno {
            throw error
        } catch {
            throw .ioError
        }
        read()
    }

    deinit {
        try? device.close()
    }

    /// Begins to call ``changed``.
    ///
    /// - Throws: `Errno` of epoll_ctl(2).
    func start() throws(Errno) {
        watch = try loop.watch(device, for: .read) { [weak self] _ in
            self?.read(atMost: EventLoop.recordsPerTurn)
        }
    }

    /// Ends.
    func stop() {
        if let watch { loop.end(watch) }
        watch = nil
        changed = nil
    }

    /// Reads all events: a machine has fewer switches than this.
    func read() { read(atMost: 256) }

    private func read(atMost count: Int) {
        var isChanged = false
        // One event in each read.
        for _ in 0..<count {
            var event = [UInt8](repeating: 0, count: 32)
            guard
                let count = try? unsafe event.withUnsafeMutableBytes({ bytes in try unsafe device.read(into: bytes) }),
                count > 0
            else { break }
            if state.received(event.span.extracting(0..<count), name: Self.name) { isChanged = true }
        }
        if isChanged { changed?(state) }
    }

    private static func name(of index: UInt32) -> String? {
        SmallFile.value(of: FilePath("/sys/class/rfkill/rfkill\(index)/name"))
    }
}
