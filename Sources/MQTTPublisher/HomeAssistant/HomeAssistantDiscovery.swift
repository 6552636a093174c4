import BeaconMonitoring
import BluetoothLE
import JSON

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
    }

    /// What tells a condition's entity from the gateway's others.
    private func object(of identifier: Identifier) -> String {
        ["condition", HomeAssistantName.part(identifier.text)].joined(separator: HomeAssistantName.separator)
    }

    /// What tells a beacon's.
    private func object(of beacon: BeaconIdentity, under identifier: Identifier) -> String {
        (["beacon", HomeAssistantName.part(identifier.text)] + beacon.texts).joined(
            separator: HomeAssistantName.separator)
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
        let topic = options.stateTopic(identifier)
        return entity(identifier.text, object(of: identifier)) { buffer in
            buffer.write("device_class", word: "presence")
            buffer.write("state_topic", topic)
            buffer.write("value_template", HomeAssistantTemplates.presence)
            buffer.write("json_attributes_topic", topic)
            buffer.write("json_attributes_template", HomeAssistantTemplates.attributes(withNames: options.names))
            writeAvailability(of: topic, into: &buffer)
        }
    }

    /// A beacon: where it is.
    ///
    /// Home Assistant's released versions make it of a state topic. A proposed change reads zones out of the attributes
    /// instead and warns of state topics: both are there, unless the zones alone are asked for.
    func entity(of beacon: BeaconIdentity, under identifier: Identifier, called: String?) -> [UInt8] {
        let topic = options.trackerTopic(identifier, beacon)
        let name = "\(identifier) \(called ?? beacon.numbers)"
        return entity(name, object(of: beacon, under: identifier)) { buffer in
            buffer.write("source_type", word: "bluetooth_le")
            if options.homeAssistant?.trackers == .state {
                buffer.write("state_topic", topic)
                buffer.write("value_template", HomeAssistantTemplates.tracker)
            }
            buffer.write("json_attributes_topic", topic)
            buffer.write("json_attributes_template", HomeAssistantTemplates.zones(withNames: options.names))
            writeAvailability(of: topic, into: &buffer)
        }
    }

    /// Something that tells the gateway's health.
    func entity(ofHealth index: Int) -> [UInt8] {
        guard health.indices.contains(index) else { return [] }
        let told = health[index]
        return entity(told.name, "health_-\(told.id)") { buffer in
            buffer.write("entity_category", word: "diagnostic")
            for (key, json) in told.extra {
                buffer.key(key)
                buffer.append(json)
            }
            buffer.write("state_topic", options.statusTopic)
            buffer.write("value_template", told.template)
            buffer.write("expire_after", Self.statusExpiresAfter)
            buffer.objects("availability", [options.availabilityTopic]) { $0.write("topic", $1) }
        }
    }

    /// What all entities have around what `body` writes: their names, the device, and who tells of it.
    private func entity(_ name: String, _ object: String, _ body: (inout LineBuffer) -> Void) -> [UInt8] {
        let separator = HomeAssistantName.separator
        let version = options.version.isEmpty ? nil : options.version
        var buffer = LineBuffer(capacity: 2048)
        buffer.object { buffer in
            buffer.write("name", name)
            buffer.write("unique_id", "beacon-gateway" + separator + node + separator + object)
            body(&buffer)
            buffer.write("qos", 1)
            buffer.object("device") { buffer in
                buffer.write("identifiers", ["beacon-gateway" + separator + node])
                buffer.write("name", options.gateway.text)
                buffer.write("manufacturer", word: "beacon-gateway")
                buffer.write("model", word: "Beacon gateway")
                buffer.write("sw_version", version)
            }
            buffer.object("origin") { buffer in
                buffer.write("name", word: "beacon-gateway")
                buffer.write("sw_version", version)
            }
        }
        return buffer.bytes
    }

    /// Both the gateway has to be there and what is so has to be known.
    private func writeAvailability(of topic: String, into buffer: inout LineBuffer) {
        let sources: [(topic: String, template: String?)] = [
            (options.availabilityTopic, nil), (topic, HomeAssistantTemplates.availability),
        ]
        buffer.objects("availability", sources) { buffer, source in
            buffer.write("topic", source.topic)
            buffer.write("value_template", source.template)
        }
        buffer.write("availability_mode", word: "all")
    }
}
