import BaseTypes
import BeaconMonitoring
import BeaconMonitoringTesting
import BluetoothLE

// Times are counted from the beginning of a test's world, as in ``World``.
extension HandClock {
    /// Turns the hands.
    func set(_ time: Duration) { turn(to: World.start + time) }

    func setOffset(_ duration: Duration) { offset = ClockOffset(nanoseconds: duration.nanoseconds) }

    /// Returns as soon as somebody sleeps until exactly `time`.
    func sleeperStands(at time: Duration) async { await sleeper(until: World.start + time) }
}

/// A monitor on a hand clock with one adapter, which listens.
struct Site {
    let clock = HandClock(World.start)
    let monitor: BeaconMonitor
    let adapter: AdapterID

    init(_ name: String, listening: Bool = true) async throws {
        monitor = try BeaconMonitor(name, clock: clock)
        adapter = try await monitor.adapter(named: "hci0")
        if listening { await monitor.listening(ListeningChange(.started, adapter: adapter), at: World.start) }
    }

    func sighted(_ beacon: BeaconIdentity = .a(1), at time: Duration) async {
        // Nothing is heard before its time.
        clock.set(time)
        await monitor.sighted(sighting(beacon, at: time))
    }

    /// The adapter begins or ceases to listen.
    func listening(_ kind: ListeningChange.Kind, at time: Duration) async {
        clock.set(time)
        await monitor.listening(ListeningChange(kind, adapter: adapter), at: World.start + time)
    }

    /// Somebody else was heard.
    func heard(at time: Duration) async {
        clock.set(time)
        await monitor.heard(adapter, at: World.start + time)
    }

    func sighting(_ beacon: BeaconIdentity = .a(1), at time: Duration) -> Sighting {
        Sighting(
            time: World.start + time, adapter: adapter, beacon: beacon, measuredPower: -59, rssi: RSSI(dBm: -60))
    }

    func lobby(_ state: BeaconMonitor.Event.State = .unsatisfied) async throws {
        try await monitor.add(.anyA, identifier: "lobby", assuming: state)
    }

    /// Gives `body` a monitor that runs, and ends it.
    func running(_ body: () async throws -> Void) async throws {
        async let run: Void = monitor.run()
        try await body()
        await monitor.end()
        try await run
    }
}

extension BeaconMonitor.Event {
    /// `satisfied` at 5 seconds, in short.
    var brief: Outcome? { Outcome(.event(self)) }
}
