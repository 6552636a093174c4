import BackgroundActivity
import BaseTypes
import BeaconMonitoring
import BeaconMonitoringFoundation
import BeaconMonitoringTesting
import BeaconScanning
import BluetoothLE
import Foundation
import Testing

/// The examples in the documentation comments of the monitoring libraries.
@Suite(.timeLimit(.minutes(20))) struct MonitorListings {
    let clock = ManualClock()
    let uuid = staff
    let badge = BeaconIdentity(uuid: staff, major: 1, minor: 7)

    @Test func `an engine`() throws {
        let start = clock.now
        var engine = MonitorEngine(start: start)
        var actions = ActionBuffer()
        let (site, lobby) = (try Identifier("site"), try Identifier("lobby"))
        try engine.addMonitor(site)
        try engine.add(.beacon(uuid: uuid), identifier: lobby, monitor: site, at: start, into: &actions)
        let adapter = try engine.adapter(named: "hci0", at: start, into: &actions)
        engine.sighted(
            Sighting(time: start, adapter: adapter, beacon: badge, measuredPower: -59, rssi: nil), into: &actions)
        #expect(engine.state(of: lobby) == .satisfied)
    }

    @Test func `conditions and their settings`() async throws {
        let monitor = try BeaconMonitor("conditions", clock: clock, engine: locating)
        try await monitor.add(.beacon(uuid: uuid, major: 1), identifier: "visitors")
        try await monitor.add(.circle(latitude: 50, longitude: 8, radius: 200), identifier: "pier")
        if await monitor.record(for: "pier")?.lastEvent.monitorNotRunning == true { print("call run()") }
        let event = await monitor.record(for: "pier")?.lastEvent
        if let event, event.diagnostics.contains(.monitorNotRunning) { print("\(event.monitor) does not run") }
        await monitor.onRemark { remark in print("site: \(remark)") }
        await monitor.onRemark { remark in if remark == .notRunning { assertionFailure("\(remark)") } }
        await monitor.remove("pier")
        let pier = try BeaconMonitor.CircularGeographicCondition(latitude: 50, longitude: 8, radius: 200)
        try await monitor.add(.circle(pier), identifier: "pier")
        var settings = ConditionSettings()
        settings.enterCount = 3
        settings.exitTimeout = .seconds(60)
        try await monitor.add(.beacon(uuid: uuid), identifier: "lobby", settings: settings)
        #expect(await monitor.identifiers == ["visitors", "pier", "lobby"])
        let adapter = try await monitor.adapter(named: "hci0")
        let sighting = Sighting(
            time: clock.now, adapter: adapter, beacon: badge, measuredPower: -59, rssi: RSSI(dBm: -70))
        await monitor.sighted(sighting)
        #expect(try await monitor.requestState(for: "visitors") == .satisfied)
        await monitor.end()
    }

    @Test func `a setup`() throws {
        let lobby = try MonitorSetup.Condition(.beacon(uuid: uuid), identifier: "lobby")
        let setup = MonitorSetup(name: try Identifier("site"), conditions: [lobby])
        #expect(setup.conditions == [lobby])
    }

    @Test func `coordinates`() throws {
        let here = try Coordinate(latitude: 50, longitude: 8)
        let there = here.destination(azimuth: 90, distance: 1000)
        #expect(abs(here.distance(to: there) - 1000) < 0.001)
    }

    @Test func `the limit of conditions`() async throws {
        var settings = EngineSettings()
        settings.conditionLimit = 1
        let monitor = try BeaconMonitor("limits", clock: clock, engine: settings, service: ServiceRegistry())
        try await monitor.add(.beacon(uuid: staff), identifier: "lobby")
        try await monitor.add(.beacon(uuid: staff), identifier: "yard")
        #expect(try await monitor.requestState(for: "yard") == .unmonitored)
    }

    @Test func `distances and ranging`() throws {
        let distance = DistanceModel.standard.distance(measuredPower: -59, rssi: -79)
        #expect(distance.map { abs($0 - 10) < 1e-6 } == true)
        let condition = BeaconMonitor.BeaconIdentityCondition(uuid: uuid)
        let sighting = sighting(7, by: AdapterID(index: 0), at: clock.now)
        var ranger = Ranger()
        ranger.add(condition)
        ranger.sighted(sighting)
        var rangings: ContiguousArray<Ranging> = []
        ranger.advance(to: sighting.time + .seconds(1), into: &rangings)
        #expect(rangings.first?.beacons.first?.beacon == sighting.beacon)
    }

    @Test func `sessions and duty cycles`() throws {
        do {
            let registry = ServiceRegistry()
            let session = ServiceSession(.active, in: registry)
            #expect(registry.demand?.isActive == true)
            session.invalidate()
            #expect(registry.demand == nil)
        }
        var ledger = SessionLedger()
        let session = ledger.begin(ServiceDemand(.active))
        #expect(ledger.effective?.isActive == true)
        ledger.end(session)
        #expect(ledger.effective == nil)
        let sparing = try DutyCycle(window: .milliseconds(30), of: .milliseconds(300))
        #expect(sparing.part == 0.1)
    }

    @Test func `a source with one sighting`() async throws {
        struct OneSighting: SightingSource {
            let clock: any MonitorClock
            let badge: BeaconIdentity
            func run(into monitor: BeaconMonitor) async throws {
                let adapter = try await monitor.adapter(named: "hci0")
                await monitor.listening(ListeningChange(.started, adapter: adapter), at: clock.now)
                await monitor.sighted(
                    Sighting(time: clock.now, adapter: adapter, beacon: badge, measuredPower: -59, rssi: nil))
            }
            func drain() async {}
        }
        let source = OneSighting(clock: clock, badge: badge)
        try await firstEvent(source)
    }

    private func firstEvent(_ source: some SightingSource) async throws {
        let monitor = try BeaconMonitor("office", source: source)
        try await monitor.add(.beacon(uuid: uuid), identifier: "lobby")
        let events = monitor.subscribe()
        async let scanning: Void = monitor.run()
        for try await event in events {
            print(event.identifier, event.state)
        }
        try await scanning
    }

    @Test func `a subscription`() async throws {
        let script = ScriptedSightings()
        let monitor = try BeaconMonitor("subscription", source: script)
        try await monitor.add(.beacon(uuid: uuid), identifier: "lobby")
        script.finish()
        let events = monitor.subscribe()
        async let scanning: Void = monitor.run()
        for try await event in events {
            print(event.identifier, event.state)
        }
        try await scanning
    }

    @Test func `a script`() async throws {
        let script = ScriptedSightings()
        let monitor = try BeaconMonitor("script", source: script)
        async let running: Void = monitor.run()
        await script.receive(badge)
        await script.wait(.seconds(30))
        script.finish()
        try await running
    }

    @Test func `a clock that a test sets`() async throws {
        let clock = ManualClock()
        let monitor = try BeaconMonitor("minutes", clock: clock)
        clock.advance(by: .seconds(30))
        await monitor.end()
    }

    /// Compiled only: these wait for sightings, or need a machine with Bluetooth and logind.
    static func elsewhere(
        monitor: BeaconMonitor, piers: [(name: String, circle: BeaconMonitor.CircularGeographicCondition)],
        fix: LocationFix, condition: BeaconMonitor.BeaconIdentityCondition
    ) async throws {
        for try await event in monitor.subscribe() {
            print(event.identifier, event.state, event.date, event.diagnostics)
        }
        for try await visit in monitor.visits where !visit.isOpen {
            print(visit.identifier, visit.arrivalDate as Any, visit.departureDate as Any)
        }
        for await ranging in monitor.ranging(for: condition) {
            for beacon in ranging.beacons { print(beacon.beacon, beacon.proximity, beacon.accuracy as Any) }
        }
        for await ranging in monitor.ranging(for: condition) {
            for beacon in ranging.beacons { print(beacon.uuid, beacon.major, beacon.minor, beacon.proximity) }
            for beacon in ranging.beacons where beacon.major == 2 { print("visitor", beacon.minor) }
            if let nearest = ranging.beacons.first { print("badge \(nearest.minor) is the nearest") }
        }
        for try await event in monitor.events {
            if let badge = event.refinement {
                try await monitor.add(.beacon(matching: badge), identifier: "visitor", assuming: .satisfied)
            }
            if let badge = event.refinement {
                for await ranging in monitor.ranging(for: BeaconMonitor.BeaconIdentityCondition(badge)) {
                    print(ranging.beacons)
                }
            }
        }
        var arrivals = monitor.events
        arrivals.identifiers = ["lobby"]
        arrivals.notifyOnExit = false
        for try await event in arrivals {
            print(event.date, event.refinement as Any)
        }
        let candidates = try piers.map { try PlacedCondition($0.circle, identifier: $0.name) }
        try await monitor.monitorNearest(20, of: candidates, to: fix)
        await monitor.located(fix)
        do { try await monitor.run() } catch { print(error.localizedDescription) }
        do { try await monitor.run() } catch let error as ScanningError { print(error.localizedDescription) }
        do { try await monitor.run() } catch let error as LocationError { print(error.localizedDescription) }
        do { try await monitor.run() } catch let error as LocationError { print("no position: \(error)") }
        var problems: [String] = []
        do { try await monitor.run() } catch let error as LocationError { problems.append(error.description) }
        print(problems)
    }

    static func scanning() async throws {
        let monitor = try BeaconMonitor("site", scanning: .automatic)
        try await monitor.add(.beacon(uuid: staff), identifier: "near")
        try await monitor.run()
    }

    static func sessions() async {
        do {
            let session = ServiceSession(fullAccuracyPurpose: "Find the nearest badge")
            for await flags in session.diagnostics {
                print(flags)
            }
        }
        let inhibitor = LogindInhibitor(program: "my-gateway")
        let session = BackgroundActivitySession(reason: "beacons are scanned", provider: inhibitor)
        if case .refused(let why) = session.status { print(why) }
        for await flags in session.diagnostics where flags.contains(.authorizationDenied) {
            print(session.status)
        }
        do {
            let session = BackgroundActivitySession()
            if case .refused(let why) = session.status { print(why) }
        }
    }

    static func inhibitor() {
        var locks: [any Sendable] = []
        let inhibitor = LogindInhibitor(program: "my-gateway")
        switch inhibitor.begin(reason: "beacons are scanned") {
        case .held(let lock): locks.append(lock)
        case .unneeded(let why), .refused(let why): print(why)
        }
        print(locks.count)
    }
}
