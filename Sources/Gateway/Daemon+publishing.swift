import BeaconMonitoring
import BeaconScanning
import BluetoothLE
import EventLog
import GatewayConfiguration
import MQTTPublishing
import Polling
import SystemPackage

#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// The broker, as far as the daemon's own thread has to do with it: it tells the publisher what is durable, and hears how
/// far it has come. Nothing here waits for the broker.
final class DaemonPublishing {
    let mailbox: PublisherMailbox
    var remarksWatch: EventLoop.Watch?
    var statusTimer: EventLoop.Timer?
    /// How many lines without a number the publisher was told of.
    var rangingLines = 0
    var wasConnected = false

    init(_ mailbox: PublisherMailbox) { self.mailbox = mailbox }
}

extension Daemon {
    // What Home Assistant and others take for a sign of life.
    private static let statusInterval: Duration = .seconds(60)
    // A gateway of more conditions tells of them by their own topics alone.
    private static let conditionsInStatusMax = 1000
    // The publisher takes three seconds at most for its leave, unless a name server keeps it.
    private static let leaveMilliseconds: Int32 = 5000

    /// Starts the publisher in its own thread, where a broker is configured.
    func startPublishing() throws(Errno) {
        guard let mqtt = configuration.mqtt else { return }
        for exposure in mqtt.exposures { log(.warning, exposure) }
        let mailbox = try PublisherMailbox(now: loop.now)
        let publishing = DaemonPublishing(mailbox)
        publishing.remarksWatch = try loop.watch(mailbox.owner.descriptor, for: .read) { [unowned self] _ in
            mailbox.owner.clear()
            sayRemarks()
            noteConnection()
        }
        publishing.statusTimer = loop.makeTimer { [unowned self] now in
            tellStatus()
            if let timer = self.publishing?.statusTimer { loop.set(timer, at: now + Self.statusInterval) }
        }
        // All that led to the engine's state now is a line; it has to be one on the disk before it is anybody's.
        deliver()
        journal.commit(at: loop.now)
        mailbox.tell(durable: journal.durableSequence)
        try PublisherThread.start(publisherOptions(mqtt), mailbox: mailbox)
        self.publishing = publishing
        if let timer = publishing.statusTimer { loop.set(timer, at: loop.now) }
    }

    private func publisherOptions(_ mqtt: MQTTConfiguration) -> PublisherOptions {
        let state = FilePath(configuration.output.stateDirectory)
        var options = PublisherOptions(
            mqtt, directory: FilePath(configuration.output.directory), checkpoint: state.appending("mqtt.json"),
            clientID: "beacon-gateway-\(gateway)")
        options.isTold = true
        var present = PresentStateOptions(prefix: mqtt.prefix, gateway: gateway, version: Program.version)
        if mqtt.homeAssistant {
            present.homeAssistant = HomeAssistantOptions(
                prefix: mqtt.homeAssistantPrefix, trackers: mqtt.homeAssistantTrackers == .zones ? .zones : .state)
        }
        present.beaconsMax = monitor.engine.settings.maxBeacons
        let (folded, lastWritten) = (present, journal.recovery.sequence)
        let (snapshot, sequence, offset) = (monitor.engine.snapshot, journal.sequence, wallClock.offset)
        options.retained = .topics(
            "\(mqtt.prefix)/\(gateway)", file: state.appending("mqtt-state.json"),
            make: { bytes in
                // What can't be used is as good as none: all is said anew.
                if let bytes, let kept = try? PresentState(folded, decoding: bytes, lastWritten: lastWritten) {
                    return kept
                }
                return PresentState(folded, lastWritten: lastWritten)
            },
            adopt: { topics in
                guard var state = topics as? PresentState else { return }
                state.adopt(snapshot, at: sequence, offset: offset)
                topics = state
            })
        return options
    }

    /// At the end of a turn: what is durable may be shipped, and what is shipped may be deleted.
    func updatePublishing() {
        guard let mailbox = publishing?.mailbox else { return }
        mailbox.tell(durable: journal.durableSequence)
        if let publishing, publishing.rangingLines != rangingLines {
            // They have no number that would tell of them.
            publishing.rangingLines = rangingLines
            mailbox.tellOfLines()
        }
        journal.shipped = max(journal.shipped, mailbox.status.released)
    }

    private func tellStatus() {
        let conditions = configuration.monitors.reduce(0) { $0 + $1.conditions.count }
        let text = statusReport(withConditions: conditions <= Self.conditionsInStatusMax)
        publishing?.mailbox.tell(status: Array(text.utf8.dropLast()))
    }

    /// Has the status told at once where a connection has come about: what waited said that there is none.
    private func noteConnection() {
        guard let publishing else { return }
        let isConnected = publishing.mailbox.status.version != nil
        defer { publishing.wasConnected = isConnected }
        guard isConnected, !publishing.wasConnected, let timer = publishing.statusTimer else { return }
        loop.set(timer, at: loop.now)
    }

    private func sayRemarks() {
        for remark in publishing?.mailbox.takeRemarks() ?? [] {
            log(remark.isTrouble ? .warning : .notice, "mqtt: \(remark.text)")
        }
    }

    /// Has the publisher ship the last lines and say that the gateway is off, for as long as that takes some seconds.
    func stopPublishing() {
        guard let publishing else { return }
        let mailbox = publishing.mailbox
        mailbox.tell(durable: journal.durableSequence)
        mailbox.stop()
        let end = loop.now + .milliseconds(Int(Self.leaveMilliseconds))
        while mailbox.status.state != .ended, loop.now < end {
            var poll = pollfd(fd: mailbox.owner.descriptor.rawValue, events: Int16(POLLIN), revents: 0)
            let left = (end - loop.now).components
            _ = unsafe Glibc.poll(
                &poll, 1, Int32(clamping: left.seconds * 1000 + left.attoseconds / 1_000_000_000_000_000))
            mailbox.owner.clear()
            sayRemarks()
        }
        if let watch = publishing.remarksWatch { loop.end(watch) }
        self.publishing = nil
    }

    func writePublishing(to json: inout JSONWriter) {
        guard let mqtt = configuration.mqtt, let status = publishing?.mailbox.status else { return }
        let now = loop.now
        json.object("mqtt") { json in
            json.write("host", mqtt.host)
            json.write("port", Int(mqtt.port))
            json.write("state", status.state.rawValue)
            json.write("since", seconds: now - status.since)
            json.write("version", status.version)
            json.write("trouble", status.trouble)
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
        }
    }

    func publishingPage() -> String? {
        guard let mqtt = configuration.mqtt, let status = publishing?.mailbox.status else { return nil }
        let now = loop.now
        var lines = ["broker"]
        let next = status.nextAttempt.map { ", the next attempt in \((max($0 - now, .zero)).inWords)" } ?? ""
        lines.append("  \(mqtt.host):\(mqtt.port): \(status.state.rawValue) for \((now - status.since).inWords)\(next)")
        lines.append(
            "  shipped up to line \(status.shipped), \(max(0, journal.durableSequence - status.shipped)) wait")
        for trouble in [status.trouble, status.limitation, status.localTrouble] {
            if let trouble { lines.append("  \(trouble)") }
        }
        return lines.joined(separator: "\n")
    }
}
