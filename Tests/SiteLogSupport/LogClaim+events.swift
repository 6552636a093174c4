internal import SiteLog

extension LogClaim {
    func numbers(_ world: any LogWorld) async throws {
        let client = try await LogDriver(world)
        try expect(try await client.publish(["one"], after: 0), is: .published(last: 1))
        try expect(try await client.publish(["two", "three", "four"], after: 1), is: .published(last: 4))
        try expect(try await client.publish(["five"], after: 4), is: .published(last: 5))
        let page = try await client.events(from: 1)
        try expect(page.numbers, is: [1, 2, 3, 4, 5])
        try expect(page.texts, is: ["one", "two", "three", "four", "five"])
        // They are a log of their own.
        try expect(try await client.batches(from: 1), is: LogPage(entries: [], first: 1, last: 0))
    }

    func gaps(_ world: any LogWorld) async throws {
        let client = try await LogDriver(world)
        try expect(try await client.publish(["two"], after: 1), is: .fenced(last: 0))
        try expect(try await client.publish(["one"], after: 0), is: .published(last: 1))
        // What nobody said had come, and had.
        try expect(try await client.publish(["one"], after: 0), is: .fenced(last: 1))
        try expect(try await client.publish(["three", "four"], after: 2), is: .fenced(last: 1))
        try expect(try await client.events(from: 1).texts, is: ["one"])
    }

    func zombie(_ world: any LogWorld) async throws {
        let (stopped, other) = (try await LogDriver(world), try await LogDriver(world))
        try expect(try await stopped.publish(["one"], after: 0), is: .published(last: 1))
        try expect(try await other.publish(["two", "three"], after: 1), is: .published(last: 3))
        try expect(try await stopped.publish(["zwei"], after: 1), is: .fenced(last: 3))
        try expect(try await stopped.publish(["zwei", "drei", "vier"], after: 1), is: .fenced(last: 3))
        try expect(try await other.publish(["four"], after: 3), is: .published(last: 4))
        try expect(try await stopped.events(from: 1).texts, is: ["one", "two", "three", "four"])
    }

    func events(_ world: any LogWorld) async throws {
        let (writer, reader) = (try await LogDriver(world), try await LogDriver(world))
        let texts = (1...40).map { "event \($0)" }
        try expect(try await writer.publish(texts, after: 0), is: .published(last: 40))
        let page = try await reader.events(from: 11)
        try expect(page.texts, is: Array(texts.dropFirst(10)))
        try expect(page.numbers, is: Array(11...40))
        try expect(page.first, is: 1)
        try expect(page.last, is: 40)
        let ticket = try reader.send(.readEvents(LogRange(from: 41, patience: .seconds(20))))
        try expect(try await writer.publish(["event 41"], after: 40), is: .published(last: 41))
        guard case .events(let next) = try await reader.result(ticket).get() else {
            throw LogClaimBroken(description: "a reading is answered with something else")
        }
        try expect(next.texts, is: ["event 41"])
    }
}
