import BeaconMonitoring
import JSON

// What only the gateway itself knows. What it does not say has no sample: a zero would be a claim.
extension Metrics {
    /// Writes what the gateway said at its status socket; `nil`: it did not answer.
    mutating func write(daemon text: JSONText?) {
        family("status_known", "gauge", "Whether the gateway answered at its status socket.")
        sample("status_known", [], text == nil ? 0 : 1)
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
        family("adapters_listening", "gauge", "Adapters that listen.")
        sample("adapters_listening", [], adapters.count { text.isText("listening", at: text.find("state", in: $0)) })
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
            family("journal_undurable_lines", "gauge", "Lines that are not known to be on the disk yet.")
            sample("journal_undurable_lines", [], last - durable)
        }
        family("journal_trouble", "gauge", "Whether lines can't be written.")
        sample("journal_trouble", [], text.find("trouble", in: output) == nil ? 0 : 1)
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
        family("broker_connected", "gauge", "Whether the broker is connected.")
        sample(
            "broker_connected", [],
            text.isText("connected", at: state) || text.isText("draining", at: state) ? 1 : 0)
        family("broker_trouble", "gauge", "Whether the broker does not take what is published.")
        sample("broker_trouble", [], text.find("trouble", in: broker) == nil ? 0 : 1)
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
            guard let value = text.integer(text.find(key, in: object)) else { continue }
            family(name, type, help)
            sample(name, [], value)
        }
    }
}
