import AdapterScanning
import Synchronization
import Testing

@testable import BeaconScanning

/// A monitor with ears, on the machine's clock and by a test's radio: what is between the two is the product's.
@Suite(.timeLimit(.minutes(6))) struct LiveHearingTests {
    static let uuid = ProximityUUID(high: 0xF782_6DA6_4FA2_4E98, low: 0x8024_BC5B_71E0_893E)
    static let badge = BeaconIdentity(uuid: uuid, major: 1, minor: 7)

    /// A monitor with a condition that is left after a tenth of a second. However long the machine has no time for it, no
    /// outage comes of that.
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

    @Test func `what is heard on the thread of the scanners becomes events, and silence an exit`() async throws {
        let radio = try Radio()
        let monitor = try await monitor("live", radio)
        var events = monitor.events.makeAsyncIterator()
        async let hearing: Void = monitor.run()
        radio.listen()
        radio.hear(nil)
        radio.hear(Self.badge)
        let entry = try #require(try await events.next())
        #expect(entry.state == .satisfied && entry.refinement == Self.badge)
        let exit = try #require(try await events.next())
        #expect(exit.state == .unsatisfied && exit.time == entry.time + .milliseconds(100))
        await monitor.end()
        try await hearing
        #expect(try await events.next() == nil)
        #expect(radio.standing.stops == 1)
    }

    @Test func `T5: what lies in the kernel's buffer is handed over before a deadline`() async throws {
        let radio = try Radio()
        let monitor = try await monitor("live T5", radio, exitTimeout: .seconds(1))
        var events = monitor.events.makeAsyncIterator()
        async let hearing: Void = monitor.run()
        radio.listen()
        // Received half a second later, and read only when the deadline asks for it; then nothing more comes.
        radio.hear(Self.badge, andBuffer: .milliseconds(500))
        let entry = try #require(try await events.next())
        let exit = try #require(try await events.next())
        #expect(exit.state == .unsatisfied && exit.time == entry.time + .milliseconds(1_500))
        #expect(await monitor.counters.lateInputs == 0)
        await monitor.end()
        try await hearing
    }

    @Test func `who may not hear is told so by run() and by events`() async throws {
        let radio = try Radio(closed: ScannerError(.denied, "this user may not; ask the administrator"))
        let monitor = try await monitor("live denied", radio)
        var events = monitor.events.makeAsyncIterator()
        await #expect(throws: HearingError(.denied, "this user may not; ask the administrator")) {
            try await monitor.run()
        }
        await #expect(throws: MonitorError.hearingEnded("this user may not; ask the administrator")) {
            try await events.next()
        }
        // Nothing is left behind: the name is free.
        _ = try BeaconMonitor("live denied", scanning: radio.scanning)
    }

    @Test func `a task that is cancelled ends the scanners, the thread and the events`() async throws {
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

    @Test func `what stands in the way is on events and in the sessions' diagnostics`() async throws {
        let radio = try Radio()
        let registry = ServiceRegistry()
        let monitor = try await monitor("live obstacles", radio, service: registry)
        let session = ServiceSession(in: registry)
        var flags = session.diagnostics.makeAsyncIterator()
        var events = monitor.events.makeAsyncIterator()
        async let hearing: Void = monitor.run()
        radio.say(.obstacles([.waiting]))
        while let present = await flags.next(), !present.contains(.authorizationRequestInProgress) {}
        radio.say(.obstacles([.unavailable]))
        radio.listen()
        radio.hear(Self.badge)
        let event = try #require(try await events.next())
        #expect(event.serviceUnavailable && !event.authorizationRequestInProgress)
        await monitor.end()
        try await hearing
    }

    @Test func `sessions that come and go change what the scanners are asked for`() async throws {
        let radio = try Radio()
        let registry = ServiceRegistry()
        let monitor = try await monitor("live sessions", radio, exitTimeout: .seconds(80_000), service: registry)
        var events = monitor.events.makeAsyncIterator()
        async let hearing: Void = monitor.run()
        radio.listen()
        radio.hear(Self.badge)
        _ = try await events.next()
        let session = ServiceSession(.active, in: registry)
        await radio.stands { $0.starts.count == 2 }
        #expect(radio.standing.starts.map(\.isActive) == [false, true])
        session.invalidate()
        await radio.stands { $0.starts.count == 3 }
        #expect(radio.standing.starts.last?.isActive == false)
        // Nobody has left by it.
        #expect(try await monitor.requestState(for: "near") == .satisfied)
        await monitor.end()
        try await hearing
        #expect(radio.standing.stops == 3)
    }

    @Test func `L7: another controller under a name that had been one's holds nothing of it`() async throws {
        let radio = try Radio()
        let monitor = try await monitor("live L7", radio, exitTimeout: .seconds(80_000))
        var events = monitor.events.makeAsyncIterator()
        async let hearing: Void = monitor.run()
        for (minor, address) in [(7, 0x00AA_0100_0001), (8, 0x00AA_0100_0002)] as [(UInt16, UInt64)] {
            radio.say(
                .appeared(adapter: 0, controller: "a test's", address: DeviceAddress(address, kind: .public)),
                .listening(adapter: 0, reason: "a test says so"))
            try await monitor.add(
                .beacon(BeaconMonitor.BeaconIdentityCondition(uuid: Self.uuid, major: 1, minor: minor)),
                identifier: "badge \(minor)")
            radio.hear(BeaconIdentity(uuid: Self.uuid, major: 1, minor: minor))
            radio.say(.disappeared(adapter: 0))
        }
        var adapters: [AdapterID] = []
        while adapters.count < 2, let event = try await events.next() {
            if event.identifier.hasPrefix("badge"), let sighting = event.sighting { adapters.append(sighting.adapter) }
        }
        #expect(Set(adapters).count == 2)
        await monitor.end()
        try await hearing
    }

    @Test func `rangings come with what is heard`() async throws {
        let radio = try Radio()
        let monitor = try await monitor("live ranging", radio)
        var rangings = monitor.ranging(for: BeaconMonitor.BeaconIdentityCondition(uuid: Self.uuid))
            .makeAsyncIterator()
        async let hearing: Void = monitor.run()
        radio.listen()
        radio.hear(Self.badge, times: 3)
        let ranging = try #require(await rangings.next())
        #expect(ranging.beacons.map(\.beacon) == [Self.badge])
        await monitor.end()
        try await hearing
    }
}
