import BeaconMonitoring
import GatewayConfiguration

/// Returns the errors of a text, one line each, as an operator reads them; empty if there are none.
func errors(_ text: String, deafAfterUnlessSet: Duration? = .seconds(10)) -> [String] {
    errors(Array(text.utf8), deafAfterUnlessSet: deafAfterUnlessSet)
}

func errors(_ bytes: [UInt8], deafAfterUnlessSet: Duration? = .seconds(10)) -> [String] {
    switch Configuration.parse(bytes, file: "g.yaml", deafAfterUnlessSet: deafAfterUnlessSet) {
    case .success: []
    case .failure(let errors): errors.description.split(separator: "\n").map(String.init)
    }
}

/// Returns the configuration of a text, which must not have errors.
func configuration(_ text: String, deafAfterUnlessSet: Duration? = .seconds(10)) throws -> Configuration {
    try Configuration.parse(Array(text.utf8), file: "g.yaml", deafAfterUnlessSet: deafAfterUnlessSet).get()
}

/// Returns a complete file with the given lines, and one valid condition after them.
func file(_ lines: String) -> String {
    lines + "\nconditions:\n  - identifier: a\n    uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E\n"
}

/// Returns a complete file whose only condition has the given further lines, indented by four.
func condition(_ lines: String, monitor: String = "") -> String {
    monitor + "\nconditions:\n  - identifier: a\n    uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E\n"
        + lines.split(separator: "\n").map { "    \($0)\n" }.joined()
}
