internal import SiteMonitoring

extension LogConformance {
    func values(_ fixture: any LogFixture) async throws {
        let client = try await LogDriver(fixture)
        let key = try LogName("checkpoint")
        let first = try await written(client, key, "one", over: 0)
        try expect(
            try await client.ask(.readValue(key)), is: .value(StoredValue(bytes: Array("one".utf8), revision: first)))
        try expect(try await client.ask(.writeValue(key, [1], over: 0)), is: .differs(revision: first))
        let second = try await written(client, key, "two", over: first)
        try expect(second > first, is: true, "whether the revision grew")
        try expect(
            try await client.ask(.writeValue(key, [1], over: first)), is: .differs(revision: second))
        let third = try await written(client, key, "", over: nil)
        try expect(
            try await LogDriver(fixture).ask(.readValue(key)), is: .value(StoredValue(bytes: [], revision: third)))
        // Another key has another value. There is none yet, so no revision can be replaced.
        try expect(
            try await client.ask(.writeValue(LogName("other"), [1], over: third)), is: .differs(revision: 0))
        try expect(try await client.ask(.readValue(LogName("other"))), is: .value(nil))
    }

    private func written(_ client: LogDriver, _ key: LogName, _ text: String, over: UInt64?) async throws -> UInt64 {
        let response = try await client.ask(.writeValue(key, Array(text.utf8), over: over))
        guard case .written(let revision) = response else { throw ConformanceError(description: "\(response)") }
        return revision
    }

    func refusals(_ fixture: any LogFixture) async throws {
        let client = try await LogDriver(fixture)
        let limits = client.log.limits
        let (name, key) = (try LogName("site-a"), BatchKey(gateway: try LogName("lobby"), boot: 1, sequence: 1))
        let snapshot = SnapshotName(offset: 1, writer: name)
        func big(_ most: Int) -> [UInt8] { Array(repeating: 7, count: most + 1) }
        for request: LogRequest in [
            .append(key, big(limits.batchBytesMax)),
            .writeSnapshot(SnapshotPiece(snapshot, index: 0, isLast: true, bytes: big(limits.pieceBytesMax))),
            .writeSnapshot(SnapshotPiece(snapshot, index: limits.piecesMax, isLast: true, bytes: [])),
            .writeSnapshot(SnapshotPiece(snapshot, index: -1, isLast: true, bytes: [])),
            .writeValue(name, big(limits.valueBytesMax), over: nil),
        ] {
            do throws(SiteLogError) {
                _ = try client.send(request)
            } catch {
                try expect(error.mayPass, is: false, "whether the same request can succeed later")
                continue
            }
            throw ConformanceError(description: "the log accepted \(LogRequestKind(request)) beyond a limit")
        }
        // If waiting read requests use all places, further requests must be refused, and can be sent later.
        var refusal: SiteLogError?
        for _ in 0...limits.requestsMax {
            do throws(SiteLogError) {
                _ = try client.send(.readBatches(LogRange(from: 1, patience: .seconds(20))))
            } catch { refusal = error }
        }
        try expect(
            refusal,
            is: .tooMany(
                "requests wait for the site's log", count: limits.requestsMax + 1, most: limits.requestsMax))
        // None of the refused requests was stored.
        try expect(try await LogDriver(fixture).batches(from: 1), is: LogPage(entries: [], first: 1, last: 0))
    }

    func description(_ fixture: any LogFixture) async throws {
        guard case .engine(let engine) = try await LogDriver(fixture).ask(.describe) else {
            throw ConformanceError(description: "the answer is not a description of the storage")
        }
        try expect(engine.name.isEmpty, is: false, "whether its name is empty")
    }
}
