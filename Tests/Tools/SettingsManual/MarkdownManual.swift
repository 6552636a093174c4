import GatewayConfiguration

typealias SettingNoteDefault = SettingNote.Default

/// `docs/configuration.md`.
enum MarkdownManual {
    static var text: String {
        var text = """
            # Configuration

            <!-- Made of the setting table in Sources/GatewayConfiguration by `make manual`; change it there. -->

            \(Words.opening) It is [Config/gateway.yaml](../Config/gateway.yaml), and `man 5 gateway.yaml` is this page.

            How values are written:

            | | |
            |---|---|

            """
        for (name, meaning) in SettingTable.types { text += "| \(name) | \(meaning) |\n" }
        for section in SettingTable.sections { text += self.text(of: section) }
        return text
    }

    private static func text(of section: SettingSection) -> String {
        var text = "\n## \(section.path.isEmpty ? "The file" : "`\(section.path)`")\n\n\(section.text)\n"
        guard !section.settings.isEmpty else { return text }
        text += "\n| setting | value | default | |\n|---|---|---|---|\n"
        for (name, note) in section.settings {
            text += "| `\(name)` | \(note.type.words) | \(Words.absent(note.absent)) | \(note.text) |\n"
        }
        return text
    }
}
