import SiteMonitoring

/// What stands in a batch between its version and its check.
///
/// What is read is written as it was, and says nothing outside of its time; and what it says is in order.
func fuzzBatch(_ input: Span<UInt8>) -> Bool {
    let raw = octets(input, from: 0)
    // As somebody sends it who knows nothing of checks.
    _ = read(raw)
    let body = [0x42, 0x47, 0x53, 0x42, 1] + raw
    let check = CRC32.of(body)
    let whole = body + stride(from: 0, to: 32, by: 8).map { UInt8(truncatingIfNeeded: check >> $0) }
    guard let batch = read(whole) else { return raw.count < 512 }
    precondition(batch.octets == whole, "a batch with two spellings")
    var last = batch.span.from
    for input in batch.inputs {
        precondition(last <= input.time && input.time <= batch.span.completeTo, "not in order, or not of its time")
        last = input.time
    }
    return true
}

private func read(_ octets: [UInt8]) -> Batch? {
    do throws(BatchFormatError) { return try Batch(octets: octets) } catch {
        precondition(!error.description.isEmpty, "refused without a reason")
        return nil
    }
}
