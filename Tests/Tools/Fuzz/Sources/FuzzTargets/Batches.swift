import SiteMonitoring

/// Checks the parser of batches. `input` is the part of a batch between its version and its check (CRC-32).
///
/// If the parser accepts the batch, it must be written with the same bytes. Its inputs must be in the order of their
/// times, and within the period of the batch.
/// - Returns: whether libFuzzer should keep the input; true for a valid batch, and if the input is shorter than 512
///   bytes.
func fuzzBatch(_ input: Span<UInt8>) -> Bool {
    let raw = bytes(input, from: 0)
    // A client that does not know the format can send any bytes, so the input is also parsed as it is.
    _ = read(raw)
    let body = [0x42, 0x47, 0x53, 0x42, 1] + raw
    let check = CRC32.of(body)
    let whole = body + stride(from: 0, to: 32, by: 8).map { UInt8(truncatingIfNeeded: check >> $0) }
    guard let batch = read(whole) else { return raw.count < 512 }
    precondition(batch.bytes == whole, "a batch has two encodings")
    var last = batch.span.from
    for input in batch.inputs {
        precondition(last <= input.time && input.time <= batch.span.completeTo, "an input has an invalid time")
        last = input.time
    }
    return true
}

private func read(_ bytes: [UInt8]) -> Batch? {
    do throws(BatchFormatError) { return try Batch(bytes: bytes) } catch {
        precondition(!error.description.isEmpty, "an error has no description")
        return nil
    }
}
