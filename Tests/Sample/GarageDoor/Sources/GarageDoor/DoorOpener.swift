import BeaconScanning
import Logging
import ServiceLifecycle
import UnixSignals

/// Opens the door when the badge comes back.
///
/// The badge must have been absent: an adapter scanned for the time `absence` without receiving it, and received other
/// devices in the meantime. So the door stays closed if the badge is there when the program starts. It also stays
/// closed after an outage of the only adapter, because the state was `unknown`. The condition has no minimum RSSI: a
/// badge with a weak signal is not absent.
///
/// The monitor has no record store. With a store, an event that was not handled before a crash would be delivered at
/// the next start, and would open the door then.
struct DoorOpener: Service {
    /// The monitor of the badge.
    let monitor: BeaconMonitor
    private let events: BeaconMonitor.EventSubscription
    private let logger: Logger
    private let open: @Sendable () async throws -> Void

    /// Creates a monitor for one badge, and subscribes to its events.
    init(
        badge: BeaconIdentity, absence: Duration, scanning: Scanning, engine: EngineSettings? = nil, logger: Logger,
        open: @escaping @Sendable () async throws -> Void
    ) async throws {
        let scanning = scanning.logging(to: logger)
        let monitor = try BeaconMonitor("garage", scanning: scanning, engine: engine)
        var settings = ConditionSettings()
        settings.exitTimeout = absence
        try await monitor.add(.beacon(matching: badge), identifier: "badge", settings: settings)
        events = monitor.subscribe()
        self.monitor = monitor
        self.logger = logger
        self.open = open
    }

    /// Returns a group that runs this service until one of the signals, or until the source of advertisements ends.
    func serviceGroup(shutdownSignals: [UnixSignal] = []) -> ServiceGroup {
        ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [.init(service: self, successTerminationBehavior: .gracefullyShutdownGroup)],
                gracefulShutdownSignals: shutdownSignals, logger: logger))
    }

    /// Scans, and handles the events one after the other. If the group shuts down, the monitor ends, and this returns
    /// after the last event.
    func run() async throws {
        async let scanning: Void = monitor.run()
        for try await event in events { await handle(event) }
        try await scanning
    }

    private func handle(_ event: BeaconMonitor.Event) async {
        let previous = event.previous?.state ?? .unknown
        logger.info("badge", metadata: ["state": "\(event.state)", "previous": "\(previous)", "date": "\(event.date)"])
        guard event.state == .satisfied, previous == .unsatisfied else { return }
        do {
            try await open()
            logger.notice("opened the door", metadata: ["date": "\(event.date)"])
        } catch {
            logger.error("could not open the door: \(error)")
        }
    }
}
