import BeaconMonitoring
import BluetoothLE
import EventLog
import JSON
import PublisherProtocol

// What stands under which topic.
extension PresentState {
    /// Whether there is something to say under `topic`.
    func exists(_ topic: PresentTopic) -> Bool {
        switch topic {
        case .condition(let identifier): conditions[identifier] != nil
        case .beacon(let identifier, let beacon): conditions[identifier]?.beacons[beacon] != nil
        case .tracker(let identifier, let beacon), .trackerEntity(let identifier, let beacon):
            homeAssistant != nil && tracked(beacon, under: identifier) != nil
        case .conditionEntity(let identifier): homeAssistant != nil && conditions[identifier] != nil
        case .healthEntity(let index): homeAssistant.map { index < $0.health.count } ?? false
        case .leftBehind: false
        }
    }

    /// What a tracker says: where the beacon is, or that it left.
    private func tracked(_ beacon: BeaconIdentity, under identifier: Identifier) -> SubjectPresence? {
        guard let presence = conditions[identifier] else { return nil }
        return presence.beacons[beacon] ?? presence.away[beacon]
    }

    /// All under which there is something to say, in the order in which it is said anew.
    func liveTopics() -> [PresentTopic] {
        var states: [PresentTopic] = []
        var entities: [PresentTopic] = (0..<(homeAssistant?.health.count ?? 0)).map { .healthEntity($0) }
        for identifier in conditions.keys.sorted() {
            guard let presence = conditions[identifier] else { continue }
            states.append(.condition(identifier))
            let inView = presence.beacons.keys.sorted()
            for beacon in inView { states.append(.beacon(identifier, beacon)) }
            guard homeAssistant != nil else { continue }
            entities.append(.conditionEntity(identifier))
            for beacon in inView + presence.away.keys.sorted() {
                states.append(.tracker(identifier, beacon))
                entities.append(.trackerEntity(identifier, beacon))
            }
        }
        return states + entities
    }

    /// The topic as it is published.
    func name(of topic: PresentTopic) -> String {
        switch topic {
        case .condition(let identifier): options.stateTopic(identifier)
        case .beacon(let identifier, let beacon): options.stateTopic(identifier, beacon)
        case .tracker(let identifier, let beacon): options.trackerTopic(identifier, beacon)
        case .conditionEntity(let identifier): homeAssistant?.topic(of: identifier) ?? ""
        case .trackerEntity(let identifier, let beacon): homeAssistant?.topic(of: beacon, under: identifier) ?? ""
        case .healthEntity(let index): homeAssistant?.topic(ofHealth: index) ?? ""
        case .leftBehind(let octets): String(decoding: octets, as: UTF8.self)
        }
    }

    /// What is said under `topic`; nothing where there is nothing to say.
    func payload(of topic: PresentTopic, _ writer: inout PresentStateWriter) -> [UInt8] {
        guard exists(topic) else { return [] }
        switch topic {
        case .condition(let identifier):
            return conditions[identifier].map { writer.state(identifier, $0, $0.own, isBeacon: false, called($0.own)) }
                ?? []
        case .beacon(let identifier, let beacon), .tracker(let identifier, let beacon):
            guard let condition = conditions[identifier], let presence = tracked(beacon, under: identifier) else {
                return []
            }
            return writer.state(identifier, condition, presence, isBeacon: true, called(presence))
        case .conditionEntity(let identifier): return homeAssistant?.entity(of: identifier) ?? []
        case .trackerEntity(let identifier, let beacon):
            return homeAssistant?.entity(of: beacon, under: identifier, called: names[beacon]?.name) ?? []
        case .healthEntity(let index): return homeAssistant?.entity(ofHealth: index) ?? []
        case .leftBehind: return []
        }
    }
}

extension PresentStateOptions {
    /// Where a condition's present state stands.
    func stateTopic(_ identifier: Identifier) -> String { "\(base)/state/\(identifier)" }

    /// Where a beacon's does.
    func stateTopic(_ identifier: Identifier, _ beacon: BeaconIdentity) -> String {
        "\(base)/state/\(identifier)/\(beacon.uuid)/\(beacon.major)/\(beacon.minor)"
    }

    /// Where a beacon's tracker reads.
    func trackerTopic(_ identifier: Identifier, _ beacon: BeaconIdentity) -> String {
        "\(base)/tracker/\(identifier)/\(beacon.uuid)/\(beacon.major)/\(beacon.minor)"
    }

    /// Where the gateway says whether it is there.
    var availabilityTopic: String { "\(base)/availability" }

    /// Where it says how it is.
    var statusTopic: String { "\(base)/status" }
}

/// Writes what stands under the topics of present states.
struct PresentStateWriter: ~Copyable {
    private var buffer = LineBuffer(capacity: 4096)
    private let gateway: String

    init(_ options: PresentStateOptions) { gateway = options.gateway.text }

    /// `docs/state.schema.json`.
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
    /// Whether somebody is there, as a number; `nil` where nobody knows.
    fileprivate var present: Int? {
        switch self {
        case .satisfied: 1
        case .unsatisfied: 0
        case .unknown, .unmonitored: nil
        }
    }
}

extension LineBuffer {
    /// Writes the rest of a presence.
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
