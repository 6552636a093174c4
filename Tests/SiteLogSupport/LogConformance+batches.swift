internal import SiteMonitoring

extension LogConformance {
    func empty(_ fixture: any LogFixture) async throws {
        let client = try await LogDriver(fixture)
        try expect(try await client.batches(from: 1), is: LogPage(entries: [], first: 1, last: 0))
        try expect(try await client.batches(from: 7), is: LogPage(entries: [], first: 1, last: 0))
        try expect(
            try await client.batches(from: 1, patience: .milliseconds(50)), is: LogPage(entries: [], first: 1, last: 0))
        try expect(try await client.ask(.latestSnapshot), is: .snapshot(nil))
        try expect(try await client.ask(.readValue(LogName("checkpoint"))), is: .value(nil))
        try expect(try await client.lease(.readLease), is: .free)
    }

    func order(_ fixture: any LogFixture) async throws {
        let client = try await LogDriver(fixture)
        for sequence in 1...5 as ClosedRange<UInt64> {
            try expect(
                try await client.append(sequence, "batch \(sequence)"),
                is: .appended(offset: sequence, isRepeat: false))
        }
        let page = try await client.batches(from: 1)
        try expect(page.numbers, is: [1, 2, 3, 4, 5])
        try expect(page.texts, is: (1...5).map { "batch \($0)" })
        try expect(page.first, is: 1)
        try expect(page.last, is: 5)
        // After the start of 2020 in nanoseconds, so the time is not in seconds or microseconds.
        for entry in page.entries { try expect(entry.stored.nanoseconds > 1_577_836_800_000_000_000, is: true) }
        // Another client reads the same page.
        try expect(try await LogDriver(fixture).batches(from: 1), is: page)
    }

    func pipelined(_ fixture: any LogFixture) async throws {
        let client = try await LogDriver(fixture)
        var tickets: [LogTicket] = []
        for sequence in 1...50 as ClosedRange<UInt64> {
            let key = BatchKey(gateway: try LogName("lobby"), boot: 1, sequence: sequence)
            tickets.append(try client.send(.append(key, Array("\(sequence)".utf8))))
        }
        try expect(Set(tickets).count, is: 50, "the number of tickets")
        for (index, ticket) in tickets.enumerated() {
            try expect(
                try await client.result(ticket).get(), is: .appended(offset: UInt64(index) + 1, isRepeat: false))
        }
        try expect(try await client.batches(from: 1).texts, is: (1...50).map(String.init))
    }

    func bounds(_ fixture: any LogFixture) async throws {
        let client = try await LogDriver(fixture)
        for sequence in 1...6 as ClosedRange<UInt64> { try await client.append(sequence, "0123456789") }
        try expect(try await client.batches(from: 3, countMax: 2).numbers, is: [3, 4])
        try expect(try await client.batches(from: 5, countMax: 9).numbers, is: [5, 6])
        // The third batch does not fit, by one byte.
        try expect(try await client.batches(from: 1, bytesMax: 29).numbers, is: [1, 2])
        try expect(try await client.batches(from: 1, bytesMax: 30).numbers, is: [1, 2, 3])
        // One batch is always returned, even if the limit is smaller, or a reader could not continue.
        try expect(try await client.batches(from: 2, bytesMax: 0).numbers, is: [2])
        let end = try await client.batches(from: 7)
        try expect(end, is: LogPage(entries: [], first: 1, last: 6))
        try expect(try await client.batches(from: 1_000_000).numbers, is: [])
    }

    func patience(_ fixture: any LogFixture) async throws {
        let reader = try await LogDriver(fixture)
        let writer = try await LogDriver(fixture)
        let ticket = try reader.send(.readBatches(LogRange(from: 1, patience: reader.log.limits.patienceMax)))
        try await writer.append(1, "at last")
        guard case .batches(let page) = try await reader.result(ticket).get() else {
            throw ConformanceError(description: "the answer to a read request is not a page of batches")
        }
        try expect(page.texts, is: ["at last"])
        try expect(page.last, is: 1)
    }

    func repetition(_ fixture: any LogFixture) async throws {
        let client = try await LogDriver(fixture)
        try await client.append(1, "one")
        try await client.append(2, "two")
        try expect(try await client.append(1, "one"), is: .appended(offset: 1, isRepeat: true))
        // Another client repeats a batch, as after a reconnection.
        try expect(try await LogDriver(fixture).append(2, "two"), is: .appended(offset: 2, isRepeat: true))
        try expect(try await client.append(3, "three"), is: .appended(offset: 3, isRepeat: false))
        try expect(try await client.batches(from: 1).texts, is: ["one", "two", "three"])
    }

    func keys(_ fixture: any LogFixture) async throws {
        let client = try await LogDriver(fixture)
        try await client.append(1, "a")
        try expect(try await client.append(1, "b", gateway: "lab"), is: .appended(offset: 2, isRepeat: false))
        try expect(try await client.append(1, "c", boot: 2), is: .appended(offset: 3, isRepeat: false))
        try expect(try await client.append(1, "d", boot: 1 << 64 | 1), is: .appended(offset: 4, isRepeat: false))
        try expect(try await client.append(.max, "e"), is: .appended(offset: 5, isRepeat: false))
        try expect(try await client.batches(from: 1).texts, is: ["a", "b", "c", "d", "e"])
    }

    func sizes(_ fixture: any LogFixture) async throws {
        let client = try await LogDriver(fixture)
        let most = client.log.limits.batchBytesMax
        let all = (0..<most).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
        let lobby = try LogName("lobby")
        for (sequence, bytes) in [[], all].enumerated() {
            let key = BatchKey(gateway: lobby, boot: 1, sequence: UInt64(sequence))
            try expect(
                try await client.ask(.append(key, bytes)), is: .appended(offset: UInt64(sequence) + 1, isRepeat: false)
            )
        }
        let page = try await client.batches(from: 1, bytesMax: .max)
        try expect(page.entries.map(\.bytes) == [[], all], is: true, "whether the bytes are equal")
    }
}
