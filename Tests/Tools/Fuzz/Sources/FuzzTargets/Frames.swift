import BluetoothLE

/// Checks the parser of link-layer frames with one frame. The low two bits of the first byte select the sniffer's
/// result for the CRC. Its high four bits are the number of bytes between it and the frame.
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
