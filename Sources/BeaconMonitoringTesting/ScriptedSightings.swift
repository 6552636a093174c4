import BaseTypes
public import BeaconMonitoring
public import BluetoothLE
import Synchronization

/// A source of sightings that a test controls, with a clock of its own: tests of a monitor need no radio and no real
/// time.
///
///     let script = ScriptedSightings()
///     let monitor = try BeaconMonitor("script", source: script)
///     async let running: Void = monitor.run()
///     await script.receive(badge)
///     await script.wait(.seconds(30))
///     script.finish()
///     try await running
///
/// Each call returns when the monitor has processed it completely; its events are then available to subscribers. A call
/// before `BeaconMonitor.run()` waits for it. A call after the end returns immediately, and so does one whose task is
/// cancelled before it is performed. A script works for one monitor and ends with the run of that monitor.
public final class ScriptedSightings: SightingSource {
    /// The clock of the script, which ``wait(_:)`` moves.
    public let manualClock: ManualClock
    /// The clock that the monitor uses: ``manualClock``.
    public var clock: any MonitorClock { manualClock }

    private let steps = StepQueue()

    /// Creates a source at the start of its script. An adapter starts to scan with its first sighting, or with
    /// ``listen(_:because:)``.
    public init(clock: ManualClock = ManualClock()) { manualClock = clock }

    // MARK: The script

    /// Delivers a sighting of a beacon at the current time.
    ///
    /// - Parameters:
    ///   - beacon: the beacon that advertises.
    ///   - rssi: the signal strength in dBm; `nil` if the controller did not measure it.
    ///   - measuredPower: the RSSI at one metre that the beacon declares, in dBm; `nil` if it is unknown.
    ///   - address: the address of the advertiser; `nil` if the source does not report it.
    ///   - adapter: the name of the adapter that received it.
    public func receive(
        _ beacon: BeaconIdentity, rssi: RSSI? = RSSI(dBm: -60), measuredPower: Int8? = -59,
        address: DeviceAddress? = nil,
        by adapter: String = "hci0"
    ) async {
        await steps.perform { [manualClock] monitor, adapters in
            let id = try await adapters.id(of: adapter, at: manualClock.now, in: monitor)
            await monitor.sighted(
                Sighting(
                    time: manualClock.now, adapter: id, beacon: beacon, measuredPower: measuredPower, rssi: rssi,
                    address: address))
        }
    }

    /// Lets time pass in which the scanning adapters receive other advertisements, but no monitored beacon.
    public func wait(_ duration: Duration) async {
        await steps.perform { [manualClock] monitor, adapters in
            let end = manualClock.now + max(duration, .zero)
            // Half of the limit, so that no adapter counts as not scanning (rule L5).
            let step = await monitor.deafAfter.map { $0 / 2 } ?? duration
            repeat {
                manualClock.advance(to: min(manualClock.now + step, end))
                for adapter in adapters.listening { await monitor.received(by: adapter, at: manualClock.now) }
                await monitor.catchUp()
            } while manualClock.now < end
        }
    }

    /// Lets time pass in which no adapter receives anything. After `deafAfter`, the adapters count as not scanning if
    /// the settings of the monitor have such a limit (rule L5).
    public func waitInSilence(_ duration: Duration) async {
        await steps.perform { [manualClock] monitor, _ in
            manualClock.advance(by: duration)
            await monitor.catchUp()
        }
    }

    /// Starts scanning on an adapter.
    ///
    /// - Parameters:
    ///   - adapter: the name of the adapter.
    ///   - reason: a reason for the log; optional.
    public func listen(_ adapter: String = "hci0", because reason: String? = nil) async {
        await steps.perform { [manualClock] monitor, adapters in
            let id = try await adapters.id(of: adapter, at: manualClock.now, in: monitor)
            await monitor.listening(ListeningChange(.started, adapter: id, reason: reason), at: manualClock.now)
        }
    }

    /// Stops scanning on an adapter, as if it was unplugged.
    ///
    /// - Parameters:
    ///   - adapter: the name of the adapter.
    ///   - reason: a reason for the log; optional.
    public func stopListening(_ adapter: String = "hci0", because reason: String? = nil) async {
        await steps.perform { [manualClock] monitor, adapters in
            let id = try await adapters.id(of: adapter, at: manualClock.now, in: monitor)
            await monitor.listening(
                ListeningChange(.stopped(since: nil), adapter: id, reason: reason), at: manualClock.now)
            await monitor.adapterLeft(named: adapter)
            adapters.stop(adapter)
        }
    }

    /// Sets the diagnostics of the environment from now on, as `BeaconMonitor.setAmbientDiagnostics(_:)` does; an empty
    /// set removes them.
    public func report(_ diagnostics: Diagnostics) async {
        await steps.perform { monitor, _ in await monitor.setAmbientDiagnostics(diagnostics) }
    }

    /// Ends the script: `BeaconMonitor.run()` returns, and the monitor ends.
    public func finish() { steps.finish(.success(())) }

    /// Ends the script with an error, which `BeaconMonitor.run()` throws.
    public func fail(_ error: any Error) { steps.finish(.failure(error)) }

    // MARK: The source

    /// Performs the steps of the script. The monitor calls this.
    ///
    /// - Throws: the error that was passed to ``fail(_:)``; `CancellationError`; `MonitorError` if the script names
    ///   more adapters than a monitor supports.
    public func run(into monitor: BeaconMonitor) async throws {
        defer { steps.close() }
        var adapters = Adapters()
        while let step = try await steps.next() {
            defer { step.done() }
            try await step.body(monitor, &adapters)
        }
    }

    /// Returns immediately, because each step has reached the monitor before its call returns.
    public func drain() async {}

    /// The adapters that the script has used.
    struct Adapters {
        private var ids: [String: AdapterID] = [:]

        /// The scanning adapters, in the order of their indices.
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
