import SiteLogNATS
import SiteLogSupport
import SiteMonitoring
import TestSupport
import Testing

@Suite struct BoundsTests {
    @Test(arguments: NATSServers.Program.all)
    func `a full log refuses new batches, keeps the stored ones, and accepts a refused one when it has more room`(
        _ program: NATSServers.Program
    ) async throws {
        let servers = try await NATSServers(program, 1)
        let fixture = try NATSFixture(servers.addresses, replicas: 1, site: "hq")
        fixture.bounds.batchBytesMax = 64 << 10
        fixture.bounds.batchAgeMax = .seconds(86_400)
        let client = try await LogDriver(fixture)
        let log = try #require(client.log as? NATSLog)
        let lobby = try LogName("lobby")
        func append(_ sequence: UInt64) async throws -> Result<LogResponse, SiteLogError> {
            let key = BatchKey(gateway: lobby, boot: 1, sequence: sequence)
            return try await client.result(client.send(.append(key, Array(repeating: 7, count: 10_000))))
        }
        for sequence in 1...6 as ClosedRange<UInt64> {
            #expect(try await append(sequence) == .success(.appended(offset: sequence, isRepeat: false)))
        }
        guard case .failure(let siteError) = try await append(7) else {
            Issue.record("the seventh batch was accepted")
            return
        }
        #expect(siteError.mayPass)
        #expect(!siteError.mayBeDone)
        #expect(siteError.description.contains("the site's log is full (batches"), "\(siteError)")
        guard case .batches(let page) = try await client.ask(.readBatches(LogRange(from: 1))) else { return }
        #expect(page.entries.map(\.number) == [1, 2, 3, 4, 5, 6])
        // The operator gives the log more room, and no batch is deleted.
        fixture.bounds.batchBytesMax = 1 << 20
        for ticket in log.make(fixture.bounds, at: fixture.now) {
            #expect(try await client.result(ticket) == .success(.stored))
        }
        #expect(try await append(7) == .success(.appended(offset: 7, isRepeat: false)))
        for ticket in log.look(at: fixture.now) { _ = try await client.result(ticket) }
        #expect(log.streamStates["batches"]?.bytesMax == 1 << 20)
        #expect(log.streamStates["batches"]?.ageMax == .seconds(86_400))
        #expect(log.streamStates["batches"]?.messages == 7)
    }
}
