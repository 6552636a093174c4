package import BaseTypes
import CLinux
import Glibc
package import SystemPackage

/// Waits for descriptors and for times on the timeline, on one thread. It is the only place where the process waits.
///
/// All live work is done in its turns, one thing after the other, so no data pass between threads: there is no queue
/// between the kernel's buffers and the monitor that could overflow. It wakes only for requested events (epoll(7),
/// timerfd_create(2) with CLOCK_BOOTTIME).
///
/// A loop belongs to one thread. Its bodies can add and end watches and timers, including their own.
package final class EventLoop {
    /// The events that a watch waits for. Hang-up and error are always reported, in each turn while they last.
    package struct Interest: OptionSet, Sendable, Hashable {
        /// The bits of the set.
        package let rawValue: UInt8
        /// Creates a set from bits.
        package init(rawValue: UInt8) { self.rawValue = rawValue }
        /// There is something to read, or the other end has closed.
        package static let read = Interest(rawValue: 1)
        /// There is room to write.
        package static let write = Interest(rawValue: 2)
    }

    /// The events that a descriptor is ready for.
    package struct Readiness: OptionSet, Sendable, Hashable {
        /// The bits of the set.
        package let rawValue: UInt8
        /// Creates a set from bits.
        package init(rawValue: UInt8) { self.rawValue = rawValue }
        /// There is something to read, or the other end has closed.
        package static let read = Readiness(rawValue: 1)
        /// There is room to write.
        package static let write = Readiness(rawValue: 2)
        /// The other end has closed (EPOLLHUP).
        package static let hangUp = Readiness(rawValue: 4)
        /// The descriptor has an error (EPOLLERR); for files of sysfs and procfs also POLLPRI.
        package static let error = Readiness(rawValue: 8)
    }

    /// Identifies a watched descriptor.
    package struct Watch: Hashable, Sendable {
        fileprivate let id: UInt64
    }

    /// Identifies a timer.
    package struct Timer: Hashable, Sendable {
        fileprivate let id: UInt64
    }

    private struct WatchEntry {
        let descriptor: FileDescriptor
        var interest: Interest
        // Whether the descriptor is not watched until the rest ends.
        var rests = false
        let body: (Readiness) -> Void
    }

    private struct TimerEntry {
        let id: UInt64
        var time: Instant?
        // The number of settings before this one. A timer that is set while due timers are handled waits for the next
        // turn.
        var setting: UInt64 = 0
        let body: (Instant) -> Void
    }

    /// The maximum number of records of one source that should be handled in a turn. The rest waits for the next turn,
    /// after all other sources and timers.
    package static let recordsPerTurn = 64
    // If more descriptors are ready, the others are handled in the next turn.
    private static let eventsMax = 32
    // The id of the timer descriptor among the watches; other ids start at 1.
    private static let timerID: UInt64 = 0

    /// The current time of the timeline.
    package var now: Instant { readClock() }
    /// The number of times the loop has waited and was woken, also by a signal.
    package private(set) var wakeUps = 0
    /// How long after the time of its first timer the last wait ended; zero if it ended before, or did not start
    /// before. If it is long, this process was stopped or got no CPU time.
    package private(set) var lateness = Duration.zero
    /// The number of turns that were started.
    package private(set) var turns = 0
    /// The number of rests that were started.
    package private(set) var rests = 0
    /// Called at the start of each turn, after everything that was ready or due in the previous one was handled.
    package var beforeWaiting: (() -> Void)?
    /// Called in each turn after the wait, before anything that is ready or due is handled.
    ///
    /// Conditions that concern the wait itself are checked here: whether the machine was suspended meanwhile (rule L6).
    package var afterWaiting: (() -> Void)?

    private let epoll: FileDescriptor
    private let alarm: FileDescriptor
    private let readClock: () -> Instant
    private var watches: [UInt64: WatchEntry] = [:]
    // The watches that can rest: one or two of a scanner.
    private var restful: [UInt64] = []
    // In the order of their creation, and so of their ids. There are few, so a linear search costs less than a sorted
    // structure.
    private var timers: [TimerEntry] = []
    private var lastID: UInt64 = 0
    private var lastSetting: UInt64 = 0
    private var alarmTime: Instant?
    private var isStopped = false
    private var isTurning = false
    private var rest = Rest()

    /// Creates a loop without watches and timers.
    ///
    /// - Parameter clock: the timeline: the machine's, or a test's. The loop always waits by the machine's clock. With
    ///   another clock, call ``turn(waits:)`` with `waits: false`.
    /// - Throws: `Errno` of epoll_create1(2) and timerfd_create(2): too many descriptors are open, or no memory is
    ///   left.
    package init(clock: @escaping () -> Instant = { BootClock.now }) throws(Errno) {
        readClock = clock
        let poll = FileDescriptor(rawValue: try Self.check(epoll_create1(Int32(EPOLL_CLOEXEC))))
        do throws(Errno) {
            alarm = FileDescriptor(
                rawValue: try Self.check(timerfd_create(CLOCK_BOOTTIME, Int32(TFD_CLOEXEC | TFD_NONBLOCK))))
        } catch {
            // The object is not fully initialized, so its deinit is not called.
            _ = try? poll.close()
            throw error
        }
        epoll = poll
        try control(EPOLL_CTL_ADD, alarm, .read, Self.timerID)
    }

    deinit {
        // No caller can handle an error of close(2).
        _ = try? epoll.close()
        _ = try? alarm.close()
    }

    // MARK: Descriptors

    /// The number of watched descriptors.
    var watchCount: Int { watches.count }

    /// Calls `body` whenever `descriptor` is ready for the requested events, until the watch is ended.
    ///
    /// Watches are level-triggered: if a body leaves something unread, it is called again in the next turn. The caller
    /// keeps ownership of the descriptor and must end the watch before closing it. A watch with `mayRest` is ignored
    /// while the loop rests (``restAfterTurn(for:)``), except for its end.
    /// - Throws: `Errno` of epoll_ctl(2); EPERM for a descriptor that cannot be waited for, such as a regular file;
    ///   EEXIST for one that is watched already. Use one watch for both directions and change its interest.
    package func watch(
        _ descriptor: FileDescriptor, for interest: Interest, mayRest: Bool = false,
        _ body: @escaping (Readiness) -> Void
    ) throws(Errno) -> Watch {
        lastID += 1
        try control(EPOLL_CTL_ADD, descriptor, interest, lastID)
        watches[lastID] = WatchEntry(descriptor: descriptor, interest: interest, body: body)
        if mayRest { restful.append(lastID) }
        return Watch(id: lastID)
    }

    /// Changes the events that a watch waits for. With an empty set, only hang-up and error are reported.
    ///
    /// - Throws: `Errno` of epoll_ctl(2).
    package func change(_ watch: Watch, to interest: Interest) throws(Errno) {
        guard let entry = watches[watch.id] else { return }
        watches[watch.id]?.interest = interest
        // A resting watch gets its new interest when the rest ends.
        guard !entry.rests else { return }
        try control(EPOLL_CTL_MOD, entry.descriptor, interest, watch.id)
    }

    /// Ends a watch. Its body is not called again, not even in this turn.
    package func end(_ watch: Watch) {
        guard let entry = watches.removeValue(forKey: watch.id) else { return }
        restful.removeAll { $0 == watch.id }
        // If the descriptor was closed too early, its number may belong to another watch now, which must not end with
        // it.
        guard !watches.values.contains(where: { $0.descriptor == entry.descriptor }) else { return }
        // The descriptor may be closed already, and is then no longer in the set.
        _ = epoll_ctl(epoll.rawValue, EPOLL_CTL_DEL, entry.descriptor.rawValue, nil)
    }

    // MARK: Timers

    /// Creates a timer that is not set. `body` is called with the current time when the set time has come.
    package func makeTimer(_ body: @escaping (Instant) -> Void) -> Timer {
        lastID += 1
        timers.append(TimerEntry(id: lastID, time: nil, body: body))
        return Timer(id: lastID)
    }

    /// Sets a timer to a time, in place of its previous one, or to none. It fires once.
    ///
    /// A timer that is set to a past time while due timers are being handled fires in the next turn.
    package func set(_ timer: Timer, at time: Instant?) {
        guard let index = timers.firstIndex(where: { $0.id == timer.id }) else { return }
        lastSetting += 1
        timers[index].time = time
        timers[index].setting = lastSetting
    }

    /// Returns the time that a timer is set to; `nil` if it is not set, has fired, or was ended.
    package func time(of timer: Timer) -> Instant? { timers.first { $0.id == timer.id }?.time }

    /// Ends a timer. Its body is not called again.
    package func end(_ timer: Timer) { timers.removeAll { $0.id == timer.id } }

    // MARK: Turns

    /// Waits and handles events until ``stop()``.
    ///
    /// - Throws: `Errno` of epoll_wait(2) and timerfd_settime(2), which mean a bug of this program.
    package func run() throws(Errno) {
        // A stop before the start counts too: a signal may be faster than the start.
        defer { isStopped = false }
        while !isStopped { try turn() }
    }

    /// Makes ``run()`` return at the end of this turn, or at once if it has not started.
    package func stop() { isStopped = true }

    /// Handles everything that is ready, then everything that is due. If `waits` is set, it first waits until something
    /// is ready or due.
    ///
    /// Descriptors are handled before timers, so that everything that was received is known before code reacts to
    /// silence. A body must not call this function of its own loop.
    /// - Throws: `Errno` of epoll_wait(2) and timerfd_settime(2).
    package func turn(waits: Bool = true) throws(Errno) {
        precondition(!isTurning, "a body must not take a turn of the loop that called it")
        isTurning = true
        turns &+= 1
        defer { isTurning = false }
        beforeWaiting?()
        var timeout: Int32 = waits && !isStopped ? -1 : 0
        if timeout == 0 {
            endRest()
        } else {
            if rest.begin(now: now) {
                rests &+= 1
                beginRest()
            }
            let next = nextTime
            if let next, next <= now { timeout = 0 } else { try setAlarm(next) }
        }
        try handleReady(timeout: timeout)
        handleDue()
    }

    /// Declares that the records of this turn are not urgent, and that more will follow.
    ///
    /// If such records wake the loop more often than once in `length`, the loop rests for that time: it ignores the
    /// descriptors whose watches can rest. All other events and timers are handled as usual.
    package func restAfterTurn(for length: Duration) { rest.ask(for: length) }

    /// Prevents a rest after this turn, because received data are left for the next one.
    package func refuseRest() { rest.refuse() }

    private func beginRest() {
        for id in restful {
            guard let entry = watches[id] else { continue }
            // If the owner has closed the descriptor, there is nothing to change.
            guard (try? control(EPOLL_CTL_MOD, entry.descriptor, [], id)) != nil else { continue }
            watches[id]?.rests = true
        }
    }

    private func endRest() {
        guard rest.end != nil else { return }
        rest.finish()
        for id in restful {
            guard let entry = watches[id], entry.rests else { continue }
            watches[id]?.rests = false
            _ = try? control(EPOLL_CTL_MOD, entry.descriptor, entry.interest, id)
        }
    }

    private var nextTime: Instant? {
        var next: Instant?
        for index in timers.indices {
            guard let time = timers[index].time else { continue }
            if next.map({ time < $0 }) ?? true { next = time }
        }
        return next
    }

    private func handleReady(timeout: Int32) throws(Errno) {
        try unsafe withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: Self.eventsMax) {
            events throws(Errno) in
            let begin = now
            var count = unsafe wait(events, timeout)
            var failure = errno
            if count == 0, rest.end.map({ $0 <= now }) ?? false {
                endRest()
                // Data that arrived during the rest are available at once. If there are none, the next turn waits for
                // them.
                count = unsafe epoll_wait(epoll.rawValue, events.baseAddress, Int32(Self.eventsMax), 0)
                failure = errno
                let now = now
                if count > 0 { rest.waited(from: now, to: now) }
            }
            guard count >= 0 || failure == EINTR else { throw Errno(rawValue: failure) }
            lateness = nextTime.map { max(now - max($0, begin), .zero) } ?? .zero
            afterWaiting?()
            for index in 0..<max(Int(count), 0) {
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

    private func wait(_ events: UnsafeMutableBufferPointer<epoll_event>, _ timeout: Int32) -> Int32 {
        let begin = now
        let rested = rest.milliseconds(from: begin)
        let timeout = timeout == 0 ? 0 : rested ?? timeout
        let count = unsafe epoll_wait(epoll.rawValue, events.baseAddress, Int32(Self.eventsMax), timeout)
        let failure = errno
        if timeout != 0 {
            wakeUps &+= 1
            if rested == nil { rest.waited(from: begin, to: now) }
        }
        errno = failure
        return count
    }

    // In the order of their times, then of their creation. Only timers that were set before the first of them was
    // called: a timer that sets itself to the past alternates with the descriptors.
    private func handleDue() {
        guard nextTime != nil else { return }
        let present = now
        let limit = lastSetting
        while let index = firstDue(at: present, upTo: limit) {
            timers[index].time = nil
            let body = timers[index].body
            body(present)
        }
    }

    private func firstDue(at present: Instant, upTo limit: UInt64) -> Int? {
        var first: Int?
        var earliest = Instant.latest
        for index in timers.indices where timers[index].setting <= limit {
            guard let time = timers[index].time, time <= present, first == nil || time < earliest else { continue }
            first = index
            earliest = time
        }
        return first
    }

    // Disarmed if no timer is set, because an alarm without a timer would cause a useless wake-up.
    private func setAlarm(_ time: Instant?) throws(Errno) {
        guard time != alarmTime else { return }
        var setting = itimerspec()
        if let time {
            setting.it_value.tv_sec = Int(time.nanoseconds / 1_000_000_000)
            setting.it_value.tv_nsec = Int(time.nanoseconds % 1_000_000_000)
            // Zero would disarm it.
            if time.nanoseconds == 0 { setting.it_value.tv_nsec = 1 }
        }
        _ = try Self.check(unsafe timerfd_settime(alarm.rawValue, Int32(TFD_TIMER_ABSTIME), &setting, nil))
        alarmTime = time
    }

    private func clearAlarm() {
        var expirations: UInt64 = 0
        // If there is nothing to read, it was set again meanwhile.
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
