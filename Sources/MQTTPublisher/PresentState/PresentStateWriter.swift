import BeaconMonitoring
import EventLog
import JSON
import PublisherProtocol

/// Writes the payloads of states (`docs/state.schema.json`).
struct PresentStateWriter: ~Copyable {
    private var buffer = LineBuffer(capacity: 4096)
    private let gateway: String

    init(_ options: PresentStateOptions) { gateway = options.gateway.text }

    mutating func state(
        _ identifier: Identifier, _ condition: ConditionPresence, _ presence: SubjectPresence, isBeacon: Bool,
        _ called: PublishedName?
    ) -> [UInt8] {
        buffer.removeAll()
        buffer.object { [gateway] buffer in
            buffer.write("version", LineVersion.current)
            buffer.write("type", word: "state")
            buffer.write("gateway", gateway)
            if let sequence = presence.sequence { buffer.write("sequence", sequence) }
            buffer.write("monitor", condition.monitor)
            buffer.write("identifier", identifier.text)
            buffer.write("scope", word: isBeacon ? "beacon" : "condition")
            buffer.write("state", word: presence.state.word)
            if let present = presence.state.present { buffer.write("present", present) }
            if let date = presence.date {
                buffer.write("date", date)
                buffer.write(timeOf: date)
            }
            buffer.write(condition.condition)
            buffer.write(rest: presence, called)
        }
        return buffer.bytes
    }
}

extension BeaconMonitor.Event.State {
    /// 1 if the state is `satisfied`, 0 if it is `unsatisfied`, otherwise `nil`.
    fileprivate var present: Int? {
        switch self {
        case .satisfied: 1
        case .unsatisfied: 0
        case .unknown, .unmonitored: nil
        }
    }
}

extension LineBuffer {
    /// Writes the beacon, its name and group, the last refresh, whether the state is assumed, and the diagnostics.
    mutating func write(rest presence: SubjectPresence, _ called: PublishedName? = nil) {
        if let refinement = presence.refinement { write(refinement: refinement) }
        if let called {
            write("name", called.name)
            write("group", called.group)
        }
        if let lastSeen = presence.lastSeen { write("lastSeen", lastSeen) }
        if presence.isAssumed { write("assumed", true) }
        write(presence.diagnostics)
    }
}
