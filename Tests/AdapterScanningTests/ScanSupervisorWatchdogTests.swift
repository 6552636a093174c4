import EventLoops
import Testing

@testable import AdapterScanning

private func listening(_ scanner: ScriptedScanner) {
    scanner.opening = [
        .appeared(adapter: 0, controller: "a test's"), .listening(adapter: 0, reason: "scripted"),
    ]
}

private func world(
    deafAfter: Duration? = .seconds(10), canary: Canary? = nil,
    prepare: @escaping (ScriptedScanner) -> Void = listening
) throws -> ScanWorld {
    var options = ScanSupervisor.Options()
    options.backends = [.management]
    options.deafAfter = deafAfter
    options.canary = canary
    let world = try ScanWorld(options, prepare: prepare)
    try world.supervisor.start(world.handler)
    _ = world.handler.changes()
    return world
}

@Suite struct ScanSupervisorWatchdogTests {
    @Test func `silence has the steps taken on the adapter, and a report ends it`() throws {
        let world = try world()
        let scanner = try #require(world.scanners[.management])
        try world.go(to: 15)
        #expect(scanner.steps == ["widen hci0", "restartScan hci0", "powerCycle hci0", "reset hci0"])
        #expect(world.supervisor.status.adapters.first?.watchdog == .climbing(.reset))
        scanner.report()
        let adapter = try #require(world.supervisor.status.adapters.first)
        #expect(adapter.watchdog == .hearing)
        #expect(adapter.watchdogCounters.recoveries == 1)
        #expect(adapter.watchdogCounters.taken(.powerCycle) == 1)
        #expect(
            world.log.last == "notice: hci0 receives again after 15 s of silence; the last step: reset the adapter")
    }

    @Test func `a step that can't be taken is said with the reason, and the next follows at once`() throws {
        let world = try world {
            listening($0)
            $0.outcomes[.widen] = .skipped(reason: "all reports are received already")
        }
        try world.go(to: 5)
        #expect(world.scanners[.management]?.steps == ["restartScan hci0"])
        #expect(world.log.contains("notice: hci0: skipped step: widen the scan: all reports are received already"))
        let adapter = try #require(world.supervisor.status.adapters.first)
        #expect(adapter.watchdogCounters.skipped(.widen) == 1)
        #expect(adapter.lastSkipped == "widen the scan: all reports are received already")
    }

    @Test func `a step that a scanner knows to help is taken at once, with the reason in the log`() throws {
        let world = try world()
        let scanner = try #require(world.scanners[.management])
        try world.go(to: 1)
        scanner.say(.stopped(adapter: 0, since: at(1), reason: "bluetoothd is gone"))
        scanner.say(.needs(adapter: 0, step: .powerCycle, reason: "discovery is refused"))
        try world.go(to: 1.001)
        #expect(scanner.steps == ["powerCycle hci0"])
        #expect(world.log.contains("warning: hci0: discovery is refused"))
        #expect(world.log.last == "notice: hci0: step: switch the adapter off and on")
        #expect(world.supervisor.status.adapters.first?.watchdog == .climbing(.powerCycle))
        #expect(world.supervisor.status.adapters.first?.watchdogCounters.taken(.powerCycle) == 1)
    }

    @Test func `T5: what was received and not read yet is no silence`() throws {
        let world = try world()
        let scanner = try #require(world.scanners[.management])
        scanner.unread = [{ $0.report(at: at(4)) }]
        try world.go(to: 8)
        #expect(scanner.steps == [])
        try world.go(to: 9)
        #expect(scanner.steps == ["widen hci0"])
    }

    @Test func `T5: what came while the process was stopped, after it had read, is no silence`() throws {
        let world = try world()
        let scanner = try #require(world.scanners[.management])
        scanner.unread = [{ $0.report(at: at(3)) }]
        let drains = scanner.drains
        scanner.onDrained = {
            guard scanner.drains == drains + 1 else { return }
            world.clock.now = at(60)
            scanner.unread = [{ $0.report(at: at(59)) }]
        }
        try world.go(to: 60)
        #expect(scanner.drains > drains + 1)
        #expect(scanner.steps == [])
    }

    @Test func `each adapter has a ladder of its own`() throws {
        let world = try world()
        let scanner = try #require(world.scanners[.management])
        scanner.appear(1)
        scanner.listen(1)
        for second in 1...7 {
            try world.go(to: Double(second))
            scanner.report(on: 1)
        }
        #expect(scanner.steps == ["widen hci0", "restartScan hci0"])
    }

    @Test func `reports wake nobody: the timer is put right when it fires`() throws {
        let world = try world()
        let scanner = try #require(world.scanners[.management])
        let drains = scanner.drains
        for tenth in 1...1_000 {
            try world.go(to: Double(tenth) / 10)
            scanner.report()
        }
        #expect(scanner.drains - drains <= 21)
        #expect(scanner.steps == [])
    }

    @Test
    func `L5: a scan ended in the silence stopped with its last report, and a new one counts once a report proves it`()
        throws
    {
        let world = try world()
        let scanner = try #require(world.scanners[.management])
        scanner.onStep = { step, adapter in
            guard step == .restartScan else { return }
            scanner.cease(adapter)
            scanner.listen(adapter)
        }
        try world.go(to: 600)
        #expect(world.handler.changes() == ["stopped hci0 7 since 0"])
        #expect(world.supervisor.status.adapters.first?.activity == .unproven)
        scanner.report()
        #expect(world.handler.notes == ["listening hci0 600", "report hci0 600"])
    }

    @Test func `with deaf_after off a scan begun anew counts at once, for places where nobody else advertises`() throws
    {
        let world = try world(deafAfter: nil)
        let scanner = try #require(world.scanners[.management])
        scanner.onStep = { step, adapter in
            guard step == .restartScan else { return }
            scanner.cease(adapter)
            scanner.listen(adapter)
        }
        try world.go(to: 8)
        #expect(world.handler.changes() == ["stopped hci0 7", "listening hci0 7"])
    }

    @Test func `L5: stretches without a report add up to no more than deaf_after`() throws {
        let world = try world()
        let scanner = try #require(world.scanners[.management])
        scanner.report()
        // Off and on every three seconds, and never a report.
        var listened = 0.0
        var since: Double? = 0
        for third in 1...40 {
            let time = Double(third) * 3
            try world.go(to: time)
            scanner.cease()
            scanner.listen()
            for note in world.handler.changes() {
                if note.hasPrefix("stopped"), let began = since {
                    let end = Double(note.split(separator: " ")[2]) ?? time
                    listened += end - began
                    since = nil
                } else if note.hasPrefix("listening") {
                    since = time
                }
            }
        }
        #expect(since == nil)
        #expect(listened <= 10)
        #expect(listened >= 5)
    }

    @Test func `an adapter's going is told after its stopping, its coming before its listening`() throws {
        let world = try world()
        let scanner = try #require(world.scanners[.management])
        scanner.report()
        world.clock.now = at(1)
        scanner.say(.disappeared(adapter: 0))
        #expect(world.handler.changes() == ["stopped hci0 1", "disappeared hci0 1"])
        try world.go(to: 100)
        #expect(scanner.steps == [])
        scanner.appear()
        scanner.listen()
        #expect(world.handler.changes() == ["appeared hci0 100", "listening hci0 100"])
    }

    @Test func `power that another client has taken is waited for, not fought for`() throws {
        let world = try world()
        let scanner = try #require(world.scanners[.management])
        scanner.report()
        scanner.cease()
        scanner.say(.obstacles([.waiting]))
        try world.go(to: 300)
        #expect(scanner.steps == [])
    }

    @Test func `another adapter's waiting does not keep a silent one from its ladder`() throws {
        let world = try world()
        let scanner = try #require(world.scanners[.management])
        scanner.appear(1)
        scanner.say(.obstacles([.waiting]))
        try world.go(to: 5)
        #expect(scanner.steps == ["widen hci0"])
    }

    @Test func `L6: a suspension is told as a stop from before it and a beginning after it`() throws {
        let world = try world()
        let scanner = try #require(world.scanners[.management])
        scanner.report(at: at(1))
        world.handler.notes = []
        world.clock.now = at(3_600)
        world.supervisor.resumed(.init(start: at(2), end: at(3_600), suspended: .seconds(3_590)))
        #expect(world.handler.changes() == ["stopped hci0 2", "listening hci0 3600"])
        try world.go(to: 3_604)
        #expect(scanner.steps == [])
        #expect(world.supervisor.status.suspensions == 1)
        #expect(world.supervisor.status.suspended == .seconds(3_590))
    }

    @Test func `L6: a machine that was not suspended is told nothing`() throws {
        let world = try world()
        world.supervisor.woke()
        world.supervisor.woke()
        #expect(world.handler.changes() == [])
    }
}

@Suite struct ScanSupervisorCanaryTests {
    private let canary = Canary(uuid: beacon(1).uuid, major: 0, minor: 1)

    @Test func `the canary's silence has the ladder climbed though others are heard, and makes deaf`() throws {
        let world = try world(canary: canary)
        let scanner = try #require(world.scanners[.management])
        scanner.report(beacon(1))
        for half in 1...20 {
            try world.go(to: Double(half) / 2)
            if half < 20 { scanner.report(beacon(2)) }
        }
        #expect(scanner.steps.prefix(2) == ["widen hci0", "restartScan hci0"])
        #expect(world.handler.changes() == ["stopped hci0 10 since 0"])
        scanner.report(beacon(2))
        #expect(world.handler.notes == [])
        #expect(world.supervisor.status.adapters.first?.withheld == 1)
        scanner.report(beacon(1))
        #expect(world.handler.notes == ["listening hci0 10", "report hci0 10"])
        scanner.report(beacon(2))
        #expect(world.handler.notes.last == "report hci0 10")
        #expect(world.supervisor.status.adapters.first?.canary == at(10))
    }

    @Test func `a canary that was never heard makes all adapters deaf`() throws {
        let world = try world(canary: canary)
        let scanner = try #require(world.scanners[.management])
        for half in 1...30 {
            scanner.report(beacon(2))
            try world.go(to: Double(half) / 2)
        }
        #expect(world.handler.changes() == ["stopped hci0 10 since 0"])
        #expect(
            world.log.contains {
                $0.hasPrefix("warning: hci0 counts as deaf: the canary has not been received for 10 s")
            })
    }

    @Test func `a scan that is begun anew does not make hear again whoever is deaf for the canary`() throws {
        let world = try world(canary: canary)
        let scanner = try #require(world.scanners[.management])
        scanner.report(beacon(1))
        try world.go(to: 12)
        _ = world.handler.changes()
        scanner.cease()
        scanner.listen()
        #expect(world.handler.changes() == [])
        #expect(world.supervisor.status.adapters.first?.activity == .unproven)
    }

    @Test func `an adapter out of the canary's reach goes by its own reports`() throws {
        let world = try world(canary: canary)
        let scanner = try #require(world.scanners[.management])
        scanner.appear(1)
        scanner.listen(1)
        for half in 1...60 {
            scanner.report(beacon(1), on: 0)
            scanner.report(beacon(2), on: 1)
            try world.go(to: Double(half) / 2)
        }
        #expect(world.supervisor.status.adapters.map(\.activity) == [.listening, .listening])
        #expect(world.supervisor.status.adapters.map(\.withheld) == [0, 0])
        #expect(scanner.steps == [])
    }

    @Test func `with deaf_after off the canary's ten seconds make deaf`() throws {
        let world = try world(deafAfter: nil, canary: canary)
        let scanner = try #require(world.scanners[.management])
        scanner.report(beacon(1))
        try world.go(to: 9.9)
        #expect(world.handler.changes() == [])
        try world.go(to: 10)
        #expect(world.handler.changes() == ["stopped hci0 10 since 0"])
    }
}
