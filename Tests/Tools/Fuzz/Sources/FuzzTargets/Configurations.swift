import GatewayConfiguration

/// Checks the parser of configuration files. It must return a configuration with a monitor, or at least one error. All
/// errors and warnings must be within the file and in its order, and each must be one line.
func fuzzConfiguration(_ input: Span<UInt8>) {
    let bytes = octets(input, from: 0)
    switch Configuration.parse(bytes, file: "gateway.yaml") {
    case .success(let configuration):
        precondition(!configuration.monitors.isEmpty, "a configuration has no monitor")
        check(configuration.warnings, in: bytes)
    case .failure(let mistakes):
        precondition(!mistakes.listed.isEmpty, "a configuration was refused without an error")
        precondition(mistakes.more == 0 || mistakes.listed.count == ConfigurationErrors.listedMost)
        precondition(!mistakes.description.isEmpty)
        check(mistakes.listed, in: bytes)
    }
}

private func check(_ mistakes: [ConfigurationIssue], in bytes: [UInt8]) {
    precondition(mistakes.count <= ConfigurationErrors.listedMost)
    let lines = bytes.count { $0 == 0x0A || $0 == 0x0D } + 1
    var last = Position(line: 1, column: 1)
    for mistake in mistakes {
        precondition(mistake.position >= last, "a message is not in the order of the file")
        precondition(mistake.line <= lines && mistake.column <= bytes.count + 1, "a position is outside of the file")
        precondition(!mistake.message.isEmpty && !mistake.description.contains("\n"), "a message is not one line")
        last = mistake.position
    }
}
