import BluetoothLE
import EventLoops
import Testing

@testable import AdapterScanning

private let denied = ScannerError(.denied, "this user lacks CAP_NET_ADMIN")
private let absent = ScannerError(.unavailable, "there is no system bus")

/// Has a scanner tell, while it starts, that hci0 is there and listens.
private func listening(_ scanner: ScriptedScanner) {
    scanner.opening = [
        .appeared(adapter: 0, controller: "a test's"), .listening(adapter: 0, reason: "scripted"),
    ]
}

@Suite struct ScanSupervisorWayTests {
    @Test func `auto takes the best way that is open, and makes no other`() throws {
        let world = try ScanWorld(prepare: listening)
        try world.supervisor.start(world.handler)
        #expect(world.handler.changes() == ["appeared hci0 0", "listening hci0 0"])
        #expect(world.supervisor.status.backend == .management)
        #expect(world.made(.dbus) == 0)
        try world.go(to: 60)
        #expect(world.made(.dbus) == 0)
        #expect(world.made(.management) == 1)
    }

    @Test func `auto says why it did not take a better one`() throws {
        let world = try ScanWorld { scanner in
            if scanner.backend == .management { scanner.closed = denied }
            listening(scanner)
        }
        try world.supervisor.start(world.handler)
        #expect(world.supervisor.status.backend == .dbus)
        #expect(world.supervisor.status.reason == "management: this user lacks CAP_NET_ADMIN")
        #expect(world.log.contains("notice: scanning with dbus: management: this user lacks CAP_NET_ADMIN"))
        #expect(world.supervisor.status.ways.map(\.standing).first == "not available: this user lacks CAP_NET_ADMIN")
        // Rights do not come back: nobody wakes to ask for them again.
        world.scanners[.dbus]?.report()
        for second in stride(from: 1.0, to: 200, by: 1) {
            try world.go(to: second)
            world.scanners[.dbus]?.report()
        }
        #expect(world.made(.management) == 1)
    }

    @Test func `where no way is open it throws the best one's kind and the reasons of all`() throws {
        let world = try ScanWorld { $0.closed = $0.backend == .dbus ? absent : denied }
        let error = #expect(throws: ScannerError.self) { try world.supervisor.start(world.handler) }
        #expect(error?.kind == .denied)
        #expect(
            error?.reason == """
                no backend can be used:
                  management, hci: this user lacks CAP_NET_ADMIN
                  dbus: there is no system bus
                """)
        #expect(error?.remedy == nil)
        #expect(world.supervisor.nextDeadline == nil)
    }

    @Test func `what is to be done stands behind the reasons, each thing once`() throws {
        let denied = ScannerError(.denied, "this user lacks CAP_NET_ADMIN", remedy: "Start it as root")
        let absent = ScannerError(.unavailable, "there is no system bus", remedy: "Install dbus")
        #expect(absent.description == "there is no system bus. Install dbus")
        let world = try ScanWorld { $0.closed = $0.backend == .dbus ? absent : denied }
        let error = #expect(throws: ScannerError.self) { try world.supervisor.start(world.handler) }
        #expect(
            error?.description == """
                no backend can be used:
                  management, hci: this user lacks CAP_NET_ADMIN
                  dbus: there is no system bus
                Start it as root
                Install dbus
                """)
    }

    @Test func `a way that is named and closed throws its own words`() throws {
        var options = ScanSupervisor.Options()
        options.backends = [.dbus]
        let world = try ScanWorld(options) { $0.closed = absent }
        let error = #expect(throws: ScannerError.self) { try world.supervisor.start(world.handler) }
        #expect(error == absent)
    }

    @Test func `without bluetoothd the next way is begun after two seconds, and dbus takes over again when it hears`()
        throws
    {
        var options = ScanSupervisor.Options()
        options.backends = [.dbus, .hci]
        options.deafAfter = .seconds(600)
        let world = try ScanWorld(options) { scanner in
            if scanner.backend == .dbus { scanner.opening = [.obstacles([.unavailable])] } else { listening(scanner) }
        }
        try world.supervisor.start(world.handler)
        #expect(world.supervisor.status.backend == .dbus)
        #expect(world.handler.changes() == [#"obstacles ["unavailable"]"#])
        try world.go(to: 1.9)
        #expect(world.made(.hci) == 0)
        try world.go(to: 2)
        #expect(world.supervisor.status.backend == .hci)
        #expect(world.handler.changes() == ["obstacles []", "appeared hci0 2", "listening hci0 2"])
        world.clock.now = at(10)
        world.scanners[.dbus]?.say(.obstacles([]))
        world.scanners[.dbus]?.appear()
        world.scanners[.dbus]?.listen()
        try world.go(to: 11)
        #expect(world.supervisor.status.backend == .dbus)
        #expect(world.handler.changes() == ["stopped hci0 10", "listening hci0 10"])
        #expect(world.scanners[.hci]?.stops == 1)
        #expect(world.supervisor.status.changesOfWay == 2)
        #expect(world.supervisor.status.ways.map(\.standing) == ["in use", "not needed"])
    }

    @Test func `bluetoothd that is back within two seconds changes nothing`() throws {
        var options = ScanSupervisor.Options()
        options.backends = [.dbus, .hci]
        let world = try ScanWorld(options, prepare: listening)
        try world.supervisor.start(world.handler)
        for restart in 0..<10 {
            world.clock.now = at(Double(restart) * 3)
            world.scanners[.dbus]?.cease()
            world.scanners[.dbus]?.say(.obstacles([.unavailable]))
            try world.go(to: Double(restart) * 3 + 1.9)
            world.scanners[.dbus]?.say(.obstacles([]))
            world.scanners[.dbus]?.listen()
            world.scanners[.dbus]?.report()
        }
        #expect(world.made(.hci) == 0)
        #expect(world.supervisor.status.backend == .dbus)
    }

    @Test func `rfkill is no reason to look for another way`() throws {
        let world = try ScanWorld(prepare: listening)
        try world.supervisor.start(world.handler)
        world.scanners[.management]?.cease()
        world.scanners[.management]?.say(.obstacles([.blocked]))
        try world.go(to: 300)
        #expect(world.made(.dbus) == 0)
        #expect(world.scanners[.management]?.steps == [])
        #expect(world.supervisor.status.adapters.first?.watchdog == .resting)
    }

    @Test func `a refusal that shows only after the start is a reason at once`() throws {
        let world = try ScanWorld { scanner in
            if scanner.backend == .management { scanner.opening = [.obstacles([.denied])] } else { listening(scanner) }
        }
        try world.supervisor.start(world.handler)
        #expect(world.supervisor.status.backend == .dbus)
    }

    @Test func `a way that ends is followed by the next, and what listened is told to have stopped`() throws {
        let world = try ScanWorld(prepare: listening)
        try world.supervisor.start(world.handler)
        _ = world.handler.changes()
        world.clock.now = at(3)
        world.scanners[.management]?.say(.ended(absent))
        #expect(world.handler.changes() == ["stopped hci0 3"])
        try world.go(to: 3)
        #expect(world.supervisor.status.backend == .dbus)
        #expect(world.handler.changes() == ["listening hci0 3"])
        #expect(world.scanners[.management]?.stops == 1)
    }

    @Test func `a way that is named is tried again, at most five seconds later each time`() throws {
        var options = ScanSupervisor.Options()
        options.backends = [.management]
        let world = try ScanWorld(options, prepare: listening)
        try world.supervisor.start(world.handler)
        world.bench.prepare = { $0.closed = absent }
        world.scanners[.management]?.say(.ended(absent))
        try world.go(to: 1)
        #expect(world.made(.management) == 2)
        try world.go(to: 3)
        #expect(world.made(.management) == 3)
        try world.go(to: 60)
        #expect(world.made(.management) >= 14)
        world.bench.prepare = listening
        try world.go(to: 65)
        #expect(world.supervisor.status.isListening)
    }

    @Test func `a better way that was not there is tried again each minute while another hears`() throws {
        var options = ScanSupervisor.Options()
        options.deafAfter = nil
        let world = try ScanWorld(options) { scanner in
            if scanner.backend == .management { scanner.closed = absent } else { listening(scanner) }
        }
        try world.supervisor.start(world.handler)
        #expect(world.supervisor.status.backend == .dbus)
        try world.go(to: 59)
        #expect(world.made(.management) == 1)
        try world.go(to: 61)
        #expect(world.made(.management) == 2)
        world.bench.prepare = listening
        try world.go(to: 121)
        #expect(world.supervisor.status.backend == .management)
        #expect(world.scanners[.dbus]?.stops == 1)
    }

    @Test func `an adapter that the new way does not know is gone after five seconds`() throws {
        let world = try ScanWorld { scanner in
            if scanner.backend == .management {
                scanner.opening = [
                    .appeared(adapter: 0, controller: "a test's"), .appeared(adapter: 1, controller: "another"),
                ]
            } else {
                listening(scanner)
            }
        }
        try world.supervisor.start(world.handler)
        world.scanners[.management]?.say(.ended(denied))
        try world.go(to: 4.9)
        #expect(!world.handler.changes().contains { $0.hasPrefix("disappeared") })
        try world.go(to: 5)
        #expect(world.handler.changes() == ["disappeared hci1 5"])
    }
}

@Suite struct ScanSupervisorReportTests {
    @Test func `what is heard is handed over with its time`() throws {
        let world = try ScanWorld(prepare: listening)
        try world.supervisor.start(world.handler)
        world.scanners[.management]?.report(at: at(0.5))
        #expect(world.handler.reports == [at(0.5)])
        let adapter = try #require(world.supervisor.status.adapters.first)
        #expect(adapter.reports == 1)
        #expect(adapter.lastReport == at(0.5))
    }

    @Test func `of adapters that are not asked for nothing is told`() throws {
        var options = ScanSupervisor.Options()
        options.adapters = AdapterSelection(numbers: [1])
        let world = try ScanWorld(options, prepare: listening)
        try world.supervisor.start(world.handler)
        world.scanners[.management]?.report(on: 0)
        world.scanners[.management]?.say(.lost(adapter: 0, count: 3, since: at(0)))
        #expect(world.handler.notes == [])
        world.scanners[.management]?.appear(1)
        world.scanners[.management]?.listen(1)
        world.scanners[.management]?.report(on: 1)
        #expect(world.handler.notes == ["appeared hci1 0", "listening hci1 0", "report hci1 0"])
    }

    @Test func `more adapters than the bound are counted and not followed`() throws {
        let world = try ScanWorld(prepare: listening)
        try world.supervisor.start(world.handler)
        for adapter in 0...ScanSupervisor.adaptersMax {
            world.scanners[.management]?.appear(adapter)
            world.scanners[.management]?.report(on: adapter)
        }
        #expect(world.supervisor.status.adapters.count == ScanSupervisor.adaptersMax)
        #expect(world.supervisor.status.reportsOfOthers == 1)
    }

    @Test func `T5: what was lost is told with the moment from which on nothing counts`() throws {
        let world = try ScanWorld(prepare: listening)
        try world.supervisor.start(world.handler)
        world.scanners[.management]?.report(at: at(0))
        world.clock.now = at(4)
        world.scanners[.management]?.say(.lost(adapter: 0, count: 7, since: at(0)))
        #expect(world.handler.notes.last == "lost hci0 7 since 0")
        #expect(world.supervisor.status.adapters.first?.lost == 7)
        #expect(world.supervisor.status.adapters.first?.losses == 1)
    }

    @Test func `a handler may stop it in the middle of a report`() throws {
        let world = try ScanWorld(prepare: listening)
        try world.supervisor.start(world.handler)
        world.handler.onReport = { world.supervisor.stop() }
        world.scanners[.management]?.report()
        world.scanners[.management]?.report()
        #expect(world.handler.reports.count == 1)
        try world.go(to: 60)
        #expect(world.supervisor.nextDeadline == nil)
    }

    @Test func `after the end nothing is handed over, and the scanner is stopped once`() throws {
        let world = try ScanWorld(prepare: listening)
        try world.supervisor.start(world.handler)
        _ = world.handler.changes()
        world.supervisor.stop()
        world.supervisor.stop()
        #expect(world.scanners[.management]?.stops == 1)
        #expect(world.handler.notes == [])
    }

    @Test func `malformed data is handed over and trips nothing`() throws {
        let world = try ScanWorld(prepare: listening)
        try world.supervisor.start(world.handler)
        let report = AdvertisingReport(address: nil, rssi: nil, properties: .legacy, data: 0..<3)
        let data: [UInt8] = [255, 255, 0x4C]
        world.supervisor.heard(report, data: data.span, on: 0, at: at(0))
        #expect(world.handler.reports.count == 1)
    }

    @Test func `a beacon that is heard too rarely is said with figures, and stands in the status`() throws {
        let world = try ScanWorld(exitTimeout: .seconds(30), prepare: listening)
        try world.supervisor.start(world.handler)
        for index in 0...100 {
            try world.go(to: Double(index) * 20)
            world.scanners[.management]?.report()
            world.scanners[.management]?.report(beacon(7))
        }
        #expect(world.supervisor.status.exitTimeoutsTooShort == 1)
        let line = try #require(world.log.first { $0.contains("exit_timeout") })
        #expect(line.hasPrefix("warning: beacon F7826DA6-4FA2-4E98-8024-BC5B71E0893E/0/7 is received too rarely"))
        #expect(line.contains("exit_timeout 30 s: of 100 gaps, half are at most 20.4 s"))
        #expect(line.contains("set exit_timeout to at least 40.9 s"))
    }

    @Test func `reports that are thinned out become an obstacle that is none to listening`() throws {
        var options = ScanSupervisor.Options()
        options.deafAfter = .seconds(60)
        let world = try ScanWorld(options, prepare: listening)
        try world.supervisor.start(world.handler)
        _ = world.handler.changes()
        for scan in 0..<20 {
            try world.go(to: Double(scan) * 10.3)
            world.scanners[.management]?.report(beacon(7))
        }
        #expect(world.handler.changes() == [#"obstacles ["thinned"]"#])
        #expect(world.supervisor.status.obstacles == [.thinned])
        #expect(world.supervisor.status.adapters.first?.isThinned == true)
        #expect(world.supervisor.status.isListening)
    }
}
