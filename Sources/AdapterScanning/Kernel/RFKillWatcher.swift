import EventLoops
import SystemPackage

/// Reads the events of /dev/rfkill.
final class RFKillWatcher {
    private let loop: EventLoop
    private let device: FileDescriptor
    private var watch: EventLoop.Watch?
    private(set) var state = RFKillState()
    /// Called once after each read of waiting events, if at least one of them concerns Bluetooth.
    var changed: ((RFKillState) -> Void)?

    /// Opens the device and reads the present state.
    ///
    /// - Throws: `Errno` of open(2): ENOENT if the kernel has no rfkill, EACCES if this user has no permission to read
    ///   it.
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

    /// Starts to call ``changed``.
    ///
    /// - Throws: `Errno` of epoll_ctl(2).
    func start() throws(Errno) {
        watch = try loop.watch(device, for: .read) { [weak self] _ in
            self?.read(atMost: EventLoop.recordsPerTurn)
        }
    }

    /// Stops calling ``changed``.
    func stop() {
        if let watch { loop.end(watch) }
        watch = nil
        changed = nil
    }

    /// Reads all waiting events. 256 is more than a machine has switches.
    func read() { read(atMost: 256) }

    private func read(atMost count: Int) {
        var isChanged = false
        // Each read returns one event.
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
