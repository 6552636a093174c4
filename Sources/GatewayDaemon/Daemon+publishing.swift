import BeaconMonitoring
import BeaconScanning
import BluetoothLE
import CommandSupport
import ConfiguredShipping
import EventLog
import GatewayConfiguration
import JSON
import OperatorMessages
import Polling
import Shipping
import SystemPackage

/// The broker, as far as the gateway has to do with it: it tells the publisher's process what is durable, and hears how
/// far that has come. Nothing here waits for the broker.
final class DaemonPublishing {
    let process: PublisherProcess
    var statusTimer: EventLoop.Timer?
    /// When the status is told whatever the adapters do.
    var chanceTimer: EventLoop.Timer?
    /// How many lines without a number the publisher was told of.
    var rangingLines = 0
    /// Whether an adapter listened, or had the time to: before that "does not listen" would be said of every start.
    var hadItsChance = false
    /// Which adapters listened when the status was told last.
    var toldListening: [Int] = []

    init(_ process: PublisherProcess) { self.process = process }
}

extension Daemon {
    // What Home Assistant and others take for a sign of life.
    private static let statusInterval: Duration = .seconds(60)
    // Adapters that come and go in a moment are told of together.
    private static let statusPause: Duration = .seconds(1)
    // To find the way of hearing, and to power an adapter: three seconds, and as many for a slow machine.
    private static let firstChance: Duration = .seconds(10)
    // A gateway of more conditions tells of them by their own topics alone: writing them all would hold up hearing.
    private static let conditionsInStatusMax = 1000
    /// What brokers take at most: AWS IoT Core 128 KiB, with the topic.
    static let statusOctetsMax = 128_000

    /// Starts the publisher's process, where a broker is configured.
    func startPublishing() {
        guard let mqtt = configuration.mqtt else { return }
        for exposure in mqtt.exposures { log(.warning, exposure) }
        let process = PublisherProcess(
            isForever: true, settings: { [unowned self] in publisherSettings(mqtt, start: $0) }, on: loop,
            { [unowned self] in hear($0) })
        let publishing = DaemonPublishing(process)
        publishing.statusTimer = loop.makeTimer { [unowned self] now in
            tellStatus()
            if let timer = self.publishing?.statusTimer { loop.set(timer, at: now + Self.statusInterval) }
        }
        publishing.chanceTimer = loop.makeTimer { [unowned self] _ in giveChance() }
        // All that led to the engine's state now is a line; it has to be one on the disk before it is anybody's. The
        // publisher begins with the state that is kept here.
        deliver()
        journal.commit(at: loop.now)
        journal.keep(monitor.engine.snapshot, at: loop.now)
        // Until the publisher has spoken its checkpoint speaks for it.
        if let shipped = shippedBefore() { journal.shipped = max(journal.shipped, shipped) }
        process.tell(durable: journal.durableSequence)
        self.publishing = publishing
        process.start()
        if let timer = publishing.chanceTimer { loop.set(timer, at: loop.now + Self.firstChance) }
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
        present.beaconsMax = monitor.engine.settings.maxBeacons
        // What a process before this one said of the lines since the start nobody remembers.
        present.lastWritten = start == 0 ? journal.recovery.sequence : journal.durableSequence
        settings.present = present
        return settings
    }

    /// At the end of a turn: what is durable may be shipped, and what is shipped may be deleted.
    func updatePublishing() {
        guard let publishing else { return }
        let process = publishing.process
        process.tell(durable: journal.durableSequence)
        if publishing.rangingLines != rangingLines {
            // They have no number that would tell of them.
            publishing.rangingLines = rangingLines
            process.tellOfLines()
        }
        journal.shipped = max(journal.shipped, process.status.released)
        noteListening(publishing)
    }

    // MARK: The status at the broker

    private var listening: [Int] {
        supervisor?.status.adapters.filter { $0.activity == .listening }.map(\.number) ?? []
    }

    /// Has the status told at once where another adapter listens, or one no more.
    private func noteListening(_ publishing: DaemonPublishing) {
        guard statusIsStale, listening != publishing.toldListening else { return }
        giveChance()
    }

    private func giveChance() {
        guard let publishing, let timer = publishing.statusTimer else { return }
        if let chance = publishing.chanceTimer { loop.set(chance, at: nil) }
        publishing.toldListening = listening
        let isFirst = !publishing.hadItsChance
        publishing.hadItsChance = true
        let soon = loop.now + (isFirst ? .zero : Self.statusPause)
        loop.set(timer, at: min(loop.time(of: timer) ?? soon, soon))
    }

    private func tellStatus() {
        guard let publishing, publishing.hadItsChance else { return }
        let conditions = configuration.monitors.reduce(0) { $0 + $1.conditions.count }
        let leftOut: Set<StatusList> = conditions <= Self.conditionsInStatusMax ? [] : [.conditions]
        let text = statusReport(leavingOut: leftOut, octetsMax: Self.statusOctetsMax)
        publishing.process.tell(status: Array(text.utf8.dropLast()))
    }

    private func hear(_ news: PublisherProcess.News) {
        switch news {
        case .remark(let remark): log(remark.isTrouble ? .warning : .notice, "mqtt: \(remark.text)")
        // What waited said that there is no connection.
        case .connection(isThere: true):
            guard let publishing, publishing.hadItsChance, let timer = publishing.statusTimer else { return }
            loop.set(timer, at: loop.now)
        case .connection, .ended: break
        }
    }

    /// Has the publisher ship the last lines and say that the gateway is off, for as long as that takes some seconds.
    func stopPublishing() {
        guard let publishing else { return }
        publishing.process.tell(durable: journal.durableSequence)
        publishing.process.stopAndWait()
        for timer in [publishing.statusTimer, publishing.chanceTimer] { if let timer { loop.end(timer) } }
        self.publishing = nil
    }

    func writePublishing(to json: inout LineBuffer) {
        guard let mqtt = configuration.mqtt, let process = publishing?.process else { return }
        let status = process.status
        let now = loop.now
        json.object("mqtt") { json in
            json.write("host", mqtt.host)
            json.write("port", Int(mqtt.port))
            json.write("state", status.state.rawValue)
            json.write("since", seconds: now - status.since)
            json.write("version", status.version)
            json.write("trouble", status.trouble ?? process.trouble)
            json.write("limitation", status.limitation)
            json.write("localTrouble", status.localTrouble)
            if let next = status.nextAttempt { json.write("nextAttempt", seconds: max(next - now, .zero)) }
            json.write("shipped", status.shipped)
            json.write("backlog", max(0, journal.durableSequence - status.shipped))
            json.write("inFlight", status.inFlight)
            json.write("acknowledged", status.acknowledged)
            json.write("repeated", status.repeated)
            json.write("refusals", status.refusals)
            json.write("missed", status.missed)
            json.write("damaged", status.damaged)
            json.write("setAside", status.setAside)
            json.write("dropped", status.dropped)
            json.write("retained", status.retained)
            json.write("connections", status.connections)
            json.write("failures", status.failures)
            json.object("process") { json in
                if let id = process.processID { json.write("id", Int(id)) }
                json.write("starts", process.starts)
                json.write("trouble", process.trouble)
            }
        }
    }

    func publishingPage() -> String? {
        guard let mqtt = configuration.mqtt, let process = publishing?.process else { return nil }
        let status = process.status
        let now = loop.now
        var lines = ["broker"]
        let next = status.nextAttempt.map { ", the next attempt in \((max($0 - now, .zero)).inWords)" } ?? ""
        lines.append("  \(mqtt.host):\(mqtt.port): \(status.state.rawValue) for \((now - status.since).inWords)\(next)")
        lines.append(
            "  shipped up to line \(status.shipped), \(max(0, journal.durableSequence - status.shipped)) wait")
        for trouble in [status.trouble, status.limitation, status.localTrouble, process.trouble] {
            if let trouble { lines.append("  \(trouble)") }
        }
        return lines.joined(separator: "\n")
    }
}
