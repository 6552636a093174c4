import BluetoothLE
import Testing

@testable import AdapterScanning

func beacon(_ number: Int) -> BeaconIdentity {
    BeaconIdentity(
        uuid: ProximityUUID(high: 0xF7826DA64FA24E98, low: 0x8024_BC5B_71E0_893E),
        major: UInt16(truncatingIfNeeded: number >> 16), minor: UInt16(truncatingIfNeeded: number))
}

@Suite struct CadenceBucketsTests {
    @Test func `a gap is less than the bound of its bucket, which exceeds it by at most an eighth and 1 ms`() {
        for milliseconds in 16..<600_000 where milliseconds < 2_000 || milliseconds % 97 == 0 {
            let gap = Int64(milliseconds) * 1_000_000
            let bucket = CadenceBuckets.bucket(of: gap)
            let end = CadenceBuckets.upperBound(of: bucket).nanoseconds
            #expect(gap < end)
            #expect(end - gap <= gap / 8 + 1_000_000, "\(milliseconds) ms")
        }
    }

    @Test func `a longer gap never has a lower bucket, the last one is unbounded, and negative gaps use the first`() {
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
    /// Passes reports of a beacon to the meter: one at `start`, then one after each of these gaps in seconds.
    ///
    /// - Returns: all judgements.
    private func receive(
        _ meter: inout CadenceMeter, _ gaps: [Double], from start: Double = 0, exitTimeout: Duration? = .seconds(30)
    ) -> [CadenceMeter.Judgement] {
        var time = start
        var judgements: [CadenceMeter.Judgement] = []
        _ = meter.received(beacon(1), on: 0, at: at(time))
        for gap in gaps {
            time += gap
            if let due = meter.received(beacon(1), on: 0, at: at(time)),
                let judgement = meter.judge(due, exitTimeout: exitTimeout)
            {
                judgements.append(judgement)
            }
        }
        return judgements
    }

    @Test func `a cadence is judged after 100 gaps, not after 99`() {
        var meter = CadenceMeter()
        #expect(receive(&meter, Array(repeating: 20, count: 99)) == [])
        #expect(meter.tooShort == 0)
        var other = CadenceMeter()
        #expect(receive(&other, Array(repeating: 20, count: 100)).count == 1)
        #expect(other.tooShort == 1)
    }

    @Test func `an exit timeout of twice the longest gap is bearable, 1 ns less is too short`() throws {
        // Gaps of 10.24 s, which a bucket rounds up.
        var meter = CadenceMeter()
        #expect(receive(&meter, Array(repeating: 10.24, count: 100), exitTimeout: .seconds(30)) == [])
        let cadence = try #require(meter.cadence(of: beacon(1)))
        #expect(cadence.gaps == 100)
        #expect(cadence.median > .milliseconds(10_240) && cadence.median <= .milliseconds(11_520))
        var tight = CadenceMeter()
        #expect(receive(&tight, Array(repeating: 10.24, count: 100), exitTimeout: cadence.bearable) == [])
        let less = cadence.bearable - .nanoseconds(1)
        var short = CadenceMeter()
        let judgements = receive(&short, Array(repeating: 10.24, count: 100), exitTimeout: less)
        #expect(judgements == [.tooShort(cadence, exitTimeout: less)])
    }

    @Test func `one long absence in a hundred gaps does not change the judgement, two do`() {
        var gaps = Array(repeating: 1.0, count: 100)
        gaps[50] = 120
        var meter = CadenceMeter()
        #expect(receive(&meter, gaps) == [])
        gaps[60] = 120
        var other = CadenceMeter()
        #expect(receive(&other, gaps).count == 1)
    }

    @Test func `a gap of ten minutes is an absence, however often it occurs`() {
        var meter = CadenceMeter()
        #expect(receive(&meter, (0..<300).map { $0 % 2 == 0 ? 600 : 1 }) == [])
        #expect(meter.cadence(of: beacon(1))?.gaps == 150)
    }

    @Test func `a timeout is reported as too short once, and as bearable once it is that with a margin`() {
        var meter = CadenceMeter()
        var judgements = receive(&meter, Array(repeating: 20, count: 1_000))
        #expect(judgements.count == 1)
        judgements = receive(&meter, Array(repeating: 20, count: 256), from: 1e5, exitTimeout: .seconds(120))
        #expect(judgements.count == 1)
        #expect(meter.tooShort == 0)
        guard case .bearable = judgements.first else {
            Issue.record("\(judgements)")
            return
        }
    }

    @Test func `a beacon without a condition has no timeout that can be too short`() {
        var meter = CadenceMeter()
        #expect(receive(&meter, Array(repeating: 20, count: 200), exitTimeout: nil) == [])
        #expect(meter.tooShort == 0)
    }

    @Test func `a gap does not count if the adapter that received its first report stopped scanning meanwhile`() {
        var meter = CadenceMeter()
        _ = meter.received(beacon(1), on: 0, at: at(0))
        meter.interrupted(0, at: at(50))
        _ = meter.received(beacon(1), on: 0, at: at(60))
        #expect(meter.cadence(of: beacon(1)) == nil)
        meter.interrupted(1, at: at(65))
        _ = meter.received(beacon(1), on: 1, at: at(70))
        #expect(meter.cadence(of: beacon(1))?.gaps == 1)
    }

    @Test func `T2: a report with an earlier time ends no gap`() {
        var meter = CadenceMeter()
        _ = meter.received(beacon(1), on: 0, at: at(10))
        _ = meter.received(beacon(1), on: 0, at: at(5))
        #expect(meter.cadence(of: beacon(1)) == nil)
        _ = meter.received(beacon(1), on: 0, at: at(11))
        #expect(meter.cadence(of: beacon(1))?.gaps == 1)
        #expect(meter.cadence(of: beacon(1))?.longest ?? .seconds(9) < .seconds(2))
    }

    @Test func `older gaps lose weight, so a beacon that now advertises faster does not stay too rare`() {
        var meter = CadenceMeter()
        _ = receive(&meter, Array(repeating: 20, count: 1_000))
        #expect(meter.tooShort == 1)
        _ = receive(&meter, Array(repeating: 0.1, count: 1_100_000), from: 1e5)
        #expect(meter.tooShort == 0)
    }

    @Test func `a flood of forged beacons is counted and evicts no beacon that is still received`() {
        var meter = CadenceMeter()
        for number in 0..<20_000 { _ = meter.received(beacon(number), on: 0, at: at(Double(number) * 1e-3)) }
        #expect(meter.followed == CadenceMeter.beaconsMax)
        #expect(meter.unfollowed == 20_000 - CadenceMeter.beaconsMax)
        _ = meter.received(beacon(0), on: 0, at: at(30))
        #expect(meter.cadence(of: beacon(0))?.gaps == 1)
    }

    @Test func `a new beacon replaces one that was silent for ten minutes, not one that was silent for 599 s`() {
        var meter = CadenceMeter()
        for number in 0..<CadenceMeter.beaconsMax { _ = meter.received(beacon(number), on: 0, at: at(0)) }
        _ = meter.received(beacon(10_000), on: 0, at: at(599))
        #expect(meter.unfollowed == 1)
        _ = meter.received(beacon(10_000), on: 0, at: at(600))
        _ = meter.received(beacon(10_000), on: 0, at: at(601))
        #expect(meter.unfollowed == 1)
        #expect(meter.cadence(of: beacon(10_000))?.gaps == 1)
        #expect(meter.followed == CadenceMeter.beaconsMax)
    }

    @Test func `a due judgement of a beacon that was evicted is not made`() throws {
        var meter = CadenceMeter()
        var due: CadenceMeter.Due?
        for index in 0...100 { due = meter.received(beacon(0), on: 0, at: at(Double(index))) ?? due }
        for number in 1..<CadenceMeter.beaconsMax { _ = meter.received(beacon(number), on: 0, at: at(5_000)) }
        for number in 0..<CadenceMeter.beaconsMax { _ = meter.received(beacon(100_000 + number), on: 0, at: at(5_001)) }
        #expect(meter.cadence(of: beacon(0)) == nil)
        let stale = try #require(due)
        #expect(meter.judge(stale, exitTimeout: .seconds(1)) == nil)
    }
}

@Suite struct ThinningMeterTests {
    @Test func `one report per scan of 10.24 s counts as thinned after 12 gaps`() {
        var meter = ThinningMeter()
        var reported: [Int] = []
        for scan in 0...20 where meter.received(beacon(1), at: at(Double(scan) * 10.3)) { reported.append(scan) }
        #expect(reported == [12])
        #expect(meter.isThinned)
    }

    @Test func `with several beacons, thinned reports are detected after fewer scans`() {
        var meter = ThinningMeter()
        for scan in 0..<4 {
            for number in 0..<4 { _ = meter.received(beacon(number * 7), at: at(Double(scan) * 10.3 + Double(number))) }
        }
        #expect(meter.isThinned)
    }

    @Test(arguments: [0.1, 1, 5, 9.2])
    func `reports at intervals shorter than a scan are not thinned`(gap: Double) {
        var meter = ThinningMeter()
        for index in 0..<200 { _ = meter.received(beacon(1), at: at(Double(index) * gap)) }
        #expect(!meter.isThinned)
    }

    @Test func `reports at intervals longer than a scan are not thinned`() {
        var meter = ThinningMeter()
        for index in 0..<200 { _ = meter.received(beacon(1), at: at(Double(index) * 13)) }
        #expect(!meter.isThinned)
    }

    @Test func `if every report is received again, this is reported once, within 64 reports`() {
        var meter = ThinningMeter()
        for scan in 0..<40 { _ = meter.received(beacon(1), at: at(Double(scan) * 10.3)) }
        #expect(meter.isThinned)
        var reported = 0
        for index in 0..<64 where meter.received(beacon(1), at: at(420 + Double(index))) { reported += 1 }
        #expect(reported == 1)
        #expect(!meter.isThinned)
    }

    @Test func `a gap that spans an interruption does not count`() {
        var meter = ThinningMeter()
        for scan in 0..<40 {
            meter.interrupted()
            _ = meter.received(beacon(1), at: at(Double(scan) * 10.3))
        }
        #expect(!meter.isThinned)
    }
}
