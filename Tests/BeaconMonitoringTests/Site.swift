import BaseTypes
import BeaconMonitoring
import BeaconMonitoringTesting
import BluetoothLE

// Times are relative to the start of a test's gateway, as in ``Fixture``.
extension ManualClock {
    /// Moves the clock to a time.
    func set(_ time: Duration) { advance(to: Fixture.start + time) }

    func setOffset(_ duration: Duration) { offset = ClockOffset(nanoseconds: duration.nanoseconds) }

    /// Returns as soon as a task sleeps until exactly `time`.
    func waitForSleeper(at time: Duration) async { await waitForSleeper(until: Fixture.start + time) }
}

/// A monitor with a test clock and one adapter, which scans unless `listening` is `false`.
struct Site {
    let clock = ManualClock(Fixture.start)
    let monitor: BeaconMonitor
    let adapter: AdapterID

    init(_ name: String, listening: Bool = true) async throws {
        monitor = try BeaconMonitor(name, clock: clock)
        adapter = try await monitor.adapter(named: "hci0")
        if listening { await monitor.listening(ListeningChange(.started, adapter: adapter), at: Fixture.start) }
    }

    func sighted(_ beacon: BeaconIdentity = .a(1), at time: Duration) async {
        // The clock must reach the time first. Otherwise the sighting would be handled at the earlier time of the
        // clock.
        clock.set(time)
        await monitor.sighted(sighting(beacon, at: time))
    }

    /// Starts or stops scanning on the adapter.
    func listening(_ kind: ListeningChange.Kind, at time: Duration) async {
        clock.set(time)
        await monitor.listening(ListeningChange(kind, adapter: adapter), at: Fixture.start + time)
    }

    /// Passes a report without a monitored beacon.
    func received(at time: Duration) async {
        clock.set(time)
        await monitor.received(by: adapter, at: Fixture.start + time)
    }

    func sighting(_ beacon: BeaconIdentity = .a(1), at time: Duration) -> Sighting {
        Sighting(
            time: Fixture.start + time, adapter: adapter, beacon: beacon, measuredPower: -59, rssi: RSSI(dBm: -60))
    }

    func lobby(_ state: BeaconMonitor.Event.State = .unsatisfied) async throws {
        try await monitor.add(.anyA, identifier: "lobby", assuming: state)
    }

    /// Calls `body` while the monitor runs, then ends the monitor.
    func running(_ body: () async throws -> Void) async throws {
        async let run: Void = monitor.run()
        try await body()
        await monitor.end()
        try await run
    }
}

extension BeaconMonitor.Event {
    /// The event in short, such as `satisfied` at 5 seconds.
    var brief: Outcome? { Outcome(.event(self)) }
}
