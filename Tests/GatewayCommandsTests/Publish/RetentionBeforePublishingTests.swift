import Foundation
import Glibc
import ProgramSupport
import Testing

/// Deletion of event files if a broker is configured, and the publisher has not yet reported which lines it has
/// published.
@Suite struct RetentionBeforePublishingTests {
    private func deleted(_ status: [String: Any]) -> Int {
        (status["output"] as? [String: Any])?["deletedSegments"] as? Int ?? -1
    }

    private func segments(_ fixture: LiveFixture) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: fixture.path("events"))
            .filter { $0.hasPrefix("events-") }.sorted()
    }

    @Test(arguments: [nil, 6, 9])
    func `files older than retain are deleted only up to the line in mqtt.json`(published: Int?) throws {
        let fixture = try LiveFixture()
        // The broker does not run, so the publisher cannot publish, and reports no new checkpoint.
        let broker = try LocalBroker()
        var writer = LineWriter()
        writer.offset = Date().timeIntervalSince1970 - 40 * 86_400
        for stay in 0..<4 { writer.completeVisit("staff", Double(stay * 100), Double(stay * 100 + 10), minor: 1) }
        for number in [Int](0..<4) {
            let name = String(format: "events/events-%012d-20260101T00000%dZ.jsonl", number * 3 + 1, number)
            try FileManager.default.createDirectory(atPath: fixture.path("events"), withIntermediateDirectories: true)
            _ = try fixture.write(name, writer.lines[number * 3..<number * 3 + 3].map { $0 + "\n" }.joined())
        }
        try FileManager.default.createDirectory(atPath: fixture.path("state"), withIntermediateDirectories: true)
        if let published { _ = try fixture.write("state/mqtt.json", #"{"version":1,"sequence":\#(published)}"#) }
        let before = try segments(fixture)
        let text = fixture.configuration("mqtt: {host: 127.0.0.1, port: \(broker.port), keep_alive: 5s}")
            .replacing("  status_socket:", with: "  retain: 1d\n  status_socket:")
        let gateway = try RunningGateway(fixture, configuration: fixture.write("g.yaml", text))
        try gateway.log.line(with: "hci0 is listening")
        fixture.advertise()
        let expected = (published ?? 0) / 3
        // Old files are deleted when a file is closed. The first line after that shows that it was closed.
        gateway.signal(SIGUSR1)
        try gateway.until("as many files were deleted as were shipped") { deleted($0) >= expected }
        fixture.advertise("C0:00:00:00:00:02", minor: 2)
        try gateway.until("another file is started") { _ in
            let now = try segments(fixture)
            return now.contains { !before.contains($0) }
        }
        #expect(deleted(try gateway.status()) == expected)
        #expect(try segments(fixture).filter { before.contains($0) } == Array(before.dropFirst(expected)))
        #expect(gateway.end() == 0)
    }
}
