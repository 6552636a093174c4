/// The documentation of one setting. Every key must have one.
package struct SettingNote: Sendable {
    /// The value of a setting that the file does not have.
    package enum Default: Sendable, Equatable {
        /// The file must have the setting.
        case required
        /// This value, which the file could also have.
        case value(String)
        /// A description of the default.
        case words(String)
    }

    /// The type and the bounds of the value.
    package let type: SettingType
    /// The default.
    package let absent: Default
    /// The description. Text between back-quotes is code.
    package let text: String

    init(_ type: SettingType, _ absent: Default, _ text: String) {
        self.type = type
        self.absent = absent
        self.text = text
    }
}

/// One map of the file, for the documentation.
package struct SettingSection: Sendable {
    /// The path: `mqtt.tls`; empty for the top level of the file.
    package let path: String
    /// The description.
    package let text: String
    /// The keys in the order of the documentation, each with its note.
    package let settings: [(name: String, note: SettingNote)]

    init<Key: SettingKey>(_ path: String, _ keys: [Key], _ text: String) {
        self.path = path
        self.text = text
        settings = keys.map { ($0.name, $0.note) }
    }
}
