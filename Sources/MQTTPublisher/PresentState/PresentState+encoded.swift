import BeaconMonitoring
import BluetoothLE
import EventLog
import JSON

// How it is kept, and made anew of that.
extension PresentState {
    /// Of the format. A reader refuses what is newer.
    static let formatVersion = 1

    /// One that goes on where the one stood whose ``encoded`` is given.
    ///
    /// Where the options have changed meanwhile, the differences become changes with the first message: what stands under
    /// topics that are not used any more is cleared, and all is said anew. The lines that are taken before that may have
    /// been published by the process before. What was not acknowledged is said again.
    ///
    /// - Parameters:
    ///   - options: under which topics it is to stand.
    ///   - bytes: what ``encoded`` gave.
    ///   - lastWritten: as for a new one.
    /// - Throws: ``PresentStateError`` where that is none, or a later version's.
    package init(
        _ options: PresentStateOptions, decoding bytes: [UInt8], lastWritten: Int = .max
    ) throws(PresentStateError) {
        var text = JSONText(bytes)
        guard text.parse(), let version = text.integer(text.find("version", in: 0)), version > 0 else {
            throw .damaged
        }
        guard version <= Self.formatVersion else { throw .newerVersion(version) }
        guard let sequence = text.integer(text.find("sequence", in: 0)), sequence >= 0,
            let key = text.string(text.find("key", in: 0)), !key.isEmpty,
            let former = Self.options(options, text)
        else { throw .damaged }
        self.init(former, key: key, lastWritten: lastWritten)
        self.sequence = sequence
        var waiting: [PresentTopic] = []
        for place in text.elements(of: text.find("conditions", in: 0)) {
            guard decodeCondition(text, place, &waiting) else { throw .damaged }
        }
        awayQueue = sortedAway()
        for topic in liveTopics() { delivery.deliver(topic) }
        for place in text.elements(of: text.find("health", in: 0)) {
            guard let index = text.integer(place), exists(.healthEntity(index)) else { continue }
            waiting.append(.healthEntity(index))
        }
        let cleared = text.elements(of: text.find("cleared", in: 0)).compactMap { text.string($0) }
        for topic in cleared { leaveBehind(topic) }
        for topic in waiting { touch(topic) }
        if options.differs(from: former) { optionsToCome = options }
    }

    private static func options(_ options: PresentStateOptions, _ text: JSONText) -> PresentStateOptions? {
        var former = options
        guard let prefix = text.string(text.find("prefix", in: 0)),
            let gateway = text.string(text.find("gateway", in: 0)).flatMap({ try? Identifier($0) })
        else { return nil }
        former.prefix = prefix
        former.gateway = gateway
        former.version = text.string(text.find("program", in: 0)) ?? ""
        let trackers = text.string(text.find("trackers", in: 0)).flatMap { HomeAssistantOptions.Trackers(rawValue: $0) }
        former.homeAssistant = text.string(text.find("homeAssistant", in: 0)).map {
            // What says nothing of them was written when there were zones alone.
            HomeAssistantOptions(prefix: $0, trackers: trackers ?? .zones)
        }
        return former
    }

    /// Other options from now on.
    mutating func change(to options: PresentStateOptions) {
        optionsToCome = nil
        let former = liveTopics().map { (topic: $0, name: name(of: $0)) }
        let (formerAvailability, formerStatus) = (self.options.availabilityTopic, self.options.statusTopic)
        self.options = options
        homeAssistant = HomeAssistantDiscovery(options, key: key)
        if homeAssistant == nil {
            for identifier in conditions.keys { conditions[identifier]?.away = [:] }
            (awayCount, awayQueue) = (0, [])
        }
        for (topic, name) in former where !exists(topic) || !self.name(of: topic).utf8.elementsEqual(name.utf8) {
            delivery.drop(topic)
            leaveBehind(name)
        }
        if !options.availabilityTopic.utf8.elementsEqual(formerAvailability.utf8) {
            // Whoever publishes these two does so under the new name.
            leaveBehind(formerAvailability)
            leaveBehind(formerStatus)
        }
        for topic in liveTopics() { touch(topic) }
    }

    /// Clears a topic that is not used any more.
    private mutating func leaveBehind(_ name: String) {
        let topic = PresentTopic.leftBehind(Array(name.utf8))
        guard !name.isEmpty, !delivery.isOwed(topic) else { return }
        delivery.deliver(topic)
        delivery.touch(topic, exists: false, mayBeHeld: true)
        leftBehindCount += 1
    }

    /// What has to be kept to go on: JSON, the same octets for the same state.
    ///
    /// It says which topics the broker may hold, so that none is forgotten there.
    package var encoded: [UInt8] {
        var buffer = LineBuffer(capacity: 65_536)
        buffer.object { buffer in
            buffer.write("version", Self.formatVersion)
            buffer.write("sequence", sequence)
            buffer.write("key", key)
            buffer.write("prefix", options.prefix)
            buffer.write("gateway", options.gateway.text)
            buffer.write("program", options.version)
            if let homeAssistant = options.homeAssistant {
                buffer.write("homeAssistant", homeAssistant.prefix)
                buffer.write("trackers", homeAssistant.trackers.rawValue)
            }
            // A line each, for people.
            buffer.objects("conditions", conditions.keys.sorted(), onLines: true) { write($1, into: &$0) }
            let owedHealth = (0..<(homeAssistant?.health.count ?? 0)).filter { delivery.isOwed(.healthEntity($0)) }
            buffer.array("health", owedHealth) { $0.append($1) }
            let cleared = delivery.owed.filter { !exists($0) }.map { name(of: $0) }
                .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
            buffer.array("cleared", cleared, onLines: true) { $0.string($1) }
        }
        buffer.append(octet: 0x0A)
        return buffer.bytes
    }

    private func write(_ identifier: Identifier, into buffer: inout LineBuffer) {
        guard let presence = conditions[identifier] else { return }
        buffer.write("identifier", identifier.text)
        buffer.write("monitor", presence.monitor)
        buffer.write(presence.condition)
        write(
            presence.own, owed: [("state", .condition(identifier)), ("entity", .conditionEntity(identifier))],
            into: &buffer)
        write("beacons", presence.beacons, under: identifier, into: &buffer)
        write("away", presence.away, under: identifier, into: &buffer)
    }

    private func write(
        _ key: StaticString, _ beacons: [BeaconIdentity: SubjectPresence], under identifier: Identifier,
        into buffer: inout LineBuffer
    ) {
        guard !beacons.isEmpty else { return }
        buffer.objects(key, beacons.keys.sorted(), onLines: true) { buffer, beacon in
            buffer.write("beacon", true)
            guard var presence = beacons[beacon] else { return }
            presence.refinement = beacon
            write(
                presence,
                owed: [
                    ("state", .beacon(identifier, beacon)), ("tracker", .tracker(identifier, beacon)),
                    ("entity", .trackerEntity(identifier, beacon)),
                ], into: &buffer)
        }
    }

    private func write(
        _ presence: SubjectPresence, owed: [(name: String, topic: PresentTopic)], into buffer: inout LineBuffer
    ) {
        buffer.write("state", word: presence.state.word)
        if let date = presence.date { buffer.write("date", date) }
        if let sequence = presence.sequence { buffer.write("sequence", sequence) }
        buffer.write(rest: presence)
        let owed = owed.filter { exists($0.topic) && delivery.isOwed($0.topic) }
        if !owed.isEmpty { buffer.write("owed", owed.map(\.name)) }
    }
}

// How it is read.
extension PresentState {
    private mutating func decodeCondition(
        _ text: JSONText, _ place: Int, _ waiting: inout [PresentTopic]
    ) -> Bool {
        guard let identifier = text.string(text.find("identifier", in: place)).flatMap({ try? Identifier($0) }),
            conditions[identifier] == nil, let monitor = text.string(text.find("monitor", in: place)),
            let condition = text.condition(text.find("condition", in: place)), let own = Self.presence(text, place)
        else { return false }
        var presence = ConditionPresence(monitor: monitor, condition: condition, own: own)
        for name in Self.owed(text, place) {
            waiting.append(name == "entity" ? .conditionEntity(identifier) : .condition(identifier))
        }
        for key in ["beacons", "away"] as [StaticString] {
            for place in text.elements(of: text.find(key, in: place)) {
                guard let subject = Self.presence(text, place), let beacon = subject.refinement else { return false }
                if key.utf8CodeUnitCount == 4 {
                    presence.away[beacon] = subject
                } else {
                    presence.beacons[beacon] = subject
                }
                for name in Self.owed(text, place) {
                    switch name {
                    case "entity": waiting.append(.trackerEntity(identifier, beacon))
                    case "tracker": waiting.append(.tracker(identifier, beacon))
                    default: waiting.append(.beacon(identifier, beacon))
                    }
                }
            }
        }
        beaconCount += presence.beacons.count
        awayCount += presence.away.count
        conditions[identifier] = presence
        return true
    }

    private static func owed(_ text: JSONText, _ place: Int) -> [String] {
        text.elements(of: text.find("owed", in: place)).compactMap { text.string($0) }
    }

    private static func presence(_ text: JSONText, _ place: Int) -> SubjectPresence? {
        guard let state = text.state(text.find("state", in: place)) else { return nil }
        return SubjectPresence(
            state: state, date: text.date(text.find("date", in: place)),
            sequence: text.integer(text.find("sequence", in: place)),
            isAssumed: text.bool(text.find("assumed", in: place)) ?? false,
            refinement: text.beacon(text.find("refinement", in: place)),
            lastSeen: text.date(text.find("lastSeen", in: place)),
            diagnostics: text.diagnostics(text.find("diagnostics", in: place)))
    }
}
