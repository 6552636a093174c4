import BluetoothLE
import EventLoops
import Testing

@testable import AdapterScanning

private let denied = ScannerError(.denied, "this user lacks CAP_NET_ADMIN")
private let absent = ScannerError(.unavailable, "there is no system bus")

/// Makes a scanner report, when it starts, that hci0 is present and listening.
private func listening(_ scanner: ScriptedScanner) {
    scanner.opening = [
        .appeared(adapter: 0, controller: "a test's"), .listening(adapter: 0, reason: "scripted"),
    ]
}

@Suite struct ScanSupervisorWayTests {
    @Test func `auto uses the best backend that is open, and creates no other one`() throws {
        let fixture = try ScanFixture(prepare: listening)
        try fixture.supervisor.start(fixture.handler)
        #expect(fixture.handler.changes() == ["appeared hci0 0", "listening hci0 0"])
        #expect(fixture.supervisor.status.backend == .management)
        #expect(fixture.made(.dbus) == 0)
        try fixture.go(to: 60)
        #expect(fixture.made(.dbus) == 0)
        #expect(fixture.made(.management) == 1)
    }

    @Test func `auto reports why it does not use a better backend`() throws {
        let fixture = try ScanFixture { scanner in
            if scanner.backend == .management { scanner.closed = denied }
            listening(scanner)
        }
        try fixture.supervisor.start(fixture.handler)
        #expect(fixture.supervisor.status.backend == .dbus)
        #expect(fixture.supervisor.status.reason == "management: this user lacks CAP_NET_ADMIN")
        #expect(fixture.log.contains("notice: scanning with dbus: management: this user lacks CAP_NET_ADMIN"))
        #expect(fixture.supervisor.status.backends.map(\.state).first == "not available: this user lacks CAP_NET_ADMIN")
        // A process does not get permissions back, so the better backend is not tried again.
        fixture.scanners[.dbus]?.report()
        for second in stride(from: 1.0, to: 200, by: 1) {
            try fixture.go(to: second)
            fixture.scanners[.dbus]?.report()
        }
        #expect(fixture.made(.management) == 1)
    }

    @Test func `an adapter of a capture has its own name, and its silence causes no step and no message`() throws {
        var options = ScanSupervisor.Options()
        options.backends = [.capture]
        let fixture = try ScanFixture(options)
        try fixture.supervisor.start(fixture.handler)
        fixture.scanners[.capture]?.say(
            .capture(.added(adapter: 0, name: "kitchen", address: nil, controller: "a FIFO", listens: true)))
        fixture.scanners[.capture]?.report()
        let before = fixture.log
        #expect(before.contains("notice: scanning with capture: set on the command line"))
        try fixture.go(to: 300)
        #expect(fixture.log == before)
        #expect(fixture.scanners[.capture]?.steps == [])
        let adapter = try #require(fixture.supervisor.status.adapters.first)
        #expect(
            adapter.name == "kitchen" && adapter.controller == "a FIFO" && adapter.activity == .listening
                && adapter.watchdog == .resting)
        // L4: it scans again without a report, if the capture says so.
        fixture.scanners[.capture]?.say(.capture(.marked(adapter: 0, isListening: false, since: nil)))
        #expect(fixture.supervisor.status.adapters.first?.activity == .off)
        fixture.scanners[.capture]?.say(.capture(.marked(adapter: 0, isListening: true, since: nil)))
        #expect(fixture.supervisor.status.adapters.first?.activity == .listening)
        // T5: it stopped at its last report, and scans again from the next one on.
        _ = fixture.handler.changes()
        fixture.scanners[.capture]?.say(.capture(.interrupted(reason: "no CPU time")))
        fixture.scanners[.capture]?.report()
        #expect(
            fixture.handler.changes() == [
                "stopped hci0 300", "interrupted(reason: \"no CPU time\") 300", "listening hci0 300",
            ])
        // T5: if it started after its last report, it stopped when it started. L6: it scans again after a suspension.
        fixture.scanners[.capture]?.say(.capture(.marked(adapter: 0, isListening: false, since: nil)))
        try fixture.go(to: 306)
        fixture.scanners[.capture]?.say(.capture(.marked(adapter: 0, isListening: true, since: nil)))
        try fixture.go(to: 313)
        _ = fixture.handler.changes()
        fixture.scanners[.capture]?.say(.capture(.interrupted(reason: "no CPU time")))
        fixture.scanners[.capture]?.report()
        fixture.supervisor.resumed(
            SuspendDetector.Stretch(start: at(320), end: at(350), suspended: .seconds(30)))
        #expect(
            fixture.handler.changes() == [
                "stopped hci0 306", "interrupted(reason: \"no CPU time\") 313", "listening hci0 313",
                "stopped hci0 320", "listening hci0 350",
            ])
        fixture.scanners[.capture]?.say(.capture(.ended(reason: "end")))
        #expect(fixture.supervisor.status.adapters.first?.activity == .off)
        // Another capture has other adapters.
        fixture.scanners[.capture]?.say(
            .capture(.added(adapter: 0, name: "yard", address: nil, controller: "a FIFO", listens: false)))
        #expect(fixture.supervisor.status.adapters.map(\.name) == ["yard"])
        #expect(fixture.supervisor.status.adapters.map(\.activity) == [.off])
        for number in 1...64 {
            fixture.scanners[.capture]?.say(
                .capture(.added(adapter: number, name: "a\(number)", address: nil, controller: "a FIFO", listens: true))
            )
        }
        #expect(fixture.supervisor.status.adapters.count == 64)
        #expect(fixture.log.last == "warning: a FIFO has more than 64 adapters; reports of a64 are not used")
    }

    @Test func `if no backend is open, start throws the kind of the best one and the reasons of all`() throws {
        let fixture = try ScanFixture { $0.closed = $0.backend == .dbus ? absent : denied }
        let error = #expect(throws: ScannerError.self) { try fixture.supervisor.start(fixture.handler) }
        #expect(error?.kind == .denied)
        #expect(
            error?.reason == """
                no backend can be used:
                  management, hci: this user lacks CAP_NET_ADMIN
                  dbus: there is no system bus
                """)
        #expect(error?.remedy == nil)
        #expect(fixture.supervisor.nextDeadline == nil)
    }

    @Test func `the remedies are after the reasons, each one once`() throws {
        let denied = ScannerError(.denied, "this user lacks CAP_NET_ADMIN", remedy: "Start it as root")
        let absent = ScannerError(.unavailable, "there is no system bus", remedy: "Install dbus")
        #expect(absent.description == "there is no system bus. Install dbus")
        let fixture = try ScanFixture { $0.closed = $0.backend == .dbus ? absent : denied }
        let error = #expect(throws: ScannerError.self) { try fixture.supervisor.start(fixture.handler) }
        #expect(
            error?.description == """
                no backend can be used:
                  management, hci: this user lacks CAP_NET_ADMIN
                  dbus: there is no system bus
                Start it as root
                Install dbus
                """)
    }

    @Test func `if the only configured backend is closed, start throws its own error`() throws {
        var options = ScanSupervisor.Options()
        options.backends = [.dbus]
        let fixture = try ScanFixture(options) { $0.closed = absent }
        let error = #expect(throws: ScannerError.self) { try fixture.supervisor.start(fixture.handler) }
        #expect(error == absent)
    }

    @Test func `without bluetoothd the next backend is started after 2 s, and dbus is used again when it scans`()
        throws
    {
        var options = ScanSupervisor.Options()
        options.backends = [.dbus, .hci]
        options.deafAfter = .seconds(600)
        let fixture = try ScanFixture(options) { scanner in
            if scanner.backend == .dbus { scanner.opening = [.obstacles([.unavailable])] } else { listening(scanner) }
        }
        try fixture.supervisor.start(fixture.handler)
        #expect(fixture.supervisor.status.backend == .dbus)
        #expect(fixture.handler.changes() == [#"obstacles ["unavailable"]"#])
        try fixture.go(to: 1.9)
        #expect(fixture.made(.hci) == 0)
        try fixture.go(to: 2)
        #expect(fixture.supervisor.status.backend == .hci)
        #expect(fixture.handler.changes() == ["obstacles []", "appeared hci0 2", "listening hci0 2"])
        fixture.clock.now = at(10)
        fixture.scanners[.dbus]?.say(.obstacles([]))
        fixture.scanners[.dbus]?.appear()
        fixture.scanners[.dbus]?.listen()
        try fixture.go(to: 11)
        #expect(fixture.supervisor.status.backend == .dbus)
        #expect(fixture.handler.changes() == ["stopped hci0 10", "listening hci0 10"])
        #expect(fixture.scanners[.hci]?.stops == 1)
        #expect(fixture.supervisor.status.backendChanges == 2)
        #expect(fixture.supervisor.status.backends.map(\.state) == ["in use", "not needed"])
    }

    @Test func `if bluetoothd is back within 2 s, the backend does not change`() throws {
        var options = ScanSupervisor.Options()
        options.backends = [.dbus, .hci]
        let fixture = try ScanFixture(options, prepare: listening)
        try fixture.supervisor.start(fixture.handler)
        for restart in 0..<10 {
            fixture.clock.now = at(Double(restart) * 3)
            fixture.scanners[.dbus]?.cease()
            fixture.scanners[.dbus]?.say(.obstacles([.unavailable]))
            try fixture.go(to: Double(restart) * 3 + 1.9)
            fixture.scanners[.dbus]?.say(.obstacles([]))
            fixture.scanners[.dbus]?.listen()
            fixture.scanners[.dbus]?.report()
        }
        #expect(fixture.made(.hci) == 0)
        #expect(fixture.supervisor.status.backend == .dbus)
    }

    @Test func `an rfkill block does not start another backend`() throws {
        let fixture = try ScanFixture(prepare: listening)
        try fixture.supervisor.start(fixture.handler)
        fixture.scanners[.management]?.cease()
        fixture.scanners[.management]?.say(.obstacles([.blocked]))
        try fixture.go(to: 300)
        #expect(fixture.made(.dbus) == 0)
        #expect(fixture.scanners[.management]?.steps == [])
        #expect(fixture.supervisor.status.adapters.first?.watchdog == .resting)
    }

    @Test func `if a backend is refused only after its start, the next one is used at once`() throws {
        let fixture = try ScanFixture { scanner in
            if scanner.backend == .management { scanner.opening = [.obstacles([.denied])] } else { listening(scanner) }
        }
        try fixture.supervisor.start(fixture.handler)
        #expect(fixture.supervisor.status.backend == .dbus)
    }

    @Test func `if a backend ends, its adapters are reported as stopped, and the next backend is used`() throws {
        let fixture = try ScanFixture(prepare: listening)
        try fixture.supervisor.start(fixture.handler)
        _ = fixture.handler.changes()
        fixture.clock.now = at(3)
        fixture.scanners[.management]?.say(.ended(absent))
        #expect(fixture.handler.changes() == ["stopped hci0 3"])
        try fixture.go(to: 3)
        #expect(fixture.supervisor.status.backend == .dbus)
        #expect(fixture.handler.changes() == ["listening hci0 3"])
        #expect(fixture.scanners[.management]?.stops == 1)
    }

    @Test func `the only configured backend is retried, at most 5 s later each time`() throws {
        var options = ScanSupervisor.Options()
        options.backends = [.management]
        let fixture = try ScanFixture(options, prepare: listening)
        try fixture.supervisor.start(fixture.handler)
        fixture.bench.prepare = { $0.closed = absent }
        fixture.scanners[.management]?.say(.ended(absent))
        try fixture.go(to: 1)
        #expect(fixture.made(.management) == 2)
        try fixture.go(to: 3)
        #expect(fixture.made(.management) == 3)
        try fixture.go(to: 60)
        #expect(fixture.made(.management) >= 14)
        fixture.bench.prepare = listening
        try fixture.go(to: 65)
        #expect(fixture.supervisor.status.isListening)
    }

    @Test func `a better backend that was unavailable is retried each minute while another one scans`() throws {
        var options = ScanSupervisor.Options()
        options.deafAfter = nil
        let fixture = try ScanFixture(options) { scanner in
            if scanner.backend == .management { scanner.closed = absent } else { listening(scanner) }
        }
        try fixture.supervisor.start(fixture.handler)
        #expect(fixture.supervisor.status.backend == .dbus)
        try fixture.go(to: 59)
        #expect(fixture.made(.management) == 1)
        try fixture.go(to: 61)
        #expect(fixture.made(.management) == 2)
        fixture.bench.prepare = listening
        try fixture.go(to: 121)
        #expect(fixture.supervisor.status.backend == .management)
        #expect(fixture.scanners[.dbus]?.stops == 1)
    }

    @Test func `an adapter that the new backend does not have disappears after 5 s`() throws {
        let fixture = try ScanFixture { scanner in
            if scanner.backend == .management {
                scanner.opening = [
                    .appeared(adapter: 0, controller: "a test's"), .appeared(adapter: 1, controller: "another"),
                ]
            } else {
                listening(scanner)
            }
        }
        try fixture.supervisor.start(fixture.handler)
        fixture.scanners[.management]?.say(.ended(denied))
        try fixture.go(to: 4.9)
        #expect(!fixture.handler.changes().contains { $0.hasPrefix("disappeared") })
        try fixture.go(to: 5)
        #expect(fixture.handler.changes() == ["disappeared hci1 5"])
    }
}

@Suite struct ScanSupervisorReportTests {
    @Test func `a report is delivered with its time, and counted in the status`() throws {
        let fixture = try ScanFixture(prepare: listening)
        try fixture.supervisor.start(fixture.handler)
        fixture.scanners[.management]?.report(at: at(0.5))
        #expect(fixture.handler.reports == [at(0.5)])
        let adapter = try #require(fixture.supervisor.status.adapters.first)
        #expect(adapter.reports == 1)
        #expect(adapter.lastReport == at(0.5))
    }

    @Test func `nothing is delivered from adapters that are not selected`() throws {
        var options = ScanSupervisor.Options()
        options.adapters = AdapterSelection(numbers: [1])
        let fixture = try ScanFixture(options, prepare: listening)
        try fixture.supervisor.start(fixture.handler)
        fixture.scanners[.management]?.report(on: 0)
        fixture.scanners[.management]?.say(.lost(adapter: 0, count: 3, since: at(0)))
        #expect(fixture.handler.notes == [])
        fixture.scanners[.management]?.appear(1)
        fixture.scanners[.management]?.listen(1)
        fixture.scanners[.management]?.report(on: 1)
        #expect(fixture.handler.notes == ["appeared hci1 0", "listening hci1 0", "report hci1 0"])
    }

    @Test func `adapters beyond the bound are not used, and their reports are counted`() throws {
        let fixture = try ScanFixture(prepare: listening)
        try fixture.supervisor.start(fixture.handler)
        for adapter in 0...ScanSupervisor.adaptersMax {
            fixture.scanners[.management]?.appear(adapter)
            fixture.scanners[.management]?.report(on: adapter)
        }
        #expect(fixture.supervisor.status.adapters.count == ScanSupervisor.adaptersMax)
        #expect(fixture.supervisor.status.reportsOfOthers == 1)
    }

    @Test func `T5: a loss is reported with the time since which the adapter does not count as scanning`() throws {
        let fixture = try ScanFixture(prepare: listening)
        try fixture.supervisor.start(fixture.handler)
        fixture.scanners[.management]?.report(at: at(0))
        fixture.clock.now = at(4)
        fixture.scanners[.management]?.say(.lost(adapter: 0, count: 7, since: at(0)))
        #expect(fixture.handler.notes.last == "lost hci0 7 since 0")
        #expect(fixture.supervisor.status.adapters.first?.lost == 7)
        #expect(fixture.supervisor.status.adapters.first?.losses == 1)
    }

    @Test func `a handler can stop the supervisor in a report`() throws {
        let fixture = try ScanFixture(prepare: listening)
        try fixture.supervisor.start(fixture.handler)
        fixture.handler.onReport = { fixture.supervisor.stop() }
        fixture.scanners[.management]?.report()
        fixture.scanners[.management]?.report()
        #expect(fixture.handler.reports.count == 1)
        try fixture.go(to: 60)
        #expect(fixture.supervisor.nextDeadline == nil)
    }

    @Test func `after stop, nothing is delivered, and the scanner is stopped once`() throws {
        let fixture = try ScanFixture(prepare: listening)
        try fixture.supervisor.start(fixture.handler)
        _ = fixture.handler.changes()
        fixture.supervisor.stop()
        fixture.supervisor.stop()
        #expect(fixture.scanners[.management]?.stops == 1)
        #expect(fixture.handler.notes == [])
    }

    @Test func `a report with malformed data is delivered and does not cause a failure`() throws {
        let fixture = try ScanFixture(prepare: listening)
        try fixture.supervisor.start(fixture.handler)
        let report = AdvertisingReport(address: nil, rssi: nil, properties: .legacy, data: 0..<3)
        let data: [UInt8] = [255, 255, 0x4C]
        fixture.supervisor.received(report, data: data.span, on: 0, at: at(0))
        #expect(fixture.handler.reports.count == 1)
    }

    @Test func `a beacon that is received too rarely is logged with figures and counted in the status`() throws {
        let fixture = try ScanFixture(exitTimeout: .seconds(30), prepare: listening)
        try fixture.supervisor.start(fixture.handler)
        for index in 0...100 {
            try fixture.go(to: Double(index) * 20)
            fixture.scanners[.management]?.report()
            fixture.scanners[.management]?.report(beacon(7))
        }
        #expect(fixture.supervisor.status.exitTimeoutsTooShort == 1)
        let line = try #require(fixture.log.first { $0.contains("exit_timeout") })
        #expect(line.hasPrefix("warning: beacon F7826DA6-4FA2-4E98-8024-BC5B71E0893E/0/7 is received too rarely"))
        #expect(line.contains("exit_timeout 30 s: of 100 gaps, half are at most 20.4 s"))
        #expect(line.contains("set exit_timeout to at least 40.9 s"))
    }

    @Test func `thinned reports are an obstacle that does not end listening`() throws {
        var options = ScanSupervisor.Options()
        options.deafAfter = .seconds(60)
        let fixture = try ScanFixture(options, prepare: listening)
        try fixture.supervisor.start(fixture.handler)
        _ = fixture.handler.changes()
        for scan in 0..<20 {
            try fixture.go(to: Double(scan) * 10.3)
            fixture.scanners[.management]?.report(beacon(7))
        }
        #expect(fixture.handler.changes() == [#"obstacles ["thinned"]"#])
        #expect(fixture.supervisor.status.obstacles == [.thinned])
        #expect(fixture.supervisor.status.adapters.first?.isThinned == true)
        #expect(fixture.supervisor.status.isListening)
    }
}
