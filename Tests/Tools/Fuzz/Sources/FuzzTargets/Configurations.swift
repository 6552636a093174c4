import GatewayConfiguration

/// One configuration file.
func fuzzConfiguration(_ input: Span<UInt8>) {
    let bytes = octets(input, from: 0)
    switch Configuration.parse(bytes, file: "gateway.yaml") {
    case .success(let configuration):
        precondition(!configuration.monitors.isEmpty, "a configuration without a monitor")
        check(configuration.warnings, in: bytes)
    case .failure(let mistakes):
        precondition(!mistakes.listed.isEmpty, "refused without a mistake")
        precondition(mistakes.more == 0 || mistakes.listed.count == Mistakes.listedMost)
        precondition(!mistakes.description.isEmpty)
        check(mistakes.listed, in: bytes)
    }
}

private func check(_ mistakes: [Mistake], in bytes: [UInt8]) {
    precondition(mistakes.count <= Mistakes.listedMost)
    let lines = bytes.count { $0 == 0x0A || $0 == 0x0D } + 1
    var last = Position(line: 1, column: 1)
    for mistake in mistakes {
        precondition(mistake.position >= last, "not in the order of the file")
        precondition(mistake.line <= lines && mistake.column <= bytes.count + 1, "outside of the file")
        precondition(!mistake.message.isEmpty && !mistake.description.contains("\n"), "no line of its own")
        last = mistake.position
    }
}
