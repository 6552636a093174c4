package import BaseTypes
import CLinux
import Glibc
package import SystemPackage

/// The one place where the process waits: for descriptors and for moments on the timeline, on one thread.
///
/// Everything live happens in its turns, one thing after the other, so that nothing has to be handed from one thread to
/// another: between the kernel's buffers and the monitor there is no queue that could overflow. It wakes for nothing
/// but what was asked for (epoll(7), timerfd_create(2) with CLOCK_BOOTTIME).
///
/// It belongs to one thread; its bodies may add and end watches and timers, their own too.
package final class EventLoop {
    /// What a watch waits for; hang-up and error are always told, in each turn for as long as they last.
    package struct Interest: OptionSet, Sendable, Hashable {
        /// The set's bits.
        package let rawValue: UInt8
        /// Makes a set of bits.
        package init(rawValue: UInt8) { self.rawValue = rawValue }
        /// There is something to read, or the other end has closed.
        package static let read = Interest(rawValue: 1)
        /// There is room to write.
        package static let write = Interest(rawValue: 2)
    }

    /// What a descriptor is ready for.
    package struct Readiness: OptionSet, Sendable, Hashable {
        /// The set's bits.
        package let rawValue: UInt8
        /// Makes a set of bits.
        package init(rawValue: UInt8) { self.rawValue = rawValue }
        /// There is something to read, or the other end has closed.
        package static let read = Readiness(rawValue: 1)
        /// There is room to write.
        package static let write = Readiness(rawValue: 2)
        /// The other end is gone (EPOLLHUP).
        package static let hangUp = Readiness(rawValue: 4)
        /// The descriptor is in error (EPOLLERR); POLLPRI on sysfs and procfs files too.
        package static let error = Readiness(rawValue: 8)
    }

    /// A descriptor that is watched.
    package struct Watch: Hashable, Sendable {
        fileprivate let id: UInt64
    }

    /// A moment that is waited for.
    package struct Timer: Hashable, Sendable {
        fileprivate let id: UInt64
    }

    private struct WatchEntry {
        let descriptor: FileDescriptor
        var interest: Interest
        // Left alone until the rest ends, and asked for nothing.
        var rests = false
        let body: (Readiness) -> Void
    }

    private struct TimerEntry {
        let id: UInt64
        var time: Instant?
        // How many settings came before: what is set while due timers are handled waits for the next turn.
        var setting: UInt64 = 0
        let body: (Instant) -> Void
    }

    /// How many records of one source are handled in a turn; the rest waits for the next turn, after all other sources and
    /// timers.
    package static let recordsPerTurn = 64
    // A turn that finds more ready descriptors than these takes the rest in the next one.
    private static let eventsMax = 32
    // The timer's own place among the watches; those of others count from 1.
    private static let timerID: UInt64 = 0

    /// The timeline's present.
    package var now: Instant { readClock() }
    /// How often the loop has waited and was woken, by a signal too.
    package private(set) var wakeUps = 0
    /// How many turns have begun.
    package private(set) var turns = 0
    /// How many rests have begun.
    package private(set) var rests = 0
    /// Called at the beginning of each turn, after all that was ready and due in the one before has been handled.
    package var beforeWaiting: (() -> Void)?
    /// Called in each turn once the wait is over, before anything that is ready or due is handled.
    ///
    /// What has to be known of the wait itself is found out here: whether the machine was suspended in it (rule L6).
    package var afterWaiting: (() -> Void)?

    private let epoll: FileDescriptor
    private let alarm: FileDescriptor
    private let readClock: () -> Instant
    private var watches: [UInt64: WatchEntry] = [:]
    // The watches that may rest: a scanner's or two.
    private var restful: [UInt64] = []
    // By the order of their making, and so by their ids. There are few: a walk is cheaper than an order that is kept.
    private var timers: [TimerEntry] = []
    private var lastID: UInt64 = 0
    private var lastSetting: UInt64 = 0
    private var alarmTime: Instant?
    private var isStopped = false
    private var isTurning = false
    private var rest = Rest()

    /// Makes a loop that nothing waits in yet.
    ///
    /// - Parameter clock: the timeline; the machine's, or a test's own. Waiting is by the machine's alone: with another
    ///   one, turns are taken with `waits: false`.
    /// - Throws: `Errno` of epoll_create1(2) and timerfd_create(2): too many descriptors are open, or no memory is left.
    package init(clock: @escaping () -> Instant = { BootClock.now }) throws(Errno) {
        readClock = clock
        let poll = FileDescriptor(rawValue: try Self.check(epoll_create1(Int32(EPOLL_CLOEXEC))))
        do throws(Errno) {
            alarm = FileDescriptor(
                rawValue: try Self.check(timerfd_create(CLOCK_BOOTTIME, Int32(TFD_CLOEXEC | TFD_NONBLOCK))))
        } catch {
            // An object that is not whole yet has no deinit.
            _ = try? poll.close()
            throw error
        }
        epoll = poll
        try control(EPOLL_CTL_ADD, alarm, .read, Self.timerID)
    }

    deinit {
        // Closing them can't fail in a way that anybody could act on.
        _ = try? epoll.close()
        _ = try? alarm.close()
    }

    // MARK: Descriptors

    /// How many descriptors are watched.
    var watchCount: Int { watches.count }

    /// Calls `body` whenever `descriptor` is ready for what is asked, until the watch is ended.
    ///
    /// Level triggered: a body that leaves something unread is called again in the next turn. The descriptor stays its
    /// owner's, who ends the watch before closing it. One that `mayRest` is not looked at while the loop rests
    /// (``restAfterTurn(for:)``), but for its end.
    /// - Throws: `Errno` of epoll_ctl(2); EPERM for a descriptor that can't be waited for, such as a plain file; EEXIST
    ///   for one that is watched already: one watch for both directions, whose interest is changed.
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

    /// Changes what a watch waits for; with an empty set only hang-up and error.
    ///
    /// - Throws: `Errno` of epoll_ctl(2).
    package func change(_ watch: Watch, to interest: Interest) throws(Errno) {
        guard let entry = watches[watch.id] else { return }
        watches[watch.id]?.interest = interest
        // One that rests is asked for it when the rest ends.
        guard !entry.rests else { return }
        try control(EPOLL_CTL_MOD, entry.descriptor, interest, watch.id)
    }

    /// Ends a watch; its body is not called again, not in this turn either.
    package func end(_ watch: Watch) {
        guard let entry = watches.removeValue(forKey: watch.id) else { return }
        restful.removeAll { $0 == watch.id }
        // Somebody closed it too early, and its number is another's by now: that one's watch must not end with it.
        guard !watches.values.contains(where: { $0.descriptor == entry.descriptor }) else { return }
        // The descriptor may be closed already, and is then no longer in the set.
        _ = epoll_ctl(epoll.rawValue, EPOLL_CTL_DEL, entry.descriptor.rawValue, nil)
    }

    // MARK: Moments

    /// Makes a timer that is not set: `body` is called with the timeline's present when the moment it is set to has come.
    package func makeTimer(_ body: @escaping (Instant) -> Void) -> Timer {
        lastID += 1
        timers.append(TimerEntry(id: lastID, time: nil, body: body))
        return Timer(id: lastID)
    }

    /// Sets a timer to one moment, in place of what it was set to, or to none. It fires once.
    ///
    /// One that is set to a moment that has passed, while due timers are being handled, fires in the next turn.
    package func set(_ timer: Timer, at time: Instant?) {
        guard let index = timers.firstIndex(where: { $0.id == timer.id }) else { return }
        lastSetting += 1
        timers[index].time = time
        timers[index].setting = lastSetting
    }

    /// The moment that a timer is set to; `nil` where it is set to none, has fired, or was ended.
    package func time(of timer: Timer) -> Instant? { timers.first { $0.id == timer.id }?.time }

    /// Ends a timer; its body is not called again.
    package func end(_ timer: Timer) { timers.removeAll { $0.id == timer.id } }

    // MARK: Turns

    /// Waits and handles until ``stop()``.
    ///
    /// - Throws: `Errno` of epoll_wait(2) and timerfd_settime(2), which mean a mistake of ours.
    package func run() throws(Errno) {
        // A stop that came before it counts too: a signal may be faster than the start.
        defer { isStopped = false }
        while !isStopped { try turn() }
    }

    /// Has ``run()`` return at the end of this turn, or at once where it has not begun.
    package func stop() { isStopped = true }

    /// Handles what is ready, then what is due; waits before for one of both where `waits`.
    ///
    /// Descriptors come before timers, so that what was received is known before somebody acts on silence. A body must
    /// not take a turn of the loop that called it.
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

    /// Says that what was handled in this turn is not urgent, and that more of it is to come.
    ///
    /// Where the loop is woken for it more often than once in `length`, the descriptors whose watches may rest are left alone
    /// for so long. Whatever else is ready, or due, is handled as ever.
    package func restAfterTurn(for length: Duration) { rest.ask(for: length) }

    /// Has no rest follow this turn: something that was received is left for the next one.
    package func refuseRest() { rest.refuse() }

    private func beginRest() {
        for id in restful {
            guard let entry = watches[id] else { continue }
            // One that its owner has closed has nothing to be asked for.
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
            var count = unsafe wait(events, timeout)
            var failure = errno
            if count == 0, rest.end.map({ $0 <= now }) ?? false {
                endRest()
                // What came meanwhile is there at once; where nothing did, the next turn waits for it.
                count = unsafe epoll_wait(epoll.rawValue, events.baseAddress, Int32(Self.eventsMax), 0)
                failure = errno
                let now = now
                if count > 0 { rest.waited(from: now, to: now) }
            }
            guard count >= 0 || failure == EINTR else { throw Errno(rawValue: failure) }
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

    // In the order of their moments, then of their making. Only what had been set before the first of them was called:
    // a timer that sets itself to the past takes turns with the descriptors.
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

    // Disarmed where nothing is set: an alarm that nobody waits for would be a wake-up for nothing.
    private func setAlarm(_ time: Instant?) throws(Errno) {
        guard time != alarmTime else { return }
        var setting = itimerspec()
        if let time {
            setting.it_value.tv_sec = Int(time.nanoseconds / 1_000_000_000)
            setting.it_value.tv_nsec = Int(time.nanoseconds % 1_000_000_000)
            // All zero would disarm it.
            if time.nanoseconds == 0 { setting.it_value.tv_nsec = 1 }
        }
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
