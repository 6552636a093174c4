import BaseTypes
import BluetoothLE
import Testing

@testable import BeaconMonitoring

private func at(_ seconds: Double) -> Instant { Instant(nanoseconds: Int64((seconds * 1e9).rounded())) }

@Suite struct SignalMeterTests {
    private func strength(of readings: [Int8]) -> Int? {
        var meter = SignalMeter(at: at(1))
        for reading in readings { meter.received(RSSI(dBm: reading), at: at(1)) }
        return meter.reading(of: 5, at: at(1)).tenths
    }

    @Test func `the mean has one decimal and is rounded half away from zero`() {
        #expect(strength(of: [-60, -61]) == -605)
        #expect(strength(of: [-60, -60, -61]) == -603)
        #expect(
            strength(of: [
                -60, -60, -60, -60, -60, -60, -60, -60, -60, -60, -60, -60, -60, -60, -60, -60, -60, -60, -60, -61,
            ]) == -601)
        #expect(strength(of: [20, 21, 20, 20]) == 203)
        #expect(strength(of: [-128, -128]) == -1280)
    }

    @Test func `a report without an RSSI counts only for the rate`() {
        var meter = SignalMeter(at: at(1))
        meter.received(nil, at: at(1))
        #expect(meter.reading(of: 5, at: at(1)).tenths == nil)
        #expect(meter.rate(at: at(2)) == 10)
    }

    @Test func `the mean covers five seconds, with the present one`() {
        var meter = SignalMeter(at: at(10.5))
        meter.received(RSSI(dBm: -60), at: at(10.5))
        #expect(meter.reading(of: 5, at: at(14.999)).tenths == -600)
        #expect(meter.reading(of: 5, at: at(15)).tenths == nil)
        meter.received(RSSI(dBm: -80), at: at(14))
        #expect(meter.reading(of: 5, at: at(14.5)).tenths == -700)
        #expect(meter.reading(of: 5, at: at(15.5)).tenths == -800)
    }

    @Test func `the rate covers ten seconds, or the time since the first report`() {
        var meter = SignalMeter(at: at(100))
        for tenth in 0..<300 { meter.received(nil, at: at(100 + Double(tenth) / 10)) }
        #expect(meter.rate(at: at(129.999)) == 100)
        // Nine whole seconds and a part of the next are counted. The last two are empty, so 9 s have 80 reports.
        #expect(meter.rate(at: at(131)) == 89)
        #expect(meter.rate(at: at(141)) == 0)
        var young = SignalMeter(at: at(100))
        for tenth in 0..<30 { young.received(nil, at: at(100 + Double(tenth) / 10)) }
        #expect(young.rate(at: at(103)) == 100)
    }

    @Test func `a report with an earlier time counts for the newest second, and a jump forward discards old reports`() {
        var meter = SignalMeter(at: at(50))
        meter.received(RSSI(dBm: -60), at: at(50))
        meter.received(RSSI(dBm: -70), at: at(3))
        #expect(meter.reading(of: 5, at: at(50)).tenths == -650)
        meter.received(RSSI(dBm: -90), at: .latest)
        #expect(meter.reading(of: 5, at: .latest).tenths == -900)
        #expect(meter.rate(at: .latest) == 1)
        // A time before the last report does not trap.
        #expect(meter.rate(at: .earliest) >= 0)
        #expect(meter.reading(of: 5, at: .earliest).tenths != nil)
    }
}
