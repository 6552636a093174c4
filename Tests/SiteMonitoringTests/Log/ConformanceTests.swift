import SiteLogSupport
import SiteMonitoring
import Testing

@Suite struct ConformanceTests {
    @Test(arguments: LogConformance.allCases)
    func `a log in memory passes each conformance test`(_ test: LogConformance) async throws {
        try await test.run(MemoryFixture())
    }

    /// Without a damage, the log that damages answers must pass too. So a failure is caused by the damage.
    @Test func `a log that can damage answers, but does not, passes all conformance tests`() async throws {
        for test in LogConformance.allCases { try await test.run(DamagedFixture(nil)) }
    }

    /// Damages each answer of a log in one way. At least one conformance test must fail.
    @Test(arguments: LogDamage.allCases)
    func `the conformance tests detect each kind of damage`(_ damage: LogDamage) async throws {
        var broken: [LogConformance] = []
        for test in LogConformance.allCases {
            do { try await test.run(DamagedFixture(damage)) } catch { broken.append(test) }
        }
        #expect(!broken.isEmpty)
    }
}
