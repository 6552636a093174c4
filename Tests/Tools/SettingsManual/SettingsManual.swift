/// Prints the documents that are generated from the configuration's setting table and from the kinds of messages.
@main struct SettingsManual {
    static func main() {
        switch CommandLine.arguments.dropFirst() {
        case ["markdown"]: print(MarkdownManual.text, terminator: "")
        case ["man"]: print(ManualPage.text, terminator: "")
        case ["messages"]: print(MessagesManual.markdown, terminator: "")
        case ["catalog"]: print(MessagesManual.catalog, terminator: "")
        default: print("settings-manual markdown | man | messages | catalog: prints a document of `make manual`")
        }
    }
}

/// Texts of both documents about settings.
enum Words {
    static let opening = [
        "`beacon-gateway` reads its configuration from `/etc/beacon-gateway/gateway.yaml`, or from the file of `--config`.",
        "`beacon-gateway check` lists all errors with their lines; `systemctl reload beacon-gateway` applies a changed file.",
        "The installed sample has all settings.",
    ].joined(separator: " ")

    /// Returns the value that applies if a setting is absent, or that the setting is required, in words.
    static func absent(_ value: SettingNoteDefault) -> String {
        switch value {
        case .required: "required"
        case .value(let text): "`\(text)`"
        case .words(let text): text
        }
    }
}
