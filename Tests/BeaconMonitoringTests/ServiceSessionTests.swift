import BeaconMonitoringTesting
import BluetoothLE
import Synchronization
import Testing

@testable import BeaconMonitoring

@Suite struct ServiceSessionTests {
    @Test func `a session ends when it is invalidated, and when it is discarded`() {
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

    @Test func `a driver is told of each change of the demand, and of nothing else`() async {
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
        // Who is slow is given the newest.
        #expect(await demands.next() == .some(nil))
        #expect(changes.withLock { $0 } == [ServiceDemand(), ServiceDemand(.active), ServiceDemand(), nil])
    }

    @Test func `diagnostics are what holds at once, then each change, and end with the session`() async {
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
        // What it became before the end is still told.
        #expect(await flags.next() == .authorizationRestricted)
        #expect(await flags.next() == nil)
        var late = session.diagnostics.makeAsyncIterator()
        _ = await late.next()
        #expect(await late.next() == nil)
    }

    @Test func `a session without full accuracy is not told that it is limited`() async {
        let registry = ServiceRegistry()
        let session = ServiceSession(.lowPower(.low), in: registry)
        var flags = session.diagnostics.makeAsyncIterator()
        #expect(await flags.next() == [])
        registry.report([.accuracyLimited])
        registry.report([.accuracyLimited, .serviceUnavailable])
        #expect(await flags.next() == .serviceUnavailable)
    }

    @Test func `who waits for diagnostics is woken by them, by the end, and by being cancelled`() async {
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

    @Test func `a monitor holds a session until it ends, and each who ranges one`() async throws {
        let registry = ServiceRegistry()
        let clock = HandClock()
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

    @Test func `where explicit sessions are demanded, events say that none is held, and stop saying so`() async throws {
        let registry = ServiceRegistry(requiresExplicitSessions: true)
        let clock = HandClock()
        let monitor = try BeaconMonitor("service explicit", clock: clock, service: registry)
        #expect(registry.demand == nil)
        let adapter = try await monitor.adapter(named: "hci0")
        await monitor.listening(ListeningChange(.started, adapter: adapter), at: World.start)
        try await monitor.add(.anyA, identifier: "lobby", assuming: .unsatisfied)
        try await monitor.add(.anyB, identifier: "depot", assuming: .unsatisfied)
        var events = monitor.events.makeAsyncIterator()
        func sighted(_ uuid: ProximityUUID) async {
            await monitor.sighted(
                Sighting(
                    time: World.start, adapter: adapter, beacon: BeaconIdentity(uuid: uuid, major: 1, minor: 1),
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

    @Test func `sessions that are made again after a restart go on where they were`() async throws {
        // Two programs, one after the other: what the first asked for, the second asks for again, and is told the same.
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

    @Test func `sessions that begin and end on many threads leave nothing behind`() async {
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
