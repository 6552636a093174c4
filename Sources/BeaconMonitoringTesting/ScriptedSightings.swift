import BaseTypes
public import BeaconMonitoring
public import BluetoothLE
import Synchronization

/// A source that hears what a test says, on a clock that it turns: a monitor's tests need no radio and wait for nothing.
///
///     let script = ScriptedSightings()
///     let monitor = try BeaconMonitor("site", source: script)
///     async let hearing: Void = monitor.run()
///     await script.hear(badge)
///     await script.wait(.seconds(30))
///     script.finish()
///     try await hearing
///
/// Each call returns when the monitor has done all that follows from it: what it led to waits for the subscribers then. A
/// call that comes before `BeaconMonitor.run()` waits for it; one that comes after the end returns at once, and so does one
/// whose task is cancelled before its turn. It is for one monitor, and has ended with that one's run.
public final class ScriptedSightings: SightingSource {
    /// Its hands, which ``wait(_:)`` turns.
    public let hands: HandClock
    /// The timeline that it stamps by.
    public var clock: any MonitorClock { hands }

    private let steps = StepQueue()

    /// A source at the beginning of its script; the adapters listen as soon as something is heard by them.
    public init(clock: HandClock = HandClock()) { hands = clock }

    // MARK: The script

    /// An adapter hears a beacon now.
    ///
    /// - Parameters:
    ///   - beacon: who advertises.
    ///   - rssi: how strong it is, in dBm; `nil` where the controller does not know.
    ///   - measuredPower: the RSSI one metre away that it claims, in dBm.
    ///   - address: the advertiser's address, where it is told.
    ///   - adapter: the name of the adapter that hears it.
    public func hear(
        _ beacon: BeaconIdentity, rssi: RSSI? = RSSI(dBm: -60), measuredPower: Int8 = -59,
        address: DeviceAddress? = nil,
        by adapter: String = "hci0"
    ) async {
        await steps.perform { [hands] monitor, adapters in
            let id = try await adapters.id(of: adapter, at: hands.now, in: monitor)
            await monitor.sighted(
                Sighting(
                    time: hands.now, adapter: id, beacon: beacon, measuredPower: measuredPower, rssi: rssi,
                    address: address))
        }
    }

    /// Time goes by, in which the adapters that listen hear others, and nobody that is monitored.
    public func wait(_ duration: Duration) async {
        await steps.perform { [hands] monitor, adapters in
            let end = hands.now + max(duration, .zero)
            // Often enough that nobody is taken for deaf (rule L5).
            let step = await monitor.deafAfter.map { $0 / 2 } ?? duration
            repeat {
                hands.turn(to: min(hands.now + step, end))
                for adapter in adapters.listening { await monitor.heard(adapter, at: hands.now) }
                await monitor.catchUp()
            } while hands.now < end
        }
    }

    /// Time goes by, in which no adapter hears anything: from a while on they count as deaf, where the monitor's settings
    /// say so (rule L5).
    public func waitInSilence(_ duration: Duration) async {
        await steps.perform { [hands] monitor, _ in
            hands.turn(by: duration)
            await monitor.catchUp()
        }
    }

    /// An adapter begins to listen.
    public func listen(_ adapter: String = "hci0", because reason: String? = nil) async {
        await steps.perform { [hands] monitor, adapters in
            let id = try await adapters.id(of: adapter, at: hands.now, in: monitor)
            await monitor.listening(ListeningChange(.started, adapter: id, reason: reason), at: hands.now)
        }
    }

    /// An adapter ceases to listen: it is unplugged, say.
    public func stopListening(_ adapter: String = "hci0", because reason: String? = nil) async {
        await steps.perform { [hands] monitor, adapters in
            let id = try await adapters.id(of: adapter, at: hands.now, in: monitor)
            await monitor.listening(ListeningChange(.stopped(since: nil), adapter: id, reason: reason), at: hands.now)
            await monitor.adapterLeft(named: adapter)
            adapters.stop(adapter)
        }
    }

    /// What stands in the way from now on, or no longer does.
    public func report(_ diagnostics: Diagnostics) async {
        await steps.perform { monitor, _ in await monitor.setAmbientDiagnostics(diagnostics) }
    }

    /// The script has ended: `BeaconMonitor.run()` returns, and the monitor has ended.
    public func finish() { steps.finish(.success(())) }

    /// Hearing ends with an error, which `BeaconMonitor.run()` throws.
    public func fail(_ error: any Error) { steps.finish(.failure(error)) }

    // MARK: The source

    /// Performs the script as it is told.
    ///
    /// - Throws: what ``fail(_:)`` was given, `CancellationError`, and `MonitorError` where more adapters are named than a
    ///   monitor takes.
    public func run(into monitor: BeaconMonitor) async throws {
        defer { steps.close() }
        var adapters = Adapters()
        while let step = try await steps.next() {
            defer { step.done() }
            try await step.body(monitor, &adapters)
        }
    }

    /// Returns at once: each step is handed over before its call returns.
    public func drain() async {}

    /// The adapters that the script has named.
    struct Adapters {
        private var ids: [String: AdapterID] = [:]

        /// Those that listen, in the order of their places.
        var listening: [AdapterID] { ids.values.sorted { $0.index < $1.index } }

        mutating func id(
            of name: String, at time: Instant, in monitor: BeaconMonitor
        ) async throws(MonitorError) -> AdapterID {
            if let id = ids[name] { return id }
            let id = try await monitor.adapter(named: name, at: time)
            ids[name] = id
            return id
        }

        mutating func stop(_ name: String) { ids[name] = nil }
    }
}
