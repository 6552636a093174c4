import OperatorLogging

/// What is made of the kinds of messages: a page, and the journal's catalog.
enum MessagesManual {
    /// `docs/messages.md`.
    static var markdown: String {
        var text = """
            <!-- Made of Sources/OperatorLogging/MessageKind.swift by `make manual`; change it there. -->
            # Messages

            Under systemd each line of the log is an entry of the journal with fields of its own ([systemd.journal-fields(7)](https://www.freedesktop.org/software/systemd/man/latest/systemd.journal-fields.html)): `PRIORITY`, `SYSLOG_IDENTIFIER` (`beacon-gateway`, `beacon-gateway-serve`) and `MESSAGE_ID`, which tells what kind of message it is and never changes.

            ```console
            journalctl -u beacon-gateway -p warning           # what an operator must see, and nothing else
            journalctl MESSAGE_ID=\(MessageKind.adapterNotListening.identifier)   # when an adapter did not listen, and why
            journalctl -u beacon-gateway -x                   # each message with what it means, out of the catalog
            ```

            Where the journal can't take an entry, and where standard error goes elsewhere, the same is a line of standard error; in the journal it then has its priority alone. What is `info` or `debug` is said with `run --verbose`.

            | message | priority | what it tells | MESSAGE_ID |
            |---|---|---|---|

            """
        for kind in MessageKind.allCases {
            text += "| \(words(kind)) | \(kind.level) | \(kind.meaning) | `\(kind.identifier)` |\n"
        }
        return text
    }

    /// `Config/beacon-gateway.catalog`: what `journalctl -x` adds (https://systemd.io/CATALOG/).
    static var catalog: String {
        var text = "# Made of Sources/OperatorLogging/MessageKind.swift by `make manual`; change it there.\n"
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

    /// `adapterNotListening` as “adapter not listening”.
    private static func words(_ kind: MessageKind) -> String {
        kind.rawValue.reduce(into: "") { text, letter in
            text += letter.isUppercase ? " \(letter.lowercased())" : "\(letter)"
        }
    }
}
