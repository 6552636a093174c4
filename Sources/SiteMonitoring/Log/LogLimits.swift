/// What may be asked of a log, and how long what it gives lasts.
package struct LogLimits: Sendable, Hashable {
    /// Of a batch, octets. A server of NATS takes messages of 1 MiB where nobody says otherwise; half of it is a batch.
    package var batchOctetsMax = 512 << 10
    /// Of a snapshot's piece, octets.
    package var pieceOctetsMax = 512 << 10
    /// Of a snapshot: at the most that a piece may have, 8 GiB.
    package var piecesMax = 1 << 14
    /// Of a small value, octets.
    package var valueOctetsMax = 64 << 10
    /// How many requests may wait for their answers; what is asked for beyond is refused.
    package var requestsMax = 256
    /// How many octets they may have together.
    package var requestOctetsMax = 16 << 20
    /// How long a lease lasts that is not renewed.
    package var leaseTime = Duration.seconds(5)
    /// For how long a batch that is sent again is known for the same. It has to be longer than any retry of a connection that
    /// holds; NATS keeps it for two minutes where nobody says otherwise.
    package var repeatWindow = Duration.seconds(120)
    /// How long a request may be without an answer before it is answered with ``LogTrouble/unanswered(_:)``.
    package var answerTime = Duration.seconds(5)
    /// How long a reading may wait for what is to come.
    package var patienceMax = Duration.seconds(30)

    /// Those that a site has.
    package init() {}

    /// How much of the bound on octets a request takes.
    package func octets(of request: LogRequest) -> Int {
        switch request {
        case .append(_, let octets), .writeValue(_, let octets, over: _): octets.count
        case .writeSnapshot(let piece): piece.octets.count
        default: 0
        }
    }

    /// Looks at whether a request keeps to these, so that every log refuses the same.
    ///
    /// - Throws: ``LogTrouble/tooBig(_:octets:most:)`` or ``LogTrouble/tooMany(_:count:most:)``.
    package func check(_ request: LogRequest) throws(LogTrouble) {
        switch request {
        case .append(let key, let octets): try check("the batch \(key)", octets, batchOctetsMax)
        case .writeValue(let key, let octets, over: _): try check("the value \(key)", octets, valueOctetsMax)
        case .writeSnapshot(let piece):
            try check("piece \(piece.index) of a snapshot", piece.octets, pieceOctetsMax)
            guard (0..<piecesMax).contains(piece.index) else {
                throw .tooMany("pieces of a snapshot", count: piece.index, most: piecesMax)
            }
        default: break
        }
    }

    private func check(_ what: String, _ octets: [UInt8], _ most: Int) throws(LogTrouble) {
        guard octets.count <= most else { throw .tooBig(what, octets: octets.count, most: most) }
    }
}
