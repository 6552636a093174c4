import BaseTypes
import BluetoothLE
import CommandSupport
import EventLoops
import GatewayConfiguration
import JSON
import OperatorLogging
import PublisherProtocol

/// The gateway's connection to its publisher process. It reports durable lines and the status of the gateway to the
/// process, and receives up to which line the broker has all lines. Nothing here waits for the broker.
final class BrokerLink {
    // The interval of the status, which Home Assistant and other subscribers use as a sign of life.
    private static let statusInterval: Duration = .seconds(60)
    // Changes of adapters within this time are reported in one status.
    private static let statusPause: Duration = .seconds(1)
    // Selecting a backend and switching on an adapter takes up to 3 s, and up to 3 s more on a slow machine.
    private static let firstAttemptTime: Duration = .seconds(10)

    private let mqtt: MQTTConfiguration
    private let loop: EventLoop
    private let status: () -> String
    private let log: (MessageKind, String) -> Void
    private var process: PublisherProcess?
    private var statusTimer: EventLoop.Timer?
    /// The timer after which the status is sent even if no adapter scans.
    private var firstAttemptTimer: EventLoop.Timer?
    /// The number of lines without a sequence number that the publisher was notified of.
    private var reportedUnnumbered = 0
    /// The numbers of the adapters that scan now, and of those that scanned when the last status was scheduled.
    private var listening: [Int] = []
    private var listeningWhenScheduled: [Int] = []
    /// Whether an adapter has scanned, or had the time to start. Before that, no status is sent, because it would
    /// report “not scanning” at every start.
    private var mayReport = false

    /// The last line that the publisher will not need again: the broker has it and all lines before it, and the
    /// publisher has stored its checkpoint and its state. The journal can delete lines up to it.
    var released: Int { process?.status.released ?? 0 }

    /// Creates a link without starting its process.
    ///
    /// - Parameters:
    ///   - mqtt: the broker.
    ///   - executable: the path of the publisher's program.
    ///   - loop: the loop that runs the timers and waits for the process.
    ///   - settings: returns the settings for a start of the process; called with the number of earlier starts.
    ///   - names: returns the names of beacons, which are sent only if the settings allow that the broker has them.
    ///   - status: returns the status of the gateway, as one line.
    ///   - log: receives the messages for the operator.
    init(
        _ mqtt: MQTTConfiguration, executable: String = ProgramFinder.path(PublisherProcess.program),
        on loop: EventLoop,
        settings: @escaping (Int) -> PublisherSettings,
        names: @escaping () -> [(BeaconIdentity, PublishedName)] = { [] }, status: @escaping () -> String,
        log: @escaping (MessageKind, String) -> Void
    ) {
        self.mqtt = mqtt
        self.loop = loop
        self.status = status
        self.log = log
        process = PublisherProcess(
            executable, isForever: true, settings: settings, on: loop, { [unowned self] in receive($0) })
        process?.names = names
        statusTimer = loop.makeTimer { [unowned self] now in
            reportStatus()
            if let statusTimer { loop.set(statusTimer, at: now + Self.statusInterval) }
        }
        firstAttemptTimer = loop.makeTimer { [unowned self] _ in scheduleStatus() }
    }

    deinit { endTimers() }

    /// Starts the process, which can publish the lines up to `durable`.
    func start(durable: Int) {
        process?.update(durable: durable)
        process?.start()
        if let firstAttemptTimer { loop.set(firstAttemptTimer, at: loop.now + Self.firstAttemptTime) }
    }

    /// Reports the last durable line, and the number of lines without a sequence number since the start.
    func update(durable: Int, unnumbered: Int) {
        process?.update(durable: durable)
        guard reportedUnnumbered != unnumbered else { return }
        // They have no sequence number, so `durable` does not report them.
        reportedUnnumbered = unnumbered
        process?.reportUnnumberedLine()
    }

    /// Schedules a status if other adapters scan than before: at once if it is the first one, otherwise within 1 s.
    func note(listening: [Int]) {
        self.listening = listening
        if listening != listeningWhenScheduled { scheduleStatus() }
    }

    /// Notifies the publisher that names, secrets and certificates may have been fixed.
    func reload() { process?.reload() }

    /// Makes the process publish the last lines and report that the gateway is offline. It waits for this, at most a
    /// few seconds.
    func stop(durable: Int) {
        process?.update(durable: durable)
        process?.stopAndWait()
        endTimers()
    }

    private func endTimers() {
        for timer in [statusTimer, firstAttemptTimer] { if let timer { loop.end(timer) } }
        (statusTimer, firstAttemptTimer) = (nil, nil)
    }

    private func scheduleStatus() {
        guard let statusTimer else { return }
        if let firstAttemptTimer { loop.set(firstAttemptTimer, at: nil) }
        listeningWhenScheduled = listening
        let isFirst = !mayReport
        mayReport = true
        let soon = loop.now + (isFirst ? .zero : Self.statusPause)
        loop.set(statusTimer, at: min(loop.time(of: statusTimer) ?? soon, soon))
    }

    private func reportStatus() {
        guard mayReport else { return }
        process?.update(status: Array(status().utf8.dropLast()))
    }

    private func receive(_ report: PublisherProcess.Report) {
        switch report {
        case .remark(let remark): log(remark.isError ? .brokerError : .brokerAvailable, "mqtt: \(remark.text)")
        // A status from before the connection reports that there is none, so it must be sent again.
        case .connection(isThere: true):
            guard mayReport, let statusTimer else { return }
            loop.set(statusTimer, at: loop.now)
        case .connection, .ended: break
        }
    }
}

// The output for `status`.
extension BrokerLink {
    /// Writes the object `mqtt` of the status.
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
            json.write("trouble", status.brokerFailure ?? process.failure)
            json.write("limitation", status.limitation)
            json.write("localTrouble", status.localFailure)
            if let next = status.nextAttempt { json.write("nextAttempt", seconds: max(next - now, .zero)) }
            json.write("shipped", status.published)
            json.write("backlog", max(0, durable - status.published))
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
                json.write("trouble", process.failure)
            }
        }
    }

    /// Returns the same for people.
    func page(durable: Int) -> String {
        guard let process else { return "" }
        let status = process.status
        let now = loop.now
        var lines = ["broker"]
        let next = status.nextAttempt.map { ", next attempt in \((max($0 - now, .zero)).inWords)" } ?? ""
        lines.append("  \(mqtt.host):\(mqtt.port): \(status.state.rawValue) for \((now - status.since).inWords)\(next)")
        lines.append("  published up to line \(status.published), \(max(0, durable - status.published)) waiting")
        for failure in [status.brokerFailure, status.limitation, status.localFailure, process.failure] {
            if let failure { lines.append("  \(failure)") }
        }
        return lines.joined(separator: "\n")
    }
}
