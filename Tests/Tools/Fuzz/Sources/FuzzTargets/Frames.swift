import BluetoothLE

/// One frame: its first octet says what the sniffer said of the CRC, and how far into the input the frame begins.
func fuzzFrames(_ input: Span<UInt8>) {
    guard input.count >= 1 else { return }
    let checks: [FrameCheck] = [.valid, .unchecked, .invalid, .valid]
    let start = min(1 + Int(input[0] >> 4), input.count)
    do {
        let report = try LinkLayerPDU.advertisingReport(
            of: input, in: start..<input.count, rssi: nil, check: checks[Int(input[0] & 0x3)])
        guard let report else { return }
        precondition(report.data.lowerBound >= start + 6 && report.data.upperBound <= input.count)
        checkStructures(input.extracting(report.data))
        var assembler = ExtendedReportAssembler()
        let isWhole = assembler.take(report, adapter: 0, time: nil, of: input)
        precondition(isWhole == assembler.isIdle)
    } catch {
        precondition(!error.description.isEmpty)
    }
}
