import BaseTypes
import Testing

@testable import BeaconMonitoring

@Suite struct TimelineTests {
    @Test func `T2: a late input is handled at the present time, and counted`() {
        var timeline = Timeline(start: 10)
        #expect(timeline.admit(10) == 10 && timeline.lateInputs == 0)
        #expect(timeline.admit(9) == 10 && timeline.lateInputs == 1)
        timeline.advance(to: 20)
        #expect(timeline.admit(15) == 20 && timeline.lateInputs == 2)
    }

    @Test func `the timeline wakes at the earliest expected time, and never goes back`() {
        var timeline = Timeline(start: 10)
        #expect(timeline.wake == .max)
        timeline.expect(30)
        timeline.expect(40)
        #expect(timeline.wake == 30)
        timeline.advanceToWake()
        #expect(timeline.present == 30)
        timeline.setWake(12)
        timeline.advanceToWake()
        #expect(timeline.present == 30)
    }
}

@Suite struct KeptMomentTests {
    private let offset = ClockOffset(nanoseconds: 1_700_000_000_000_000_000)

    @Test func `a time on the timeline is stored unchanged, unless it is after the present: then it is the present`() {
        #expect(
            PackedMoment(.timeline(Instant(nanoseconds: 5)), at: 9).past
                == .timeline(Instant(nanoseconds: 5)))
        #expect(
            PackedMoment(.timeline(Instant(nanoseconds: 10)), at: 9).past
                == .timeline(Instant(nanoseconds: 9)))
        #expect(PackedMoment(5).instant(offset: offset) == Instant(nanoseconds: 5))
    }

    @Test func `a date from before a restart of the machine is printed unchanged`() {
        let date = WallDate(microseconds: 1_600_000_000_000_000)
        let kept = PackedMoment(.date(date), at: 9)
        #expect(kept.past == .date(date))
        #expect(WallDate(kept.instant(offset: offset), offset: offset) == date)
    }

    @Test func `a date becomes a time on the timeline, negative if it is before the start, and at most the maximum`() {
        let second: Int64 = 1_000_000_000
        let before = WallDate(microseconds: offset.nanoseconds / 1000 - 3_000_000)
        #expect(PastMoment.date(before).nanoseconds(offset: offset) == -3 * second)
        #expect(PastMoment.date(WallDate(microseconds: .max)).nanoseconds(offset: offset) == .max)
        #expect(PastMoment.timeline(Instant(nanoseconds: 4)).nanoseconds(offset: offset) == 4)
    }
}

@Suite struct MonitorTableTests {
    private func settings(outage: Duration, forget: Duration) -> MonitorSettings {
        var settings = MonitorSettings()
        settings.outageTimeout = outage
        settings.forgetAfter = forget
        return settings
    }

    @Test func `timeouts are in the order of their lengths, equal ones in the order of adding`()
        throws
    {
        var table = MonitorTable()
        for (name, outage, forget) in [("a", 20, 50), ("b", 10, 90), ("c", 20, 50)] {
            try table.add(
                Identifier(name), settings(outage: .seconds(outage), forget: .seconds(forget)),
                deafAfter: nil)
        }
        #expect(table.outages.map(\.monitor.offset) == [1, 0, 2])
        #expect(table.forgettings.map(\.monitor.offset) == [0, 2, 1])
        #expect(table.longestForgetting == 90_000_000_000)
        #expect(table.index(named: ScriptGenerator.identifier("c")) == MonitorIndex(2))
    }

    @Test func `C7: settings out of bounds are refused and change nothing, and a name can be used only once`() throws {
        var table = MonitorTable()
        let name = ScriptGenerator.identifier("site")
        for (outage, forget) in [
            (.zero, .seconds(9)), (.seconds(10), .seconds(20)), (.seconds(20), .seconds(20)),
        ]
            as [(Duration, Duration)]
        {
            #expect(throws: MonitorError.self) {
                try table.add(name, settings(outage: outage, forget: forget), deafAfter: .seconds(10))
            }
        }
        #expect(table.all.isEmpty && table.outages.isEmpty && table.longestForgetting == nil)
        try table.add(
            name, settings(outage: .seconds(11), forget: .seconds(12)), deafAfter: .seconds(10))
        #expect(throws: MonitorError.nameTaken("site")) {
            try table.add(name, MonitorSettings(), deafAfter: nil)
        }
    }
}
