import BeaconMonitoringTesting
import BluetoothLE
import Synchronization
import Testing

@testable import BeaconMonitoring

@Suite struct ServiceSessionTests {
    @Test func `a session ends when it is invalidated or released`() {
        let registry = ServiceRegistry()
        #expect(registry.demand == nil)
        let first = ServiceSession(.active, in: registry)
        var second: ServiceSession? = ServiceSession(.lowPower(.low), fullAccuracyPurpose: "to count", in: registry)
        #expect(registry.demand == ServiceDemand(.active, needsFullAccuracy: true))
        #expect(registry.purposes == ["to count"])
        first.invalidate()
        first.invalidate()
        #expect(registry.demand == second?.demand)
        second = nil
        #expect(registry.demand == nil)
    }

    @Test func `a driver is notified of each change of the demand, and of nothing else`() async {
        let registry = ServiceRegistry()
        let changes = Mutex<[ServiceDemand?]>([])
        registry.onDemandChange { changes.withLock { $0.append(registry.demand) } }
        var demands = registry.demands.makeAsyncIterator()
        #expect(await demands.next() == .some(nil))
        let passive = ServiceSession(in: registry)
        #expect(await demands.next() == .some(ServiceDemand()))
        let again = ServiceSession(in: registry)
        let active = ServiceSession(.active, in: registry)
        #expect(await demands.next() == .some(ServiceDemand(.active)))
        registry.report(.authorizationDenied)
        active.invalidate()
        passive.invalidate()
        again.invalidate()
        // A slow reader gets only the newest demand.
        #expect(await demands.next() == .some(nil))
        #expect(changes.withLock { $0 } == [ServiceDemand(), ServiceDemand(.active), ServiceDemand(), nil])
    }

    @Test func `diagnostics are the present flags at first, then each change, and end with the session`() async {
        let registry = ServiceRegistry()
        registry.report([.authorizationDeniedGlobally])
        let session = ServiceSession(fullAccuracyPurpose: "tests", in: registry)
        var flags = session.diagnostics.makeAsyncIterator()
        #expect(await flags.next() == .authorizationDeniedGlobally)
        registry.report([.authorizationDeniedGlobally])
        registry.report([.accuracyLimited])
        #expect(await flags.next() == .accuracyLimited)
        registry.report([.serviceUnavailable])
        registry.report([])
        #expect(await flags.next() == [])
        registry.report([.authorizationRestricted])
        session.invalidate()
        // The last change before the end is still delivered.
        #expect(await flags.next() == .authorizationRestricted)
        #expect(await flags.next() == nil)
        var late = session.diagnostics.makeAsyncIterator()
        _ = await late.next()
        #expect(await late.next() == nil)
    }

    @Test func `a session without full accuracy does not get accuracyLimited`() async {
        let registry = ServiceRegistry()
        let session = ServiceSession(.lowPower(.low), in: registry)
        var flags = session.diagnostics.makeAsyncIterator()
        #expect(await flags.next() == [])
        registry.report([.accuracyLimited])
        registry.report([.accuracyLimited, .serviceUnavailable])
        #expect(await flags.next() == .serviceUnavailable)
    }

    @Test func `a task that waits for diagnostics resumes at a change, at the end or if it is canceled`() async {
        let registry = ServiceRegistry()
        var session: ServiceSession? = ServiceSession(in: registry)
        let updates = session?.diagnostics
        let reader = Task {
            var seen: [Diagnostics] = []
            if let updates { for await flags in updates { seen.append(flags) } }
            return seen
        }
        let cancelled = Task { if let updates { for await _ in updates {} } }
        cancelled.cancel()
        await cancelled.value
        registry.report([.scannerUnavailable])
        session = nil
        let seen = await reader.value
        #expect(seen.last == .scannerUnavailable || seen.isEmpty)
    }

    @Test func `a monitor and each ranging iterator hold a session until they end or are released`() async throws {
        let registry = ServiceRegistry()
        let clock = ManualClock()
        let monitor = try BeaconMonitor("service implicit", clock: clock, service: registry)
        #expect(registry.demand == .implicit)
        var updates: BeaconMonitor.RangingUpdates.Iterator? =
            monitor.ranging(for: BeaconMonitor.BeaconIdentityCondition(uuid: .a)).makeAsyncIterator()
        await monitor.end()
        #expect(registry.demand == .implicit)
        #expect(await updates?.next() == nil)
        updates = nil
        #expect(registry.demand == nil)
        var discarded: BeaconMonitor? = try BeaconMonitor("service discarded", clock: clock, service: registry)
        #expect(registry.demand == .implicit)
        _ = discarded
        discarded = nil
        #expect(registry.demand == nil)
    }

    @Test func `if explicit sessions are needed, events have serviceSessionRequired until one is held`() async throws {
        let registry = ServiceRegistry(requiresExplicitSessions: true)
        let clock = ManualClock()
        let monitor = try BeaconMonitor("service explicit", clock: clock, service: registry)
        #expect(registry.demand == nil)
        let adapter = try await monitor.adapter(named: "hci0")
        await monitor.listening(ListeningChange(.started, adapter: adapter), at: Fixture.start)
        try await monitor.add(.anyA, identifier: "lobby", assuming: .unsatisfied)
        try await monitor.add(.anyB, identifier: "depot", assuming: .unsatisfied)
        var events = monitor.events.makeAsyncIterator()
        func sighted(_ uuid: ProximityUUID) async {
            await monitor.sighted(
                Sighting(
                    time: Fixture.start, adapter: adapter, beacon: BeaconIdentity(uuid: uuid, major: 1, minor: 1),
                    measuredPower: -59, rssi: nil))
        }
        await sighted(.a)
        #expect(try await events.next()?.diagnostics == [.serviceSessionRequired, .insufficientlyInUse])
        let session = ServiceSession(in: registry)
        registry.report([.accuracyLimited])
        await monitor.setAmbientDiagnostics(.clockUnsynchronized)
        await sighted(.b)
        #expect(try await events.next()?.diagnostics == [.accuracyLimited, .clockUnsynchronized])
        #expect(registry.demand == session.demand)
        await monitor.end()
    }

    @Test func `sessions that are created again after a restart have the same demand and diagnostics`() async throws {
        // Two programs run one after the other. The second makes the same sessions as the first, and must get the same
        // demand and diagnostics.
        var demands: [ServiceDemand?] = []
        var flags: [Diagnostics?] = []
        for _ in 0..<2 {
            let registry = ServiceRegistry(requiresExplicitSessions: true)
            registry.report(.authorizationRequestInProgress)
            let sessions = [
                ServiceSession(.lowPower(.low), in: registry),
                ServiceSession(.passive, fullAccuracyPurpose: "stock", adapters: .only(["hci0"]), in: registry),
            ]
            demands.append(registry.demand)
            var updates = sessions[1].diagnostics.makeAsyncIterator()
            flags.append(await updates.next())
        }
        #expect(demands[0] == demands[1])
        #expect(demands[0] == ServiceDemand(.passive, needsFullAccuracy: true))
        #expect(flags == [.authorizationRequestInProgress, .authorizationRequestInProgress])
    }

    @Test func `sessions that start and end on many threads leave no demand`() async {
        let registry = ServiceRegistry()
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for round in 0..<500 {
                        let session = ServiceSession(task % 2 == 0 ? .active : .passive, in: registry)
                        if round % 3 == 0 { session.invalidate() }
                        registry.report(round % 2 == 0 ? [.scannerUnavailable] : [])
                    }
                }
            }
        }
        #expect(registry.demand == nil)
    }
}
