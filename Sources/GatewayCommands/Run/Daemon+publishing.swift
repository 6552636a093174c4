import AdapterScanning
import BeaconMonitoring
import CommandSupport
import EventLog
import EventLoops
import GatewayConfiguration
import JSON
import OperatorLogging
import PublisherProtocol
import SystemPackage

// What a broker gets of the gateway.
extension Daemon {
    // A gateway of more conditions tells of them by their own topics alone: writing them all would hold up hearing.
    private static let conditionsInStatusMax = 1000
    /// What brokers take at most: AWS IoT Core 128 KiB, with the topic.
    static let statusOctetsMax = 128_000

    /// Starts the publisher's process, where a broker is configured.
    func startPublishing() {
        guard let mqtt = configuration.mqtt else { return }
        for exposure in mqtt.exposures { log(.brokerExposed, exposure) }
        let broker = BrokerLink(
            mqtt, on: loop, settings: { [unowned self] in publisherSettings(mqtt, start: $0) },
            names: { [unowned self] in
                configuration.beacons.all.map { ($0.beacon, PublishedName($0.name, group: $0.group)) }
            },
            status: { [unowned self] in statusAtBroker }, log: log)
        // All that led to the engine's state now is a line; it has to be one on the disk before it is anybody's. The
        // publisher begins with the state that is kept here.
        deliver()
        journal.commit(at: loop.now)
        journal.keep(monitor.engine.snapshot, at: loop.now)
        // Until the publisher has spoken its checkpoint speaks for it.
        if let shipped = shippedBefore() { journal.shipped = max(journal.shipped, shipped) }
        self.broker = broker
        broker.start(durable: journal.durableSequence)
    }

    private func shippedBefore() -> Int? {
        do throws(ShippingCheckpoint.Problem) {
            return try ShippingCheckpoint.read(checkpoint)?.position.sequence
        } catch {
            // The publisher says what is the matter with it; nothing counts as shipped.
            return nil
        }
    }

    private var checkpoint: FilePath { FilePath(configuration.output.stateDirectory).appending("mqtt.json") }

    private func publisherSettings(_ mqtt: MQTTConfiguration, start: Int) -> PublisherSettings {
        var settings = PublisherSettings(
            mqtt, directory: FilePath(configuration.output.directory), checkpoint: checkpoint,
            clientID: "beacon-gateway-\(gateway)")
        var present = PublisherSettings.Present(
            gateway: gateway.text, stateDirectory: configuration.output.stateDirectory)
        present.programVersion = Program.version
        if mqtt.homeAssistant {
            present.homeAssistantPrefix = mqtt.homeAssistantPrefix
            present.homeAssistantTrackers = mqtt.homeAssistantTrackers == .zones ? "zones" : "state"
        }
        present.names = mqtt.names
        present.beaconsMax = monitor.engine.settings.maxBeacons
        // What a process before this one said of the lines since the start nobody remembers.
        present.lastWritten = start == 0 ? journal.recovery.sequence : journal.durableSequence
        settings.present = present
        return settings
    }

    private var statusAtBroker: String {
        let conditions = configuration.monitors.reduce(0) { $0 + $1.conditions.count }
        return report.json(
            leavingOut: conditions <= Self.conditionsInStatusMax ? [] : [.conditions],
            octetsMax: Self.statusOctetsMax)
    }

    /// At the end of a turn: what is durable may be shipped, and what is shipped may be deleted.
    func updatePublishing() {
        guard let broker else { return }
        broker.update(durable: journal.durableSequence, unnumbered: ranging.written)
        journal.shipped = max(journal.shipped, broker.released)
        guard statusIsStale, let adapters = supervisor?.status.adapters else { return }
        broker.note(listening: adapters.filter { $0.activity == .listening }.map(\.number))
    }

    /// Has the publisher ship the last lines and say that the gateway is off, for as long as that takes some seconds.
    func stopPublishing() {
        broker?.stop(durable: journal.durableSequence)
        broker = nil
    }
}
