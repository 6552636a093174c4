import Testing

@testable import BeaconMonitoring

/// Subjects of beacons under one condition with an `enter_window` of 10 ns.
private struct Beacons {
    var subjects = SubjectTable()
    var conditions = ConditionTable()
    let condition: ConditionIndex
    /// A condition with an `enter_window` of 100 ns.
    let patient: ConditionIndex

    init() {
        var settings = ConditionSettings()
        settings.enterWindow = .nanoseconds(10)
        condition = conditions.add(
            .anyA, ScriptGenerator.identifier("lobby"), in: MonitorIndex(0), settings, ordinal: 1)
        settings.enterWindow = .nanoseconds(100)
        patient = conditions.add(
            .anyA, ScriptGenerator.identifier("yard"), in: MonitorIndex(0), settings, ordinal: 2)
        conditions.makeRanks()
    }

    mutating func add(
        _ minor: UInt16, _ state: BeaconMonitor.Event.State, under condition: ConditionIndex? = nil,
        isNamed: Bool = false
    ) -> SubjectIndex {
        var subject = Subject(condition: condition ?? self.condition, state: state, beacon: .a(minor))
        subject.isNamed = isNamed
        return subjects.add(subject, for: .a(minor))
    }

    mutating func qualify(_ subject: SubjectIndex, at time: Int64) {
        subjects[detailsOf: subject].progress.noteQualifying(at: time)
    }

    mutating func refresh(_ subject: SubjectIndex, at time: Int64, order: UInt32? = nil) {
        var last = subjects[subject].last
        last.time = time
        subjects[subject].refresh(by: last, -60)
        subjects.noteOrder(of: subject)
        if let order { subjects[subject].order = order }
    }
}

@Suite struct WayInTests {
    @Test func `P1: a pending beacon is forgotten enter_window after its last qualifying sighting`() {
        var beacons = Beacons()
        var candidates = EntryCandidates()
        let (one, other) = (beacons.add(1, .unsatisfied), beacons.add(2, .unsatisfied))
        for (subject, time) in [(one, 5), (other, 6)] as [(SubjectIndex, Int64)] {
            beacons.qualify(subject, at: time)
            candidates.begin()
            #expect(candidates.queue(subject, beacons.subjects, beacons.conditions) == time + 10)
        }
        beacons.qualify(one, at: 8)
        #expect(candidates.nextForgetting(beacons.subjects, beacons.conditions) == 16)
        #expect(candidates.removeForgotten(at: 15, beacons.subjects, beacons.conditions) == nil)
        #expect(candidates.removeForgotten(at: 18, beacons.subjects, beacons.conditions) == other)
        #expect(candidates.removeForgotten(at: 18, beacons.subjects, beacons.conditions) == one)
        #expect(candidates.nextForgetting(beacons.subjects, beacons.conditions) == nil)
    }

    @Test func `P1: a beacon that has entered is not forgotten with the pending ones`() {
        var beacons = Beacons()
        var candidates = EntryCandidates()
        let subject = beacons.add(1, .unsatisfied)
        candidates.begin()
        _ = candidates.queue(subject, beacons.subjects, beacons.conditions)
        beacons.subjects[subject].become(.satisfied)
        candidates.end()
        #expect(candidates.nextForgetting(beacons.subjects, beacons.conditions) == nil)
    }

    @Test func `the queue of pending beacons stays short if each new beacon takes the place of another`() {
        var beacons = Beacons()
        var candidates = EntryCandidates()
        for minor in 1...1000 as ClosedRange<UInt16> {
            // Every third beacon can wait for longer than the one that gets its place.
            let subject = beacons.add(minor, .unsatisfied, under: minor % 3 == 0 ? beacons.patient : nil)
            let (time, window) = (Int64(minor), minor % 3 == 0 ? 100 : 10 as Int64)
            beacons.qualify(subject, at: time)
            candidates.begin()
            #expect(candidates.queue(subject, beacons.subjects, beacons.conditions) == time + window)
            #expect(candidates.nextForgetting(beacons.subjects, beacons.conditions) == time + window)
            #expect(candidates.forgettings.count <= 2 + 64)
            beacons.subjects.remove(subject, of: .a(minor))
            candidates.end()
        }
        #expect(candidates.nextForgetting(beacons.subjects, beacons.conditions) == nil)
    }

    @Test
    func `P2: the pending beacon with the oldest sighting gives way first, ties by identity; a named one never`() {
        var beacons = Beacons()
        var candidates = EntryCandidates()
        let subjects = [
            beacons.add(9, .unsatisfied), beacons.add(3, .unsatisfied), beacons.add(4, .unsatisfied),
            beacons.add(1, .unsatisfied, isNamed: true),
        ]
        for (subject, time) in zip(subjects, [7, 5, 5, 1] as [Int64]) {
            beacons.qualify(subject, at: time)
            candidates.begin()
            _ = candidates.queue(subject, beacons.subjects, beacons.conditions)
        }
        for expected in subjects[1...2] + [subjects[0]] {
            let leaving = candidates.removeLeastRecent(beacons.subjects, beacons.conditions)
            #expect(leaving == expected)
            if let leaving {
                beacons.subjects.remove(
                    leaving, of: beacons.subjects.beacon(of: leaving, beacons.conditions))
                candidates.end()
            }
        }
        #expect(candidates.removeLeastRecent(beacons.subjects, beacons.conditions) == nil)
    }

    @Test func `P2: a beacon with a new qualifying sighting gives way after the others`() {
        var beacons = Beacons()
        var candidates = EntryCandidates()
        let subjects = [
            beacons.add(1, .unsatisfied), beacons.add(2, .unsatisfied), beacons.add(3, .unsatisfied),
        ]
        for (subject, time) in zip(subjects, [1, 2, 3] as [Int64]) {
            beacons.qualify(subject, at: time)
            candidates.begin()
            _ = candidates.queue(subject, beacons.subjects, beacons.conditions)
        }
        #expect(candidates.removeLeastRecent(beacons.subjects, beacons.conditions) == subjects[0])
        beacons.subjects.remove(subjects[0], of: .a(1))
        candidates.end()
        beacons.qualify(subjects[1], at: 9)
        #expect(candidates.removeLeastRecent(beacons.subjects, beacons.conditions) == subjects[2])
    }
}

@Suite struct PresentUnnamedBeaconsTests {
    @Test
    func `P4: the unnamed beacon with the oldest refresh gives way first, ties by the order of refreshes`() {
        var beacons = Beacons()
        var unnamed = PresentUnnamedBeacons()
        let subjects = [
            beacons.add(1, .satisfied), beacons.add(2, .unknown), beacons.add(3, .satisfied),
        ]
        let named = beacons.add(4, .satisfied, isNamed: true)
        let onTheWayIn = beacons.add(5, .unsatisfied)
        for (subject, time) in zip(subjects + [named, onTheWayIn], [7, 5, 5, 1, 1] as [Int64]) {
            beacons.refresh(subject, at: time)
        }
        #expect(unnamed.removeLeastRecent(beacons.subjects) == subjects[1])
        beacons.subjects.remove(subjects[1], of: .a(2))
        // A beacon that was refreshed in the meantime gives way later. A beacon that has entered in the meantime is
        // included.
        beacons.refresh(subjects[2], at: 9)
        let new = beacons.add(6, .satisfied)
        beacons.refresh(new, at: 8)
        unnamed.insert(new, beacons.subjects)
        for (expected, minor) in [(subjects[0], 1), (new, 6), (subjects[2], 3)]
            as [(SubjectIndex, UInt16)]
        {
            #expect(unnamed.removeLeastRecent(beacons.subjects) == expected)
            beacons.subjects.remove(expected, of: .a(minor))
        }
        #expect(unnamed.removeLeastRecent(beacons.subjects) == nil)
    }

    @Test func `P4: the order of refreshes is correct when its number wraps`() {
        var beacons = Beacons()
        var unnamed = PresentUnnamedBeacons()
        let (early, late) = (beacons.add(1, .satisfied), beacons.add(2, .satisfied))
        beacons.refresh(early, at: 5, order: .max)
        beacons.refresh(late, at: 5, order: 0)
        #expect(unnamed.removeLeastRecent(beacons.subjects) == early)
    }

    @Test func `if fewer beacons can be held, unnamed ones give way first, the oldest refresh first`() {
        var beacons = Beacons()
        let named = beacons.add(1, .satisfied, isNamed: true)
        let (early, late) = (beacons.add(2, .satisfied), beacons.add(3, .satisfied))
        for (order, subject) in [named, early, late].enumerated() {
            beacons.refresh(subject, at: Int64(order), order: UInt32(order))
        }
        #expect(PresentUnnamedBeacons.leavingOrder(beacons.subjects) == [early, late, named])
    }
}
