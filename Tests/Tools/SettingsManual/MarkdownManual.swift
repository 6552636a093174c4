import GatewayConfiguration

typealias SettingNoteDefault = SettingNote.Default

/// The text of `docs/configuration.md`.
enum MarkdownManual {
    static var text: String {
        var text = """
            # Configuration

            <!-- Made of the setting table in Sources/GatewayConfiguration by `make manual`; change it there. -->

            After this page you can write and check the configuration of a gateway.

            ```
            $ cat gateway.yaml
            mqtt: {host: 192.0.2.7, port: 70000}
            conditions: []
            $ beacon-gateway check gateway.yaml
            gateway.yaml:1:31: mqtt.port is 70000; expected 1…65535
            ```

            \(Words.opening) It is [Config/gateway.yaml](../Config/gateway.yaml), and `man 5 gateway.yaml` is this page.

            How values are written:

            | value | form |
            |---|---|

            """
        for (name, meaning) in SettingTable.types { text += "| \(name) | \(meaning) |\n" }
        for section in SettingTable.sections { text += self.text(of: section) }
        return text
    }

    private static func text(of section: SettingSection) -> String {
        var text = "\n## \(section.path.isEmpty ? "The file" : "`\(section.path)`")\n\n\(section.text)\n"
        guard !section.settings.isEmpty else { return text }
        text += "\n| setting | value | default | meaning |\n|---|---|---|---|\n"
        for (name, note) in section.settings {
            text += "| `\(name)` | \(note.type.words) | \(Words.absent(note.absent)) | \(note.text) |\n"
        }
        return text
    }
}
