package import BeaconMonitoring
package import BluetoothLE
import EventLog
import JSON
package import PublisherProtocol

/// The retained topics of a gateway: the present state of each condition and beacon, and the entities of Home
/// Assistant.
///
/// A value: lines are the input, messages are the output, and ``encoded`` is its stored form. It never publishes a
/// guess: if lines are missing, all states become `unknown`.
///
/// The owner of the connection must use it like this:
/// 1. Create it from the stored bytes, or create a new one. Call ``take(_:sequence:)`` with every line of the event
///    files once, in order. If the engine's state is known, call ``adopt(_:at:offset:)`` after a gap, and if the oldest
///    lines are deleted.
/// 2. While ``hasChanges``, publish the messages of ``nextChanges(_:into:)``, and call ``acknowledge(_:)`` with each
///    topic at its PUBACK.
/// 3. After a new connection, call ``reconnected()``. If the broker has no session, call ``repeatAll()``.
/// 4. Publish `online` under `availability` only when all messages that waited at the connection are acknowledged.
///    Before that, the broker can have the states of an earlier time.
/// 5. Store ``encoded`` from time to time, and keep the lines after ``sequence`` until the next time.
package struct PresentState: Sendable {
    /// The version of the format of ``encoded``. A reader must refuse later versions.
    private static let formatVersion = 1

    /// The topics and their readers. A restored state uses its former options until its first message.
    package private(set) var options: PresentStateOptions
    /// The sequence number of the last line that was taken.
    package private(set) var sequence = 0
    /// The conditions and beacons.
    private(set) var table: PresenceTable
    /// The topics that must be published.
    private(set) var delivery: RetainedDelivery
    /// The names of beacons that may be published.
    private var names: [BeaconIdentity: PublishedName] = [:]
    /// The identity of the gateway in Home Assistant: the base of its first topics, even if its name changes later.
    private let key: String
    private var homeAssistant: HomeAssistantDiscovery?
    /// The last line that may have been published by a process whose state is not stored.
    private let lastWritten: Int
    /// The number of topics of former options that wait to be cleared.
    private var leftBehindCount = 0
    /// The options that apply from the first message on, if they differ from the former ones.
    private var optionsToCome: PresentStateOptions?
    private var parser = LineParser()
    private var linesIgnored = 0
    private var gaps = 0

    /// Creates a state without lines.
    ///
    /// - Parameters:
    ///   - options: the topics and their readers.
    ///   - lastWritten: the sequence number of the last line at the start. A process whose state is not stored may have
    ///     published topics of lines up to it, so these topics are cleared if they have no message now. The default is
    ///     correct too, but costs a message for each beacon that enters and exits while the broker is unreachable.
    package init(_ options: PresentStateOptions, lastWritten: Int = .max) {
        self.init(options, key: options.base, lastWritten: lastWritten)
        touchHealth()
    }

    private init(_ options: PresentStateOptions, key: String, lastWritten: Int) {
        self.options = options
        self.key = key
        self.lastWritten = lastWritten
        homeAssistant = HomeAssistantDiscovery(options, key: key)
        table = PresenceTable(options)
        delivery = RetainedDelivery(guessesMax: options.clearsMax)
    }

    /// The number of ignored lines, of gaps, and of states and topics that were left out.
    package var counters: PresentStateCounters {
        var counters = PresentStateCounters()
        counters.linesIgnored = linesIgnored
        counters.gaps = gaps
        counters.conditionsLeftOut = table.conditionsLeftOut
        counters.beaconsLeftOut = table.beaconsLeftOut
        counters.trackersGivenUp = table.trackersGivenUp
        counters.clearsGivenUp = delivery.guessesGivenUp
        return counters
    }

    /// Whether a message waits to be published.
    package var hasChanges: Bool { delivery.waiting > 0 || optionsToCome != nil }

    private var healthTopics: [PresentTopic] {
        (0..<(homeAssistant?.health.count ?? 0)).map { .healthEntity($0) }
    }

    // All topics that have a message, in the order in which they are published again.
    private func liveTopics() -> [PresentTopic] {
        let (states, entities) = table.liveTopics()
        return states + healthTopics + entities
    }

    private func exists(_ topic: PresentTopic) -> Bool {
        switch topic {
        case .condition, .beacon, .tracker, .conditionEntity, .trackerEntity: table.exists(topic)
        case .healthEntity(let index): homeAssistant.map { index < $0.health.count } ?? false
        case .leftBehind: false
        }
    }
}

// MARK: - Lines

extension PresentState {
    /// Takes one complete line of the event files, with or without its envelope and its line feed.
    ///
    /// Lines that were taken before and lines without a sequence number change nothing. Lines of another program, and
    /// lines with another sequence number, are counted.
    ///
    /// - Parameters:
    ///   - line: the bytes of the line.
    ///   - number: its sequence number.
    package mutating func take(_ line: [UInt8], sequence number: Int) {
        guard number > sequence else { return }
        parser.text.bytes = line
        // Otherwise the array would be copied when the caller fills it again.
        defer { parser.text.bytes = [] }
        guard parser.parse(), parser.head.sequence == number else {
            linesIgnored += 1
            return
        }
        if sequence > 0, number > sequence + 1 {
            gaps += 1
            table.doubtAll(since: parser.head.date, sequence: number)
            touchChanges()
        }
        sequence = number
        let isUnderstood: Bool
        switch parser.head.kind {
        case .event: isUnderstood = takeEvent()
        case .condition: isUnderstood = takeChange()
        case .visit: isUnderstood = takeVisit()
        case .adapter, .clock, .gateway, .ranging, .evidence, .erased: isUnderstood = true
        // A type of a later version of the program.
        case nil: isUnderstood = true
        }
        if !isUnderstood { linesIgnored += 1 }
        touchChanges()
    }

    /// Takes a `condition` line: added, replaced, changed or removed (rules C2, C3).
    ///
    /// - Returns: whether the line is valid.
    private mutating func takeChange() -> Bool {
        guard let (identifier, monitor, condition) = subject(),
            let change = parser.text.find("change", in: parser.payload)
        else { return false }
        if parser.text.isText("removed", at: change) {
            table.remove(identifier)
        } else if parser.text.isText("added", at: change) || parser.text.isText("replaced", at: change) {
            let settings = parser.text.find("settings", in: parser.payload)
            let assumed = settings.flatMap { parser.text.state(parser.text.find("assuming", in: $0)) } ?? .unknown
            var own = SubjectPresence(state: assumed, date: parser.head.date, sequence: sequence)
            own.isAssumed = assumed != .unknown
            table.forgetBeacons(of: identifier)
            table.put(identifier, monitor, condition, own)
        } else if parser.text.isText("changed", at: change) {
            // The settings of the condition have changed, not its state. A condition without an earlier line has no
            // known state.
            if table.conditions[identifier] == nil { table.put(identifier, monitor, condition, unknownPresence) }
        } else {
            return false
        }
        return true
    }

    /// Takes an `event` line of a condition, or of a beacon under it (rule P1).
    ///
    /// - Returns: whether the line is valid.
    private mutating func takeEvent() -> Bool {
        guard let (identifier, monitor, condition) = subject(),
            let state = parser.text.state(parser.text.find("state", in: parser.payload))
        else { return false }
        let scope = parser.text.find("scope", in: parser.payload)
        let presence = SubjectPresence(
            state: state, date: parser.head.date, sequence: sequence,
            refinement: parser.text.beacon(parser.text.find("refinement", in: parser.payload)),
            lastSeen: parser.text.date(parser.text.find("lastSeen", in: parser.payload)),
            diagnostics: parser.text.diagnostics(parser.text.find("diagnostics", in: parser.payload)))
        if parser.text.isText("condition", at: scope) {
            table.put(identifier, monitor, condition, presence)
            return true
        }
        guard parser.text.isText("beacon", at: scope), let beacon = presence.refinement, state != .unmonitored else {
            return false
        }
        if table.conditions[identifier] == nil {
            table.put(identifier, monitor, condition, unknownPresence)
            guard table.conditions[identifier] != nil else { return true }
        }
        table.put(beacon, under: identifier, presence)
        return true
    }

    /// Takes a `visit` line. A visit that ended without an exit event is the last line about its beacon, so the topics
    /// of the beacon are cleared (rules C3, P4).
    ///
    /// - Returns: whether the line is valid.
    private mutating func takeVisit() -> Bool {
        guard let (identifier, _, _) = subject(), let reason = parser.text.find("reason", in: parser.payload) else {
            return false
        }
        guard parser.text.isText("beacon", at: parser.text.find("scope", in: parser.payload)),
            !parser.text.isText("exitTimeout", at: reason), !parser.text.isText("left", at: reason)
        else { return true }
        guard let beacon = parser.text.beacon(parser.text.find("refinement", in: parser.payload)) else { return false }
        table.forget(beacon, under: identifier)
        return true
    }

    private var unknownPresence: SubjectPresence {
        SubjectPresence(state: .unknown, date: parser.head.date, sequence: sequence)
    }

    private func subject() -> (identifier: Identifier, monitor: String, condition: Condition)? {
        guard let text = parser.text.string(parser.text.find("identifier", in: parser.payload)),
            let identifier = try? Identifier(text),
            let monitor = parser.text.string(parser.text.find("monitor", in: parser.payload)),
            (try? Identifier(monitor)) != nil,
            let condition = parser.text.condition(parser.text.find("condition", in: parser.payload))
        else { return nil }
        return (identifier, monitor, condition)
    }

    /// Changes the states to those of the engine. Conditions and beacons that the engine does not have are removed.
    ///
    /// Use it if lines are missing, or if the oldest were deleted before retained topics were configured. States that
    /// agree are not published again. The present lines must be taken first, because only they name the beacons that
    /// entered and exited.
    ///
    /// - Parameters:
    ///   - snapshot: the engine's state.
    ///   - number: the sequence number of the last line that led to it.
    ///   - offset: how far the wall clock is ahead of the snapshot's timeline.
    /// - Returns: `false` if a later line was taken already, so that nothing changed.
    @discardableResult
    package mutating func adopt(_ snapshot: MonitorSnapshot, at number: Int, offset: ClockOffset) -> Bool {
        guard number >= sequence else { return false }
        sequence = number
        linesIgnored += table.adopt(snapshot, offset: offset)
        touchChanges()
        return true
    }

    /// Sets the names of beacons. The messages of beacons whose names have changed are published again.
    ///
    /// Names are not part of ``encoded``, because the configuration sets them at each start.
    package mutating func name(_ names: [BeaconIdentity: PublishedName]) {
        let former = self.names
        self.names = names
        table.touchRenamed { former[$0] != names[$0] }
        touchChanges()
    }

    /// Removes an erased beacon, and clears its topics.
    package mutating func forget(_ beacon: BeaconIdentity) {
        table.forget(beacon)
        touchChanges()
    }
}

// MARK: - Delivery

extension PresentState {
    /// Appends the next messages: retained, QoS 1, each topic at most once with its present payload. An empty payload
    /// clears a topic.
    ///
    /// A topic is not returned again before it is acknowledged or ``reconnected()`` is called.
    ///
    /// - Parameters:
    ///   - limit: the maximum number of messages.
    ///   - publications: the array to append to.
    package mutating func nextChanges(_ limit: Int, into publications: inout [Publication]) {
        guard limit > 0, hasChanges else { return }
        if let optionsToCome { change(to: optionsToCome) }
        var writer = PresentStateWriter(options)
        for _ in 0..<limit {
            guard let topic = delivery.next() else { return }
            let name = name(of: topic)
            publications.append(
                Publication(
                    topic: name, payload: payload(of: topic, &writer), quality: .atLeastOnce, isRetained: true))
            delivery.handOut(topic, as: name)
        }
    }

    /// Takes the broker's acknowledgement of the last message under `topic`.
    package mutating func acknowledge(_ topic: String) {
        guard let topic = delivery.acknowledge(topic), !exists(topic) else { return }
        delivery.drop(topic)
        if case .leftBehind = topic { leftBehindCount -= 1 }
    }

    /// Notes a new connection: earlier messages will not be acknowledged, so they are published again.
    package mutating func reconnected() { delivery.loseInFlight() }

    /// Publishes all topics again, because the broker may have lost them.
    package mutating func repeatAll() {
        reconnected()
        if let optionsToCome { change(to: optionsToCome) }
        for topic in liveTopics() { touch(topic) }
    }

    private mutating func touchChanges() {
        for change in table.takeChanges() { touch(change.topic, exists: change.exists) }
    }

    private mutating func touch(_ topic: PresentTopic) {
        if homeAssistant != nil || !topic.isForHomeAssistant { touch(topic, exists: exists(topic)) }
    }

    private mutating func touch(_ topic: PresentTopic, exists: Bool) {
        delivery.touch(topic, exists: exists, mayBeHeld: sequence <= lastWritten)
        guard exists, leftBehindCount > 0 else { return }
        let leftBehind = PresentTopic.leftBehind(Array(name(of: topic).utf8))
        if delivery.isOwed(leftBehind) {
            delivery.drop(leftBehind)
            leftBehindCount -= 1
        }
    }

    private mutating func touchHealth() {
        for topic in healthTopics { touch(topic) }
    }

    /// Changes the options. Topics that have no message any more are cleared, and all others are published again.
    private mutating func change(to options: PresentStateOptions) {
        optionsToCome = nil
        let former = liveTopics().map { (topic: $0, name: name(of: $0)) }
        let (formerAvailability, formerStatus) = (self.options.availabilityTopic, self.options.statusTopic)
        self.options = options
        homeAssistant = HomeAssistantDiscovery(options, key: key)
        table.setKeepsTrackers(homeAssistant != nil)
        for (topic, name) in former where !exists(topic) || !self.name(of: topic).utf8.elementsEqual(name.utf8) {
            delivery.drop(topic)
            leaveBehind(name)
        }
        if !options.availabilityTopic.utf8.elementsEqual(formerAvailability.utf8) {
            // The owner of the connection publishes these two under their new names.
            leaveBehind(formerAvailability)
            leaveBehind(formerStatus)
        }
        for topic in liveTopics() { touch(topic) }
    }

    /// Clears a topic of former options.
    private mutating func leaveBehind(_ name: String) {
        let topic = PresentTopic.leftBehind(Array(name.utf8))
        guard !name.isEmpty, !delivery.isOwed(topic) else { return }
        delivery.deliver(topic)
        delivery.touch(topic, exists: false, mayBeHeld: true)
        leftBehindCount += 1
    }

    private func name(of topic: PresentTopic) -> String {
        switch topic {
        case .condition(let identifier): options.stateTopic(identifier)
        case .beacon(let identifier, let beacon): options.stateTopic(identifier, beacon)
        case .tracker(let identifier, let beacon): options.trackerTopic(identifier, beacon)
        case .conditionEntity(let identifier): homeAssistant?.topic(of: identifier) ?? ""
        case .trackerEntity(let identifier, let beacon): homeAssistant?.topic(of: beacon, under: identifier) ?? ""
        case .healthEntity(let index): homeAssistant?.topic(ofHealth: index) ?? ""
        case .leftBehind(let bytes): String(decoding: bytes, as: UTF8.self)
        }
    }

    private func payload(of topic: PresentTopic, _ writer: inout PresentStateWriter) -> [UInt8] {
        guard exists(topic) else { return [] }
        switch topic {
        case .condition(let identifier):
            guard let condition = table.conditions[identifier] else { return [] }
            return writer.state(identifier, condition, condition.own, isBeacon: false, publishedName(condition.own))
        case .beacon(let identifier, let beacon), .tracker(let identifier, let beacon):
            guard let condition = table.conditions[identifier],
                let presence = table.tracked(beacon, under: identifier)
            else { return [] }
            return writer.state(identifier, condition, presence, isBeacon: true, publishedName(presence))
        case .conditionEntity(let identifier): return homeAssistant?.entity(of: identifier) ?? []
        case .trackerEntity(let identifier, let beacon):
            return homeAssistant?.entity(of: beacon, under: identifier, called: names[beacon]?.name) ?? []
        case .healthEntity(let index): return homeAssistant?.entity(ofHealth: index) ?? []
        case .leftBehind: return []
        }
    }

    private func publishedName(_ presence: SubjectPresence) -> PublishedName? {
        presence.refinement.flatMap { names[$0] }
    }
}

// MARK: - Storing

extension PresentState {
    /// Creates a state that continues from ``encoded``.
    ///
    /// If the options have changed, the first message applies them: topics that are not used any more are cleared, and
    /// all others are published again. Lines that are taken before that may have been published by the previous
    /// process. Messages that were not acknowledged are published again.
    ///
    /// - Parameters:
    ///   - options: the topics and their readers.
    ///   - bytes: the value of ``encoded``.
    ///   - lastWritten: as for a new state.
    /// - Throws: ``PresentStateError`` if the bytes are damaged, or if a later version wrote them.
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
            guard restoreCondition(text, place, &waiting) else { throw .damaged }
        }
        table.sortAwayQueue()
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
            // Versions that did not write `trackers` had zones only.
            HomeAssistantOptions(prefix: $0, trackers: trackers ?? .zones)
        }
        return former
    }

    private mutating func restoreCondition(_ text: JSONText, _ place: Int, _ waiting: inout [PresentTopic]) -> Bool {
        guard let identifier = text.string(text.find("identifier", in: place)).flatMap({ try? Identifier($0) }),
            let monitor = text.string(text.find("monitor", in: place)),
            let condition = text.condition(text.find("condition", in: place)), let own = Self.presence(text, place)
        else { return false }
        var presence = ConditionPresence(monitor: monitor, condition: condition, own: own)
        for name in Self.owed(text, place) {
            waiting.append(name == "entity" ? .conditionEntity(identifier) : .condition(identifier))
        }
        typealias Beacons = WritableKeyPath<ConditionPresence, [BeaconIdentity: SubjectPresence]>
        for (key, beacons) in [("beacons", \.beacons), ("away", \.away)] as [(StaticString, Beacons)] {
            for place in text.elements(of: text.find(key, in: place)) {
                guard let subject = Self.presence(text, place), let beacon = subject.refinement else { return false }
                presence[keyPath: beacons][beacon] = subject
                for name in Self.owed(text, place) {
                    switch name {
                    case "entity": waiting.append(.trackerEntity(identifier, beacon))
                    case "tracker": waiting.append(.tracker(identifier, beacon))
                    default: waiting.append(.beacon(identifier, beacon))
                    }
                }
            }
        }
        return table.restore(identifier, presence)
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

    /// The bytes to store: JSON, the same bytes for the same state.
    ///
    /// They contain every topic that the broker may have, so that each of them can be cleared later.
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
            // One condition per line, so that people can read it.
            buffer.objects("conditions", table.conditions.keys.sorted(), onLines: true) { write($1, into: &$0) }
            let owedHealth = (0..<healthTopics.count).filter { delivery.isOwed(.healthEntity($0)) }
            buffer.array("health", owedHealth) { $0.append($1) }
            let cleared = delivery.owed.filter { !exists($0) }.map { name(of: $0) }
                .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
            buffer.array("cleared", cleared, onLines: true) { $0.string($1) }
        }
        buffer.append(byte: 0x0A)
        return buffer.bytes
    }

    private func write(_ identifier: Identifier, into buffer: inout LineBuffer) {
        guard let presence = table.conditions[identifier] else { return }
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
