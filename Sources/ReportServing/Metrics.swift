import BeaconMonitoring
import EventLog
import JSON
import Reports

/// The metrics of a server, in Prometheus' text format 0.0.4. Labels are conditions, states, types and adapters, which
/// are bounded; never beacons, because they identify people.
struct Metrics: Sendable {
    static let adaptersMax = 255

    private var text = ""

    /// Creates the metrics of a snapshot.
    init(_ snapshot: Snapshot) {
        writeLines(snapshot)
        writePresence(snapshot)
        writeLife(snapshot)
    }

    var bytes: [UInt8] { Array(text.utf8) }

    private mutating func writeLines(_ snapshot: Snapshot) {
        let counts = snapshot.counts
        family("lines_total", "counter", "Lines in the event files, by type.")
        for (type, count) in counts.lines.sorted(by: { $0.key < $1.key }) {
            sample("lines_total", [("type", type)], count)
        }
        family("events_total", "counter", "Events by condition, scope and new state.")
        for (kind, count) in counts.events.sorted(by: { Self.order($0.key) < Self.order($1.key) }) {
            sample("events_total", Self.labels(kind.subject) + [("state", "\(kind.state)")], count)
        }
        family("visits_total", "counter", "Visits that ended, by condition and scope.")
        for (subject, count) in counts.visits.sorted(by: { Self.order($0.key) < Self.order($1.key) }) {
            sample("visits_total", Self.labels(subject), count)
        }
        counter("lines_missed_total", snapshot.missed, "Sequence numbers that are missing in the event files.")
        counter("lines_damaged_total", snapshot.damaged, "Damaged lines in the event files, which are skipped.")
        gauge("last_sequence", counts.sequence, "Sequence number of the last line.")
    }

    private static func labels(_ subject: LineCounts.Subject) -> [(String, String)] {
        [("condition", subject.identifier), ("scope", subject.isBeacon ? "beacon" : "condition")]
    }

    private static func order(_ subject: LineCounts.Subject) -> (String, Int) {
        (subject.identifier, subject.isBeacon ? 1 : 0)
    }

    private static func order(_ kind: LineCounts.EventKind) -> (String, Int, String) {
        (kind.subject.identifier, kind.subject.isBeacon ? 1 : 0, "\(kind.state)")
    }

    private mutating func writePresence(_ snapshot: Snapshot) {
        // The number of beacons of each condition, and whether the condition is satisfied.
        var here: [String: Int] = [:]
        var unknown: [String: Int] = [:]
        var isSatisfied: [String: Bool] = [:]
        for presence in snapshot.report.presences {
            let isHere = presence.notKnownSince == nil
            for identifier in presence.identifiers {
                isSatisfied[identifier] = isHere || isSatisfied[identifier] ?? false
                guard presence.beacon != nil else { continue }
                if isHere { here[identifier, default: 0] += 1 } else { unknown[identifier, default: 0] += 1 }
            }
        }
        let conditions = snapshot.counts.conditions.sorted()
        family("beacons_present", "gauge", "Beacons that are present, by condition.")
        for condition in conditions { sample("beacons_present", [("condition", condition)], here[condition] ?? 0) }
        family("beacons_unknown", "gauge", "Beacons whose state is unknown and that were present before, by condition.")
        for condition in conditions { sample("beacons_unknown", [("condition", condition)], unknown[condition] ?? 0) }
        var known: [(condition: String, isSatisfied: Bool)] = []
        for condition in conditions {
            if let isHere = isSatisfied[condition] {
                if isHere { known.append((condition, true)) }
            } else if snapshot.isListening, !snapshot.counts.undecided.contains(condition) {
                known.append((condition, false))
            }
        }
        let names = Set(known.map(\.condition))
        family(
            "condition_known", "gauge",
            "Whether the state of a condition is known; 0 for example if no adapter scans or the gateway is not running."
        )
        for condition in conditions {
            sample("condition_known", [("condition", condition)], names.contains(condition) ? 1 : 0)
        }
        family("condition_satisfied", "gauge", "Whether a condition is satisfied; no sample if its state is unknown.")
        for (condition, isSatisfied) in known {
            sample("condition_satisfied", [("condition", condition)], isSatisfied ? 1 : 0)
        }
    }

    private mutating func writeLife(_ snapshot: Snapshot) {
        family("adapter_listening", "gauge", "Whether an adapter scans; 0 if this is unknown.")
        // If several gateways have an adapter of this name, it scans if that of any live gateway scans.
        var adapters: [String: Bool] = [:]
        for gateway in snapshot.report.gateways {
            for adapter in gateway.adapters {
                let isListening = gateway.isAlive && adapter.state == .listening
                adapters[adapter.name] = isListening || adapters[adapter.name] ?? false
            }
        }
        for (name, isListening) in adapters.sorted(by: { $0.key < $1.key }).prefix(Self.adaptersMax) {
            sample("adapter_listening", [("adapter", name)], isListening ? 1 : 0)
        }
        gauge("alive", snapshot.isAlive, "Whether the gateway is known to run.")
        gauge("listening", snapshot.isListening, "Whether the gateway is known to run and one of its adapters scans.")
        if !snapshot.report.gateways.isEmpty {
            family("last_alive_timestamp_seconds", "gauge", "Time at which the gateway was last known to be alive.")
            sample("last_alive_timestamp_seconds", [], millionths: snapshot.report.asOf.microseconds)
        }
        if let date = snapshot.counts.lastDate {
            family("last_line_timestamp_seconds", "gauge", "Time of the newest line.")
            sample("last_line_timestamp_seconds", [], millionths: date.microseconds)
        }
    }

    /// Adds the metrics of the server itself.
    mutating func write(_ server: HTTPServer) {
        let counters = server.counters
        family("serve_responses_total", "counter", "Responses of this server, by status code.")
        for (status, count) in counters.answers.sorted(by: { $0.key < $1.key }) {
            sample("serve_responses_total", [("code", "\(status)")], count)
        }
        counter("serve_connections_total", counters.connections, "Connections that were accepted.")
        counter(
            "serve_connections_dropped_total", counters.dropped,
            "Connections that were closed because they were too slow.")
        counter(
            "serve_connections_refused_total", counters.turnedAway,
            "Connections from addresses other than the trusted proxy.")
        gauge("serve_connections", server.connectionCount, "Open connections.")
        gauge("serve_streams", server.streamCount, "Open event streams.")
        counter(
            "serve_answers_refused_total", counters.bodiesRefused,
            "Responses that were refused because too many bytes were being sent.")
        gauge(
            "serve_answer_bytes", server.bodyBytes,
            "Bytes of the responses that are being sent; a shared response counts once.")
    }

    /// Adds the number of logins by result.
    mutating func write(_ access: BasicAccess.Counters) {
        family("serve_logins_total", "counter", "Logins by result.")
        sample("serve_logins_total", [("result", "allowed")], access.allowed)
        sample("serve_logins_total", [("result", "refused")], access.refused)
        sample("serve_logins_total", [("result", "not_looked_at")], access.turnedAway)
    }

    /// Adds the number of reports that were requested from commands, and of those that were refused.
    mutating func write(_ reports: ReportRunner.Counters) {
        counter("serve_reports_total", reports.asked, "Requested reports.")
        counter(
            "serve_reports_refused_total", reports.refused, "Reports that were refused because too many were waiting.")
    }

    // MARK: Format

    private mutating func counter(_ name: String, _ value: Int, _ help: String) { single(name, "counter", value, help) }
    private mutating func gauge(_ name: String, _ value: Int, _ help: String) { single(name, "gauge", value, help) }
    private mutating func gauge(_ name: String, _ value: Bool, _ help: String) { gauge(name, value ? 1 : 0, help) }

    /// Adds a metric that has one value and no labels.
    private mutating func single(_ name: String, _ type: String, _ value: Int, _ help: String) {
        family(name, type, help)
        sample(name, [], value)
    }

    private mutating func family(_ name: String, _ type: String, _ help: String) {
        text += "# HELP beacon_gateway_\(name) \(help)\n# TYPE beacon_gateway_\(name) \(type)\n"
    }

    private mutating func sample(_ name: String, _ labels: [(String, String)], _ value: Int) {
        write(name, labels)
        text += " \(value)\n"
    }

    private mutating func sample(_ name: String, _ labels: [(String, String)], millionths: Int64) {
        write(name, labels)
        var number = LineBuffer(capacity: 1024)
        number.append(millionths: millionths)
        text += " \(number.text)\n"
    }

    private mutating func write(_ name: String, _ labels: [(String, String)]) {
        text += "beacon_gateway_\(name)"
        guard !labels.isEmpty else { return }
        text += "{\(labels.map { "\($0.0)=\"\(Self.escaped($0.1))\"" }.joined(separator: ","))}"
    }

    /// Returns a label's value. A backslash, a quotation mark and a line feed are escaped, because the format has no
    /// other escapes.
    private static func escaped(_ value: String) -> String {
        var text = ""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\": text += "\\\\"
            case "\"": text += "\\\""
            case "\n": text += "\\n"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

    // MARK: Gateway

    // These values are only known to the gateway. A value that it does not report has no sample, because a zero would
    // be wrong.

    /// Adds the values that the gateway returned at its status socket. `text` is `nil` if it did not answer.
    mutating func write(daemon text: JSONText?) {
        gauge("status_known", text != nil, "Whether the gateway answered at its status socket.")
        guard let text else { return }
        if let uptime = text.microseconds(text.find("uptime", in: 0)) {
            family("uptime_seconds", "gauge", "Time since the start of the gateway.")
            sample("uptime_seconds", [], millionths: uptime)
        }
        writeDiagnostics(text)
        writeAdapters(text)
        if let counters = text.find("counters", in: 0) { writeCounters(text, counters) }
        if let output = text.find("output", in: 0) { writeJournal(text, output) }
        if let broker = text.find("mqtt", in: 0) { writeBroker(text, broker) }
    }

    private mutating func writeDiagnostics(_ text: JSONText) {
        guard let list = text.find("diagnostics", in: 0) else { return }
        let raised = Set(text.elements(of: list).compactMap { text.string($0) })
        family(
            "diagnostic", "gauge",
            "Whether the gateway has a diagnostic flag; clockUnsynchronized is about the wall clock.")
        for name in Diagnostics.names { sample("diagnostic", [("flag", name)], raised.contains(name) ? 1 : 0) }
    }

    private mutating func writeAdapters(_ text: JSONText) {
        guard let list = text.find("adapters", in: 0) else { return }
        let adapters = text.elements(of: list).prefix(Self.adaptersMax)
        let listening = adapters.count { text.isText("listening", at: text.find("state", in: $0)) }
        gauge("adapters_listening", listening, "Adapters that scan.")
        let kinds: [(StaticString, String, String)] = [
            ("reports", "adapter_reports_total", "Advertising reports of an adapter."),
            ("lost", "adapter_reports_lost_total", "Reports that an adapter or the kernel lost."),
        ]
        for (key, name, help) in kinds {
            family(name, "counter", help)
            for adapter in adapters {
                guard let label = text.string(text.find("name", in: adapter)),
                    let count = text.integer(text.find(key, in: adapter))
                else { continue }
                sample(name, [("adapter", label)], count)
            }
        }
    }

    private mutating func writeCounters(_ text: JSONText, _ counters: Int) {
        write(
            text, counters, "counter",
            [
                ("reports", "reports_total", "Advertising reports."),
                ("sightings", "sightings_total", "Sightings: decoded iBeacons, whether or not they match a condition."),
                (
                    "reportsOfOthers", "reports_of_others_total",
                    "Advertising reports of adapters that the monitor could not register."
                ),
                (
                    "lateInputs", "late_inputs_total",
                    "Inputs that were late and were handled at the present of the monitor (rule T2)."
                ),
                (
                    "untrackedBeacons", "untracked_beacons_total",
                    "Times that a beacon got no place, or lost it before its entry, because of max_beacons."
                ),
                (
                    "refusedBeacons", "refused_beacons_total",
                    "Attempts of beacons without a name to enter that max_new_beacons refused."
                ),
            ])
    }

    private mutating func writeJournal(_ text: JSONText, _ output: Int) {
        if let last = text.integer(text.find("sequence", in: output)),
            let durable = text.integer(text.find("durableSequence", in: output)), durable <= last
        {
            gauge("journal_undurable_lines", last - durable, "Lines that are not yet confirmed to be on the disk.")
        }
        gauge("journal_trouble", text.find("trouble", in: output) != nil, "Whether writing lines fails.")
        write(text, output, "gauge", [("waiting", "journal_waiting_lines", "Lines that wait for writing.")])
        write(
            text, output, "counter",
            [
                (
                    "dropped", "journal_dropped_lines_total",
                    "Lines with a sequence number that were dropped because too many were waiting."
                ),
                (
                    "droppedUnnumbered", "journal_dropped_unnumbered_lines_total",
                    "Lines without a sequence number that were dropped because too many were waiting."
                ),
                (
                    "deletedUnshipped", "journal_deleted_unshipped_total",
                    "Lines that were deleted by the size limit before they were published."
                ),
                ("failures", "journal_failures_total", "Failed writes."),
            ])
    }

    private mutating func writeBroker(_ text: JSONText, _ broker: Int) {
        let state = text.find("state", in: broker)
        let isConnected = text.isText("connected", at: state) || text.isText("draining", at: state)
        gauge("broker_connected", isConnected, "Whether the broker is connected.")
        let hasFailure = text.find("trouble", in: broker) != nil
        gauge("broker_trouble", hasFailure, "Whether publishing to the broker fails.")
        write(
            text, broker, "gauge",
            [
                ("backlog", "broker_backlog_lines", "Lines on the disk that the broker has not acknowledged."),
                ("inFlight", "broker_in_flight_lines", "Lines that were sent and are not yet acknowledged."),
            ])
        write(
            text, broker, "counter",
            [
                ("acknowledged", "broker_acknowledged_lines_total", "Lines that the broker has acknowledged."),
                ("refusals", "broker_refusals_total", "Messages that the broker rejected."),
                (
                    "missed", "broker_missed_lines_total",
                    "Lines that were dropped or deleted before the publisher read them."
                ),
                ("connections", "broker_connections_total", "Connections to the broker."),
                ("failures", "broker_failures_total", "Failed connections."),
            ])
    }

    private mutating func write(
        _ text: JSONText, _ object: Int, _ type: String, _ series: [(key: StaticString, name: String, help: String)]
    ) {
        for (key, name, help) in series {
            if let value = text.integer(text.find(key, in: object)) { single(name, type, value, help) }
        }
    }
}
