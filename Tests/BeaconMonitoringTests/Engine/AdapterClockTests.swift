import Testing

@testable import BeaconMonitoring

@Suite struct AdapterClockTests {
    @Test func `L1: the clock runs only while its adapter scans`() {
        var clock = AdapterClock()
        #expect(clock.reading(at: 50) == 0)
        clock.start(at: 100)
        #expect(clock.reading(at: 130) == 30)
        #expect(clock.runningReading(at: 130) == 30)
        clock.stop(at: 140)
        #expect(clock.reading(at: 1000) == 40)
        clock.start(at: 2000)
        #expect(clock.reading(at: 2001) == 41)
    }

    @Test
    func
        `a running clock gives the time of a reading; a stopped one gives the present if it has reached it, else nil`()
    {
        var clock = AdapterClock()
        clock.start(at: 100)
        #expect(clock.time(of: 30, at: 110) == 130)
        clock.stop(at: 120)
        #expect(clock.time(of: 20, at: 500) == 500)
        #expect(clock.time(of: 21, at: 500) == nil)
    }
}

@Suite struct AdapterSilenceTests {
    private let monitors: MonitorTable

    init() throws {
        var monitors = MonitorTable()
        for (name, outage, forgetting) in [("slow", 60, 600), ("fast", 10, 100), ("even", 10, 100)] {
            var settings = MonitorSettings()
            settings.outageTimeout = .nanoseconds(outage * 1_000_000_000)
            settings.forgetAfter = .nanoseconds(forgetting * 1_000_000_000)
            try monitors.add(Identifier(name), settings, deafAfter: nil)
        }
        self.monitors = monitors
    }

    private func seconds(_ seconds: Int64) -> Int64 { seconds * 1_000_000_000 }

    @Test func `L2: the outage of each monitor is handled once, the shortest timeout first`() {
        var silence = AdapterSilence(start: seconds(1))
        #expect(silence.nextOutage(of: monitors.outages) == seconds(11))
        #expect(silence.handleOutage(of: monitors.outages, at: seconds(11) - 1) == nil)
        #expect(silence.handleOutage(of: monitors.outages, at: seconds(11)) == MonitorIndex(1))
        #expect(silence.handleOutage(of: monitors.outages, at: seconds(11)) == MonitorIndex(2))
        #expect(silence.handleOutage(of: monitors.outages, at: seconds(11)) == nil)
        #expect(silence.handleOutage(of: monitors.outages, at: seconds(61)) == MonitorIndex(0))
        #expect(silence.nextOutage(of: monitors.outages) == nil)
    }

    @Test func `L2: if an adapter stops again, the outage counts from the new stop`() {
        var silence = AdapterSilence(start: 0)
        _ = silence.handleOutage(of: monitors.outages, at: seconds(10))
        silence.begin(since: seconds(100))
        #expect(silence.handleOutage(of: monitors.outages, at: seconds(110) - 1) == nil)
        #expect(silence.handleOutage(of: monitors.outages, at: seconds(110)) == MonitorIndex(1))
        #expect(silence.hasLasted(seconds(10), at: seconds(110)))
        #expect(!silence.hasLasted(seconds(10), at: seconds(110) - 1))
    }

    @Test
    func
        `L2: the outage of all adapters counts from the latest stop, also if an earlier stop is reported later`()
    {
        var silence = AdapterSilence(start: 0)
        silence.extend(to: seconds(50))
        silence.extend(to: seconds(20))
        #expect(silence.nextOutage(of: monitors.outages) == seconds(60))
        _ = silence.handleOutage(of: monitors.outages, at: seconds(60))
        silence.beginAgain()
        #expect(silence.handleOutage(of: monitors.outages, at: seconds(60)) == MonitorIndex(1))
    }

    @Test
    func
        `N4: after a restart, an outage counts from the start, and forgetting from the actual stop`()
    {
        var silence = AdapterSilence(start: 0)
        silence.resume(at: seconds(1000), silentSince: seconds(950))
        #expect(silence.nextOutage(of: monitors.outages) == seconds(1010))
        #expect(silence.nextForgetting(of: monitors.forgettings) == seconds(1050))
        #expect(silence.handleForgetting(of: monitors.forgettings, at: seconds(1050) - 1) == nil)
        #expect(
            silence.handleForgetting(of: monitors.forgettings, at: seconds(1050)) == MonitorIndex(1))
    }
}
