import BaseTypes
import BluetoothLE
import Testing

@testable import BeaconMonitoring

@Suite struct SubjectTests {
    private func subject(_ state: BeaconMonitor.Event.State = .satisfied) -> Subject {
        Subject(condition: ConditionIndex(0), state: state, beacon: nil)
    }

    private func hold(_ adapter: Int, start: Int64 = 0) -> Hold {
        Hold(adapter: AdapterIndex(adapter), start: start, queued: start + 30)
    }

    private func holders(_ subject: Subject) -> [Int] {
        (0..<subject.holdCount).map { subject.hold(at: $0).adapter.offset }
    }

    private func refresh(_ rssi: Int8?, by adapter: Int = 1) -> (Refresh, Int16) {
        let sighting = Sighting(
            time: Instant(nanoseconds: 5), adapter: AdapterID(index: adapter), beacon: .a(1),
            measuredPower: -59,
            rssi: rssi.map { RSSI(dBm: $0) })
        return (Refresh(sighting, at: 5), sighting.strength)
    }

    @Test(arguments: [(nil, nil), (Int8.min, nil), (-127, -127), (0, 0), (127, 127)] as [(Int8?, Int8?)])
    func `a refresh has the measured power of its sighting; -128 is unknown`(power: Int8?, expected: Int8?) {
        let sighting = Sighting(
            time: Instant(nanoseconds: 5), adapter: AdapterID(index: 1), beacon: .a(1), measuredPower: power, rssi: nil)
        #expect(sighting.measuredPower == expected)
        #expect(Refresh(sighting, at: 5).sighting(uuid: .a) == sighting)
        let saved = MonitorSnapshot.Refresh(
            time: .timeline(sighting.time), beacon: .a(1), measuredPower: power, rssi: nil, address: nil,
            adapter: "hci0")
        #expect(saved.measuredPower == expected)
    }

    @Test func `holds are in the order of their last refreshes`() {
        var subject = subject()
        #expect(!subject.isHeld && subject.holdCount == 0 && subject.hold(by: AdapterIndex(1)) == nil)
        for adapter in 1...3 { subject.add(hold(adapter)) }
        #expect(holders(subject) == [1, 2, 3])
        subject.refreshHold(at: 0, clock: 9)
        #expect(holders(subject) == [2, 3, 1])
        #expect(subject.hold(at: 2).start == 9)
        subject.refreshHold(at: 2, clock: 11)
        #expect(holders(subject) == [2, 3, 1])
        #expect(subject.hold(at: 2).start == 11)
        #expect(subject.hold(by: AdapterIndex(3)) == 1)
    }

    @Test(arguments: [
        ([0, 0, 0], [[2, 3], [3], []]), ([2, 1, 0], [[1, 2], [1], []]),
        ([1, 0, 0], [[1, 3], [3], []]),
    ])
    func `any hold can be removed, and the others keep their order and their starts`(
        places: [Int], left: [[Int]]
    ) {
        var subject = subject()
        for adapter in 1...3 { subject.add(hold(adapter, start: Int64(adapter))) }
        for (place, left) in zip(places, left) {
            subject.removeHold(at: place)
            #expect(holders(subject) == left)
            #expect((0..<subject.holdCount).allSatisfy { subject.hold(at: $0).start == Int64(left[$0]) })
        }
        #expect(!subject.isHeld)
    }

    @Test func `a hold keeps its position if it restarts or is queued, and refreshOnlyHold needs the only holder`() {
        var subject = subject()
        subject.add(hold(1))
        subject.add(hold(2))
        for place in 0..<2 {
            subject.restartHold(at: place, clock: 7)
            subject.noteQueued(at: place, 40)
        }
        #expect(holders(subject) == [1, 2])
        #expect(
            (0..<2).allSatisfy { subject.hold(at: $0).start == 7 && subject.hold(at: $0).queued == 40 })
        #expect(subject.refreshOnlyHold(by: AdapterIndex(2), clock: 8) == false)
        subject.removeHold(at: 0)
        #expect(subject.refreshOnlyHold(by: AdapterIndex(2), clock: 8) == true)
        #expect(subject.refreshOnlyHold(by: AdapterIndex(1), clock: 9) == false)
        #expect(subject.hold(at: 0).start == 8)
    }

    @Test func `refreshAlone works only for the only holder of a satisfied subject, after noteLoneAdapter`() {
        var subject = subject()
        let adapter = AdapterIndex(1)
        let (refresh, strength) = refresh(-60)
        subject.add(hold(1))
        subject.refresh(by: refresh, strength)
        #expect(subject.refreshAlone(by: refresh, strength, adapter, 3) == false)
        subject.noteLoneAdapter()
        #expect(subject.refreshAlone(by: refresh, strength, adapter, 3) == true)
        #expect(subject.hold(at: 0).start == 3)
        #expect(subject.refreshAlone(by: refresh, strength, AdapterIndex(2), 4) == false)
    }

    @Test(arguments: 0..<4)
    func `a change of the holds or of the state disables refreshAlone`(change: Int) {
        var subject = subject()
        let (refresh, strength) = refresh(-60)
        subject.add(hold(1))
        subject.refresh(by: refresh, strength)
        subject.noteLoneAdapter()
        switch change {
        case 0: subject.add(hold(2))
        case 1: subject.removeHold(at: 0)
        case 2: subject.become(.unknown)
        default: subject.restartHold(at: 0, clock: 1)
        }
        #expect(subject.refreshAlone(by: refresh, strength, AdapterIndex(1), 3) == false)
    }

    @Test func `X1: refreshAlone refreshes at exit_rssi, but not below it`() {
        var subject = subject()
        subject.exitRSSI = -70
        subject.add(hold(1))
        subject.refresh(by: refresh(-60).0, -60)
        subject.noteLoneAdapter()
        let before = subject.refreshes
        #expect(subject.refreshAlone(by: refresh(-71).0, -71, AdapterIndex(1), 9) == true)
        #expect(subject.refreshes == before && subject.hold(at: 0).start == 0)
        #expect(subject.refreshAlone(by: refresh(-70).0, -70, AdapterIndex(1), 9) == true)
        #expect(subject.refreshes == before + 1 && subject.hold(at: 0).start == 9)
    }

    @Test func `P3: a visit counts its refreshes and the RSSI of those that have one; a new visit starts at 0`() {
        var subject = subject()
        subject.openVisit()
        #expect(subject.strength == nil)
        for rssi in [-60, nil, -80] as [Int8?] {
            let (refresh, strength) = refresh(rssi)
            subject.refresh(by: refresh, strength)
        }
        #expect(subject.refreshes == 3)
        #expect(subject.strength == Visit.Strength(minimum: -80, sum: -140, count: 2, maximum: -60))
        subject.openVisit()
        #expect(subject.refreshes == 0 && subject.strength == nil)
    }

    @Test func `N4: a visit continues after a restart, also if its stored counts are invalid`() {
        var subject = subject()
        let strength = Visit.Strength(minimum: -80, sum: -140, count: 2, maximum: -60)
        subject.resumeVisit(refreshes: 3, strength)
        #expect(subject.isVisited && subject.refreshes == 3 && subject.strength == strength)
        subject.refresh(by: refresh(-50).0, -50)
        #expect(subject.strength == Visit.Strength(minimum: -80, sum: -190, count: 3, maximum: -50))
        // A state that was edited by hand can have more RSSI values than refreshes, or a negative number of refreshes.
        subject.resumeVisit(refreshes: 1, strength)
        #expect(subject.strength?.count == 1)
        subject.resumeVisit(refreshes: -1, nil)
        #expect(subject.refreshes == 0 && subject.strength == nil)
    }
}

@Suite struct SubjectTableTests {
    @Test func `a beacon is found under its own condition until it is removed`() {
        var table = SubjectTable()
        let (one, other) = (ConditionIndex(0), ConditionIndex(1))
        let subject = table.add(Subject(condition: one, state: .unsatisfied, beacon: .a(1)), for: .a(1))
        #expect(table.find(.a(1), under: one) == subject)
        #expect(table.find(.a(1), under: other) == nil && table.find(.a(2), under: one) == nil)
        #expect(table.beaconCount == 1)
        table.remove(subject, of: .a(1))
        #expect(table.find(.a(1), under: one) == nil && table.beaconCount == 0)
        #expect(!table[subject].exists)
        // Its index is free, and none of its data is left there.
        let next = table.add(Subject(condition: other, state: .unknown, beacon: nil))
        #expect(next == subject && table[next].exists && table.beaconCount == 0)
    }

    @Test func `a queue entry is valid only if its adapter and its expiry are those of the hold`() {
        var table = SubjectTable()
        let subject = table.add(Subject(condition: ConditionIndex(0), state: .satisfied, beacon: nil))
        let adapter = AdapterIndex(1)
        table[subject].add(Hold(adapter: adapter, start: 0, queued: 30))
        #expect(table.isHeld(HoldEntry(expiry: 30, subject: subject), by: adapter))
        #expect(!table.isHeld(HoldEntry(expiry: 29, subject: subject), by: adapter))
        #expect(!table.isHeld(HoldEntry(expiry: 30, subject: subject), by: AdapterIndex(2)))
        table[subject].removeHold(at: 0)
        #expect(!table.isHeld(HoldEntry(expiry: 30, subject: subject), by: adapter))
    }
}

@Suite struct EntryProgressTests {
    @Test func `E1: the third qualifying sighting within the window suffices; the window excludes its far end`() {
        var progress = EntryProgress()
        #expect(progress.suffices(at: 0, count: 3, window: 10) == false)
        #expect(progress.suffices(at: 5, count: 3, window: 10) == false)
        var edge = progress
        #expect(edge.suffices(at: 10, count: 3, window: 10) == false)
        #expect(progress.suffices(at: 9, count: 3, window: 10) == true)
        progress.restart()
        #expect(progress.suffices(at: 9, count: 3, window: 10) == false)
    }

    @Test func `P5: after a refusal, one more sighting suffices if the last ones before it are in the window`() {
        var progress = EntryProgress()
        for time in 0..<2 as Range<Int64> {
            #expect(progress.suffices(at: time, count: 3, window: 100) == false)
        }
        #expect(progress.suffices(at: 2, count: 3, window: 100) == true)
        progress.keepForNext(at: 2, count: 3)
        // The sightings at 1 and 2 are stored. One more suffices as long as the sighting at 1 is in the window.
        var late = progress
        #expect(progress.suffices(at: 100, count: 3, window: 100) == true)
        #expect(late.suffices(at: 101, count: 3, window: 100) == false)
    }
}

@Suite struct NewBeaconTokensTests {
    private let interval = NewBeaconTokens.interval

    @Test func `P5: one token returns every 2 s from the start, up to the limit`() {
        var tokens = NewBeaconTokens(most: 2, start: 7)
        #expect(tokens.spend(at: 7) && tokens.spend(at: 7) && !tokens.spend(at: 7 + interval - 1))
        #expect(tokens.left(at: 7 + interval) == 1)
        #expect(tokens.spend(at: 7 + interval) && !tokens.spend(at: 7 + interval))
        #expect(tokens.left(at: 7 + 100 * interval) == 2)
        #expect(tokens.left(at: 7 + interval) == 0)
    }

    @Test func `P5: if there is no limit, any number of beacons can enter`() {
        var tokens = NewBeaconTokens(most: 0, start: 0)
        for _ in 0..<100 { #expect(tokens.spend(at: 0) == true) }
        #expect(tokens.left(at: 0) == nil)
    }
}
