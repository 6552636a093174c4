import BluetoothLE
import Testing

@testable import AdapterScanning

func beacon(_ number: Int) -> BeaconIdentity {
    BeaconIdentity(
        uuid: ProximityUUID(high: 0xF7826DA64FA24E98, low: 0x8024_BC5B_71E0_893E),
        major: UInt16(truncatingIfNeeded: number >> 16), minor: UInt16(truncatingIfNeeded: number))
}

@Suite struct CadenceBucketsTests {
    @Test func `a gap lies below its bucket's end and within an eighth of it`() {
        for milliseconds in 16..<600_000 where milliseconds < 2_000 || milliseconds % 97 == 0 {
            let gap = Int64(milliseconds) * 1_000_000
            let bucket = CadenceBuckets.bucket(of: gap)
            let end = CadenceBuckets.upperBound(of: bucket).nanoseconds
            #expect(gap < end)
            #expect(end - gap <= gap / 8 + 1_000_000, "\(milliseconds) ms")
        }
    }

    @Test func `buckets grow with the gaps and end with the last`() {
        var last = -1
        for milliseconds in [0, 15, 16, 17, 18, 31, 32, 100, 1_000, 10_240, 599_999, 2_000_000, .max / 1_000_000] {
            let bucket = CadenceBuckets.bucket(of: Int64(milliseconds) * 1_000_000)
            #expect(bucket >= last && bucket < CadenceBuckets.count)
            last = bucket
        }
        #expect(CadenceBuckets.bucket(of: -1) == 0)
        #expect(CadenceBuckets.bucket(of: .min) == 0)
    }
}

@Suite struct CadenceMeterTests {
    /// Gives a beacon's reports with these gaps in seconds, and the last judgement that came of them.
    private func hear(
        _ meter: inout CadenceMeter, _ gaps: [Double], from start: Double = 0, exitTimeout: Duration? = .seconds(30)
    ) -> [CadenceMeter.Judgement] {
        var time = start
        var judgements: [CadenceMeter.Judgement] = []
        _ = meter.heard(beacon(1), on: 0, at: at(time))
        for gap in gaps {
            time += gap
            if let due = meter.heard(beacon(1), on: 0, at: at(time)),
                let judgement = meter.judge(due, exitTimeout: exitTimeout)
            {
                judgements.append(judgement)
            }
        }
        return judgements
    }

    @Test func `a hundred gaps are judged, ninety-nine are not`() {
        var meter = CadenceMeter()
        #expect(hear(&meter, Array(repeating: 20, count: 99)) == [])
        #expect(meter.tooShort == 0)
        var other = CadenceMeter()
        #expect(hear(&other, Array(repeating: 20, count: 100)).count == 1)
        #expect(other.tooShort == 1)
    }

    @Test func `a timeout of twice the longest gap is bearable, less is not`() throws {
        // 10.24 s and what a bucket adds to it.
        var meter = CadenceMeter()
        #expect(hear(&meter, Array(repeating: 10.24, count: 100), exitTimeout: .seconds(30)) == [])
        let cadence = try #require(meter.cadence(of: beacon(1)))
        #expect(cadence.gaps == 100)
        #expect(cadence.median > .milliseconds(10_240) && cadence.median <= .milliseconds(11_520))
        var tight = CadenceMeter()
        #expect(hear(&tight, Array(repeating: 10.24, count: 100), exitTimeout: cadence.bearable) == [])
        let less = cadence.bearable - .nanoseconds(1)
        var short = CadenceMeter()
        let judgements = hear(&short, Array(repeating: 10.24, count: 100), exitTimeout: less)
        #expect(judgements == [.tooShort(cadence, exitTimeout: less)])
    }

    @Test func `one absence among a hundred gaps is no cadence, two are`() {
        var gaps = Array(repeating: 1.0, count: 100)
        gaps[50] = 120
        var meter = CadenceMeter()
        #expect(hear(&meter, gaps) == [])
        gaps[60] = 120
        var other = CadenceMeter()
        #expect(hear(&other, gaps).count == 1)
    }

    @Test func `ten minutes are an absence, however many there are`() {
        var meter = CadenceMeter()
        #expect(hear(&meter, (0..<300).map { $0 % 2 == 0 ? 600 : 1 }) == [])
        #expect(meter.cadence(of: beacon(1))?.gaps == 150)
    }

    @Test func `it is said once, and again when it has become bearable with something to spare`() {
        var meter = CadenceMeter()
        var judgements = hear(&meter, Array(repeating: 20, count: 1_000))
        #expect(judgements.count == 1)
        judgements = hear(&meter, Array(repeating: 20, count: 256), from: 1e5, exitTimeout: .seconds(120))
        #expect(judgements.count == 1)
        #expect(meter.tooShort == 0)
        guard case .bearable = judgements.first else {
            Issue.record("\(judgements)")
            return
        }
    }

    @Test func `a beacon on which no condition is has no timeout to be too short`() {
        var meter = CadenceMeter()
        #expect(hear(&meter, Array(repeating: 20, count: 200), exitTimeout: nil) == [])
        #expect(meter.tooShort == 0)
    }

    @Test func `a gap in which the adapter that heard the beacon did not listen is none`() {
        var meter = CadenceMeter()
        _ = meter.heard(beacon(1), on: 0, at: at(0))
        meter.interrupted(0, at: at(50))
        _ = meter.heard(beacon(1), on: 0, at: at(60))
        #expect(meter.cadence(of: beacon(1)) == nil)
        meter.interrupted(1, at: at(65))
        _ = meter.heard(beacon(1), on: 1, at: at(70))
        #expect(meter.cadence(of: beacon(1))?.gaps == 1)
    }

    @Test func `T2: a report stamped earlier ends no gap`() {
        var meter = CadenceMeter()
        _ = meter.heard(beacon(1), on: 0, at: at(10))
        _ = meter.heard(beacon(1), on: 0, at: at(5))
        #expect(meter.cadence(of: beacon(1)) == nil)
        _ = meter.heard(beacon(1), on: 0, at: at(11))
        #expect(meter.cadence(of: beacon(1))?.gaps == 1)
        #expect(meter.cadence(of: beacon(1))?.longest ?? .seconds(9) < .seconds(2))
    }

    @Test func `older gaps fade, so that a beacon that was made faster is found to be`() {
        var meter = CadenceMeter()
        _ = hear(&meter, Array(repeating: 20, count: 1_000))
        #expect(meter.tooShort == 1)
        _ = hear(&meter, Array(repeating: 0.1, count: 1_100_000), from: 1e5)
        #expect(meter.tooShort == 0)
    }

    @Test func `a flood of invented beacons is counted and pushes out nobody who is heard`() {
        var meter = CadenceMeter()
        for number in 0..<20_000 { _ = meter.heard(beacon(number), on: 0, at: at(Double(number) * 1e-3)) }
        #expect(meter.followed == CadenceMeter.beaconsMax)
        #expect(meter.unfollowed == 20_000 - CadenceMeter.beaconsMax)
        _ = meter.heard(beacon(0), on: 0, at: at(30))
        #expect(meter.cadence(of: beacon(0))?.gaps == 1)
    }

    @Test func `one that has been silent for ten minutes gives way to a newcomer`() {
        var meter = CadenceMeter()
        for number in 0..<CadenceMeter.beaconsMax { _ = meter.heard(beacon(number), on: 0, at: at(0)) }
        _ = meter.heard(beacon(10_000), on: 0, at: at(599))
        #expect(meter.unfollowed == 1)
        _ = meter.heard(beacon(10_000), on: 0, at: at(600))
        _ = meter.heard(beacon(10_000), on: 0, at: at(601))
        #expect(meter.unfollowed == 1)
        #expect(meter.cadence(of: beacon(10_000))?.gaps == 1)
        #expect(meter.followed == CadenceMeter.beaconsMax)
    }

    @Test func `a judgement that was due of a beacon that gave way is none`() throws {
        var meter = CadenceMeter()
        var due: CadenceMeter.Due?
        for index in 0...100 { due = meter.heard(beacon(0), on: 0, at: at(Double(index))) ?? due }
        for number in 1..<CadenceMeter.beaconsMax { _ = meter.heard(beacon(number), on: 0, at: at(5_000)) }
        for number in 0..<CadenceMeter.beaconsMax { _ = meter.heard(beacon(100_000 + number), on: 0, at: at(5_001)) }
        #expect(meter.cadence(of: beacon(0)) == nil)
        let stale = try #require(due)
        #expect(meter.judge(stale, exitTimeout: .seconds(1)) == nil)
    }
}

@Suite struct ThinningMeterTests {
    @Test func `one report per scan of 10_24 s is thinned, after a dozen`() {
        var meter = ThinningMeter()
        var told: [Int] = []
        for scan in 0...20 where meter.heard(beacon(1), at: at(Double(scan) * 10.3)) { told.append(scan) }
        #expect(told == [12])
        #expect(meter.isThinned)
    }

    @Test func `several beacons tell sooner`() {
        var meter = ThinningMeter()
        for scan in 0..<4 {
            for number in 0..<4 { _ = meter.heard(beacon(number * 7), at: at(Double(scan) * 10.3 + Double(number))) }
        }
        #expect(meter.isThinned)
    }

    @Test(arguments: [0.1, 1, 5, 9.2])
    func `reports that come more often are not thinned`(gap: Double) {
        var meter = ThinningMeter()
        for index in 0..<200 { _ = meter.heard(beacon(1), at: at(Double(index) * gap)) }
        #expect(!meter.isThinned)
    }

    @Test func `reports that come more rarely than scans are not thinned`() {
        var meter = ThinningMeter()
        for index in 0..<200 { _ = meter.heard(beacon(1), at: at(Double(index) * 13)) }
        #expect(!meter.isThinned)
    }

    @Test func `once every report comes again it is said within a few`() {
        var meter = ThinningMeter()
        for scan in 0..<40 { _ = meter.heard(beacon(1), at: at(Double(scan) * 10.3)) }
        #expect(meter.isThinned)
        var told = 0
        for index in 0..<64 where meter.heard(beacon(1), at: at(420 + Double(index))) { told += 1 }
        #expect(told == 1)
        #expect(!meter.isThinned)
    }

    @Test func `a gap that spans an interruption says nothing`() {
        var meter = ThinningMeter()
        for scan in 0..<40 {
            meter.interrupted()
            _ = meter.heard(beacon(1), at: at(Double(scan) * 10.3))
        }
        #expect(!meter.isThinned)
    }
}
