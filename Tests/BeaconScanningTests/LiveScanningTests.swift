import AdapterScanning
import Synchronization
import Testing

@testable import BeaconScanning

/// A monitor that scans on the machine's clock with the radio of a test. Everything between the two is production code.
@Suite(.timeLimit(.minutes(6))) struct LiveScanningTests {
    static let uuid = ProximityUUID(high: 0xF782_6DA6_4FA2_4E98, low: 0x8024_BC5B_71E0_893E)
    static let badge = BeaconIdentity(uuid: uuid, major: 1, minor: 7)

    /// Returns a monitor with a condition whose exit timeout is a tenth of a second. The outage timeout is so long that
    /// no outage occurs, however slow the machine is.
    private func monitor(
        _ name: String, _ radio: Radio, exitTimeout: Duration = .milliseconds(100),
        service: ServiceRegistry = ServiceRegistry()
    ) async throws -> BeaconMonitor {
        var outages = MonitorSettings()
        outages.outageTimeout = .seconds(80_000)
        let monitor = try BeaconMonitor(name, scanning: radio.scanning, settings: outages, service: service)
        var settings = ConditionSettings()
        settings.exitTimeout = exitTimeout
        try await monitor.add(
            .beacon(BeaconMonitor.BeaconIdentityCondition(uuid: Self.uuid)), identifier: "near",
            assuming: .unsatisfied, settings: settings)
        return monitor
    }

    @Test func `sightings on the scanning thread become events, and silence becomes an exit`() async throws {
        let radio = try Radio()
        let monitor = try await monitor("live", radio)
        var events = monitor.events.makeAsyncIterator()
        async let running: Void = monitor.run()
        radio.listen()
        radio.receive(nil)
        radio.receive(Self.badge)
        let entry = try #require(try await events.next())
        #expect(entry.state == .satisfied && entry.refinement == Self.badge)
        let exit = try #require(try await events.next())
        #expect(exit.state == .unsatisfied && exit.time == entry.time + .milliseconds(100))
        await monitor.end()
        try await running
        #expect(try await events.next() == nil)
        #expect(radio.standing.stops == 1)
    }

    @Test func `T5: reports in the kernel's buffer are delivered before a deadline`() async throws {
        let radio = try Radio()
        let monitor = try await monitor("live T5", radio, exitTimeout: .seconds(1))
        var events = monitor.events.makeAsyncIterator()
        async let running: Void = monitor.run()
        radio.listen()
        // The second report is received half a second later, and read only when the deadline requires it. No report
        // follows.
        radio.receive(Self.badge, andBuffer: .milliseconds(500))
        let entry = try #require(try await events.next())
        let exit = try #require(try await events.next())
        #expect(exit.state == .unsatisfied && exit.time == entry.time + .milliseconds(1_500))
        #expect(await monitor.counters.lateInputs == 0)
        await monitor.end()
        try await running
    }

    @Test func `without the permission to scan, run() and events throw the reason`() async throws {
        let radio = try Radio(closed: ScannerError(.denied, "this user may not; ask the administrator"))
        let monitor = try await monitor("live denied", radio)
        var events = monitor.events.makeAsyncIterator()
        await #expect(throws: ScanningError(.denied, "this user may not; ask the administrator")) {
            try await monitor.run()
        }
        await #expect(throws: MonitorError.sourceFailed("this user may not; ask the administrator")) {
            try await events.next()
        }
        // The name of the monitor is free again.
        _ = try BeaconMonitor("live denied", scanning: radio.scanning)
    }

    @Test func `if its task is canceled, the scanners, the thread and the events end`() async throws {
        let radio = try Radio()
        for _ in 0..<20 {
            let monitor = try await monitor("live cancelled", radio)
            var events = monitor.events.makeAsyncIterator()
            let starts = radio.standing.starts.count
            await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await monitor.run() }
                await radio.stands { $0.starts.count == starts + 1 }
                group.cancelAll()
                await #expect(throws: CancellationError.self) { try await group.next() }
            }
            #expect(radio.standing.stops == starts + 1)
            #expect(try await events.next() == nil)
        }
    }

    @Test func `obstacles of scanning are in events and in the diagnostics of sessions`() async throws {
        let radio = try Radio()
        let registry = ServiceRegistry()
        let monitor = try await monitor("live obstacles", radio, service: registry)
        let session = ServiceSession(in: registry)
        var flags = session.diagnostics.makeAsyncIterator()
        var events = monitor.events.makeAsyncIterator()
        async let running: Void = monitor.run()
        radio.say(.obstacles([.waiting]))
        while let present = await flags.next(), !present.contains(.authorizationRequestInProgress) {}
        radio.say(.obstacles([.unavailable]))
        radio.listen()
        radio.receive(Self.badge)
        let event = try #require(try await events.next())
        #expect(event.serviceUnavailable && !event.authorizationRequestInProgress)
        await monitor.end()
        try await running
    }

    @Test func `sessions that start and end change the demand for the scanners`() async throws {
        let radio = try Radio()
        let registry = ServiceRegistry()
        let monitor = try await monitor("live sessions", radio, exitTimeout: .seconds(80_000), service: registry)
        var events = monitor.events.makeAsyncIterator()
        async let running: Void = monitor.run()
        radio.listen()
        radio.receive(Self.badge)
        _ = try await events.next()
        let session = ServiceSession(.active, in: registry)
        await radio.stands { $0.starts.count == 2 }
        #expect(radio.standing.starts.map(\.isActive) == [false, true])
        session.invalidate()
        await radio.stands { $0.starts.count == 3 }
        #expect(radio.standing.starts.last?.isActive == false)
        // The changes have caused no exit.
        #expect(try await monitor.requestState(for: "near") == .satisfied)
        await monitor.end()
        try await running
        #expect(radio.standing.stops == 3)
    }

    @Test func `L7: another controller with the name of a first one has none of its holds`() async throws {
        let radio = try Radio()
        let monitor = try await monitor("live L7", radio, exitTimeout: .seconds(80_000))
        var events = monitor.events.makeAsyncIterator()
        async let running: Void = monitor.run()
        for (minor, address) in [(7, 0x00AA_0100_0001), (8, 0x00AA_0100_0002)] as [(UInt16, UInt64)] {
            radio.say(
                .appeared(adapter: 0, controller: "a test's", address: DeviceAddress(address, kind: .public)),
                .listening(adapter: 0, reason: "a test says so"))
            try await monitor.add(
                .beacon(BeaconMonitor.BeaconIdentityCondition(uuid: Self.uuid, major: 1, minor: minor)),
                identifier: "badge \(minor)")
            radio.receive(BeaconIdentity(uuid: Self.uuid, major: 1, minor: minor))
            radio.say(.disappeared(adapter: 0))
        }
        var adapters: [AdapterID] = []
        while adapters.count < 2, let event = try await events.next() {
            if event.identifier.hasPrefix("badge"), let sighting = event.sighting { adapters.append(sighting.adapter) }
        }
        #expect(Set(adapters).count == 2)
        await monitor.end()
        try await running
    }

    @Test func `sightings also become rangings`() async throws {
        let radio = try Radio()
        let monitor = try await monitor("live ranging", radio)
        var rangings = monitor.ranging(for: BeaconMonitor.BeaconIdentityCondition(uuid: Self.uuid))
            .makeAsyncIterator()
        async let running: Void = monitor.run()
        radio.listen()
        radio.receive(Self.badge, times: 3)
        let ranging = try #require(await rangings.next())
        #expect(ranging.beacons.map(\.beacon) == [Self.badge])
        await monitor.end()
        try await running
    }
}
