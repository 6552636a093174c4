import SiteLogSupport
import SiteMonitoring
import Testing

@Suite struct ConformanceTests {
    @Test(arguments: LogClaim.allCases) func `a log in memory does what all logs do`(_ claim: LogClaim) async throws {
        try await claim.hold(MemoryWorld())
    }

    /// What finds a damage finds nothing where there is none.
    @Test func `a log below the one that damages answers does what all logs do`() async throws {
        for claim in LogClaim.allCases { try await claim.hold(DamagedWorld(nil)) }
    }

    /// Damages each answer of a log in one way, and has the claims find it.
    @Test(arguments: LogDamage.allCases) func `a log that does otherwise is found`(_ damage: LogDamage) async throws {
        var broken: [LogClaim] = []
        for claim in LogClaim.allCases {
            do { try await claim.hold(DamagedWorld(damage)) } catch { broken.append(claim) }
        }
        #expect(!broken.isEmpty)
    }
}
