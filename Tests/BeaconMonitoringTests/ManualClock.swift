import BeaconMonitoring
import BluetoothLE
import Synchronization

/// A clock whose hands a test turns; nobody sleeps on it in earnest.
final class ManualClock: MonitorClock {
    private struct Sleeper {
        let id: Int
        let until: Instant
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now: Instant
        var offset = ClockOffset.zero
        var given = 0
        var sleepers: [Sleeper] = []
        var cancelled: Set<Int> = []
        var watchers: [(until: Instant, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state: Mutex<State>

    init(_ start: Instant = World.start) { state = Mutex(State(now: start)) }

    var now: Instant { state.withLock { $0.now } }
    var offset: ClockOffset { state.withLock { $0.offset } }
    var sleepers: Int { state.withLock { $0.sleepers.count } }

    func setOffset(_ offset: Duration) {
        state.withLock { $0.offset = ClockOffset(nanoseconds: offset.nanoseconds) }
    }

    func sleep(until instant: Instant) async throws {
        let id = state.withLock {
            $0.given += 1
            return $0.given
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (answer, watchers) = state.withLock {
                    state -> (Result<Void, any Error>?, [CheckedContinuation<Void, Never>]) in
                    if state.cancelled.remove(id) != nil { return (.failure(CancellationError()), []) }
                    if state.now >= instant { return (.success(()), []) }
                    state.sleepers.append(Sleeper(id: id, until: instant, continuation: continuation))
                    let watchers = state.watchers.filter { $0.until == instant }.map(\.continuation)
                    state.watchers.removeAll { $0.until == instant }
                    return (nil, watchers)
                }
                for watcher in watchers { watcher.resume() }
                if let answer { continuation.resume(with: answer) }
            }
        } onCancel: {
            let sleeper = state.withLock { state -> Sleeper? in
                guard let index = state.sleepers.firstIndex(where: { $0.id == id }) else {
                    state.cancelled.insert(id)
                    return nil
                }
                return state.sleepers.remove(at: index)
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Turns the hands, and wakes who slept until then.
    func set(_ time: Duration) {
        let due = state.withLock { state -> [Sleeper] in
            state.now = World.start + time
            let due = state.sleepers.filter { $0.until <= state.now }
            state.sleepers.removeAll { $0.until <= state.now }
            return due
        }
        for sleeper in due { sleeper.continuation.resume() }
    }

    /// Returns as soon as somebody sleeps until exactly `time`.
    func sleeperStands(at time: Duration) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.sleepers.contains(where: { $0.until == World.start + time }) { return true }
                state.watchers.append((World.start + time, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }
}

/// A monitor on a manual clock with one adapter, which listens.
struct Site {
    let clock = ManualClock()
    let monitor: BeaconMonitor
    let adapter: AdapterID

    init(_ name: String, listening: Bool = true) async throws {
        monitor = try BeaconMonitor(name, clock: clock)
        adapter = try await monitor.adapter(named: "hci0")
        if listening { await monitor.listening(ListeningChange(.started, adapter: adapter), at: World.start) }
    }

    func sighted(_ beacon: BeaconIdentity = .a(1), at time: Duration) async {
        await monitor.sighted(sighting(beacon, at: time))
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
