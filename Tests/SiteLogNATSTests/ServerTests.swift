import Glibc
import SiteLog
import SiteLogNATS
import SiteLogSupport
import Testing

@Suite(.serialized) struct ServerTests {
    /// All claims on the same servers, each on a site of its own: to start a cluster takes longer than any of them.
    @Test(arguments: NATSServers.Setup.all)
    func `a log in NATS does what all logs do`(_ setup: NATSServers.Setup) async throws {
        let servers = try await NATSServers(setup.program, setup.count)
        for (index, claim) in LogClaim.allCases.enumerated() {
            do {
                try await claim.hold(NATSWorld(servers.addresses, replicas: setup.count, site: "claim-\(index)"))
            } catch {
                Issue.record("\(claim.rawValue), on \(setup): \(error); \(servers.said(0))")
            }
        }
    }
}
