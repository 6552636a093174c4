import BrokerSupport
import Glibc
import SiteLogNATS
import SiteLogSupport
import SiteMonitoring
import TestSupport
import Testing

@Suite(.serialized) struct ServerTests {
    /// Runs all conformance tests on the same servers, each with a separate site, because the start of a cluster takes
    /// longer than any of them.
    @Test(arguments: NATSServers.Setup.all)
    func `a log in NATS passes the conformance tests of all logs`(_ setup: NATSServers.Setup) async throws {
        let servers = try await NATSServers(setup.program, setup.count)
        for (index, test) in LogConformance.untimed.enumerated() {
            do {
                try await test.run(NATSFixture(servers.addresses, replicas: setup.count, site: "test-\(index)"))
            } catch {
                Issue.record("\(test.rawValue), on \(setup): \(error); \(servers.said(0))")
            }
        }
    }

    /// The servers measure the time of a lease. Another process cannot have it earlier, and may have to wait longer.
    @Test(arguments: NATSServers.Setup.all)
    func `a lease that its holder does not renew can be acquired by another`(_ setup: NATSServers.Setup) async throws {
        let servers = try await NATSServers(setup.program, setup.count)
        let fixture = try NATSFixture(servers.addresses, replicas: setup.count, site: "hq", lease: .seconds(1))
        let (one, two) = (try await LogDriver(fixture), try await LogDriver(fixture))
        let (a, b) = (try LogName("site-a"), try LogName("site-b"))
        let begin = ContinuousClock.now
        let old = try await one.ask(.acquireLease(a))
        guard case .lease(.held(let lost)) = old else { throw TimeoutError(description: "\(old)") }
        var new = old
        try await until("the lease is given to another", saw: "\(new)") {
            new = try await two.ask(.acquireLease(b))
            if case .lease(.held(let lease)) = new { return lease.holder == b && lease.revision > lost.revision }
            return false
        }
        // This is a lower bound, so no machine is too slow for it. The servers' clock may be adjusted in the meantime.
        #expect(ContinuousClock.now - begin >= .milliseconds(900))
        // By now the other lease can have expired too. The first holder must not have it in any case.
        let renewed = try await one.ask(.renewLease(lost))
        #expect([.lease(.heldBy(b)), .lease(.free)].contains(renewed), "\(renewed)")
    }
}
