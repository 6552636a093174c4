import OperatorLogging

/// The documents that list all kinds of messages: a page, and the journal's catalog.
enum MessagesManual {
    /// The text of `docs/messages.md`.
    static var markdown: String {
        var text = """
            <!-- Generated from Sources/OperatorLogging/MessageKind.swift by `make manual`; change it there. -->
            # Messages

            After this page you can find each kind of message of the gateway in the systemd journal, and its meaning.

            ```console
            $ journalctl -u beacon-gateway -o cat MESSAGE_ID=\(MessageKind.adapterNotScanning.identifier)
            hci0 does not scan: it was unplugged
            ```

            Under systemd, each message is an entry of the journal with fields ([systemd.journal-fields(7)](https://www.freedesktop.org/software/systemd/man/latest/systemd.journal-fields.html)): `PRIORITY`, `SYSLOG_IDENTIFIER` (`beacon-gateway` or `beacon-gateway-serve`) and `MESSAGE_ID`, the kind of the message. A `MESSAGE_ID` never changes.

            ```console
            journalctl -u beacon-gateway -p warning           # only messages that an operator must see
            journalctl -u beacon-gateway -x                   # each message with its meaning, from the catalog
            ```

            If the journal can't receive an entry, or if standard error is not the journal, the message is a line of standard error. If this line reaches the journal, it has only its priority. Messages of the priorities `info` and `debug` are logged only with `run --verbose`.

            | message | priority | meaning | MESSAGE_ID |
            |---|---|---|---|

            """
        for kind in MessageKind.allCases {
            text += "| \(words(kind)) | \(kind.level) | \(kind.meaning) | `\(kind.identifier)` |\n"
        }
        return text
    }

    /// The text of `Config/beacon-gateway.catalog`, which `journalctl -x` prints with messages (https://systemd.io/CATALOG/).
    static var catalog: String {
        var text = "# Generated from Sources/OperatorLogging/MessageKind.swift by `make manual`; change it there.\n"
        for kind in MessageKind.allCases {
            text += """

                -- \(kind.identifier)
                Subject: \(words(kind))
                Defined-By: beacon-gateway
                Documentation: man:beacon-gateway(1)

                \(kind.meaning)

                """
        }
        return text
    }

    /// Returns the kind's name in words, such as “adapter not scanning” for `adapterNotScanning`.
    private static func words(_ kind: MessageKind) -> String {
        kind.rawValue.reduce(into: "") { text, letter in
            text += letter.isUppercase ? " \(letter.lowercased())" : "\(letter)"
        }
    }
}
