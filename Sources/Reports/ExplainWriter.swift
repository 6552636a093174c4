import BeaconMonitoring
import BluetoothLE
import CommandSupport
import EventLog
import JSON

/// An explanation as a JSON object, for programs: what the words rest on, and the words.
struct ExplainWriter {
    private let finding: Explain.Finding
    private let directory: BeaconDirectory
    private let text: ExplainText

    init(_ finding: Explain.Finding, _ time: VisitsTime, _ directory: BeaconDirectory) {
        self.finding = finding
        self.directory = directory
        text = ExplainText(finding, time, directory)
    }

    /// Writes it as a line.
    func write(into buffer: inout LineBuffer) {
        VisitsWriter.line("explanation", into: &buffer) { buffer in
            let line = finding.line
            if let sequence = line.sequence { buffer.write("sequence", sequence) }
            buffer.write("gateway", line.gateway)
            buffer.write("type", line.typeName)
            buffer.write("date", line.date)
            if let subject = finding.subject {
                buffer.write("identifier", subject.identifier.text)
                VisitsWriter.write(subject.beacon, directory, into: &buffer)
                buffer.write("scope", subject.beacon == nil ? "condition" : "beacon")
            }
            writeEvent(into: &buffer)
            buffer.write("rules", finding.rules)
            writeEvidence(into: &buffer)
            writeAvoidance(into: &buffer)
            writeAdapters(into: &buffer)
            buffer.write("text", text.rawLines)
        }
    }

    private func writeEvent(into buffer: inout LineBuffer) {
        guard case .event(let event) = finding.line.entry else { return }
        buffer.write("state", "\(event.state)")
        if let previous = event.previous {
            buffer.object("previous") { buffer in
                buffer.write("state", "\(previous.state)")
                buffer.write("date", previous.date)
            }
        }
        if let settings = finding.settings, !event.condition.isCircle {
            buffer.write("exitTimeout", seconds: settings.exitTimeout)
            if let threshold = settings.exitRSSI { buffer.write("exitRSSI", threshold.dBm) }
        }
        if let lastSeen = event.lastSeen { buffer.write("lastSeen", finding.line.date(of: lastSeen)) }
        if let silence = finding.silence { buffer.write("silence", seconds: silence) }
        if let notListened = finding.notListened { buffer.write("notListened", seconds: notListened) }
    }

    private func writeEvidence(into buffer: inout LineBuffer) {
        guard let evidence = finding.evidence else { return }
        let line = finding.line
        buffer.objects("holders", evidence.holders) { buffer, holder in
            buffer.write("adapter", holder.adapter)
            buffer.write("lastRefresh", line.date(of: holder.lastRefresh))
            buffer.write("listened", seconds: holder.listened)
        }
        buffer.objects("sightings", evidence.sightings) { buffer, heard in
            buffer.write("date", line.date(of: heard.time))
            buffer.write("adapter", heard.adapter)
            if let rssi = heard.rssi { buffer.write("rssi", rssi.dBm) }
        }
        buffer.object("gaps") { buffer in
            buffer.write("count", evidence.gaps.count)
            if let median = evidence.gaps.median { buffer.write("median", seconds: median) }
            if let p99 = evidence.gaps.p99 { buffer.write("p99", seconds: p99) }
            if let maximum = evidence.gaps.maximum { buffer.write("maximum", seconds: maximum) }
            if let share = evidence.gaps.longerThanTimeout { buffer.write("longerThanTimeout", share) }
        }
    }

    private func writeAvoidance(into buffer: inout LineBuffer) {
        if let next = finding.comeBack {
            buffer.object("cameBack") { buffer in
                if let sequence = next.line.sequence { buffer.write("sequence", sequence) }
                buffer.write("date", next.line.date)
            }
        }
        guard finding.comeBack != nil || finding.sufficientRSSI != nil else { return }
        buffer.object("avoidedBy") { buffer in
            if let timeout = finding.comeBack?.sufficientTimeout { buffer.write("exitTimeoutAbove", seconds: timeout) }
            if let threshold = finding.sufficientRSSI { buffer.write("exitRSSI", threshold.dBm) }
        }
    }

    private func writeAdapters(into buffer: inout LineBuffer) {
        buffer.objects("adapters", finding.adapterChanges) { buffer, adapter in
            buffer.write("adapter", adapter.change.adapter)
            buffer.write("state", "\(adapter.change.state)")
            buffer.write("since", adapter.since)
            buffer.write("reason", adapter.change.reason)
        }
    }
}

extension LogLine {
    /// What kind of line it is, as its `type` says.
    fileprivate var typeName: String {
        switch entry {
        case .event: "event"
        case .visit: "visit"
        case .condition: "condition"
        case .adapter: "adapter"
        case .clock: "clock"
        case .gateway: "gateway"
        case .evidence: "evidence"
        case .erased: "erased"
        }
    }
}
