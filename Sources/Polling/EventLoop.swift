public import BluetoothLE
import CLinux
public import SystemPackage

#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// The one place where the process waits: for descriptors and for moments on the timeline, on one thread.
///
/// Everything live happens in its turns, one thing after the other, so that nothing has to be handed from one thread to
/// another: between the kernel's buffers and the monitor there is no queue that could overflow. It wakes for nothing
/// but what was asked for (epoll(7), timerfd_create(2) with CLOCK_BOOTTIME).
///
/// It belongs to one thread; its bodies may add and end watches and timers, their own too.
public final class EventLoop {
    /// What a watch waits for; hang-up and error are always told.
    public struct Interest: OptionSet, Sendable, Hashable {
        /// The set's bits.
        public let rawValue: UInt8
        /// Makes a set of bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }
        /// There is something to read, or the other end has closed.
        public static let read = Interest(rawValue: 1)
        /// There is room to write.
        public static let write = Interest(rawValue: 2)
    }

    /// What a descriptor is ready for.
    public struct Readiness: OptionSet, Sendable, Hashable {
        /// The set's bits.
        public let rawValue: UInt8
        /// Makes a set of bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }
        /// There is something to read, or the other end has closed.
        public static let read = Readiness(rawValue: 1)
        /// There is room to write.
        public static let write = Readiness(rawValue: 2)
        /// The other end is gone (EPOLLHUP).
        public static let hangUp = Readiness(rawValue: 4)
        /// The descriptor is in error (EPOLLERR); POLLPRI on sysfs and procfs files too.
        public static let error = Readiness(rawValue: 8)
    }

    /// A descriptor that is watched.
    public struct Watch: Hashable, Sendable {
        fileprivate let id: UInt64
    }

    /// A moment that is waited for.
    public struct Timer: Hashable, Sendable {
        fileprivate let id: UInt64
    }

    private struct WatchEntry {
        let descriptor: FileDescriptor
        let body: (Readiness) -> Void
    }

    private struct TimerEntry {
        var time: Instant?
        let body: (Instant) -> Void
    }

    // A turn that finds more ready descriptors than these takes the rest in the next one.
    private static let eventsMax = 32
    // The timer's own place among the watches; those of others count from 1.
    private static let timerID: UInt64 = 0

    /// The timeline's present.
    public var now: Instant { readClock() }
    /// How often the loop has waited and was woken.
    public private(set) var wakeUps = 0
    /// Called before each wait, after all that was ready and due has been handled.
    public var beforeWaiting: (() -> Void)?

    private let epoll: FileDescriptor
    private let alarm: FileDescriptor
    private let readClock: () -> Instant
    private var watches: [UInt64: WatchEntry] = [:]
    private var timers: [UInt64: TimerEntry] = [:]
    private var lastID: UInt64 = 0
    private var alarmTime: Instant?
    private var isStopped = false

    /// Makes a loop that nothing waits in yet.
    ///
    /// - Parameter clock: the timeline; a test's own, or the machine's. Waiting itself is always by the machine's.
    /// - Throws: `Errno` of epoll_create1(2) and timerfd_create(2): too many descriptors are open, or no memory is left.
    public init(clock: @escaping () -> Instant = { BootClock.now }) throws(Errno) {
        readClock = clock
        epoll = FileDescriptor(rawValue: try Self.check(epoll_create1(Int32(EPOLL_CLOEXEC))))
        alarm = FileDescriptor(
            rawValue: try Self.check(timerfd_create(CLOCK_BOOTTIME, Int32(TFD_CLOEXEC | TFD_NONBLOCK))))
        try control(EPOLL_CTL_ADD, alarm, .read, Self.timerID)
    }

    deinit {
        // Closing them can't fail in a way that anybody could act on.
        _ = try? epoll.close()
        _ = try? alarm.close()
    }

    // MARK: Descriptors

    /// Calls `body` whenever `descriptor` is ready for what is asked, until the watch is ended.
    ///
    /// Level triggered: a body that leaves something unread is called again in the next turn. The descriptor stays its
    /// owner's, who ends the watch before closing it.
    /// - Throws: `Errno` of epoll_ctl(2); EPERM for a descriptor that can't be waited for, such as a plain file.
    public func watch(
        _ descriptor: FileDescriptor, for interest: Interest, _ body: @escaping (Readiness) -> Void
    ) throws(Errno) -> Watch {
        lastID += 1
        try control(EPOLL_CTL_ADD, descriptor, interest, lastID)
        watches[lastID] = WatchEntry(descriptor: descriptor, body: body)
        return Watch(id: lastID)
    }

    /// Changes what a watch waits for; with an empty set only hang-up and error.
    ///
    /// - Throws: `Errno` of epoll_ctl(2).
    public func change(_ watch: Watch, to interest: Interest) throws(Errno) {
        guard let entry = watches[watch.id] else { return }
        try control(EPOLL_CTL_MOD, entry.descriptor, interest, watch.id)
    }

    /// Ends a watch; its body is not called again, not in this turn either.
    public func end(_ watch: Watch) {
        guard let entry = watches.removeValue(forKey: watch.id) else { return }
        // The descriptor may be closed already, and is then no longer in the set.
        _ = epoll_ctl(epoll.rawValue, EPOLL_CTL_DEL, entry.descriptor.rawValue, nil)
    }

    // MARK: Moments

    /// Makes a timer that is not set: `body` is called with the timeline's present when the moment it is set to has come.
    public func makeTimer(_ body: @escaping (Instant) -> Void) -> Timer {
        lastID += 1
        timers[lastID] = TimerEntry(time: nil, body: body)
        return Timer(id: lastID)
    }

    /// Sets a timer to one moment, in place of what it was set to, or to none. It fires once.
    public func set(_ timer: Timer, at time: Instant?) { timers[timer.id]?.time = time }

    /// Ends a timer; its body is not called again.
    public func end(_ timer: Timer) { timers[timer.id] = nil }

    // MARK: Turns

    /// Waits and handles until ``stop()``.
    ///
    /// - Throws: `Errno` of epoll_wait(2) and timerfd_settime(2), which mean a mistake of ours.
    public func run() throws(Errno) {
        isStopped = false
        while !isStopped { try turn() }
    }

    /// Has ``run()`` return at the end of this turn.
    public func stop() { isStopped = true }

    /// Handles what is ready, then what is due; waits before for one of both where `waits`.
    ///
    /// Descriptors come before timers, so that what was received is known before somebody acts on silence.
    /// - Throws: `Errno` of epoll_wait(2) and timerfd_settime(2).
    public func turn(waits: Bool = true) throws(Errno) {
        beforeWaiting?()
        var timeout: Int32 = waits ? -1 : 0
        if waits, let next = timers.values.lazy.compactMap(\.time).min() {
            if next <= now { timeout = 0 } else { try setAlarm(next) }
        }
        try handleReady(timeout: timeout)
        handleDue()
    }

    private func handleReady(timeout: Int32) throws(Errno) {
        try unsafe withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: Self.eventsMax) {
            events throws(Errno) in
            let count = unsafe epoll_wait(epoll.rawValue, events.baseAddress, Int32(Self.eventsMax), timeout)
            if count < 0 {
                guard errno == EINTR else { throw Errno(rawValue: errno) }
                return
            }
            if timeout != 0 { wakeUps &+= 1 }
            for index in 0..<Int(count) {
                let event = unsafe events[index]
                let id = unsafe event.data.u64
                if id == Self.timerID {
                    clearAlarm()
                } else if let entry = watches[id] {
                    entry.body(Readiness(events: unsafe event.events))
                }
            }
        }
    }

    private func handleDue() {
        let present = now
        // In the order of their moments, then of their making; one that is set anew to a past moment waits for a turn.
        let due = timers.filter { $0.value.time.map { $0 <= present } ?? false }
            .sorted { ($0.value.time ?? .earliest, $0.key) < ($1.value.time ?? .earliest, $1.key) }
        for (id, entry) in due {
            guard let time = timers[id]?.time, time == entry.time else { continue }
            timers[id]?.time = nil
            entry.body(present)
        }
    }

    private func setAlarm(_ time: Instant) throws(Errno) {
        guard time != alarmTime else { return }
        var setting = itimerspec()
        setting.it_value.tv_sec = Int(time.nanoseconds / 1_000_000_000)
        setting.it_value.tv_nsec = Int(time.nanoseconds % 1_000_000_000)
        // All zero would disarm it.
        if time.nanoseconds == 0 { setting.it_value.tv_nsec = 1 }
        _ = try Self.check(unsafe timerfd_settime(alarm.rawValue, Int32(TFD_TIMER_ABSTIME), &setting, nil))
        alarmTime = time
    }

    private func clearAlarm() {
        var expirations: UInt64 = 0
        // Nothing to read means that it was set anew meanwhile.
        _ = unsafe withUnsafeMutableBytes(of: &expirations) { unsafe read(alarm.rawValue, $0.baseAddress, $0.count) }
        alarmTime = nil
    }

    private func control(
        _ operation: Int32, _ descriptor: FileDescriptor, _ interest: Interest, _ id: UInt64
    ) throws(Errno) {
        var event = unsafe epoll_event()
        unsafe event.data.u64 = id
        if interest.contains(.read) { unsafe event.events |= EPOLLIN.rawValue | EPOLLRDHUP.rawValue }
        if interest.contains(.write) { unsafe event.events |= EPOLLOUT.rawValue }
        _ = try Self.check(unsafe epoll_ctl(epoll.rawValue, operation, descriptor.rawValue, &event))
    }

    private static func check(_ result: Int32) throws(Errno) -> Int32 {
        guard result >= 0 else { throw Errno(rawValue: errno) }
        return result
    }
}

extension EventLoop.Readiness {
    init(events: UInt32) {
        self = []
        if events & (EPOLLIN.rawValue | EPOLLRDHUP.rawValue) != 0 { insert(.read) }
        if events & EPOLLOUT.rawValue != 0 { insert(.write) }
        if events & EPOLLHUP.rawValue != 0 { insert(.hangUp) }
        if events & (EPOLLERR.rawValue | EPOLLPRI.rawValue) != 0 { insert(.error) }
    }
}
