import GatewayConfiguration

/// Checks the parser of configuration files. It must return a configuration with a monitor, or at least one error. All
/// errors and warnings must be within the file and in its order, and each must be one line.
func fuzzConfiguration(_ input: Span<UInt8>) {
    let bytes = bytes(input, from: 0)
    switch Configuration.parse(bytes, file: "gateway.yaml") {
    case .success(let configuration):
        precondition(!configuration.monitors.isEmpty, "a configuration has no monitor")
        check(configuration.warnings, in: bytes)
    case .failure(let errors):
        precondition(!errors.listed.isEmpty, "a configuration was refused without an error")
        precondition(errors.more == 0 || errors.listed.count == ConfigurationErrors.listedMost)
        precondition(!errors.description.isEmpty)
        check(errors.listed, in: bytes)
    }
}

private func check(_ issues: [ConfigurationIssue], in bytes: [UInt8]) {
    precondition(issues.count <= ConfigurationErrors.listedMost)
    let lines = bytes.count { $0 == 0x0A || $0 == 0x0D } + 1
    var last = Position(line: 1, column: 1)
    for issue in issues {
        precondition(issue.position >= last, "a message is not in the order of the file")
        precondition(issue.line <= lines && issue.column <= bytes.count + 1, "a position is outside of the file")
        precondition(!issue.message.isEmpty && !issue.description.contains("\n"), "a message is not one line")
        last = issue.position
    }
}
