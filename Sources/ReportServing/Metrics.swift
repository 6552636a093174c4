import BeaconMonitoring
import EventLog
import JSON
import Reports

/// What a server knows, in Prometheus' text format 0.0.4. Labels are conditions, states, types and adapters, which are
/// bounded; never beacons, which are people.
struct Metrics: Sendable {
    static let adaptersMax = 255

    private var text = ""

    /// The metrics of a snapshot.
    init(_ snapshot: Snapshot) {
        writeLines(snapshot)
        writePresence(snapshot)
        writeLife(snapshot)
    }

    var octets: [UInt8] { Array(text.utf8) }

    private mutating func writeLines(_ snapshot: Snapshot) {
        let counts = snapshot.counts
        family("lines_total", "counter", "Lines in the event files, by type.")
        for (type, count) in counts.lines.sorted(by: { $0.key < $1.key }) {
            sample("lines_total", [("type", type)], count)
        }
        family("events_total", "counter", "Events, by condition, by whose they are, and by the state that came.")
        for (kind, count) in counts.events.sorted(by: { Self.order($0.key) < Self.order($1.key) }) {
            sample("events_total", Self.labels(kind.subject) + [("state", "\(kind.state)")], count)
        }
        family("visits_total", "counter", "Visits that ended, by condition, and by whose they were.")
        for (subject, count) in counts.visits.sorted(by: { Self.order($0.key) < Self.order($1.key) }) {
            sample("visits_total", Self.labels(subject), count)
        }
        counter("lines_missed_total", snapshot.missed, "Numbers of lines that are not in the files.")
        counter("lines_damaged_total", snapshot.damaged, "Lines that could not be made sense of.")
        gauge("last_sequence", counts.sequence, "The number of the last line.")
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
        // The beacons, and the states, of each condition.
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
        family("beacons_present", "gauge", "Beacons that are here, by condition.")
        for condition in conditions { sample("beacons_present", [("condition", condition)], here[condition] ?? 0) }
        family("beacons_unknown", "gauge", "Beacons that were here when they were last known of, by condition.")
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
        family("condition_known", "gauge", "Whether it is known what a condition is: 0 where nobody listens.")
        for condition in conditions {
            sample("condition_known", [("condition", condition)], names.contains(condition) ? 1 : 0)
        }
        family("condition_satisfied", "gauge", "Whether a condition is satisfied; absent where that is not known.")
        for (condition, isSatisfied) in known {
            sample("condition_satisfied", [("condition", condition)], isSatisfied ? 1 : 0)
        }
    }

    private mutating func writeLife(_ snapshot: Snapshot) {
        family("adapter_listening", "gauge", "Whether an adapter listens; 0 where that is not known.")
        // Of one name, whichever gateway of that folder lives.
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
        gauge("listening", snapshot.isListening, "Whether the gateway is known to run, and an adapter of it listens.")
        if !snapshot.report.gateways.isEmpty {
            family("last_alive_timestamp_seconds", "gauge", "When the gateway was last known to be alive.")
            sample("last_alive_timestamp_seconds", [], millionths: snapshot.report.asOf.microseconds)
        }
        if let date = snapshot.counts.lastDate {
            family("last_line_timestamp_seconds", "gauge", "The date of the newest line.")
            sample("last_line_timestamp_seconds", [], millionths: date.microseconds)
        }
    }

    /// Writes the metrics of the server itself.
    mutating func write(_ server: HTTPServer) {
        let counters = server.counters
        family("serve_responses_total", "counter", "Answers of this server, by status.")
        for (status, count) in counters.answers.sorted(by: { $0.key < $1.key }) {
            sample("serve_responses_total", [("code", "\(status)")], count)
        }
        counter("serve_connections_total", counters.connections, "Connections that were accepted.")
        counter(
            "serve_connections_dropped_total", counters.dropped,
            "Connections that were dropped, since they were too slow.")
        counter("serve_connections_refused_total", counters.turnedAway, "Connections from addresses that may not ask.")
        gauge("serve_connections", server.connectionCount, "Connections at present.")
        gauge("serve_streams", server.streamCount, "Streams of events at present.")
        counter(
            "serve_answers_refused_total", counters.bodiesRefused,
            "Answers that were refused, since too many bytes were being sent.")
        gauge("serve_answer_bytes", server.bodyBytes, "Bytes of the answers that are being sent, each counted once.")
    }

    /// Writes who was let in.
    mutating func write(_ access: BasicAccess.Counters) {
        family("serve_logins_total", "counter", "Names with passwords, by what came of them.")
        sample("serve_logins_total", [("result", "allowed")], access.allowed)
        sample("serve_logins_total", [("result", "refused")], access.refused)
        sample("serve_logins_total", [("result", "not_looked_at")], access.turnedAway)
    }

    /// Writes what became of reports that commands make.
    mutating func write(_ reports: ReportRunner.Counters) {
        counter("serve_reports_total", reports.asked, "Reports that were asked for.")
        counter(
            "serve_reports_refused_total", reports.refused, "Reports that were not made, since too many were waiting.")
    }

    // MARK: The format

    private mutating func counter(_ name: String, _ value: Int, _ help: String) { single(name, "counter", value, help) }
    private mutating func gauge(_ name: String, _ value: Int, _ help: String) { single(name, "gauge", value, help) }
    private mutating func gauge(_ name: String, _ value: Bool, _ help: String) { gauge(name, value ? 1 : 0, help) }

    /// Writes a metric that has one value and no labels.
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

    /// A label's value: three characters are escaped, and no other can be.
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

    // MARK: The gateway

    // Values that only the gateway knows. One that it does not report has no sample: a zero would be a claim.

    /// Writes what the gateway said at its status socket; `nil`: it did not answer.
    mutating func write(daemon text: JSONText?) {
        gauge("status_known", text != nil, "Whether the gateway answered at its status socket.")
        guard let text else { return }
        if let uptime = text.microseconds(text.find("uptime", in: 0)) {
            family("uptime_seconds", "gauge", "How long the gateway has run.")
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
        family("diagnostic", "gauge", "Whether the gateway holds a flag; clockUnsynchronized is the clock's.")
        for name in Diagnostics.names { sample("diagnostic", [("flag", name)], raised.contains(name) ? 1 : 0) }
    }

    private mutating func writeAdapters(_ text: JSONText) {
        guard let list = text.find("adapters", in: 0) else { return }
        let adapters = text.elements(of: list).prefix(Self.adaptersMax)
        let listening = adapters.count { text.isText("listening", at: text.find("state", in: $0)) }
        gauge("adapters_listening", listening, "Adapters that listen.")
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
                ("sightings", "sightings_total", "Reports of beacons under a condition."),
                ("reportsOfOthers", "reports_of_others_total", "Reports of anything else."),
                ("lateInputs", "late_inputs_total", "Inputs that came too late to count."),
                ("untrackedBeacons", "untracked_beacons_total", "Times that a beacon found no place."),
                ("refusedBeacons", "refused_beacons_total", "Times that a beacon without a name was not let in."),
            ])
    }

    private mutating func writeJournal(_ text: JSONText, _ output: Int) {
        if let last = text.integer(text.find("sequence", in: output)),
            let durable = text.integer(text.find("durableSequence", in: output)), durable <= last
        {
            gauge("journal_undurable_lines", last - durable, "Lines that are not known to be on the disk yet.")
        }
        gauge("journal_trouble", text.find("trouble", in: output) != nil, "Whether lines can't be written.")
        write(text, output, "gauge", [("waiting", "journal_waiting_lines", "Lines that wait to be written.")])
        write(
            text, output, "counter",
            [
                ("dropped", "journal_dropped_lines_total", "Numbered lines that found no place."),
                ("droppedUnnumbered", "journal_dropped_unnumbered_lines_total", "Other lines that found none."),
                ("deletedUnshipped", "journal_deleted_unshipped_total", "Files deleted that the broker did not have."),
                ("failures", "journal_failures_total", "Times that writing failed."),
            ])
    }

    private mutating func writeBroker(_ text: JSONText, _ broker: Int) {
        let state = text.find("state", in: broker)
        let isConnected = text.isText("connected", at: state) || text.isText("draining", at: state)
        gauge("broker_connected", isConnected, "Whether the broker is connected.")
        let hasTrouble = text.find("trouble", in: broker) != nil
        gauge("broker_trouble", hasTrouble, "Whether the broker does not take what is published.")
        write(
            text, broker, "gauge",
            [
                ("backlog", "broker_backlog_lines", "Lines on the disk that the broker does not have."),
                ("inFlight", "broker_in_flight_lines", "Lines that were sent and are not acknowledged."),
            ])
        write(
            text, broker, "counter",
            [
                ("acknowledged", "broker_acknowledged_lines_total", "Lines that the broker has acknowledged."),
                ("refusals", "broker_refusals_total", "Messages that the broker refused."),
                ("missed", "broker_missed_lines_total", "Lines that were gone before they were shipped."),
                ("connections", "broker_connections_total", "Connections to the broker."),
                ("failures", "broker_failures_total", "Connections that failed."),
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
