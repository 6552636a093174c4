import BeaconMonitoring
import BluetoothLE
import CommandSupport
import EventLog
import JSON

/// Writes an explanation as a JSON object, for programs: the evidence and the text.
struct ExplainWriter {
    let finding: Explain.Finding
    let directory: BeaconDirectory
    let text: ExplainText

    /// Writes the object on one line.
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
            if let evidence = finding.evidence { buffer.write(evidence) { line.date(of: $0) } }
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
    /// The `type` of the line.
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
