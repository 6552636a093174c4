import BaseTypes
import EventLoops
import Foundation
import SystemPackage
import Testing

@Suite struct EventLoopDescriptorTests {
    @Test func `a readable descriptor is reported in each turn until it has been read`() throws {
        let loop = try EventLoop()
        let pipe = try TestPipe()
        var calls: [EventLoop.Readiness] = []
        _ = try loop.watch(pipe.reader, for: .read) { calls.append($0) }
        try loop.turn(waits: false)
        #expect(calls == [])
        try pipe.write("a")
        try loop.turn()
        try loop.turn()
        #expect(calls == [.read, .read])
        try pipe.drain()
        try loop.turn(waits: false)
        #expect(calls.count == 2)
    }

    @Test func `events that a watch does not wait for are not reported, but a hang-up always is`() throws {
        let loop = try EventLoop()
        let pipe = try TestPipe()
        var calls: [EventLoop.Readiness] = []
        let watch = try loop.watch(pipe.reader, for: []) { calls.append($0) }
        try pipe.write("a")
        try loop.turn(waits: false)
        #expect(calls == [])
        try loop.change(watch, to: .read)
        try loop.turn(waits: false)
        #expect(calls == [.read])
        try loop.change(watch, to: [])
        try pipe.closeWriter()
        try loop.turn()
        #expect(calls == [.read, .hangUp])
    }

    @Test func `a writable descriptor is reported if its watch waits for writing`() throws {
        let loop = try EventLoop()
        let pipe = try TestPipe()
        var calls: [EventLoop.Readiness] = []
        _ = try loop.watch(pipe.writer, for: .write) { calls.append($0) }
        try loop.turn()
        #expect(calls == [.write])
    }

    @Test func `the writing end of a pipe reports an error if the reading end is closed`() throws {
        let loop = try EventLoop()
        let pipe = try TestPipe()
        var calls: [EventLoop.Readiness] = []
        _ = try loop.watch(pipe.writer, for: []) { calls.append($0) }
        try pipe.closeReader()
        try loop.turn()
        #expect(calls == [.error])
    }

    @Test func `a watch that another body ends in the same turn is not called`() throws {
        let loop = try EventLoop()
        let pipes = [try TestPipe(), try TestPipe()]
        var watches: [EventLoop.Watch] = []
        var calls = 0
        for pipe in pipes {
            try pipe.write("a")
            watches.append(
                try loop.watch(pipe.reader, for: .read) { _ in
                    calls += 1
                    for watch in watches { loop.end(watch) }
                })
        }
        try loop.turn()
        try loop.turn(waits: false)
        #expect(calls == 1)
    }

    @Test func `a body can start a watch, which is called from the next turn on`() throws {
        let loop = try EventLoop()
        let (first, second) = (try TestPipe(), try TestPipe())
        try first.write("a")
        try second.write("a")
        var calls: [String] = []
        var began = false
        _ = try loop.watch(first.reader, for: .read) { _ in
            calls.append("first")
            guard !began else { return }
            began = true
            _ = try? loop.watch(second.reader, for: .read) { _ in calls.append("second") }
        }
        try loop.turn()
        #expect(calls == ["first"])
        try loop.turn()
        #expect(Set(calls.dropFirst()) == ["first", "second"])
    }

    @Test func `if more descriptors are ready than one turn handles, all are reported within two turns`() throws {
        let loop = try EventLoop()
        let pipes = try (0..<48).map { _ in try TestPipe() }
        var reported: Set<Int> = []
        for (index, pipe) in pipes.enumerated() {
            try pipe.write("a")
            _ = try loop.watch(pipe.reader, for: .read) { _ in reported.insert(index) }
        }
        try loop.turn()
        try loop.turn()
        #expect(reported.count == 48)
    }

    @Test func `a second watch of the same descriptor throws EEXIST`() throws {
        let loop = try EventLoop()
        let pipe = try TestPipe()
        _ = try loop.watch(pipe.reader, for: .read) { _ in }
        #expect(throws: Errno.fileExists) { try loop.watch(pipe.reader, for: .read) { _ in } }
    }

    @Test func `watching a regular file throws EPERM, and watching a closed descriptor EBADF`() throws {
        let loop = try EventLoop()
        let file = try FileDescriptor.open("/etc/passwd", .readOnly)
        #expect(throws: Errno.notPermitted) { try loop.watch(file, for: .read) { _ in } }
        try file.close()
        #expect(throws: Errno.badFileDescriptor) { try loop.watch(file, for: .read) { _ in } }
    }

    @Test func `ending a watch does not affect a later watch of the same descriptor number`() throws {
        let loop = try EventLoop()
        let old = try TestPipe()
        let watch = try loop.watch(old.reader, for: .read) { _ in }
        let number = old.reader
        try old.closeReader()
        let new = try TestPipe()
        try #require(new.reader == number, "the kernel must reuse the lowest free number")
        var calls = 0
        _ = try loop.watch(new.reader, for: .read) { _ in calls += 1 }
        loop.end(watch)
        loop.end(watch)
        try new.write("a")
        try loop.turn()
        #expect(calls == 1)
    }
}

@Suite struct EventLoopTimerTests {
    let clock = TestClock()

    @Test func `a timer fires once, at its time, not 1 ns earlier`() throws {
        let loop = try EventLoop(clock: { clock.now })
        var fired: [Instant] = []
        let timer = loop.makeTimer { fired.append($0) }
        loop.set(timer, at: Instant(nanoseconds: 100))
        clock.now = Instant(nanoseconds: 99)
        try loop.turn(waits: false)
        #expect(fired == [])
        #expect(loop.time(of: timer) == Instant(nanoseconds: 100))
        clock.now = Instant(nanoseconds: 100)
        try loop.turn(waits: false)
        try loop.turn(waits: false)
        #expect(fired == [Instant(nanoseconds: 100)])
        #expect(loop.time(of: timer) == nil)
    }

    @Test func `timers fire in the order of their times, and those of one time in the order of creation`() throws {
        let loop = try EventLoop(clock: { clock.now })
        var fired: [Int] = []
        let timers = (0..<4).map { index in loop.makeTimer { _ in fired.append(index) } }
        loop.set(timers[3], at: Instant(nanoseconds: 20))
        loop.set(timers[2], at: Instant(nanoseconds: 10))
        loop.set(timers[1], at: Instant(nanoseconds: 20))
        loop.set(timers[0], at: Instant(nanoseconds: 30))
        clock.now = Instant(nanoseconds: 30)
        try loop.turn(waits: false)
        #expect(fired == [2, 1, 3, 0])
    }

    @Test func `a timer that was moved, unset or ended does not fire at its old time`() throws {
        let loop = try EventLoop(clock: { clock.now })
        var fired: [Int] = []
        let timers = (0..<3).map { index in loop.makeTimer { _ in fired.append(index) } }
        for timer in timers { loop.set(timer, at: Instant(nanoseconds: 10)) }
        loop.set(timers[0], at: Instant(nanoseconds: 11))
        loop.set(timers[1], at: nil)
        loop.end(timers[2])
        loop.set(timers[2], at: Instant(nanoseconds: 1))
        clock.now = Instant(nanoseconds: 10)
        try loop.turn(waits: false)
        #expect(fired == [])
        clock.now = Instant(nanoseconds: 11)
        try loop.turn(waits: false)
        #expect(fired == [0])
    }

    @Test func `a body that unsets, moves or ends a due timer prevents it from firing in this turn`() throws {
        let loop = try EventLoop(clock: { clock.now })
        var fired: [Int] = []
        var timers: [EventLoop.Timer] = []
        timers.append(
            loop.makeTimer { _ in
                fired.append(0)
                loop.set(timers[1], at: nil)
                loop.set(timers[2], at: Instant(nanoseconds: 50))
                loop.end(timers[3])
            })
        for index in 1..<4 { timers.append(loop.makeTimer { _ in fired.append(index) }) }
        for timer in timers { loop.set(timer, at: Instant(nanoseconds: 10)) }
        clock.now = Instant(nanoseconds: 10)
        try loop.turn(waits: false)
        #expect(fired == [0])
        clock.now = Instant(nanoseconds: 50)
        try loop.turn(waits: false)
        #expect(fired == [0, 2])
    }

    @Test func `a timer that sets itself to the past fires again in the next turn, after the descriptors`() throws {
        let loop = try EventLoop(clock: { clock.now })
        let pipe = try TestPipe()
        try pipe.write("a")
        var calls: [String] = []
        var timer: EventLoop.Timer?
        timer = loop.makeTimer { _ in
            calls.append("timer")
            if let timer { loop.set(timer, at: .earliest) }
        }
        if let timer { loop.set(timer, at: .earliest) }
        _ = try loop.watch(pipe.reader, for: .read) { _ in calls.append("pipe") }
        for _ in 0..<3 { try loop.turn() }
        #expect(calls == ["pipe", "timer", "pipe", "timer", "pipe", "timer"])
    }

    @Test func `a timer that a descriptor's body sets to the past fires in the same turn`() throws {
        let loop = try EventLoop(clock: { clock.now })
        let pipe = try TestPipe()
        try pipe.write("a")
        var fired = 0
        let timer = loop.makeTimer { _ in fired += 1 }
        _ = try loop.watch(pipe.reader, for: .read) { _ in loop.set(timer, at: .earliest) }
        try loop.turn()
        #expect(fired == 1)
    }
}

@Suite struct EventLoopWaitingTests {
    let clock = StoppableClock()

    @Test func `a wait ends at a timer's time by the machine's clock, not earlier`() throws {
        let loop = try EventLoop(clock: { clock.now })
        loop.afterWaiting = { clock.go() }
        var fired: Instant?
        let timer = loop.makeTimer { fired = $0 }
        clock.stop()
        let moment = loop.now + .milliseconds(20)
        loop.set(timer, at: moment)
        try loop.turn()
        #expect(try #require(fired) >= moment)
        #expect(loop.wakeUps == 1)
    }

    @Test func `a timer that was unset does not wake the loop at its old time`() throws {
        let loop = try EventLoop(clock: { clock.now })
        clock.stop()
        let timer = loop.makeTimer { _ in }
        let other = loop.makeTimer { _ in loop.stop() }
        loop.set(timer, at: loop.now + .milliseconds(20))
        let pipe = try TestPipe()
        try pipe.write("a")
        // In this turn the loop arms the alarm, and the pipe ends the wait.
        let watch = try loop.watch(pipe.reader, for: .read) { _ in }
        try loop.turn()
        loop.end(watch)
        loop.set(timer, at: nil)
        loop.set(other, at: loop.now + .milliseconds(60))
        loop.afterWaiting = { clock.go() }
        let before = loop.wakeUps
        try loop.run()
        #expect(loop.wakeUps == before + 1)
    }

    @Test func `a turn does not wait if a timer's time has passed`() throws {
        let loop = try EventLoop()
        var fired = 0
        let timer = loop.makeTimer { _ in fired += 1 }
        loop.set(timer, at: .earliest)
        try loop.turn()
        #expect(fired == 1)
        #expect(loop.wakeUps == 0)
    }

    @Test func `a signal ends the wait, and the loop continues`() throws {
        let loop = try EventLoop()
        let own = pthread_self()
        signal(SIGUSR2) { _ in }
        // This signal is blocked in the threads that run tests.
        var (mask, before) = (sigset_t(), sigset_t())
        sigemptyset(&mask)
        sigaddset(&mask, SIGUSR2)
        pthread_sigmask(SIG_UNBLOCK, &mask, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        let isOver = Flag()
        let sender = Thread {
            while !isOver.isSet {
                pthread_kill(own, SIGUSR2)
                usleep(1_000)
            }
            isOver.acknowledge()
        }
        loop.beforeWaiting = { if loop.wakeUps == 3 { loop.stop() } }
        sender.start()
        try loop.run()
        isOver.set()
        #expect(loop.wakeUps == 3)
    }

    @Test func `a stop before the run, or before the wait, ends the run without a wait`() throws {
        let loop = try EventLoop()
        loop.stop()
        try loop.run()
        #expect(loop.wakeUps == 0)
        loop.beforeWaiting = { loop.stop() }
        try loop.run()
        #expect(loop.wakeUps == 0)
    }

    @Test func `a turn calls beforeWaiting, afterWaiting, the bodies of descriptors, then timers`() throws {
        let loop = try EventLoop()
        var calls: [String] = []
        let pipe = try TestPipe()
        try pipe.write("a")
        loop.beforeWaiting = { calls.append("before") }
        loop.afterWaiting = { calls.append("after") }
        _ = try loop.watch(pipe.reader, for: .read) { _ in calls.append("pipe") }
        let timer = loop.makeTimer { _ in calls.append("timer") }
        loop.set(timer, at: .earliest)
        try loop.turn()
        #expect(calls == ["before", "after", "pipe", "timer"])
    }
}

@Suite struct BootClockTests {
    @Test func `the timeline does not go back, and the suspended time is at least 0 and does not jump`() {
        let (first, suspended) = (BootClock.now, BootClock.suspended)
        let (second, later) = (BootClock.now, BootClock.suspended)
        let third = BootClock.now
        #expect(first <= second)
        // Each reading is the difference of two clocks that are read one after the other.
        #expect(abs(later - suspended) <= (third - first).nanoseconds)
        #expect(suspended >= 0)
        #expect(BootClock.wall > 1_600_000_000_000_000_000)
    }
}
