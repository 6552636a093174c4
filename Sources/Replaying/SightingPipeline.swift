import BaseTypes
import BeaconMonitoring
import BluetoothLE
import Captures
import CommandSupport
import EventLog

/// Passes the reports of a replay to flat lines, one for each sighting.
struct SightingPipeline: ReplayHandler, ~Copyable {
    private var output: LineOutput = .standardOutput
    private var names: [[String]]
    private var selected = 0
    private(set) var statistics = ReplayStatistics()
    private let countsGaps: Bool

    init(_ options: ReplayOptions) {
        names = Array(repeating: [], count: options.inputs.count)
        countsGaps = options.writesStatistics
        if countsGaps { statistics.gaps = GapTable() }
    }

    var sightings: Int { statistics.sightings }

    mutating func select(source: Int) { selected = source }

    mutating func addAdapter(_ adapter: ReplayAdapter, time: Instant?) {
        while names[selected].count <= adapter.index { names[selected].append("") }
        names[selected][adapter.index] = adapter.name
    }

    func knowsAddresses(besides name: String) -> Bool { false }

    mutating func advance(to time: Instant) {}

    mutating func listening(_ isListening: Bool, adapter: Int, time: Instant, since: Instant?) {}

    @inline(__always)
    mutating func report(_ report: AdvertisingReport, data: Span<UInt8>, adapter: Int?, time: Instant?) {
        statistics.reports &+= 1
    }

    @inline(__always)
    mutating func beacon(_ beacon: IBeacon, report: AdvertisingReport, adapter: Int?, time: Instant?) {
        statistics.sightings &+= 1
        if countsGaps { noteGap(beacon.identity, at: time) }
        output.buffer.append(
            sighting: beacon, time: time, adapter: name(of: adapter), rssi: report.rssi, address: report.address)
    }

    @inline(__always)
    private func name(of adapter: Int?) -> String {
        adapter.map { $0 < names[selected].count ? names[selected][$0] : "hci0" } ?? "hci0"
    }

    mutating func received(_ batch: borrowing FrameBatch) {
        statistics.reports &+= batch.counts.reports
        statistics.sightings &+= batch.counts.beacons
        for index in 0..<batch.counts.entries where batch.entries[index].kind.isBeacon {
            let entry = batch.entries[index]
            if countsGaps { noteGap(entry.frame.beacon.identity, at: entry.time) }
            output.buffer.append(
                sighting: entry.frame.beacon, time: entry.time, adapter: name(of: Int(entry.adapter)),
                rssi: entry.frame.rssi, address: entry.frame.address)
        }
    }

    var wantsBatches: Bool { true }

    @inline(never)
    private mutating func noteGap(_ beacon: BeaconIdentity, at time: Instant?) {
        statistics.gaps?.note(beacon, at: time)
    }

    mutating func meetLocation(time: Instant) {}

    mutating func located(_ fix: LocationFix) {}

    mutating func lostLocation(at time: Instant) {}

    mutating func end(at time: Instant) {}

    @inline(__always)
    mutating func deliver(isUrgent: Bool) throws(ExitFailure) {
        do {
            if isUrgent { try output.flush() } else { try output.flushIfFull() }
        } catch {
            throw ExitFailure(error)
        }
    }

    var nextDeadline: Instant? { nil }

    mutating func finish(settles: Bool) throws(ExitFailure) { try deliver(isUrgent: true) }
}
