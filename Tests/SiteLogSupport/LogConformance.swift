internal import SiteMonitoring

/// The conformance tests that every log of a site must pass, each with a separate ``LogFixture``.
package enum LogConformance: String, CaseIterable, Sendable {
    case `an empty log has no data and reports that`
    case `batches are read in their order with unchanged bytes`
    case `batches sent without waiting are stored in the order of sending`
    case `a read request respects its bounds, and the next one continues after it`
    case `a waiting reader receives the batches that another client stores`
    case `a batch that is sent twice is stored once`
    case `batches with different gateway, boot or sequence are different`
    case `a batch may be empty or have the size of the limit, but not more`
    case `all clients can read the holder of the lease, and the holder renews it`
    case `a released lease is free, and its revisions increase`
    case `an expired lease can be acquired by another client, and its old holder loses it`
    case `a holder that requests the lease again acquires it again`
    case `a snapshot can be read only after its last piece is stored`
    case `two snapshots written at the same time do not affect each other`
    case `the last two complete snapshots are kept`
    case `a snapshot that is started again contains nothing of its earlier pieces`
    case `a snapshot's last piece that is sent twice changes nothing`
    case `a value is replaced only if the stored revision is the expected one`
    case `oversized data and requests over the limit are refused before they are sent`
    case `the log describes its storage`

    /// The tests that do not depend on the speed of time. For the others, a log in real time is too slow or too fast.
    package static let untimed = allCases.filter {
        $0 != .`an expired lease can be acquired by another client, and its old holder loses it`
    }

    /// Runs the test on a log.
    ///
    /// - Throws: ``ConformanceError``, or the error of the log.
    package func run(_ fixture: any LogFixture) async throws {
        switch self {
        case .`an empty log has no data and reports that`: try await empty(fixture)
        case .`batches are read in their order with unchanged bytes`: try await order(fixture)
        case .`batches sent without waiting are stored in the order of sending`: try await pipelined(fixture)
        case .`a read request respects its bounds, and the next one continues after it`: try await bounds(fixture)
        case .`a waiting reader receives the batches that another client stores`: try await patience(fixture)
        case .`a batch that is sent twice is stored once`: try await repetition(fixture)
        case .`batches with different gateway, boot or sequence are different`: try await keys(fixture)
        case .`a batch may be empty or have the size of the limit, but not more`: try await sizes(fixture)
        case .`all clients can read the holder of the lease, and the holder renews it`: try await holding(fixture)
        case .`a released lease is free, and its revisions increase`: try await release(fixture)
        case .`an expired lease can be acquired by another client, and its old holder loses it`:
            try await expiry(fixture)
        case .`a holder that requests the lease again acquires it again`: try await again(fixture)
        case .`a snapshot can be read only after its last piece is stored`: try await whole(fixture)
        case .`two snapshots written at the same time do not affect each other`: try await twoWriters(fixture)
        case .`the last two complete snapshots are kept`: try await kept(fixture)
        case .`a snapshot that is started again contains nothing of its earlier pieces`: try await startedAgain(fixture)
        case .`a snapshot's last piece that is sent twice changes nothing`: try await lastPieceAgain(fixture)
        case .`a value is replaced only if the stored revision is the expected one`: try await values(fixture)
        case .`oversized data and requests over the limit are refused before they are sent`: try await refusals(fixture)
        case .`the log describes its storage`: try await description(fixture)
        }
    }
}

/// The error that a log does not pass a conformance test.
package struct ConformanceError: Error, CustomStringConvertible {
    package let description: String
}

/// Compares two values.
///
/// - Throws: ``ConformanceError`` if they are not equal.
func expect<Value: Equatable>(_ found: Value, is expected: Value, _ what: String = "", line: Int = #line) throws {
    guard found == expected else {
        throw ConformanceError(description: "line \(line): \(what) is \(found), expected \(expected)")
    }
}

extension LogPage {
    /// The bytes of its batches as text.
    var texts: [String] { entries.map { String(decoding: $0.bytes, as: UTF8.self) } }
    /// The numbers of its batches.
    var numbers: [UInt64] { entries.map(\.number) }
}

extension LogDriver {
    /// Stores a batch.
    @discardableResult
    func append(_ sequence: UInt64, _ text: String, gateway: String = "lobby", boot: UInt128 = 1) async throws
        -> LogResponse
    {
        try await ask(
            .append(BatchKey(gateway: LogName(gateway), boot: boot, sequence: sequence), Array(text.utf8)))
    }

    /// Reads batches.
    func batches(
        from: UInt64, countMax: Int = 256, bytesMax: Int = 4 << 20, patience: Duration = .zero
    ) async throws -> LogPage {
        let range = LogRange(from: from, countMax: countMax, bytesMax: bytesMax, patience: patience)
        guard case .batches(let page) = try await ask(.readBatches(range)) else {
            throw ConformanceError(description: "the answer to a read request is not a page of batches")
        }
        return page
    }

    /// Sends a request for the lease, and returns the lease's state.
    func lease(_ request: LogRequest) async throws -> LeaseState {
        guard case .lease(let state) = try await ask(request) else {
            throw ConformanceError(description: "the answer to \(request) is not a lease")
        }
        return state
    }

    /// Sends a request for the lease, which must return it.
    func heldLease(_ request: LogRequest) async throws -> Lease {
        let state = try await lease(request)
        guard case .held(let lease) = state else { throw ConformanceError(description: "\(request): \(state)") }
        return lease
    }

    /// Writes pieces of a snapshot from an index on. If `whole` is true, the last of them completes it.
    func write(_ name: SnapshotName, _ pieces: [String], from: Int = 0, whole: Bool = true) async throws {
        for (index, text) in pieces.enumerated() {
            let isLast = whole && index == pieces.count - 1
            let piece = SnapshotPiece(name, index: from + index, isLast: isLast, bytes: Array(text.utf8))
            try expect(try await ask(.writeSnapshot(piece)), is: .stored)
        }
    }

    /// Returns the text of a complete snapshot; `nil` if it was deleted.
    func text(_ name: SnapshotName, pieces: Int) async throws -> String? {
        var text = ""
        for index in 0..<pieces {
            guard case .piece(let bytes) = try await ask(.readSnapshot(name, index: index)) else {
                throw ConformanceError(description: "the answer to a read request is not a piece of a snapshot")
            }
            guard let bytes else { return nil }
            text += String(decoding: bytes, as: UTF8.self)
        }
        return text
    }
}
