internal import SiteMonitoring

/// What every log of a site does, whatever keeps it: each of them is held against a world of its own.
package enum LogClaim: String, CaseIterable, Sendable {
    case `an empty log has nothing, and says so`
    case `batches come back in their order with their octets`
    case `what is sent without waiting is stored in the order it was sent in`
    case `a reading keeps to its bounds, and goes on where it ended`
    case `a reader who waits gets what another client stores`
    case `a batch that is sent again is stored once`
    case `another gateway, boot or sequence is another batch`
    case `a batch may be empty, and as big as the limit, and no bigger`
    case `who has the lease is told to all, and renews it`
    case `a lease that is given back is free, and its revisions grow`
    case `a lease that runs out can be had by another, and its old holder has lost it`
    case `whoever holds the lease and asks for it again has it anew`
    case `a snapshot is read only when its last piece is there`
    case `two snapshots that are written at once do not disturb each other`
    case `of whole snapshots the last two are kept`
    case `a snapshot that is begun anew has nothing of what was there`
    case `a snapshot's last piece that is sent again changes nothing`
    case `a value is written over the one that was expected alone`
    case `what is too big or too much is refused before it is sent`
    case `the log says what keeps it`

    /// Those that hold at any speed: a log that keeps real time is too slow or too fast for the others.
    package static let untimed = allCases.filter {
        $0 != .`a lease that runs out can be had by another, and its old holder has lost it`
    }

    /// Holds a log against it.
    ///
    /// - Throws: ``LogClaimBroken``, or what the log threw.
    package func hold(_ world: any LogWorld) async throws {
        switch self {
        case .`an empty log has nothing, and says so`: try await empty(world)
        case .`batches come back in their order with their octets`: try await order(world)
        case .`what is sent without waiting is stored in the order it was sent in`: try await pipelined(world)
        case .`a reading keeps to its bounds, and goes on where it ended`: try await bounds(world)
        case .`a reader who waits gets what another client stores`: try await patience(world)
        case .`a batch that is sent again is stored once`: try await repetition(world)
        case .`another gateway, boot or sequence is another batch`: try await keys(world)
        case .`a batch may be empty, and as big as the limit, and no bigger`: try await sizes(world)
        case .`who has the lease is told to all, and renews it`: try await holding(world)
        case .`a lease that is given back is free, and its revisions grow`: try await release(world)
        case .`a lease that runs out can be had by another, and its old holder has lost it`: try await expiry(world)
        case .`whoever holds the lease and asks for it again has it anew`: try await again(world)
        case .`a snapshot is read only when its last piece is there`: try await whole(world)
        case .`two snapshots that are written at once do not disturb each other`: try await twoWriters(world)
        case .`of whole snapshots the last two are kept`: try await kept(world)
        case .`a snapshot that is begun anew has nothing of what was there`: try await anew(world)
        case .`a snapshot's last piece that is sent again changes nothing`: try await lastPieceAgain(world)
        case .`a value is written over the one that was expected alone`: try await values(world)
        case .`what is too big or too much is refused before it is sent`: try await refusals(world)
        case .`the log says what keeps it`: try await description(world)
        }
    }
}

/// A log is not as all have to be.
package struct LogClaimBroken: Error, CustomStringConvertible {
    package let description: String
}

/// - Throws: ``LogClaimBroken`` where they are not the same.
func expect<Value: Equatable>(_ found: Value, is expected: Value, _ what: String = "", line: Int = #line) throws {
    guard found == expected else {
        throw LogClaimBroken(description: "line \(line): \(what) is \(found), expected \(expected)")
    }
}

extension LogPage {
    /// What it holds, as text of their octets.
    var texts: [String] { entries.map { String(decoding: $0.octets, as: UTF8.self) } }
    /// Their numbers.
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
        from: UInt64, countMax: Int = 256, octetsMax: Int = 4 << 20, patience: Duration = .zero
    ) async throws -> LogPage {
        let range = LogRange(from: from, countMax: countMax, octetsMax: octetsMax, patience: patience)
        guard case .batches(let page) = try await ask(.readBatches(range)) else {
            throw LogClaimBroken(description: "a reading is answered with something else")
        }
        return page
    }

    /// Asks for the lease, and says how it stands.
    func lease(_ request: LogRequest) async throws -> LeaseState {
        guard case .lease(let state) = try await ask(request) else {
            throw LogClaimBroken(description: "\(request) is answered with something else")
        }
        return state
    }

    /// The lease, which it has to get.
    func heldLease(_ request: LogRequest) async throws -> Lease {
        let state = try await lease(request)
        guard case .held(let lease) = state else { throw LogClaimBroken(description: "\(request): \(state)") }
        return lease
    }

    /// Writes pieces of a snapshot from an index on; the last of them makes it whole where that is asked for.
    func write(_ name: SnapshotName, _ pieces: [String], from: Int = 0, whole: Bool = true) async throws {
        for (index, text) in pieces.enumerated() {
            let isLast = whole && index == pieces.count - 1
            let piece = SnapshotPiece(name, index: from + index, isLast: isLast, octets: Array(text.utf8))
            try expect(try await ask(.writeSnapshot(piece)), is: .stored)
        }
    }

    /// What a whole snapshot says; absent where it has gone.
    func text(_ name: SnapshotName, pieces: Int) async throws -> String? {
        var text = ""
        for index in 0..<pieces {
            guard case .piece(let octets) = try await ask(.readSnapshot(name, index: index)) else {
                throw LogClaimBroken(description: "a reading is answered with something else")
            }
            guard let octets else { return nil }
            text += String(decoding: octets, as: UTF8.self)
        }
        return text
    }
}
