/// What a document says of one setting: every key has one, so that none can come without it.
package struct SettingNote: Sendable {
    /// What holds where the file does not set it.
    package enum Default: Sendable, Equatable {
        /// The file has to set it.
        case required
        /// This value, which could as well be written.
        case value(String)
        /// What comes then, in words.
        case words(String)
    }

    /// What may stand there, and within which bounds.
    package let type: SettingType
    /// What holds where it is absent.
    package let absent: Default
    /// What it is, in a sentence or a few; what is between back-quotes stands in a file or on a command line.
    package let text: String

    init(_ type: SettingType, _ absent: Default, _ text: String) {
        self.type = type
        self.absent = absent
        self.text = text
    }
}

/// One map of the file, as a document has it.
package struct SettingSection: Sendable {
    /// The place: `mqtt.tls`; empty for the file's top level.
    package let path: String
    /// What it is for.
    package let text: String
    /// Its keys in the order in which they are explained, each with its note.
    package let settings: [(name: String, note: SettingNote)]

    init<Key: SettingKey>(_ path: String, _ keys: [Key], _ text: String) {
        self.path = path
        self.text = text
        settings = keys.map { ($0.name, $0.note) }
    }
}
