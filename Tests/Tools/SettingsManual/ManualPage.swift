import GatewayConfiguration

/// The text of `docs/gateway.yaml.5`, in man(7).
enum ManualPage {
    static var text: String {
        var text = """
            .\\" Made of the setting table in Sources/GatewayConfiguration by `make manual`; change it there.
            .TH GATEWAY.YAML 5 "" beacon-gateway "File formats"
            .SH NAME
            gateway.yaml \\- configuration of beacon\\-gateway
            .SH DESCRIPTION
            \(roff(Words.opening))
            .SS How values are written

            """
        for (name, meaning) in SettingTable.types { text += ".TP\n.I \(name)\n\(roff(meaning))\n" }
        text += ".SH SETTINGS\n"
        for section in SettingTable.sections { text += self.text(of: section) }
        return text + """
            .SH FILES
            .TP
            .I /etc/beacon\\-gateway/gateway.yaml
            The configuration of the service.
            .SH SEE ALSO
            .BR systemctl (1)

            """
    }

    private static func text(of section: SettingSection) -> String {
        var text = ".SS \(section.path.isEmpty ? "The file" : roff(section.path))\n\(roff(section.text))\n"
        for (name, note) in section.settings {
            text += """
                .TP
                .B \(roff(name))
                \(roff(note.type.words)); \(note.absent == .required ? "" : "default: ")\(roff(Words.absent(note.absent))).
                \(roff(note.text))

                """
        }
        return text
    }

    /// Returns the text with the parts in back-quotes in bold, and with roff's special characters escaped.
    private static func roff(_ text: String) -> String {
        var result = ""
        var isCode = false
        for character in text {
            switch character {
            case "`":
                isCode.toggle()
                result += isCode ? "\\fB" : "\\fR"
            case "\\": result += "\\e"
            case "-": result += "\\-"
            case "…": result += "\\[u2026]"
            case "−": result += "\\[u2212]"
            case "°": result += "\\[u00B0]"
            default: result.append(character)
            }
        }
        return result.hasPrefix(".") || result.hasPrefix("'") ? "\\&\(result)" : result
    }
}
