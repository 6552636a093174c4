import BeaconMonitoring
import BluetoothLE
import EventLog

/// What Home Assistant is told of a gateway, its conditions and its beacons: topics and payloads of MQTT discovery.
///
/// One message an entity, the keys spelled out. `docs/home-assistant.schema.json` says what there may be, and whence that
/// is known.
struct HomeAssistantDiscovery: Sendable {
    // A status comes every minute. Five missing ones say that it does not come any more.
    private static let statusExpiresAfter = 300

    private let prefix: String
    private let options: PresentStateOptions
    private let node: String
    // What the messages of all entities end with: the device, and who tells of it.
    private let ending: [UInt8]

    /// The entities that tell the gateway's health.
    let health = HomeAssistantHealth.all

    /// What is to be told; `nil` where Home Assistant is not.
    ///
    /// - Parameters:
    ///   - options: what is published.
    ///   - key: what it knows the gateway by. A gateway that is renamed keeps it, and with it all that was made of its
    ///     entities.
    init?(_ options: PresentStateOptions, key: String) {
        guard let homeAssistant = options.homeAssistant else { return nil }
        prefix = homeAssistant.prefix
        self.options = options
        node = HomeAssistantName.part(key)
        var buffer = LineBuffer(capacity: 1024)
        buffer.append(",\"qos\":1,\"device\":{\"identifiers\":[\"beacon-gateway")
        buffer.append(escaped: HomeAssistantName.separator + node)
        buffer.append("\"],\"name\":\"")
        buffer.append(escaped: options.gateway.text)
        buffer.append("\",\"manufacturer\":\"beacon-gateway\",\"model\":\"Beacon gateway\"")
        if !options.version.isEmpty {
            buffer.append(",\"sw_version\":\"")
            buffer.append(escaped: options.version)
            buffer.append(octet: UInt8(ascii: "\""))
        }
        buffer.append("},\"origin\":{\"name\":\"beacon-gateway\"")
        if !options.version.isEmpty {
            buffer.append(",\"sw_version\":\"")
            buffer.append(escaped: options.version)
            buffer.append(octet: UInt8(ascii: "\""))
        }
        buffer.append("}}")
        ending = buffer.bytes
    }

    /// What tells a condition's entity from the gateway's others.
    private func object(of identifier: Identifier) -> String {
        ["condition", HomeAssistantName.part(identifier.text)].joined(separator: HomeAssistantName.separator)
    }

    /// What tells a beacon's.
    private func object(of beacon: BeaconIdentity, under identifier: Identifier) -> String {
        ["beacon", HomeAssistantName.part(identifier.text), "\(beacon.uuid)", "\(beacon.major)", "\(beacon.minor)"]
            .joined(separator: HomeAssistantName.separator)
    }

    private func topic(_ component: String, _ object: String) -> String {
        "\(prefix)/\(component)/\(node)/\(object)/config"
    }

    /// Where it is told of a condition.
    func topic(of identifier: Identifier) -> String { topic("binary_sensor", object(of: identifier)) }

    /// Where it is told of a beacon.
    func topic(of beacon: BeaconIdentity, under identifier: Identifier) -> String {
        topic("device_tracker", object(of: beacon, under: identifier))
    }

    /// Where it is told of something that tells the gateway's health.
    func topic(ofHealth index: Int) -> String {
        health.indices.contains(index) ? topic(health[index].component, "health_-\(health[index].id)") : ""
    }

    /// A condition: whether somebody is there.
    func entity(of identifier: Identifier) -> [UInt8] {
        var buffer = begin(identifier.text, object(of: identifier))
        let topic = options.stateTopic(identifier)
        buffer.append(",\"device_class\":\"presence\"")
        buffer.append("state_topic", topic)
        buffer.append("value_template", HomeAssistantTemplates.presence)
        buffer.append("json_attributes_topic", topic)
        buffer.append("json_attributes_template", HomeAssistantTemplates.attributes)
        appendAvailability(of: topic, into: &buffer)
        buffer.append(ending)
        return buffer.bytes
    }

    /// A beacon: where it is.
    ///
    /// Home Assistant's released versions make it of a state topic. A proposed change reads zones out of the attributes
    /// instead and warns of state topics: both are there, unless the zones alone are asked for.
    func entity(of beacon: BeaconIdentity, under identifier: Identifier) -> [UInt8] {
        var buffer = begin("\(identifier) \(beacon.major)/\(beacon.minor)", object(of: beacon, under: identifier))
        let topic = options.trackerTopic(identifier, beacon)
        buffer.append(",\"source_type\":\"bluetooth_le\"")
        if options.homeAssistant?.trackers == .state {
            buffer.append("state_topic", topic)
            buffer.append("value_template", HomeAssistantTemplates.tracker)
        }
        buffer.append("json_attributes_topic", topic)
        buffer.append("json_attributes_template", HomeAssistantTemplates.zones)
        appendAvailability(of: topic, into: &buffer)
        buffer.append(ending)
        return buffer.bytes
    }

    /// Something that tells the gateway's health.
    func entity(ofHealth index: Int) -> [UInt8] {
        guard health.indices.contains(index) else { return [] }
        let entity = health[index]
        var buffer = begin(entity.name, "health_-\(entity.id)")
        buffer.append(",\"entity_category\":\"diagnostic\"")
        for (key, json) in entity.extra {
            buffer.append(",\"")
            buffer.append(key)
            buffer.append("\":")
            buffer.append(json)
        }
        buffer.append("state_topic", options.statusTopic)
        buffer.append("value_template", entity.template)
        buffer.append(",\"expire_after\":")
        buffer.append(Self.statusExpiresAfter)
        buffer.append(",\"availability\":[{\"topic\":\"")
        buffer.append(escaped: options.availabilityTopic)
        buffer.append("\"}]")
        buffer.append(ending)
        return buffer.bytes
    }

    private func begin(_ name: String, _ object: String) -> LineBuffer {
        var buffer = LineBuffer(capacity: 2048)
        buffer.append("{\"name\":\"")
        buffer.append(escaped: name)
        buffer.append("\",\"unique_id\":\"beacon-gateway")
        buffer.append(escaped: HomeAssistantName.separator + node + HomeAssistantName.separator + object)
        buffer.append(octet: UInt8(ascii: "\""))
        return buffer
    }

    /// Both the gateway has to be there and what is so has to be known.
    private func appendAvailability(of topic: String, into buffer: inout LineBuffer) {
        buffer.append(",\"availability\":[{\"topic\":\"")
        buffer.append(escaped: options.availabilityTopic)
        buffer.append("\"},{\"topic\":\"")
        buffer.append(escaped: topic)
        buffer.append("\",\"value_template\":\"")
        buffer.append(escaped: HomeAssistantTemplates.availability)
        buffer.append("\"}],\"availability_mode\":\"all\"")
    }
}

extension LineBuffer {
    /// Appends a key and its text to an object that has some already.
    fileprivate mutating func append(_ key: StaticString, _ text: String) {
        append(",\"")
        append(key)
        append("\":\"")
        append(escaped: text)
        append(octet: UInt8(ascii: "\""))
    }
}
