internal import SiteMonitoring

extension LogConformance {
    func holding(_ fixture: any LogFixture) async throws {
        let (one, two) = (try await LogDriver(fixture), try await LogDriver(fixture))
        let (a, b) = (try LogName("site-a"), try LogName("site-b"))
        let first = try await one.heldLease(.acquireLease(a))
        try expect(first.holder, is: a)
        try expect(try await two.lease(.acquireLease(b)), is: .heldBy(a))
        try expect(try await two.lease(.readLease), is: .heldBy(a))
        let second = try await one.heldLease(.renewLease(first))
        try expect(second.revision > first.revision, is: true, "whether the revision grew")
        // An old revision cannot be renewed, because another process may have held the lease meanwhile.
        try expect(try await one.lease(.renewLease(first)), is: .heldBy(a))
        try expect(try await one.heldLease(.renewLease(second)).holder, is: a)
    }

    func release(_ fixture: any LogFixture) async throws {
        let (one, two) = (try await LogDriver(fixture), try await LogDriver(fixture))
        let (a, b) = (try LogName("site-a"), try LogName("site-b"))
        let first = try await one.heldLease(.acquireLease(a))
        try expect(try await one.lease(.releaseLease(first)), is: .free)
        try expect(try await two.lease(.readLease), is: .free)
        try expect(try await one.lease(.renewLease(first)), is: .free)
        let second = try await two.heldLease(.acquireLease(b))
        try expect(second.revision > first.revision, is: true, "whether the revision grew")
        try expect(try await one.lease(.releaseLease(first)), is: .heldBy(b))
        try expect(try await two.heldLease(.renewLease(second)).holder, is: b)
    }

    func expiry(_ fixture: any LogFixture) async throws {
        guard let fixture = fixture as? any TimedLogFixture else {
            throw ConformanceError(description: "the test cannot advance the time of this fixture")
        }
        let (one, two) = (try await LogDriver(fixture), try await LogDriver(fixture))
        let (a, b) = (try LogName("site-a"), try LogName("site-b"))
        let old = try await one.heldLease(.acquireLease(a))
        fixture.outliveLease()
        try expect(try await two.lease(.readLease), is: .free)
        let new = try await two.heldLease(.acquireLease(b))
        try expect(try await one.lease(.renewLease(old)), is: .heldBy(b))
        try expect(try await one.lease(.acquireLease(a)), is: .heldBy(b))
        try expect(try await two.heldLease(.renewLease(new)).holder, is: b)
    }

    func again(_ fixture: any LogFixture) async throws {
        let one = try await LogDriver(fixture)
        let a = try LogName("site-a")
        let first = try await one.heldLease(.acquireLease(a))
        let second = try await one.heldLease(.acquireLease(a))
        try expect(second.revision > first.revision, is: true, "whether the revision grew")
        try expect(try await one.heldLease(.renewLease(second)).holder, is: a)
    }
}
