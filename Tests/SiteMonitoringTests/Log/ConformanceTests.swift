import SiteLogSupport
import SiteMonitoring
import Testing

@Suite struct ConformanceTests {
    @Test(arguments: LogClaim.allCases)
    func `a log in memory passes each conformance test`(_ claim: LogClaim) async throws {
        try await claim.hold(MemoryWorld())
    }

    /// Without a damage, the log that damages answers must pass too. So a failure is caused by the damage.
    @Test func `a log that can damage answers, but does not, passes all conformance tests`() async throws {
        for claim in LogClaim.allCases { try await claim.hold(DamagedWorld(nil)) }
    }

    /// Damages each answer of a log in one way. At least one conformance test must fail.
    @Test(arguments: LogDamage.allCases)
    func `the conformance tests detect each kind of damage`(_ damage: LogDamage) async throws {
        var broken: [LogClaim] = []
        for claim in LogClaim.allCases {
            do { try await claim.hold(DamagedWorld(damage)) } catch { broken.append(claim) }
        }
        #expect(!broken.isEmpty)
    }
}
