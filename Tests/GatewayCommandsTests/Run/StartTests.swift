import Foundation
import Glibc
import ProgramSupport
import Testing

/// `run` at its start, while it reads the files of the previous run.
@Suite struct StartTests {
    /// Creates files with so many lines, and without a state file, that reading them takes some time.
    private func fixture() throws -> (LiveFixture, file: String) {
        let fixture = try LiveFixture()
        let file = try fixture.write("g.yaml", fixture.configuration())
        let gateway = try RunningGateway(fixture, configuration: file)
        try gateway.log.line(with: "hci0 is listening")
        fixture.advertise()
        try gateway.until("a sighting was received") {
            (($0["counters"] as? [String: Any])?["sightings"] as? Int ?? 0) > 0
        }
        #expect(gateway.end() == 0)
        let lines = try fixture.lines()
        let last = try #require(lines.last { $0.contains(#""type":"event""#) })
        let sequence = try #require(
            (try object(lines[lines.count - 1])["payload"] as? [String: Any])?["sequence"] as? Int)
        let own = try #require((try object(last)["payload"] as? [String: Any])?["sequence"] as? Int)
        let name = try #require(
            try FileManager.default.contentsOfDirectory(atPath: fixture.path("events")).filter {
                $0.hasPrefix("events-")
            }.max())
        let handle = try #require(FileHandle(forWritingAtPath: fixture.path("events/\(name)")))
        try handle.seekToEnd()
        let more = (1...20_000).map {
            last.replacingOccurrences(of: "\"sequence\":\(own),", with: "\"sequence\":\(sequence + $0),") + "\n"
        }.joined()
        try handle.write(contentsOf: Data(more.utf8))
        try handle.close()
        try FileManager.default.removeItem(atPath: fixture.path("state/state.json"))
        return (fixture, file)
    }

    @Test func `SIGHUP and SIGUSR1 while the gateway reads its files do not end it, and are carried out`() throws {
        let (fixture, file) = try fixture()
        let gateway = try RunningGateway(fixture, configuration: file)
        try gateway.log.line(with: "and the stored state")
        gateway.signal(SIGUSR1)
        gateway.signal(SIGHUP)
        try gateway.log.line(with: "was applied; no condition has changed")
        try gateway.log.line(with: "hci0 is listening")
        #expect(gateway.end() == 0)
    }

    @Test func `SIGTERM during the reading of files is an orderly end`() throws {
        let (fixture, file) = try fixture()
        let gateway = try RunningGateway(fixture, configuration: file)
        try gateway.log.line(with: "and the stored state")
        #expect(gateway.end() == 0)
        try gateway.log.line(with: "stopped by SIGTERM")
        // The state that was read is in a state file again.
        #expect(FileManager.default.fileExists(atPath: fixture.path("state/state.json")))
    }
}
