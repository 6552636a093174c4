/// The limits of requests to a log, and how long leases and keys are valid.
package struct LogLimits: Sendable, Hashable {
    /// The maximum size of a batch, in bytes. A NATS server accepts messages of 1 MiB by default; a batch has at most
    /// half of that.
    package var batchBytesMax = 512 << 10
    /// The maximum size of a snapshot's piece, in bytes.
    package var pieceBytesMax = 512 << 10
    /// The maximum number of pieces of a snapshot. With pieces of the maximum size it has 8 GiB.
    package var piecesMax = 1 << 14
    /// The maximum size of a small value, in bytes.
    package var valueBytesMax = 64 << 10
    /// The maximum number of requests that wait for their answers. Further requests are refused.
    package var requestsMax = 256
    /// The maximum size of all waiting requests together, in bytes.
    package var requestBytesMax = 16 << 20
    /// How long a lease is valid if it is not renewed.
    package var leaseTime = Duration.seconds(5)
    /// How long a repeated batch is recognized by its key. It must be longer than any retry over a working connection;
    /// NATS recognizes repeated messages for two minutes by default.
    package var repeatWindow = Duration.seconds(120)
    /// How long a request can be without an answer. After that, its answer is ``SiteLogError/unanswered(_:)``.
    package var answerTime = Duration.seconds(5)
    /// The maximum time that a read request can wait for new batches.
    package var patienceMax = Duration.seconds(30)

    /// Creates the default limits.
    package init() {}

    /// Returns the size of a request that counts for ``requestBytesMax``.
    package func size(of request: LogRequest) -> Int {
        switch request {
        case .append(_, let bytes), .writeValue(_, let bytes, over: _): bytes.count
        case .writeSnapshot(let piece): piece.bytes.count
        default: 0
        }
    }

    /// Checks that a request is within the limits. All logs use this method, so they refuse the same requests.
    ///
    /// - Throws: ``SiteLogError/tooBig(_:bytes:most:)`` or ``SiteLogError/tooMany(_:count:most:)``.
    package func check(_ request: LogRequest) throws(SiteLogError) {
        switch request {
        case .append(let key, let bytes): try check("the batch \(key)", bytes, batchBytesMax)
        case .writeValue(let key, let bytes, over: _): try check("the value \(key)", bytes, valueBytesMax)
        case .writeSnapshot(let piece):
            try check("piece \(piece.index) of a snapshot", piece.bytes, pieceBytesMax)
            guard (0..<piecesMax).contains(piece.index) else {
                throw .tooMany("pieces of a snapshot", count: piece.index, most: piecesMax)
            }
        default: break
        }
    }

    private func check(_ what: String, _ bytes: [UInt8], _ most: Int) throws(SiteLogError) {
        guard bytes.count <= most else { throw .tooBig(what, bytes: bytes.count, most: most) }
    }
}
