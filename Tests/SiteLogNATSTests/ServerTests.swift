import Glibc
import SiteLog
import SiteLogNATS
import SiteLogSupport
import Testing

@Suite(.serialized) struct ServerTests {
    /// All claims on the same servers, each on a site of its own: to start a cluster takes longer than any of them.
    @Test(arguments: NATSServers.Program.all, [1, 3])
    func `a log in NATS does what all logs do`(_ program: NATSServers.Program, _ count: Int) async throws {
        let servers = try await NATSServers(program, count)
        for (index, claim) in LogClaim.allCases.enumerated() {
            do {
                try await claim.hold(NATSWorld(servers.addresses, replicas: count, site: "claim-\(index)"))
            } catch {
                Issue.record("\(claim.rawValue), on \(count) of \(program): \(error); \(servers.said(0))")
            }
        }
    }
}
