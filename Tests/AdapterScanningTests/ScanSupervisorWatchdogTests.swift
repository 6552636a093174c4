import EventLoops
import Testing

@testable import AdapterScanning

private func listening(_ scanner: ScriptedScanner) {
    scanner.opening = [
        .appeared(adapter: 0, controller: "a test's"), .listening(adapter: 0, reason: "scripted"),
    ]
}

private func fixture(
    deafAfter: Duration? = .seconds(10), canary: Canary? = nil,
    prepare: @escaping (ScriptedScanner) -> Void = listening
) throws -> ScanFixture {
    var options = ScanSupervisor.Options()
    options.backends = [.management]
    options.deafAfter = deafAfter
    options.canary = canary
    let fixture = try ScanFixture(options, prepare: prepare)
    try fixture.supervisor.start(fixture.handler)
    _ = fixture.handler.changes()
    return fixture
}

@Suite struct ScanSupervisorWatchdogTests {
    @Test func `if an adapter is silent, the steps are taken on it until it delivers a report`() throws {
        let fixture = try fixture()
        let scanner = try #require(fixture.scanners[.management])
        try fixture.go(to: 15)
        #expect(scanner.steps == ["widen hci0", "restartScan hci0", "powerCycle hci0", "reset hci0"])
        #expect(fixture.supervisor.status.adapters.first?.watchdog == .climbing(.reset))
        scanner.report()
        let adapter = try #require(fixture.supervisor.status.adapters.first)
        #expect(adapter.watchdog == .receiving)
        #expect(adapter.watchdogCounters.recoveries == 1)
        #expect(adapter.watchdogCounters.taken(.powerCycle) == 1)
        #expect(
            fixture.log.last == "notice: hci0 receives again after 15 s of silence; the last step: reset the adapter")
    }

    @Test func `a step that cannot be taken is logged with the reason, and the next one follows at once`() throws {
        let fixture = try fixture {
            listening($0)
            $0.outcomes[.widen] = .skipped(reason: "all reports are received already")
        }
        try fixture.go(to: 5)
        #expect(fixture.scanners[.management]?.steps == ["restartScan hci0"])
        #expect(fixture.log.contains("notice: hci0: skipped step: widen the scan: all reports are received already"))
        let adapter = try #require(fixture.supervisor.status.adapters.first)
        #expect(adapter.watchdogCounters.skipped(.widen) == 1)
        #expect(adapter.lastSkipped == "widen the scan: all reports are received already")
    }

    @Test func `a step that a scanner requests is taken at once, and its reason is logged`() throws {
        let fixture = try fixture()
        let scanner = try #require(fixture.scanners[.management])
        try fixture.go(to: 1)
        scanner.say(.stopped(adapter: 0, since: at(1), reason: "bluetoothd is gone"))
        scanner.say(.needs(adapter: 0, step: .powerCycle, reason: "discovery is refused"))
        try fixture.go(to: 1.001)
        #expect(scanner.steps == ["powerCycle hci0"])
        #expect(fixture.log.contains("warning: hci0: discovery is refused"))
        #expect(fixture.log.last == "notice: hci0: step: switch the adapter off and on")
        #expect(fixture.supervisor.status.adapters.first?.watchdog == .climbing(.powerCycle))
        #expect(fixture.supervisor.status.adapters.first?.watchdogCounters.taken(.powerCycle) == 1)
    }

    @Test func `T5: a report that was received but not read yet counts before a step is taken`() throws {
        let fixture = try fixture()
        let scanner = try #require(fixture.scanners[.management])
        scanner.unread = [{ $0.report(at: at(4)) }]
        try fixture.go(to: 8)
        #expect(scanner.steps == [])
        try fixture.go(to: 9)
        #expect(scanner.steps == ["widen hci0"])
    }

    @Test func `T5: a report that arrives in a process stop after the last read counts before any step`() throws {
        let fixture = try fixture()
        let scanner = try #require(fixture.scanners[.management])
        scanner.unread = [{ $0.report(at: at(3)) }]
        let drains = scanner.drains
        scanner.onDrained = {
            guard scanner.drains == drains + 1 else { return }
            fixture.clock.now = at(60)
            scanner.unread = [{ $0.report(at: at(59)) }]
        }
        try fixture.go(to: 60)
        #expect(scanner.drains > drains + 1)
        #expect(scanner.steps == [])
    }

    @Test func `each adapter has its own ladder`() throws {
        let fixture = try fixture()
        let scanner = try #require(fixture.scanners[.management])
        scanner.appear(1)
        scanner.listen(1)
        for second in 1...7 {
            try fixture.go(to: Double(second))
            scanner.report(on: 1)
        }
        #expect(scanner.steps == ["widen hci0", "restartScan hci0"])
    }

    @Test func `reports do not set the timer, which is corrected when it fires`() throws {
        let fixture = try fixture()
        let scanner = try #require(fixture.scanners[.management])
        let drains = scanner.drains
        for tenth in 1...1_000 {
            try fixture.go(to: Double(tenth) / 10)
            scanner.report()
        }
        #expect(scanner.drains - drains <= 21)
        #expect(scanner.steps == [])
    }

    @Test
    func `L5: a scan that ends in silence stopped at its last report, and a new one must prove itself by a report`()
        throws
    {
        let fixture = try fixture()
        let scanner = try #require(fixture.scanners[.management])
        scanner.onStep = { step, adapter in
            guard step == .restartScan else { return }
            scanner.cease(adapter)
            scanner.listen(adapter)
        }
        try fixture.go(to: 600)
        #expect(fixture.handler.changes() == ["stopped hci0 7 since 0"])
        #expect(fixture.supervisor.status.adapters.first?.activity == .unproven)
        scanner.report()
        #expect(fixture.handler.notes == ["listening hci0 600", "report hci0 600"])
    }

    @Test func `if deaf_after is off, a restarted scan counts at once, for places without other advertisers`() throws {
        let fixture = try fixture(deafAfter: nil)
        let scanner = try #require(fixture.scanners[.management])
        scanner.onStep = { step, adapter in
            guard step == .restartScan else { return }
            scanner.cease(adapter)
            scanner.listen(adapter)
        }
        try fixture.go(to: 8)
        #expect(fixture.handler.changes() == ["stopped hci0 7", "listening hci0 7"])
    }

    @Test func `L5: scan times without a report count for at most deaf_after in total`() throws {
        let fixture = try fixture()
        let scanner = try #require(fixture.scanners[.management])
        scanner.report()
        // The scan is stopped and started every three seconds, and there is no further report.
        var listened = 0.0
        var since: Double? = 0
        for third in 1...40 {
            let time = Double(third) * 3
            try fixture.go(to: time)
            scanner.cease()
            scanner.listen()
            for note in fixture.handler.changes() {
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

    @Test func `an adapter stops before it disappears, and appears before it is listening`() throws {
        let fixture = try fixture()
        let scanner = try #require(fixture.scanners[.management])
        scanner.report()
        fixture.clock.now = at(1)
        scanner.say(.disappeared(adapter: 0))
        #expect(fixture.handler.changes() == ["stopped hci0 1", "disappeared hci0 1"])
        try fixture.go(to: 100)
        #expect(scanner.steps == [])
        scanner.appear()
        scanner.listen()
        #expect(fixture.handler.changes() == ["appeared hci0 100", "listening hci0 100"])
    }

    @Test func `if another client switched the power off, the watchdog waits and takes no step`() throws {
        let fixture = try fixture()
        let scanner = try #require(fixture.scanners[.management])
        scanner.report()
        scanner.cease()
        scanner.say(.obstacles([.waiting]))
        try fixture.go(to: 300)
        #expect(scanner.steps == [])
    }

    @Test func `if another adapter waits for power, steps are taken on a silent adapter nevertheless`() throws {
        let fixture = try fixture()
        let scanner = try #require(fixture.scanners[.management])
        scanner.appear(1)
        scanner.say(.obstacles([.waiting]))
        try fixture.go(to: 5)
        #expect(scanner.steps == ["widen hci0"])
    }

    @Test func `L6: a suspension is reported as a stop before it and a start after it`() throws {
        let fixture = try fixture()
        let scanner = try #require(fixture.scanners[.management])
        scanner.report(at: at(1))
        fixture.handler.notes = []
        fixture.clock.now = at(3_600)
        fixture.supervisor.resumed(.init(start: at(2), end: at(3_600), suspended: .seconds(3_590)))
        #expect(fixture.handler.changes() == ["stopped hci0 2", "listening hci0 3600"])
        try fixture.go(to: 3_604)
        #expect(scanner.steps == [])
        #expect(fixture.supervisor.status.suspensions == 1)
        #expect(fixture.supervisor.status.suspended == .seconds(3_590))
    }

    @Test func `L6: if the machine was not suspended, nothing is reported`() throws {
        let fixture = try fixture()
        fixture.supervisor.woke()
        fixture.supervisor.woke()
        #expect(fixture.handler.changes() == [])
    }
}

@Suite struct ScanSupervisorCanaryTests {
    private let canary = Canary(uuid: beacon(1).uuid, major: 0, minor: 1)

    @Test func `without its canary, an adapter gets the steps and counts as not scanning, whatever it receives`() throws
    {
        let fixture = try fixture(canary: canary)
        let scanner = try #require(fixture.scanners[.management])
        scanner.report(beacon(1))
        for half in 1...20 {
            try fixture.go(to: Double(half) / 2)
            if half < 20 { scanner.report(beacon(2)) }
        }
        #expect(scanner.steps.prefix(2) == ["widen hci0", "restartScan hci0"])
        #expect(fixture.handler.changes() == ["stopped hci0 10 since 0"])
        scanner.report(beacon(2))
        #expect(fixture.handler.notes == [])
        #expect(fixture.supervisor.status.adapters.first?.withheld == 1)
        scanner.report(beacon(1))
        #expect(fixture.handler.notes == ["listening hci0 10", "report hci0 10"])
        scanner.report(beacon(2))
        #expect(fixture.handler.notes.last == "report hci0 10")
        #expect(fixture.supervisor.status.adapters.first?.canary == at(10))
    }

    @Test func `an adapter counts as not scanning if the canary was never received`() throws {
        let fixture = try fixture(canary: canary)
        let scanner = try #require(fixture.scanners[.management])
        for half in 1...30 {
            scanner.report(beacon(2))
            try fixture.go(to: Double(half) / 2)
        }
        #expect(fixture.handler.changes() == ["stopped hci0 10 since 0"])
        #expect(
            fixture.log.contains {
                $0.hasPrefix("warning: hci0 counts as deaf: the canary has not been received for 10 s")
            })
    }

    @Test func `an adapter that is deaf without the canary stays so when its scan is restarted`() throws {
        let fixture = try fixture(canary: canary)
        let scanner = try #require(fixture.scanners[.management])
        scanner.report(beacon(1))
        try fixture.go(to: 12)
        _ = fixture.handler.changes()
        scanner.cease()
        scanner.listen()
        #expect(fixture.handler.changes() == [])
        #expect(fixture.supervisor.status.adapters.first?.activity == .unproven)
    }

    @Test func `an adapter out of range of the canary is checked by its own reports`() throws {
        let fixture = try fixture(canary: canary)
        let scanner = try #require(fixture.scanners[.management])
        scanner.appear(1)
        scanner.listen(1)
        for half in 1...60 {
            scanner.report(beacon(1), on: 0)
            scanner.report(beacon(2), on: 1)
            try fixture.go(to: Double(half) / 2)
        }
        #expect(fixture.supervisor.status.adapters.map(\.activity) == [.listening, .listening])
        #expect(fixture.supervisor.status.adapters.map(\.withheld) == [0, 0])
        #expect(scanner.steps == [])
    }

    @Test func `if deaf_after is off, an adapter counts as not scanning after 10 s without the canary`() throws {
        let fixture = try fixture(deafAfter: nil, canary: canary)
        let scanner = try #require(fixture.scanners[.management])
        scanner.report(beacon(1))
        try fixture.go(to: 9.9)
        #expect(fixture.handler.changes() == [])
        try fixture.go(to: 10)
        #expect(fixture.handler.changes() == ["stopped hci0 10 since 0"])
    }
}
