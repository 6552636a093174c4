/// What Home Assistant makes of our payloads: Jinja templates, with `value_json` where a payload is JSON.
///
/// Each of them has to make something of an empty payload too, which is a topic that was cleared: there `value_json` is
/// not defined. A result that is empty is ignored by Home Assistant, `None` is *unknown* to its sensors.
enum HomeAssistantTemplates {
    /// A subject's availability: only where it is known whether somebody is there.
    static let availability = """
        {{ 'online' if value_json is defined and value_json.state in ['satisfied', 'unsatisfied'] else 'offline' }}
        """

    /// A condition's presence.
    static let presence = """
        {% if value_json is defined %}\
        {{ {'satisfied': 'ON', 'unsatisfied': 'OFF'}.get(value_json.state, 'None') }}\
        {% endif %}
        """

    /// What is shown beside it; what the beacon is called too, where it may be said.
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

    /// A tracker's state: the words that Home Assistant makes it of, and `None` where nobody knows. It must never be
    /// anything else, nor empty: what is no such word is taken for the name of a place, or the payload itself is.
    static let tracker = """
        {% if value_json is defined %}\
        {{ {'satisfied': 'home', 'unsatisfied': 'not_home'}.get(value_json.state, 'None') }}\
        {% else %}None{% endif %}
        """

    /// A tracker's zones, and what is shown beside them. Where it is not known where the beacon is, it says nothing.
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
