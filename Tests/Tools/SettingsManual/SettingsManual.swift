/// Writes the documents that are made of the configuration's setting table, and of the kinds of messages.
@main struct SettingsManual {
    static func main() {
        switch CommandLine.arguments.dropFirst() {
        case ["markdown"]: print(MarkdownManual.text, terminator: "")
        case ["man"]: print(ManualPage.text, terminator: "")
        case ["messages"]: print(MessagesManual.markdown, terminator: "")
        case ["catalog"]: print(MessagesManual.catalog, terminator: "")
        default: print("settings-manual markdown | man | messages | catalog: what `make manual` writes")
        }
    }
}

/// What both documents say around the table.
enum Words {
    static let opening = [
        "`beacon-gateway` reads its configuration from `/etc/beacon-gateway/gateway.yaml`, or from the file of `--config`.",
        "`beacon-gateway check` lists all errors with their lines; `systemctl reload beacon-gateway` applies a changed file.",
        "The installed sample has all settings.",
    ].joined(separator: " ")

    /// What holds where a setting is absent, in words.
    static func absent(_ value: SettingNoteDefault) -> String {
        switch value {
        case .required: "required"
        case .value(let text): "`\(text)`"
        case .words(let text): text
        }
    }
}
