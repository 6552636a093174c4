import BaseTypes
import BluetoothLE
import CommandSupport
import EventLoops
import GatewayConfiguration
import JSON
import OperatorLogging
import PublisherProtocol

/// The broker, as far as the gateway has to do with it: it tells the publisher's process what is durable, has it tell how
/// the gateway stands, and hears how far it has come. Nothing here waits for the broker.
final class BrokerLink {
    // What Home Assistant and others take for a sign of life.
    private static let statusInterval: Duration = .seconds(60)
    // Adapters that come and go in a moment are told of together.
    private static let statusPause: Duration = .seconds(1)
    // To find the way of hearing, and to power an adapter: three seconds, and as many for a slow machine.
    private static let firstChance: Duration = .seconds(10)

    private let mqtt: MQTTConfiguration
    private let loop: EventLoop
    private let status: () -> String
    private let log: (MessageKind, String) -> Void
    private var process: PublisherProcess?
    private var statusTimer: EventLoop.Timer?
    /// When the status is told whatever the adapters do.
    private var chanceTimer: EventLoop.Timer?
    /// How many lines without a number the publisher was told of.
    private var toldUnnumbered = 0
    /// Which adapters listen, and which did when the status was told last.
    private var listening: [Int] = []
    private var toldListening: [Int] = []
    /// Whether an adapter listened, or had the time to: before that "does not listen" would be said of every start.
    private var hadItsChance = false

    /// Up to which line the broker has all.
    var released: Int { process?.status.released ?? 0 }

    /// A link whose process is not started.
    ///
    /// - Parameters:
    ///   - mqtt: the broker.
    ///   - executable: the publisher's program.
    ///   - loop: where its timers are, and who waits for the process.
    ///   - settings: gives what the process is to know at a start, by how often it was started before.
    ///   - names: gives what beacons are called, for settings that say that the broker may know.
    ///   - status: gives how the gateway stands, as one line.
    ///   - log: takes lines for the operator.
    init(
        _ mqtt: MQTTConfiguration, executable: String = Companions.path(PublisherProcess.program), on loop: EventLoop,
        settings: @escaping (Int) -> PublisherSettings,
        names: @escaping () -> [(BeaconIdentity, PublishedName)] = { [] }, status: @escaping () -> String,
        log: @escaping (MessageKind, String) -> Void
    ) {
        self.mqtt = mqtt
        self.loop = loop
        self.status = status
        self.log = log
        process = PublisherProcess(
            executable, isForever: true, settings: settings, on: loop, { [unowned self] in hear($0) })
        process?.names = names
        statusTimer = loop.makeTimer { [unowned self] now in
            tellStatus()
            if let statusTimer { loop.set(statusTimer, at: now + Self.statusInterval) }
        }
        chanceTimer = loop.makeTimer { [unowned self] _ in giveChance() }
    }

    deinit { endTimers() }

    /// Starts the process; lines up to `durable` are its to ship.
    func start(durable: Int) {
        process?.tell(durable: durable)
        process?.start()
        if let chanceTimer { loop.set(chanceTimer, at: loop.now + Self.firstChance) }
    }

    /// Tells what is durable by now, and how many lines without a number there were.
    func update(durable: Int, unnumbered: Int) {
        process?.tell(durable: durable)
        guard toldUnnumbered != unnumbered else { return }
        // They have no number that would tell of them.
        toldUnnumbered = unnumbered
        process?.tellOfLines()
    }

    /// Has the status told at once where another adapter listens, or one no more.
    func note(listening: [Int]) {
        self.listening = listening
        if listening != toldListening { giveChance() }
    }

    /// Names, secrets and certificates may have been mended.
    func reload() { process?.reload() }

    /// Has the process ship the last lines and say that the gateway is off, for as long as that takes some seconds.
    func stop(durable: Int) {
        process?.tell(durable: durable)
        process?.stopAndWait()
        endTimers()
    }

    private func endTimers() {
        for timer in [statusTimer, chanceTimer] { if let timer { loop.end(timer) } }
        (statusTimer, chanceTimer) = (nil, nil)
    }

    private func giveChance() {
        guard let statusTimer else { return }
        if let chanceTimer { loop.set(chanceTimer, at: nil) }
        toldListening = listening
        let isFirst = !hadItsChance
        hadItsChance = true
        let soon = loop.now + (isFirst ? .zero : Self.statusPause)
        loop.set(statusTimer, at: min(loop.time(of: statusTimer) ?? soon, soon))
    }

    private func tellStatus() {
        guard hadItsChance else { return }
        process?.tell(status: Array(status().utf8.dropLast()))
    }

    private func hear(_ news: PublisherProcess.News) {
        switch news {
        case .remark(let remark): log(remark.isTrouble ? .brokerError : .brokerAvailable, "mqtt: \(remark.text)")
        // What waited said that there is no connection.
        case .connection(isThere: true):
            guard hadItsChance, let statusTimer else { return }
            loop.set(statusTimer, at: loop.now)
        case .connection, .ended: break
        }
    }
}

// What is said of it.
extension BrokerLink {
    /// Writes the status's `mqtt`.
    func write(to json: inout LineBuffer, durable: Int) {
        guard let process else { return }
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
            json.write("backlog", max(0, durable - status.shipped))
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

    /// The same for people.
    func page(durable: Int) -> String {
        guard let process else { return "" }
        let status = process.status
        let now = loop.now
        var lines = ["broker"]
        let next = status.nextAttempt.map { ", next attempt in \((max($0 - now, .zero)).inWords)" } ?? ""
        lines.append("  \(mqtt.host):\(mqtt.port): \(status.state.rawValue) for \((now - status.since).inWords)\(next)")
        lines.append("  published up to line \(status.shipped), \(max(0, durable - status.shipped)) waiting")
        for trouble in [status.trouble, status.limitation, status.localTrouble, process.trouble] {
            if let trouble { lines.append("  \(trouble)") }
        }
        return lines.joined(separator: "\n")
    }
}
