import BeaconMonitoring
import BeaconMonitoringTesting
import BluetoothLE
import Synchronization

/// The part of a monitor that two designs have in common: numbered conditions that are entered one by one.
protocol Design: Sendable {
    associatedtype Entries: AsyncSequence<Entered, any Error> & Sendable
    /// Creates a monitor with at most `limit` monitored conditions; 0 means no limit.
    static func open(_ name: String, limit: Int) async throws -> Self
    func add(_ number: UInt16) async throws
    /// Makes the next event in time: the condition, which is assumed `unsatisfied`, becomes `satisfied`.
    func enter(_ number: UInt16) async
    /// Returns the state of the last event in the condition's record.
    func state(_ number: UInt16) async -> BeaconMonitor.Event.State?
    var entries: Entries { get }
    func end() async
}

/// An event of a numbered condition, with the new state.
struct Entered: Sendable, Hashable {
    var number: UInt16
    var state: BeaconMonitor.Event.State

    init(_ number: UInt16, _ state: BeaconMonitor.Event.State = .satisfied) {
        self.number = number
        self.state = state
    }
}

/// The design of this project.
struct Ours: Design {
    let monitor: BeaconMonitor
    private let clock: ManualClock
    private let adapter: AdapterID

    static func open(_ name: String, limit: Int) async throws -> Ours {
        let clock = ManualClock()
        var settings = EngineSettings()
        settings.conditionLimit = limit
        let monitor = try BeaconMonitor(name, clock: clock, engine: settings, service: ServiceRegistry())
        let adapter = try await monitor.adapter(named: "hci0")
        await monitor.listening(ListeningChange(.started, adapter: adapter), at: Fixture.start)
        return Ours(monitor: monitor, clock: clock, adapter: adapter)
    }

    func add(_ number: UInt16) async throws {
        try await monitor.add(.a(number), identifier: "\(number)", assuming: .unsatisfied)
    }

    func enter(_ number: UInt16) async {
        await monitor.sighted(
            Sighting(
                time: clock.now, adapter: adapter, beacon: .a(number), measuredPower: -59, rssi: RSSI(dBm: -60)))
    }

    func state(_ number: UInt16) async -> BeaconMonitor.Event.State? {
        await monitor.record(for: "\(number)")?.lastEvent.state
    }

    var entries: AsyncThrowingMapSequence<BeaconMonitor.Events, Entered> {
        let transform: @Sendable (BeaconMonitor.Event) async throws -> Entered = {
            Entered(UInt16($0.identifier) ?? 0, $0.state)
        }
        return monitor.events.map(transform)
    }

    func end() async { await monitor.end() }
}

/// A simple first design. It never frees a name, has only one stream, changes records before a subscriber has received
/// the event, and drops conditions beyond the limit.
final class Naive: Design {
    private static let names = Mutex<Set<String>>([])

    private let limit: Int
    private let states = Mutex<[UInt16: BeaconMonitor.Event.State]>([:])
    private let continuation: AsyncThrowingStream<Entered, any Error>.Continuation
    private let loop = Mutex<Task<Void, Never>?>(nil)
    let entries: AsyncThrowingStream<Entered, any Error>

    private init(_ name: String, limit: Int) {
        let isNew = Self.names.withLock { $0.insert(name).inserted }
        precondition(isNew, "a monitor of that name exists")
        self.limit = limit
        (entries, continuation) = AsyncThrowingStream.makeStream()
        // The task that handles deadlines in the background keeps the monitor alive, so a discarded monitor is not
        // released.
        loop.withLock { $0 = Task { await self.watch() } }
    }

    static func open(_ name: String, limit: Int) async throws -> Naive { Naive(name, limit: limit) }

    private func watch() async {
        await withCheckedContinuation { (forever: CheckedContinuation<Void, Never>) in
            kept.withLock { $0 = forever }
        }
    }
    private let kept = Mutex<CheckedContinuation<Void, Never>?>(nil)

    func add(_ number: UInt16) async throws {
        states.withLock { states in
            if limit == 0 || states.count < limit { states[number] = .unsatisfied }
        }
    }

    func enter(_ number: UInt16) async {
        states.withLock { $0[number] = .satisfied }
        continuation.yield(Entered(number))
    }

    func state(_ number: UInt16) async -> BeaconMonitor.Event.State? { states.withLock { $0[number] } }

    func end() async {
        continuation.finish()
        kept.withLock { $0.take() }?.resume()
        _ = loop.withLock { $0.take() }
    }
}
