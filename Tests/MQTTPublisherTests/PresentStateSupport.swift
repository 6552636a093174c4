import BaseTypes
import BluetoothLE
import EventLog
import Foundation
import JSON
import Testing

@testable import BeaconMonitoring
@testable import MQTTPublisher

extension ProximityUUID {
    static let badges = ProximityUUID(high: 0xF782_6DA6_4FA2_4E98, low: 0x8024_BC5B_71E0_893E)
    static let others = ProximityUUID(high: 0x2F23_4454_CF6D_4A0F, low: 0xADF2_F491_1BA9_FFA6)
}

extension BeaconIdentity {
    static func badge(_ minor: UInt16, major: UInt16 = 100) -> BeaconIdentity {
        BeaconIdentity(uuid: .badges, major: major, minor: minor)
    }
}

extension Condition {
    static let everyBadge = Condition.beacon(BeaconMonitor.BeaconIdentityCondition(uuid: .badges))
    static let everyOther = Condition.beacon(BeaconMonitor.BeaconIdentityCondition(uuid: .others))
}

/// An engine with the monitor `site` and the adapter `hci0`, and the lines that it caused, as in the files of a
/// gateway.
struct PresentFixture {
    static let start = Instant(nanoseconds: 1_795_247_187_000_000_000)

    var engine: MonitorEngine
    private var encoder: LineEncoder
    private let options: LineEncoder.Options
    private let adapter: AdapterID
    private var buffer = ActionBuffer()
    /// All lines from sequence number 1 on, without line feeds; lost lines are empty.
    private(set) var lines: [[UInt8]] = []

    init(gateway: String = "lobby", prefix: String = "beacons", envelope: Bool = true, maxBeacons: Int = 10_000) throws
    {
        var settings = EngineSettings()
        settings.maxBeacons = maxBeacons
        engine = MonitorEngine(settings: settings, start: Self.start)
        try engine.addMonitor(Identifier("site"))
        var actions = ActionBuffer()
        adapter = try engine.adapter(named: "hci0", at: Self.start, into: &actions)
        var options = LineEncoder.Options(gateway: try Identifier(gateway))
        options.prefix = prefix
        options.boot = "5f0c5f0c-5f0c5f0c"
        options.envelope = envelope
        self.options = options
        encoder = Self.encoder(options, adapter, after: 0)
        listening(true, at: 0)
    }

    mutating func listening(_ isListening: Bool, at second: Double) {
        perform { fixture, actions in
            fixture.engine.listening(
                ListeningChange(isListening ? .started : .stopped(since: nil), adapter: fixture.adapter),
                at: Self.time(second), into: &actions)
        }
    }

    mutating func add(
        _ identifier: String, _ condition: Condition = .everyBadge, assuming: BeaconMonitor.Event.State = .unknown,
        perBeacon: Bool = false,
        exitTimeout: Duration = .seconds(30), at second: Double
    ) throws {
        var settings = ConditionSettings()
        settings.exitTimeout = exitTimeout
        settings.perBeacon = perBeacon
        let (name, site) = (try Identifier(identifier), try Identifier("site"))
        try perform { fixture, actions in
            try fixture.engine.add(
                condition, identifier: name, monitor: site, assuming: assuming, settings: settings,
                at: Self.time(second), into: &actions)
        }
    }

    mutating func remove(_ identifier: String, at second: Double) throws {
        let name = try Identifier(identifier)
        try perform { fixture, actions in try fixture.engine.remove(name, at: Self.time(second), into: &actions) }
    }

    mutating func sighted(_ beacon: BeaconIdentity = .badge(7), at second: Double) {
        perform { fixture, actions in
            fixture.engine.sighted(
                Sighting(
                    time: Self.time(second), adapter: fixture.adapter, beacon: beacon, measuredPower: -59,
                    rssi: RSSI(dBm: -61)),
                into: &actions)
        }
    }

    mutating func name(_ beacons: Set<BeaconIdentity>, at second: Double) {
        perform { fixture, actions in fixture.engine.name(beacons, at: Self.time(second), into: &actions) }
    }

    mutating func advance(to second: Double) {
        perform { fixture, actions in fixture.engine.advance(to: Self.time(second), into: &actions) }
    }

    /// Appends lines that are lost, so that no reader receives them.
    mutating func lose(_ count: Int) {
        for _ in 0..<count { lines.append([]) }
        encoder = Self.encoder(options, adapter, after: lines.count)
    }

    private static func encoder(_ options: LineEncoder.Options, _ adapter: AdapterID, after number: Int) -> LineEncoder
    {
        var encoder = LineEncoder(options, after: number)
        encoder.name(adapter, "hci0")
        return encoder
    }

    private mutating func perform<Failure: Error>(
        _ body: (inout PresentFixture, inout ActionBuffer) throws(Failure) -> Void
    ) throws(Failure) {
        var actions = buffer
        actions.removeAll()
        try body(&self, &actions)
        for action in actions.actions {
            var line = LineBuffer(capacity: 1024)
            encoder.encode(action, into: &line)
            guard line.count > 0 else { continue }
            lines.append(Array(line.bytes.dropLast()))
        }
        buffer = actions
    }

    static func time(_ second: Double) -> Instant { start + .nanoseconds(Int64(second * 1_000_000_000)) }
}

/// A broker that stores retained messages, and records all messages that it received.
struct RetainingBroker {
    private(set) var retained: [String: String] = [:]
    private(set) var messages: [Publication] = []

    mutating func receive(_ publication: Publication) {
        #expect(publication.isRetained && publication.quality == .atLeastOnce)
        #expect(!publication.topic.isEmpty && !publication.topic.contains { "+#".contains($0) })
        messages.append(publication)
        let payload = String(decoding: publication.payload, as: UTF8.self)
        retained[publication.topic] = payload.isEmpty ? nil : payload
    }

    /// Returns the topics that have a message and contain `part`, sorted.
    func topics(_ part: String = "") -> [String] { retained.keys.filter { part.isEmpty || $0.contains(part) }.sorted() }

    func states(_ part: String = "/state/") throws -> [String: String] {
        var states: [String: String] = [:]
        for topic in topics(part) { states[topic] = try presentObject(retained[topic] ?? "")["state"] as? String }
        return states
    }
}

extension PresentState {
    /// Takes all lines that were not lost. Lines that it already has change nothing.
    mutating func follow(_ fixture: PresentFixture) {
        for (index, line) in fixture.lines.enumerated() where !line.isEmpty { take(line, sequence: index + 1) }
    }

    /// Publishes all waiting messages to the broker, and acknowledges them.
    mutating func deliver(to broker: inout RetainingBroker, batch: Int = 7) {
        var publications: [Publication] = []
        repeat {
            publications.removeAll(keepingCapacity: true)
            nextChanges(batch, into: &publications)
            #expect(publications.count <= batch)
            for publication in publications { broker.receive(publication) }
            for publication in publications { acknowledge(publication.topic) }
        } while !publications.isEmpty
        #expect(!hasChanges)
    }
}

enum PresentOptions {
    static func make(
        gateway: String = "lobby", prefix: String = "beacons", homeAssistant: Bool = true,
        trackers: HomeAssistantOptions.Trackers = .state, names: Bool = false
    ) throws -> PresentStateOptions {
        var options = PresentStateOptions(prefix: prefix, gateway: try Identifier(gateway), version: "1.2.3")
        options.names = names
        options.homeAssistant = homeAssistant ? HomeAssistantOptions(trackers: trackers) : nil
        return options
    }
}

func presentObject(_ text: some StringProtocol) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any], "\(text)")
}
