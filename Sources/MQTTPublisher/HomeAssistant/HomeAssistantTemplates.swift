/// The Jinja templates with which Home Assistant reads the payloads. `value_json` is the payload if it is JSON.
///
/// Each template must also accept an empty payload, which is a topic that was cleared. Then `value_json` is not
/// defined. Home Assistant ignores an empty result, and its sensors treat `None` as *unknown*.
enum HomeAssistantTemplates {
    /// The availability of a condition or beacon: `online` only if its state is known.
    static let availability = """
        {{ 'online' if value_json is defined and value_json.state in ['satisfied', 'unsatisfied'] else 'offline' }}
        """

    /// The presence of a condition.
    static let presence = """
        {% if value_json is defined %}\
        {{ {'satisfied': 'ON', 'unsatisfied': 'OFF'}.get(value_json.state, 'None') }}\
        {% endif %}
        """

    /// Returns the template for a condition's attributes, with the name and group of the beacon if they may be
    /// published.
    static func attributes(withNames: Bool) -> String {
        """
        {% if value_json is defined %}\
        {{ {'since': value_json.date | default(none), 'last_seen': value_json.lastSeen | default(none), \
        'beacon': value_json.refinement | default(none), \(withNames ? names : "")\
        'assumed': value_json.assumed | default(false), 'diagnostics': value_json.diagnostics} | tojson }}\
        {% else %}{}{% endif %}
        """
    }

    private static let names =
        "'called': value_json.name | default(none), 'group': value_json.group | default(none), "

    /// The state of a tracker: a word that Home Assistant defines, or `None` if the state is unknown.
    ///
    /// No other result is allowed. Home Assistant would use another word as the name of a place, and for an empty
    /// result it would use the payload itself.
    static let tracker = """
        {% if value_json is defined %}\
        {{ {'satisfied': 'home', 'unsatisfied': 'not_home'}.get(value_json.state, 'None') }}\
        {% else %}None{% endif %}
        """

    /// Returns the template for a tracker's zones and its other attributes. If the state of the beacon is unknown, the
    /// result has no attributes.
    static func zones(withNames: Bool) -> String {
        """
        {% if value_json is defined and value_json.state in ['satisfied', 'unsatisfied'] %}\
        {{ {'in_zones': ['zone.home'] if value_json.state == 'satisfied' else [], \
        'since': value_json.date | default(none), 'last_seen': value_json.lastSeen | default(none), \
        'beacon': value_json.refinement | default(none), \(withNames ? names : "")\
        'diagnostics': value_json.diagnostics} | tojson }}\
        {% else %}{}{% endif %}
        """
    }
}
