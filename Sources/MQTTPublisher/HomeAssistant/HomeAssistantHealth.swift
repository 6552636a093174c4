/// An entity for the health of the gateway, which Home Assistant reads from the topic `status`
/// (`docs/status.schema.json`).
struct HomeAssistantHealth: Sendable {
    /// The kind of entity: `binary_sensor` or `sensor`.
    let component: String
    /// The ID, which must be unique among these entities and must never change.
    let id: String
    /// The name of the entity for users.
    let name: String
    /// The additional keys of this entity, each with its value in JSON.
    let extra: [(key: StaticString, json: StaticString)]
    /// The Jinja expression of the value, which reads `value_json`.
    let expression: String

    /// The template of the value. If the payload is empty, the value is *unknown*.
    var template: String { "{% if value_json is defined %}{{ \(expression) }}{% else %}None{% endif %}" }

    /// Returns an entity that shows a problem if the status has a flag.
    private static func problem(_ id: String, _ name: String, flag: String) -> HomeAssistantHealth {
        HomeAssistantHealth(
            component: "binary_sensor", id: id, name: name, extra: [("device_class", "\"problem\"")],
            expression: "'ON' if '\(flag)' in value_json.diagnostics else 'OFF'")
    }

    /// Returns an entity for a counter in the `mqtt` section of the status.
    private static func broker(_ id: String, _ name: String, _ key: String) -> HomeAssistantHealth {
        HomeAssistantHealth(
            component: "sensor", id: id, name: name, extra: [("state_class", "\"total_increasing\"")],
            expression: "(value_json.mqtt | default({})).\(key) | default('None')")
    }

    /// All entities. The stored state identifies those that the broker does not have yet by their index, so new ones
    /// must be added at the end.
    static let all: [HomeAssistantHealth] = [
        HomeAssistantHealth(
            component: "binary_sensor", id: "listening", name: "Scanning", extra: [("device_class", "\"running\"")],
            expression: "'ON' if value_json.state == 'listening' else 'OFF'"),
        HomeAssistantHealth(
            component: "sensor", id: "adapters", name: "Adapters scanning",
            extra: [("state_class", "\"measurement\"")],
            expression:
                "value_json.adapters | default([]) | selectattr('state', 'eq', 'listening') | list | length"),
        problem("storage", "Storage", flag: "persistenceUnavailable"),
        problem("clock", "Clock", flag: "clockUnsynchronized"),
        problem("hearing", "Reception", flag: "accuracyLimited"),
        HomeAssistantHealth(
            component: "sensor", id: "waiting", name: "Lines waiting for the disk",
            extra: [("state_class", "\"measurement\"")],
            expression: "value_json.output.sequence - value_json.output.durableSequence"),
        HomeAssistantHealth(
            component: "sensor", id: "backlog", name: "Lines waiting for the broker",
            extra: [("state_class", "\"measurement\"")],
            expression: "(value_json.mqtt | default({})).backlog | default('None')"),
        HomeAssistantHealth(
            component: "sensor", id: "dropped", name: "Lines lost", extra: [("state_class", "\"total_increasing\"")],
            expression: "value_json.output.dropped"),
        HomeAssistantHealth(
            component: "sensor", id: "started", name: "Last restart", extra: [("device_class", "\"timestamp\"")],
            expression: "value_json.started | default('None')"),
        // It changes with each status, and a history would store every value. Therefore it is disabled until a user
        // enables it.
        HomeAssistantHealth(
            component: "sensor", id: "uptime", name: "Uptime",
            extra: [
                ("device_class", "\"duration\""), ("unit_of_measurement", "\"s\""),
                ("suggested_display_precision", "0"), ("enabled_by_default", "false"),
            ],
            expression: "value_json.uptime"),
        // While there is no connection, no new status arrives. Then this entity is unavailable, like all others.
        HomeAssistantHealth(
            component: "binary_sensor", id: "broker", name: "Broker connection",
            extra: [("device_class", "\"connectivity\"")],
            expression:
                "('ON' if value_json.mqtt.version is defined else 'OFF') if value_json.mqtt is defined else 'None'"
        ),
        HomeAssistantHealth(
            component: "binary_sensor", id: "delivery", name: "Delivery to the broker",
            extra: [("device_class", "\"problem\"")],
            expression:
                "('ON' if value_json.mqtt.trouble is defined or value_json.mqtt.localTrouble is defined else 'OFF') "
                + "if value_json.mqtt is defined else 'None'"),
        broker("shipped", "Last published line", "shipped"),
        broker("missed", "Lines missed by the publisher", "missed"),
        broker("refusals", "Messages rejected by the broker", "refusals"),
        broker("connections", "Connections to the broker", "connections"),
    ]
}
