import BeaconMonitoring
import BluetoothLE
import JSON

/// The topics and payloads of MQTT discovery, which describe a gateway, its conditions and its beacons to Home
/// Assistant.
///
/// There is one message for each entity, and its keys are not abbreviated. `docs/home-assistant.schema.json` describes
/// the allowed content and its sources.
struct HomeAssistantDiscovery: Sendable {
    // In seconds. The status is published every minute, so five missing ones mean that it is not published any more.
    private static let statusExpiresAfter = 300

    private let prefix: String
    private let options: PresentStateOptions
    private let node: String
    /// The entities that show the health of the gateway.
    let health = HomeAssistantHealth.all

    /// Creates the discovery messages of a gateway; `nil` if Home Assistant is not configured.
    ///
    /// - Parameters:
    ///   - options: the topics and their readers.
    ///   - key: the identity of the gateway in Home Assistant. It must stay the same if the gateway is renamed, so that
    ///     all customizations of its entities are preserved.
    init?(_ options: PresentStateOptions, key: String) {
        guard let homeAssistant = options.homeAssistant else { return nil }
        prefix = homeAssistant.prefix
        self.options = options
        node = HomeAssistantName.part(key)
    }

    /// Returns the object ID of a condition's entity, which is unique within the gateway.
    private func object(of identifier: Identifier) -> String {
        ["condition", HomeAssistantName.part(identifier.text)].joined(separator: HomeAssistantName.separator)
    }

    /// Returns the object ID of a beacon's entity, which is unique within the gateway.
    private func object(of beacon: BeaconIdentity, under identifier: Identifier) -> String {
        (["beacon", HomeAssistantName.part(identifier.text)] + beacon.texts).joined(
            separator: HomeAssistantName.separator)
    }

    private func topic(_ component: String, _ object: String) -> String {
        "\(prefix)/\(component)/\(node)/\(object)/config"
    }

    /// Returns the discovery topic of a condition.
    func topic(of identifier: Identifier) -> String { topic("binary_sensor", object(of: identifier)) }

    /// Returns the discovery topic of a beacon.
    func topic(of beacon: BeaconIdentity, under identifier: Identifier) -> String {
        topic("device_tracker", object(of: beacon, under: identifier))
    }

    /// Returns the discovery topic of a health entity; empty if there is none with this index.
    func topic(ofHealth index: Int) -> String {
        health.indices.contains(index) ? topic(health[index].component, "health_-\(health[index].id)") : ""
    }

    /// Returns the discovery payload of a condition: whether a beacon is present.
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

    /// Returns the discovery payload of a beacon: its location.
    ///
    /// Released versions of Home Assistant read the location from a state topic. A proposed change reads zones from the
    /// attributes instead, and logs a warning for each state topic. The payload supports both, unless only zones are
    /// configured.
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

    /// Returns the discovery payload of a health entity; empty if there is none with this index.
    func entity(ofHealth index: Int) -> [UInt8] {
        guard health.indices.contains(index) else { return [] }
        let item = health[index]
        return entity(item.name, "health_-\(item.id)") { buffer in
            buffer.write("entity_category", word: "diagnostic")
            for (key, json) in item.extra {
                buffer.key(key)
                buffer.append(json)
            }
            buffer.write("state_topic", options.statusTopic)
            buffer.write("value_template", item.template)
            buffer.write("expire_after", Self.statusExpiresAfter)
            buffer.objects("availability", [options.availabilityTopic]) { $0.write("topic", $1) }
        }
    }

    /// Returns a discovery payload: the keys that `body` writes, with the names, the device and the origin that all
    /// entities have.
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

    /// Writes the availability. The entity is available only if the gateway is online and the state is known.
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
