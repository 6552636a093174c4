import BaseTypes
import BluetoothLE
import Foundation
import TestSupport
import Testing

@testable import BeaconMonitoring

private func at(_ seconds: Double) -> Instant { Instant(nanoseconds: Int64((seconds * 1e9).rounded())) }
private func instant(_ seconds: Double) -> Instant { at(seconds) }
private let anyA = BeaconMonitor.BeaconIdentityCondition(uuid: .a)

/// A ranger that is called as its users must call it: deadlines first, then the sighting.
private struct Ranged {
    var ranger: Ranger
    var reported: ContiguousArray<Ranging> = []

    init(_ settings: RangingSettings = RangingSettings(), _ conditions: BeaconMonitor.BeaconIdentityCondition...) {
        ranger = Ranger(settings: settings)
        for condition in conditions.isEmpty ? [anyA] : conditions { ranger.add(condition) }
    }

    mutating func receive(_ beacon: BeaconIdentity = .a(1), _ rssi: Int8? = -60, power: Int8? = -59, at seconds: Double)
    {
        advance(to: seconds)
        ranger.sighted(beacon, measuredPower: power, rssi: rssi.map { RSSI(dBm: $0) }, at: instant(seconds))
    }

    mutating func advance(to seconds: Double) { ranger.advance(to: instant(seconds), into: &reported) }

    /// The mean RSSI of the first beacon in each ranging.
    var means: [Double?] { reported.map { $0.beacons.first?.rssi } }
}

@Suite struct RangerTests {
    // MARK: Once a second

    @Test func `each second ends with a ranging of the beacons in view; a sighting at its end is in the next`() throws {
        var fixture = Ranged()
        fixture.receive(at: 10.2)
        #expect(fixture.ranger.nextDeadline == at(11))
        fixture.advance(to: 10.999_999_999)
        #expect(fixture.reported.isEmpty)
        fixture.receive(.a(2), at: 11)
        let first = try #require(fixture.reported.first)
        #expect(fixture.reported.count == 1)
        #expect(first.time == at(11))
        #expect(first.condition == anyA)
        #expect(first.beacons.map(\.beacon) == [.a(1)])
        #expect(first.beacons.first?.lastSighting == at(10.2))
        fixture.advance(to: 12)
        #expect(fixture.reported.last?.beacons.map(\.beacon) == [.a(1), .a(2)])
    }

    @Test func `a beacon that is silent for the window is out of view: one empty ranging, then none is due`() {
        var fixture = Ranged()
        fixture.receive(at: 10.5)
        fixture.advance(to: 1000)
        // The sighting is between 10 s and 11 s, so the five rangings from 11 s to 15 s have the beacon.
        #expect(fixture.reported.map(\.time) == (11...16).map { at(Double($0)) })
        #expect(fixture.reported.map(\.beacons.count) == [1, 1, 1, 1, 1, 0])
        #expect(fixture.ranger.nextDeadline == nil)
        #expect(fixture.ranger.beacons == 0)
        // If the mean kept old readings, this would be wrong: only the reading after the silence must count.
        fixture.receive(rssi: -90, at: 1000.5)
        fixture.advance(to: 1001)
        #expect(fixture.reported.last?.beacons.first?.rssi == -90)
        #expect(fixture.reported.last?.beacons.first?.count == 1)
    }

    @Test(arguments: [1, 2, 5, 10]) func `a window of n seconds gives n rangings and an empty one`(window: Int) {
        var fixture = Ranged(RangingSettings(window: window))
        fixture.receive(at: 100)
        fixture.advance(to: 200)
        #expect(fixture.reported.count == window + 1)
    }

    // MARK: The filter

    @Test func `the mean of a constant RSSI is this RSSI, for any value`() {
        for rssi in [Int8.min, -127, -61, -60, -1, 0, 1, 20, Int8.max] {
            var fixture = Ranged()
            for tenth in 0..<100 { fixture.receive(rssi: rssi, at: 10 + Double(tenth) / 10) }
            #expect(fixture.means.allSatisfy { $0 == Double(rssi) }, "\(rssi)")
        }
    }

    @Test func `halves are not truncated: the mean of -60 and -61 in turns is -60.5`() {
        var fixture = Ranged()
        for tenth in 0..<60 { fixture.receive(rssi: tenth % 2 == 0 ? -60 : -61, at: 10 + Double(tenth) / 10) }
        #expect(fixture.means == [-60.5, -60.5, -60.5, -60.5, -60.5])
        var three = Ranged()
        for reading in [Int8(-60), -60, -61] { three.receive(rssi: reading, at: 10) }
        three.advance(to: 11)
        // As a part of the comparison, this expression takes the type checker 4 s.
        let third: Double = 1.0 / 3
        #expect(three.means == [-60 - third])
    }

    @Test func `after a step of the RSSI, the mean changes linearly and is exact after the window`() {
        var fixture = Ranged()
        for tenth in 0..<200 { fixture.receive(rssi: tenth < 100 ? -60 : -80, at: 10 + Double(tenth) / 10) }
        fixture.advance(to: 30)
        // A mean over five seconds answers a step at 20 s with a fifth of the step each second.
        #expect(fixture.means.prefix(10).allSatisfy { $0 == -60 })
        #expect(fixture.means[10...15] == [-64, -68, -72, -76, -80, -80])
        #expect(fixture.means.suffix(5).allSatisfy { $0 == -80 })
    }

    @Test func `the mean of a ramp is two and a half seconds late and equally steep`() {
        var fixture = Ranged()
        for tenth in 0..<400 { fixture.receive(rssi: Int8(-40 - tenth / 10), at: Double(tenth) / 10) }
        fixture.advance(to: 40)
        // The RSSI falls by 1 dB each second, so the mean of the seconds k−5 … k−1 is the value of the middle one.
        for second in 5...40 { #expect(fixture.means[second - 1] == Double(-40 - (second - 3)), "\(second)") }
    }

    @Test func `the mean of noise in whole dBm has no bias, and its variance is divided by the number of readings`() {
        let seed = SeededGenerator.seed
        var random = SeededGenerator(state: seed)
        var fixture = Ranged()
        // Ten readings each second, −67…−54 with equal probability: mean −60.5, variance (14² − 1) / 12 = 16.25.
        for tenth in 0..<20_000 {
            fixture.receive(rssi: .random(in: -67 ... -54, using: &random), at: Double(tenth) / 10)
        }
        let means = fixture.means.dropFirst(5).compactMap { $0 }
        // Every fifth mean is of other readings, so these means are independent.
        let independent = means.enumerated().filter { $0.offset % 5 == 0 }.map(\.element)
        let mean = independent.reduce(0, +) / Double(independent.count)
        let variance = independent.reduce(0) { $0 + ($1 + 60.5) * ($1 + 60.5) } / Double(independent.count)
        // The limit is five standard errors, each 4.03 / √20000.
        #expect(abs(mean + 60.5) < 5 * 0.0285, "seed \(seed): \(mean)")
        // Truncation would move the mean by half a dB, which is far outside this limit.
        #expect(abs(variance - 16.25 / 50) < 0.15, "seed \(seed): \(variance)")
    }

    @Test func `readings without an RSSI are counted and do not change the mean`() throws {
        var fixture = Ranged()
        fixture.receive(rssi: nil, at: 10)
        fixture.advance(to: 11)
        let unknown = try #require(fixture.reported.last?.beacons.first)
        #expect(unknown.rssi == nil)
        #expect(unknown.accuracy == nil)
        #expect(unknown.proximity == .unknown)
        #expect(unknown.count == 1)
        fixture.receive(rssi: -59, at: 11.5)
        fixture.advance(to: 12)
        let known = try #require(fixture.reported.last?.beacons.first)
        #expect(known.rssi == -59)
        #expect(known.accuracy == 1)
        #expect(known.proximity == .near)
        #expect(known.count == 2)
    }

    @Test func `the distance is that of the mean RSSI, not the mean of distances`() throws {
        var fixture = Ranged()
        fixture.receive(rssi: -49, at: 10)
        fixture.receive(rssi: -69, at: 10.1)
        fixture.advance(to: 11)
        // The distances are 0.316 m and 3.16 m. Their mean would be 1.74 m; the mean RSSI of −59 dBm gives 1 m.
        let accuracy = try #require(fixture.reported.last?.beacons.first?.accuracy)
        #expect(abs(accuracy - 1) < 1e-12)
    }

    // MARK: Order and conditions

    @Test func `the nearest is first, not the strongest; without a distance last, equal ones by identity`() {
        var fixture = Ranged()
        fixture.receive(.a(4), nil, at: 10)
        fixture.receive(.a(3), -50, power: -80, at: 10)
        fixture.receive(.a(2), -40, power: -20, at: 10)
        fixture.receive(.a(6), -60, at: 10)
        fixture.receive(.a(5), -60, at: 10)
        fixture.receive(.a(1), nil, at: 10)
        fixture.advance(to: 11)
        #expect(fixture.reported.last?.beacons.map(\.beacon.minor) == [3, 5, 6, 2, 1, 4])
    }

    @Test func `rangings are in the order in which conditions were added, each with its matching beacons`() {
        let major = BeaconMonitor.BeaconIdentityCondition(uuid: .a, major: 1)
        let one = BeaconMonitor.BeaconIdentityCondition(uuid: .a, major: 2, minor: 5)
        var fixture = Ranged(RangingSettings(), one, anyA, major)
        fixture.receive(.a(5, major: 1), at: 10)
        fixture.receive(.a(5, major: 2), at: 10)
        fixture.receive(.a(6, major: 2), at: 10)
        fixture.receive(BeaconIdentity(uuid: .b, major: 1, minor: 5), at: 10)
        fixture.advance(to: 11)
        #expect(fixture.reported.map(\.condition) == [one, anyA, major])
        #expect(fixture.reported.map(\.beacons.count) == [1, 3, 1])
        #expect(fixture.ranger.beacons == 3)
        fixture.reported = []
        fixture.ranger.remove(anyA)
        #expect(fixture.ranger.conditions == [one, major])
        #expect(fixture.ranger.beacons == 2)
        fixture.advance(to: 12)
        #expect(fixture.reported.map(\.condition) == [one, major])
        fixture.ranger.remove(one)
        fixture.ranger.remove(major)
        #expect(fixture.ranger.nextDeadline == nil || fixture.ranger.beacons == 0)
        fixture.reported = []
        fixture.advance(to: 100)
        #expect(fixture.reported.isEmpty)
    }

    @Test func `adding a condition twice equals adding it once, and a condition that was never added can be removed`() {
        var fixture = Ranged()
        fixture.ranger.add(anyA)
        fixture.ranger.remove(BeaconMonitor.BeaconIdentityCondition(uuid: .b))
        #expect(fixture.ranger.conditions == [anyA])
        fixture.ranger.remove(anyA)
        fixture.receive(at: 10)
        #expect(fixture.ranger.beacons == 0)
        #expect(fixture.ranger.nextDeadline == nil)
    }

    // MARK: Hostile input

    @Test func `a flood of invented beacons uses bounded memory and displaces no beacon that is in view`() {
        var fixture = Ranged()
        for tenth in 0..<100 {
            let seconds = 10 + Double(tenth) / 10
            fixture.receive(.a(0, major: 9), at: seconds)
            for invented in 0..<500 {
                fixture.receive(.a(UInt16(truncatingIfNeeded: tenth * 500 + invented), major: 7), -90, at: seconds)
            }
            #expect(fixture.ranger.beacons <= Ranger.beaconsMax)
        }
        #expect(fixture.ranger.unplaced > 0)
        #expect(fixture.reported.allSatisfy { $0.beacons.count <= Ranger.listedMax })
        #expect(fixture.ranger.unlisted > 0)
        #expect(fixture.reported.allSatisfy { $0.beacons.first?.beacon == .a(0, major: 9) })
        fixture.advance(to: 60)
        #expect(fixture.ranger.beacons == 0)
        #expect(fixture.ranger.nextDeadline == nil)
    }

    @Test func `without measured power, a beacon has no accuracy and unknown proximity, and is after the others`()
        throws
    {
        for power in [nil, Int8.min] {
            var fixture = Ranged()
            fixture.receive(.a(1), -40, power: power, at: 10)
            fixture.receive(.a(2), -90, at: 10)
            fixture.receive(.a(3), nil, at: 10)
            fixture.advance(to: 11)
            let beacons = try #require(fixture.reported.last).beacons
            #expect(beacons.map(\.beacon) == [.a(2), .a(1), .a(3)])
            #expect(beacons[1].rssi == -40 && beacons[1].count == 1)
            #expect(beacons[1].accuracy == nil && beacons[1].proximity == .unknown)
            // The measured power of the last sighting counts.
            fixture.receive(.a(1), -40, at: 11)
            fixture.advance(to: 12)
            #expect(fixture.reported.last?.beacons.first?.beacon == .a(1))
            #expect(fixture.reported.last?.beacons.first?.proximity == .immediate)
        }
        #expect(DistanceModel.standard.distance(measuredPower: nil, rssi: -60) == nil)
    }

    @Test func `a sighting with an earlier time counts at the present, and the end of the timeline does not trap`() {
        var fixture = Ranged()
        fixture.receive(at: 50)
        fixture.ranger.sighted(.a(1), measuredPower: -59, rssi: RSSI(dBm: -80), at: at(3))
        fixture.advance(to: 51)
        #expect(fixture.means == [-70])
        fixture.ranger.sighted(.a(1), measuredPower: -59, rssi: nil, at: .latest)
        fixture.ranger.advance(to: .latest, into: &fixture.reported)
        #expect(fixture.ranger.nextDeadline == nil)
        var late = Ranged()
        late.ranger.sighted(.a(1), measuredPower: -59, rssi: nil, at: .latest)
        late.ranger.advance(to: .latest, into: &late.reported)
        #expect(late.ranger.nextDeadline == nil)
    }

    @Test func `the same input gives the same rangings, however often the ranger is woken`() {
        let seed = SeededGenerator.seed
        var random = SeededGenerator(state: seed)
        var (lazy, eager) = (Ranged(), Ranged())
        var time = 10.0
        for _ in 0..<3000 {
            let step = Double.random(in: 0...1, using: &random)
            let gap = step > 0.99 ? step * 20 : step / 5
            for _ in 0..<3 {
                eager.advance(to: time + gap * .random(in: 0...0.3, using: &random))
            }
            time += gap
            let beacon = BeaconIdentity.a(.random(in: 0...9, using: &random))
            let rssi = Int8.random(in: -100 ... -30, using: &random)
            lazy.receive(beacon, rssi, at: time)
            eager.receive(beacon, rssi, at: time)
        }
        #expect(lazy.reported == eager.reported, "seed \(seed)")
        #expect(lazy.reported.count > 100)
    }
}

extension Ranged {
    fileprivate mutating func receive(rssi: Int8?, at seconds: Double) { receive(.a(1), rssi, at: seconds) }
}
