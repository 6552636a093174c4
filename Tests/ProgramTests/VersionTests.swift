import Foundation
import ProgramSupport
import Testing

/// Event files with lines of version 1, read from the command line, alone and together with lines of version 2.
@Suite struct VersionTests {
    private static let fixture = Fixtures.tests.appendingPathComponent("Fixtures/version-1/events").path

    /// Returns a folder with the files of version 1. If a line is given, it is in a file after them.
    private static func folder(in scratch: Scratch, and line: String? = nil) throws -> String {
        let path = scratch.path("events")
        try FileManager.default.copyItem(atPath: fixture, toPath: path)
        if let line { _ = try scratch.write("events/events-000000000025-20261122T120000Z.jsonl", line + "\n") }
        return path
    }

    private static func left(_ version: Int) -> String {
        #"{"topic":"beacons/lobby/event/staff","qos":1,"retain":false,"payload":{"version":\#(version),"type":"event","#
            + #""gateway":"lobby","boot":"40e9408c-ed4b8c63","sequence":25,"monitor":"site","identifier":"staff","#
            + #""scope":"condition","state":"unsatisfied","date":"2026-11-22T11:39:00.000000Z","time":1795347540000,"#
            + #""monotonic":2272017227,"condition":{"uuid":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E"},"diagnostics":[]}}"#
    }

    @Test func `visits and explain read version 1, and both versions in one folder`() throws {
        let scratch = try Scratch()
        let folder = try Self.folder(in: scratch)
        let visits = try Gateway.run("visits", "--json", folder)
        #expect(visits.status == 0)
        let rows = visits.lines.filter { $0.contains(#""kind":"visit""#) }
        #expect(rows.filter { $0.contains(#""end":"left""#) }.count == 5)
        #expect(rows.filter { $0.contains(#""end":"open""#) }.count == 3)
        #expect(try Gateway.run("explain", "10", folder).text.contains("rule X2"))
        let both = try Scratch()
        let mixed = try Self.folder(in: both, and: Self.left(2))
        let after = try Gateway.run("visits", "--json", mixed)
        #expect(after.lines.filter { $0.contains(#""end":"open""#) }.count == 2)
        #expect(try Gateway.run("explain", "25", mixed).status == 0)
    }

    @Test func `a line of a later version is skipped and reported`() throws {
        let scratch = try Scratch()
        let folder = try Self.folder(in: scratch, and: Self.left(3))
        let ending = try Gateway.run("visits", "--json", folder)
        #expect(ending.lines.filter { $0.contains(#""end":"open""#) }.count == 3)
        #expect(ending.errors.contains("1 line was written by a later version"), "\(ending.errors)")
        let explained = try Gateway.run("explain", "25", folder)
        #expect(explained.status == 65)
        #expect(explained.errors.contains("by a later version: use that"), "\(explained.errors)")
    }

    @Test func `publish sends the lines of version 1, and those of version 2 after them`() throws {
        let scratch = try Scratch()
        let broker = try LocalBroker()
        try broker.start()
        let folder = try Self.folder(in: scratch, and: Self.left(2))
        let file = try scratch.write(
            "g.yaml",
            """
            gateway: {name: lobby}
            mqtt: {host: 127.0.0.1, port: \(broker.port)}
            conditions: [{identifier: staff, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E}]

            """)
        let ending = try Gateway.run("publish", folder, "--config", file)
        #expect(ending.status == 0)
        #expect(ending.errors.contains("the broker has all lines up to 25"), "\(ending.errors)")
    }
}
