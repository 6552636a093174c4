import BaseTypes
package import BeaconMonitoring
import BluetoothLE
package import JSON

/// Decodes lines, with or without an envelope.
///
/// Unknown keys are ignored. A line without a key that its type requires is not valid.
package struct LineParser: Sendable {
    /// The types of lines.
    package enum Kind: CaseIterable, Sendable {
        case event, visit, condition, adapter, clock, gateway, ranging, evidence, erased

        var word: StaticString {
            switch self {
            case .event: "event"
            case .visit: "visit"
            case .condition: "condition"
            case .adapter: "adapter"
            case .clock: "clock"
            case .gateway: "gateway"
            case .ranging: "ranging"
            case .evidence: "evidence"
            case .erased: "erased"
            }
        }

        // Created once, not for each line.
        static let all = Array(allCases)
    }

    /// The start of all lines, and the time at which they were made.
    package struct Head: Sendable {
        /// The type; `nil` for a type that is unknown to this version of the program, and for lines of a higher
        /// ``LineVersion``.
        package var kind: Kind?
        /// The version of the schema.
        package var version: Int
        /// The number; `nil` if the line has none.
        package var sequence: Int?
        /// The date of the line as printed.
        package var date: WallDate
        /// The time on the timeline in microseconds.
        var monotonic: Int64

        /// The time of the line, on its own timeline.
        var time: Instant { Instant(nanoseconds: monotonic.multipliedReportingOverflow(by: 1000).partialValue) }
        /// The clock offset for all dates of the line, computed from values that are cut to microseconds (rule T1).
        var offset: ClockOffset {
            let (nanoseconds, overflow) = date.microseconds.multipliedReportingOverflow(by: 1000)
            return ClockOffset(nanoseconds: overflow ? 0 : nanoseconds &- time.nanoseconds)
        }
    }

    /// The bytes of the line. The caller sets them, then calls ``parse()``.
    package var text = JSONText()
    /// The type, version, number and dates of the line.
    package private(set) var head = Head(
        kind: nil, version: 0, sequence: nil, date: WallDate(microseconds: 0), monotonic: 0)
    /// Whether to read the addresses of sightings.
    var readsAddresses = true
    /// Whether to read the sightings of events.
    var readsSightings = true
    /// The place of the payload.
    package private(set) var payload = 0
    private var bootPlace: Int?
    private var gatewayPlace: Int?
    /// The adapters named in lines, each with an ID of its own.
    private(set) var adapters = AdapterNames()

    /// Creates a parser that has read no line.
    package init() {}

    /// The number of damaged bytes before the line, which ``parse()`` has removed from ``text``.
    package private(set) var passedOver = 0
    /// Whether the last parsed text is a valid line except for its number, which is above the highest possible one.
    private(set) var numberIsTooGreat = false

    /// Parses the line.
    ///
    /// If the end of a line is damaged, the next line follows in the same text. Then that line is parsed.
    ///
    /// - Returns: false if the text is not a line.
    package mutating func parse() -> Bool {
        passedOver = 0
        numberIsTooGreat = false
        if parseWhole() { return true }
        // The start of an envelope or a payload occurs once in a line, because quotation marks in strings are escaped.
        for beginning: StaticString in ["{\"topic\":\"", "{\"version\":"] where !numberIsTooGreat {
            guard let place = text.last(beginning), place > 0 else { continue }
            // The payload of a damaged envelope does not count as a line.
            if text.bytes[..<place].last == UInt8(ascii: ":") { continue }
            let whole = text.bytes
            text.bytes.removeFirst(place)
            passedOver = place
            if parseWhole() { return true }
            text.bytes = whole
            passedOver = 0
        }
        return false
    }

    private mutating func parseWhole() -> Bool {
        guard text.parse() else { return false }
        payload = text.find("payload", in: 0) ?? 0
        var places = HeadPlaces()
        text.eachMember(of: payload) { places.note($0, $1, text) }
        bootPlace = places.boot
        gatewayPlace = places.gateway
        guard let version = text.integer(places.version), let type = places.type, let date = text.date(places.date),
            let monotonic = text.integer(places.monotonic, as: Int64.self),
            (0...9_000_000_000_000_000).contains(monotonic)
        else { return false }
        var sequence: Int?
        if let place = places.sequence {
            guard let number = text.integer(place), number > 0 else { return false }
            numberIsTooGreat = number > LinePosition.sequenceMax
            guard !numberIsTooGreat else { return false }
            sequence = number
        }
        let kind = version <= LineVersion.current ? Kind.all.first { text.isText($0.word, at: type) } : nil
        head = Head(kind: kind, version: version, sequence: sequence, date: date, monotonic: monotonic)
        return true
    }

    /// The boot ID of the start that wrote the line; empty in a replay.
    var boot: String { text.string(bootPlace) ?? "" }

    /// The gateway that wrote the line; empty if the line does not name it.
    var gateway: String { text.string(gatewayPlace) ?? "" }

    /// Returns true if the gateway with this name wrote the line.
    func isOf(gateway: [UInt8]) -> Bool {
        guard let gatewayPlace else { return gateway.isEmpty }
        return text.isText(gateway, at: gatewayPlace)
    }

    /// Returns true if the line was written in the start with this boot ID.
    func isOf(boot: [UInt8]) -> Bool {
        guard let bootPlace else { return boot.isEmpty }
        return text.isText(boot, at: bootPlace)
    }

    func string(_ key: StaticString) -> String? { text.string(text.find(key, in: payload)) }

    /// Returns a date of the line as a time on its timeline.
    func instant(_ key: StaticString) -> Instant? {
        text.date(text.find(key, in: payload)).map { Instant(remembered: $0, offset: head.offset) }
    }

    /// Returns the value whose word is in the member `key`.
    private func choice<Value>(_ key: StaticString, of values: [Value], _ word: (Value) -> StaticString) -> Value? {
        let place = text.find(key, in: payload)
        return values.first { text.isText(word($0), at: place) }
    }

    // MARK: Evidence

    /// Decodes the evidence of an `evidence` line.
    func evidence() -> Evidence? {
        guard let event = text.integer(text.find("event", in: payload)), let monitor = string("monitor"),
            let identifier = string("identifier"), let rule = string("rule"), let gaps = text.find("gaps", in: payload)
        else { return nil }
        func duration(_ key: StaticString) -> Duration? {
            text.microseconds(text.find(key, in: gaps)).map { .microseconds($0) }
        }
        func share(in gaps: Int) -> Evidence.Share? {
            guard let place = text.find("longerThanTimeout", in: gaps),
                let count = text.integer(text.find("count", in: place)),
                let total = text.integer(text.find("total", in: place)), total > 0, count >= 0, count <= total
            else { return nil }
            return Evidence.Share(count: count, total: total)
        }
        return Evidence(
            event: event, monitor: monitor, identifier: identifier, rule: rule, time: head.time,
            clockOffset: head.offset,
            holders: text.elements(of: text.find("holders", in: payload)).compactMap { place in
                guard let adapter = text.string(text.find("adapter", in: place)),
                    let date = text.date(text.find("lastRefresh", in: place)),
                    let listened = text.microseconds(text.find("listened", in: place))
                else { return nil }
                return Evidence.Holder(
                    adapter: adapter, lastRefresh: Instant(remembered: date, offset: head.offset),
                    listened: .microseconds(listened))
            },
            sightings: text.elements(of: text.find("sightings", in: payload)).compactMap { place in
                guard let adapter = text.string(text.find("adapter", in: place)),
                    let date = text.date(text.find("date", in: place))
                else { return nil }
                return Evidence.LastSighting(
                    time: Instant(remembered: date, offset: head.offset), adapter: adapter,
                    rssi: text.rssi(text.find("rssi", in: place)))
            },
            gaps: Evidence.Gaps(
                count: text.integer(text.find("count", in: gaps)) ?? 0, median: duration("median"),
                p99: duration("p99"), maximum: duration("maximum"), longerThanTimeout: share(in: gaps)))
    }
}

/// The places of the members of a line's head, found in one pass. If a key occurs twice, the first one counts.
private struct HeadPlaces {
    var version: Int?
    var type: Int?
    var boot: Int?
    var gateway: Int?
    var sequence: Int?
    var date: Int?
    var monotonic: Int?

    @inline(__always)
    mutating func note(_ key: Int, _ value: Int, _ text: borrowing JSONText) {
        switch text.length(key) {
        case 4:
            if text.isText("type", at: key) {
                type = type ?? value
            } else if text.isText("date", at: key) {
                date = date ?? value
            } else if text.isText("boot", at: key) {
                boot = boot ?? value
            }
        case 7:
            if text.isText("version", at: key) {
                version = version ?? value
            } else if text.isText("gateway", at: key) {
                gateway = gateway ?? value
            }
        case 8: if text.isText("sequence", at: key) { sequence = sequence ?? value }
        case 9: if text.isText("monotonic", at: key) { monotonic = monotonic ?? value }
        default: break
        }
    }
}

/// The adapters named in lines, numbered in the order of their first use.
struct AdapterNames: Sendable {
    /// Further names count as one adapter without a name. A gateway distinguishes 255.
    static let countMax = 4096

    private(set) var names: [String] = [""]
    private var places: [String: Int] = [:]

    mutating func adapter(named name: String) -> AdapterID {
        if let place = places[name] { return AdapterID(index: place) }
        guard names.count <= Self.countMax else { return AdapterID(index: 0) }
        places[name] = names.count
        names.append(name)
        return AdapterID(index: names.count - 1)
    }

    func name(of adapter: AdapterID) -> String {
        Int(adapter.index) < names.count ? names[Int(adapter.index)] : ""
    }
}

// Decoding of each type of line.
extension LineParser {
    /// Decodes the event of an `event` line.
    mutating func event() -> BeaconMonitor.Event? { event(in: payload, time: head.time, offset: head.offset) }

    /// Decodes the event in the object at `place`.
    mutating func event(in place: Int, time: Instant, offset: ClockOffset) -> BeaconMonitor.Event? {
        guard let monitor = text.string(text.find("monitor", in: place)),
            let identifier = text.string(text.find("identifier", in: place)),
            let state = text.state(text.find("state", in: place)),
            let condition = text.condition(text.find("condition", in: place))
        else { return nil }
        let scope: Scope = text.isText("beacon", at: text.find("scope", in: place)) ? .beacon : .condition
        let refinement = text.beacon(text.find("refinement", in: place))
        if scope == .beacon, refinement == nil { return nil }
        var previous: BeaconMonitor.Event.Previous?
        if let object = text.find("previous", in: place), let state = text.state(text.find("state", in: object)),
            let date = text.date(text.find("date", in: object))
        {
            previous = BeaconMonitor.Event.Previous(state: state, date: date)
        }
        let lastSeen = text.date(text.find("lastSeen", in: place)).map { Instant(remembered: $0, offset: offset) }
        return BeaconMonitor.Event(
            monitor: monitor, identifier: identifier, scope: scope, state: state, time: time, clockOffset: offset,
            condition: condition, refinement: refinement, previous: previous,
            sighting: sighting(in: place, of: refinement ?? condition.anyBeacon, at: lastSeen ?? time),
            lastSeen: lastSeen, diagnostics: text.diagnostics(text.find("diagnostics", in: place)))
    }

    private mutating func sighting(in place: Int, of beacon: BeaconIdentity, at time: Instant) -> Sighting? {
        guard readsSightings, let object = text.find("sighting", in: place),
            let adapter = text.string(text.find("adapter", in: object))
        else { return nil }
        // It may be absent, but a present value must be valid.
        let powerPlace = text.find("measuredPower", in: object)
        let power = text.integer(powerPlace, as: Int8.self)
        guard powerPlace == nil || power != nil else { return nil }
        var sighting = Sighting(
            time: time, adapter: adapters.adapter(named: adapter), beacon: beacon, measuredPower: power,
            rssi: text.rssi(text.find("rssi", in: object)))
        if readsAddresses, let address = text.string(text.find("address", in: object)) {
            sighting.address = DeviceAddress(address, kind: .unspecified)
        }
        return sighting
    }

    /// Decodes the visit of a `visit` line.
    func visit() -> Visit? {
        guard let monitor = string("monitor"), let identifier = string("identifier"),
            let condition = text.condition(text.find("condition", in: payload)),
            let sightings = text.integer(text.find("sightings", in: payload)), sightings >= 0,
            let reason = choice(
                "reason", of: [Visit.Reason.exitTimeout, .left, .removed, .replaced, .displaced], \.word)
        else { return nil }
        let refinement = text.beacon(text.find("refinement", in: payload))
        let scope: Scope = text.isText("beacon", at: text.find("scope", in: payload)) ? .beacon : .condition
        if scope == .beacon, refinement == nil { return nil }
        return Visit(
            monitor: monitor, identifier: identifier, scope: scope, time: head.time, clockOffset: head.offset,
            condition: condition, refinement: refinement, arrival: instant("arrival"), departure: instant("departure"),
            sightings: sightings, strength: text.strength(text.find("rssi", in: payload), count: sightings),
            reason: reason)
    }

    /// Decodes the change of a condition from a `condition` line.
    func conditionChange() -> ConditionChange? {
        guard let monitor = string("monitor"), let identifier = string("identifier"),
            let condition = text.condition(text.find("condition", in: payload)),
            let place = text.find("settings", in: payload), let settings = text.settings(place),
            let kind = choice("change", of: [ConditionChange.Kind.added, .replaced, .changed, .removed], \.word)
        else { return nil }
        return ConditionChange(
            monitor: monitor, identifier: identifier, kind: kind, time: head.time, clockOffset: head.offset,
            condition: condition, settings: settings, assumed: text.state(text.find("assuming", in: place)))
    }

    /// Decodes the change of an adapter from an `adapter` line.
    func adapterChange() -> AdapterChange? {
        guard let adapter = string("adapter"), let since = instant("since"),
            let state = choice("state", of: [AdapterChange.State.listening, .deaf, .off, .gone], \.word)
        else { return nil }
        return AdapterChange(
            adapter: adapter, address: string("address").flatMap { DeviceAddress($0, kind: .unspecified) },
            state: state,
            since: since, reason: string("reason"), time: head.time, clockOffset: head.offset)
    }

    /// Decodes the change of the wall clock from a `clock` line.
    func clockChange() -> ClockChange? {
        guard let before = text.microseconds(text.find("offsetBefore", in: payload)),
            let after = text.microseconds(text.find("offsetAfter", in: payload)),
            let isSynchronized = text.bool(text.find("synchronized", in: payload))
        else { return nil }
        let scaled = (before.multipliedReportingOverflow(by: 1000), after.multipliedReportingOverflow(by: 1000))
        guard !scaled.0.overflow, !scaled.1.overflow else { return nil }
        return ClockChange(
            before: ClockOffset(nanoseconds: scaled.0.partialValue),
            after: ClockOffset(nanoseconds: scaled.1.partialValue), isSynchronized: isSynchronized, time: head.time)
    }
}

extension LineParser {
    /// Decodes the start or stop of the gateway from a `gateway` line.
    func gatewayChange() -> GatewayChange? {
        let state = text.find("state", in: payload)
        let kind: GatewayChange.Kind
        if text.isText("started", at: state), let program = string("program") {
            kind = .started(program: program, configuration: string("configuration"), until: instant("until"))
        } else if text.isText("stopped", at: state), let reason = string("reason") {
            kind = .stopped(reason: reason)
        } else {
            return nil
        }
        return GatewayChange(kind, at: head.time, clockOffset: head.offset)
    }
}

extension Condition {
    /// A beacon that the condition matches, for lines that do not name one.
    var anyBeacon: BeaconIdentity {
        switch self {
        case .beacon(let identity):
            BeaconIdentity(uuid: identity.uuid, major: identity.major ?? 0, minor: identity.minor ?? 0)
        case .circle: BeaconIdentity(uuid: ProximityUUID(high: 0, low: 0), major: 0, minor: 0)
        }
    }
}
