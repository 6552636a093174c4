import Testing

@testable import BeaconMonitoring

@Suite struct DutyCycleTests {
    @Test(arguments: [(2.5, 2.5, 4, 4), (60, 600, 96, 960), (10240, 10240, 0x4000, 0x4000), (2.5, 10240, 4, 0x4000)])
    func `windows and intervals are in steps of 0.625 ms`(window: Double, interval: Double, w: Int, i: Int) throws {
        let cycle = try DutyCycle(window: .milliseconds(window), of: .milliseconds(interval))
        #expect(cycle.window == UInt16(w))
        #expect(cycle.interval == UInt16(i))
    }

    @Test(arguments: [(2.0, 60.0), (60, 10241), (61, 60), (0, 0), (-60, 60), (60, 1e12)])
    func `values that no controller supports are refused`(window: Double, interval: Double) {
        #expect(throws: MonitorError.self) {
            try DutyCycle(window: .milliseconds(window), of: .milliseconds(interval))
        }
    }

    @Test(arguments: [(0.01, 9600), (0.1, 960), (0.5, 192), (1, 96)]) func `a share of the time has windows of 60 ms`(
        part: Double, interval: Int
    ) throws {
        let cycle = try DutyCycle(part: part)
        #expect(cycle.window == 96)
        #expect(cycle.interval == UInt16(interval))
        #expect(cycle.isContinuous == (part == 1))
    }

    @Test(arguments: [0.0, 0.0099, 1.01, -1, .nan, .infinity]) func `shares outside of 0.01…1 are refused`(
        part: Double
    ) {
        #expect(throws: MonitorError.self) { try DutyCycle(part: part) }
    }
}

@Suite struct SessionLedgerTests {
    /// Each kind of demand that a session can have, with each choice of adapters, with and without full accuracy.
    static let demands: [ServiceDemand] = {
        let quarter = try? DutyCycle(part: 0.25)
        let slowTenth = try? DutyCycle(window: .milliseconds(600), of: .milliseconds(6000))
        let scannings: [ServiceDemand.Scanning] = [
            .lowPower(.low), .lowPower(quarter ?? .low), .lowPower(slowTenth ?? .low), .passive, .active,
        ]
        let adapters: [ServiceDemand.Adapters] = [.all, .only(["hci0"]), .only(["hci1", "hci2"]), .only([])]
        return scannings.flatMap { scanning in
            adapters.flatMap { adapters in
                [false, true].map { ServiceDemand(scanning, needsFullAccuracy: $0, adapters: adapters) }
            }
        }
    }()

    /// Returns how much a kind of scanning demands, in a second implementation.
    private func rank(_ scanning: ServiceDemand.Scanning) -> (Double, Double) {
        switch scanning {
        case .active: (3, 0)
        case .passive: (2, 0)
        case .lowPower(let cycle): (cycle.part, -Double(cycle.interval))
        }
    }

    @Test func `all pairs: the combination has the higher demand of each part, in either order`() {
        for one in Self.demands {
            for other in Self.demands {
                let both = one.joined(with: other)
                #expect(both == other.joined(with: one))
                #expect(both.joined(with: one) == both)
                #expect(both.joined(with: other) == both)
                let (mine, others) = (rank(one.scanning), rank(other.scanning))
                let isTheMore = rank(both.scanning) == (mine > others ? mine : others)
                #expect(isTheMore)
                #expect(both.needsFullAccuracy == (one.needsFullAccuracy || other.needsFullAccuracy))
                switch (one.adapters, other.adapters) {
                case (.only(let a), .only(let b)): #expect(both.adapters == .only(a.union(b)))
                default: #expect(both.adapters == .all)
                }
            }
        }
    }

    @Test func `all triples: the grouping makes no difference`() {
        // Every third demand. These include each kind of scanning at least once.
        let some = Self.demands.enumerated().filter { $0.offset % 3 == 0 }.map(\.element)
        for one in some {
            for two in some {
                for three in some {
                    #expect(one.joined(with: two).joined(with: three) == one.joined(with: two.joined(with: three)))
                }
            }
        }
    }

    @Test func `all pairs: the demand of the remaining session applies, whichever ends first`() {
        for one in Self.demands {
            for other in Self.demands {
                var ledger = SessionLedger()
                #expect(ledger.effective == nil)
                let (first, second) = (ledger.begin(one), ledger.begin(other))
                #expect(ledger.effective == one.joined(with: other))
                var copy = ledger
                let wasHeld = ledger.end(first)
                #expect(wasHeld)
                #expect(ledger.effective == other)
                let isHeld = ledger.end(first)
                #expect(!isHeld)
                #expect(ledger.effective == other)
                ledger.end(second)
                #expect(ledger.effective == nil)
                copy.end(second)
                #expect(copy.effective == one)
            }
        }
    }

    @Test func `with full accuracy, a low-power demand scans continuously; passive is not active, active is`() {
        #expect(ServiceDemand(.lowPower(.low)).dutyCycle == .low)
        #expect(ServiceDemand(.lowPower(.low), needsFullAccuracy: true).dutyCycle == .continuous)
        #expect(ServiceDemand(.passive).dutyCycle == .continuous)
        #expect(!ServiceDemand(.passive).isActive)
        #expect(ServiceDemand(.active).isActive)
    }

    @Test func `if explicit sessions are required, an implicit session demands nothing and causes diagnostics`() {
        var ledger = SessionLedger(requiresExplicit: true)
        #expect(ledger.diagnostics == [])
        let implicit = ledger.begin(.implicit, isImplicit: true)
        #expect(ledger.effective == nil)
        #expect(ledger.diagnostics == [.serviceSessionRequired, .insufficientlyInUse])
        let explicit = ledger.begin(ServiceDemand(.lowPower(.low)), purpose: "badges")
        #expect(ledger.effective == ServiceDemand(.lowPower(.low)))
        #expect(ledger.diagnostics == [])
        #expect(ledger.purposes == ["badges"])
        ledger.end(explicit)
        #expect(ledger.diagnostics == [.serviceSessionRequired, .insufficientlyInUse])
        ledger.end(implicit)
        #expect(ledger.diagnostics == [])
    }

    @Test func `each purpose is listed once while a session with it is held`() {
        var ledger = SessionLedger()
        let ids = ["b", "a", "b"].map { ledger.begin(ServiceDemand(needsFullAccuracy: true), purpose: $0) }
        #expect(ledger.purposes == ["a", "b"])
        #expect(ledger.explicitSessions == 3)
        for id in ids { ledger.end(id) }
        #expect(ledger.purposes == [])
    }
}
