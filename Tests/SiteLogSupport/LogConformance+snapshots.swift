internal import SiteMonitoring

extension LogConformance {
    func whole(_ fixture: any LogFixture) async throws {
        let (writer, reader) = (try await LogDriver(fixture), try await LogDriver(fixture))
        let name = SnapshotName(offset: 12, writer: try LogName("site-a"))
        try await writer.write(name, ["first ", "second "], whole: false)
        try expect(try await reader.ask(.latestSnapshot), is: .snapshot(nil))
        try expect(try await reader.ask(.readSnapshot(name, index: 0)), is: .piece(nil))
        try await writer.write(name, ["third"], from: 2)
        try expect(try await reader.ask(.latestSnapshot), is: .snapshot(SnapshotHead(name, pieces: 3)))
        try expect(try await reader.text(name, pieces: 3), is: "first second third")
        try expect(try await reader.ask(.readSnapshot(name, index: 3)), is: .piece(nil))
    }

    func twoWriters(_ fixture: any LogFixture) async throws {
        let (one, two) = (try await LogDriver(fixture), try await LogDriver(fixture))
        let a = SnapshotName(offset: 12, writer: try LogName("site-a"))
        let b = SnapshotName(offset: 12, writer: try LogName("site-b"))
        try await one.write(a, ["a1 "], whole: false)
        try await two.write(b, ["b1 "], whole: false)
        try await one.write(a, ["a2"], from: 1)
        try await two.write(b, ["b2 ", "b3"], from: 1)
        try expect(try await one.ask(.latestSnapshot), is: .snapshot(SnapshotHead(b, pieces: 3)))
        try expect(try await two.text(a, pieces: 2), is: "a1 a2")
        try expect(try await one.text(b, pieces: 3), is: "b1 b2 b3")
    }

    func kept(_ fixture: any LogFixture) async throws {
        let client = try await LogDriver(fixture)
        let writer = try LogName("site-a")
        let names = [10, 20, 30].map { SnapshotName(offset: $0, writer: writer) }
        for (index, name) in names.enumerated() { try await client.write(name, ["state ", "\(index)"]) }
        try expect(try await client.text(names[0], pieces: 2), is: nil)
        try expect(try await client.text(names[1], pieces: 2), is: "state 1")
        try expect(try await client.text(names[2], pieces: 2), is: "state 2")
        try expect(try await client.ask(.latestSnapshot), is: .snapshot(SnapshotHead(names[2], pieces: 2)))
    }

    func startedAgain(_ fixture: any LogFixture) async throws {
        let client = try await LogDriver(fixture)
        let name = SnapshotName(offset: 12, writer: try LogName("site-a"))
        try await client.write(name, ["old ", "old ", "old "], whole: false)
        try await client.write(name, ["new ", "state"])
        try expect(try await client.ask(.latestSnapshot), is: .snapshot(SnapshotHead(name, pieces: 2)))
        try expect(try await client.text(name, pieces: 2), is: "new state")
        try expect(try await client.ask(.readSnapshot(name, index: 2)), is: .piece(nil))
    }

    func lastPieceAgain(_ fixture: any LogFixture) async throws {
        let client = try await LogDriver(fixture)
        let name = SnapshotName(offset: 12, writer: try LogName("site-a"))
        try await client.write(name, ["one ", "two"])
        try await client.write(name, ["two"], from: 1)
        try expect(try await client.ask(.latestSnapshot), is: .snapshot(SnapshotHead(name, pieces: 2)))
        try expect(try await client.text(name, pieces: 2), is: "one two")
    }
}
