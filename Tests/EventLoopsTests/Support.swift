import BaseTypes
import EventLoops
import Glibc
import Synchronization
import SystemPackage

/// The machine's clock, which a test can stop. While it is stopped, the speed of the machine has no effect.
final class StoppableClock {
    private var stopped: Instant?
    var now: Instant { stopped ?? BootClock.now }
    func stop() { stopped = BootClock.now }
    func go() { stopped = nil }
}

/// A clock that a test sets.
final class TestClock {
    var now: Instant = .earliest
}

/// A pipe that does not block.
final class TestPipe {
    let reader: FileDescriptor
    let writer: FileDescriptor
    private var isReaderOpen = true
    private var isWriterOpen = true

    init() throws {
        let ends = try FileDescriptor.pipe()
        reader = ends.readEnd
        writer = ends.writeEnd
        for end in [reader, writer] { _ = fcntl(end.rawValue, F_SETFL, O_NONBLOCK) }
        signal(SIGPIPE, SIG_IGN)
    }

    deinit {
        if isReaderOpen { try? reader.close() }
        if isWriterOpen { try? writer.close() }
    }

    func write(_ text: String) throws { _ = try writer.writeAll(text.utf8) }

    func drain() throws {
        _ = try withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { try reader.read(into: $0) }
    }

    func closeReader() throws {
        isReaderOpen = false
        try reader.close()
    }

    func closeWriter() throws {
        isWriterOpen = false
        try writer.close()
    }
}

/// A request to a thread to end, and the acknowledgment.
final class Flag: Sendable {
    private let state = Atomic<Int>(0)
    var isSet: Bool { state.load(ordering: .acquiring) > 0 }
    func set() {
        state.add(1, ordering: .releasing)
        // The thread that is signaled must exist until the other thread has stopped signaling.
        while state.load(ordering: .acquiring) < 2 { sched_yield() }
    }
    func acknowledge() { state.add(1, ordering: .releasing) }
}
