import SiteLogNATS
import SiteLogSupport
import SiteMonitoring
import TestSupport
import Testing

@Suite struct StreamStateTests {
    @Test(arguments: NATSServers.Program.all)
    func `the state of each stream of a site is reported, with the server's version if the server sends it`(
        _ program: NATSServers.Program
    ) async throws {
        let servers = try await NATSServers(program, 1)
        let fixture = try NATSFixture(servers.addresses, replicas: 1, site: "hq")
        let client = try await LogDriver(fixture)
        let log = try #require(client.log as? NATSLog)
        for sequence in 1...3 as ClosedRange<UInt64> {
            _ = try await client.ask(
                .append(
                    BatchKey(gateway: LogName("lobby"), boot: 1, sequence: sequence), Array(repeating: 7, count: 100)))
        }
        for ticket in log.look(at: fixture.now) { #expect(try await client.result(ticket) == .success(.stored)) }
        #expect(Set(log.streamStates.keys) == ["batches", "lease", "values", "snapshots"])
        let batches = try #require(log.streamStates["batches"])
        #expect(batches.name == "hq-batches")
        #expect(batches.messages == 3)
        #expect(batches.bytes > 300)
        #expect(batches.replicas == 1)
        #expect(batches.copies == 1)
        #expect(batches.followers.isEmpty)
        #expect(batches.refusesNew)
        #expect(log.streamStates["lease"]?.ageMax == .seconds(3600))
        #expect(log.streamStates["lease"]?.refusesNew == false)
        // Debian's 2.9.10 sends no version here.
        #expect(batches.serverVersion?.hasPrefix("2.") ?? true)
    }
}
