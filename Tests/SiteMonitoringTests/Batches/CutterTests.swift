import BaseTypes
import BluetoothLE
import SiteMonitoring
import Testing

@Suite struct CutterTests {
    private static func cutter(pendingMax: Int = 65_536) throws -> BatchCutter {
        var settings = try BatchCutter.Settings(site: LogName("campus"), gateway: LogName("lobby"), boot: 7)
        settings.pendingMax = pendingMax
        return BatchCutter(settings, nextSequence: 5, start: at(1))
    }

    private static func place(_ name: String, in cutter: inout BatchCutter) throws -> Int {
        let place = cutter.adapter(named: name, address: nil)
        return try #require(place)
    }

    /// Returns the batch of a cut that must consist of one batch.
    private static func only(_ cuts: [CutBatch]) throws -> Batch {
        #expect(cuts.count == 1)
        return try #require(cuts.first).batch
    }

    @Test func `each interval has a batch, even if nothing was received`() throws {
        var cutter = try Self.cutter()
        let hci0 = try Self.place("hci0", in: &cutter)
        cutter.changed(.started, hci0, at: at(1.5), reason: "it was plugged in")
        let first = cutter.cut(completeTo: at(2), now: at(2.01), wall: at(9)).map(\.batch)
        let second = cutter.cut(completeTo: at(3), now: at(3), wall: at(10)).map(\.batch)
        #expect(first.map(\.key.sequence) == [5])
        #expect(second.map(\.key.sequence) == [6])
        #expect(first.map(\.span.isStart) == [true])
        #expect(second.map(\.span.isStart) == [false])
        #expect(first.map(\.span.from) == [at(1)])
        #expect(second.map(\.span.from) == [at(2)])
        #expect(first.map(\.span.cut) == [at(2.01)])
        #expect(first.map(\.span.wall) == [at(9)])
        #expect(first.flatMap(\.changes).map(\.reason) == ["it was plugged in"])
        #expect(first.flatMap(\.adapters).map(\.isListening) == [false])
        // Each batch names the adapters that scan, so that a reader can understand it without the previous batch.
        #expect(second.flatMap(\.adapters).map(\.isListening) == [true])
        #expect(cutter.nextSequence == 7)
    }

    @Test func `a report of an adapter that did not scan adds the change that it scans`() throws {
        var cutter = try Self.cutter()
        let hci0 = try Self.place("hci0", in: &cutter)
        cutter.received(by: hci0, at: at(1.25))
        cutter.changed(.stopped(since: at(1.25)), hci0, at: at(1.25), reason: nil)
        cutter.sighted(advertiser(1), rssi: nil, by: hci0, at: at(1.25))
        let batch = try Self.only(cutter.cut(completeTo: at(2), now: at(2), wall: at(2)))
        // Input that arrived before a change must have an earlier microsecond.
        let later = at(1.25) + .microseconds(1)
        #expect(batch.changes.map(\.kind) == [.started, .stopped(since: at(1.25)), .started])
        #expect(batch.changes.map(\.time) == [at(1.25), later, later])
        #expect(batch.sightings.map(\.time) == [later])
        #expect(batch.adapters.map(\.reports?.first) == [at(1.25)])
        #expect(batch.adapters.map(\.reports?.last) == [later])
    }

    @Test func `input with a time at or after the end of a batch goes into the next batch`() throws {
        var cutter = try Self.cutter()
        let hci0 = try Self.place("hci0", in: &cutter)
        for time in [1.5, 2.0, 2.5] { cutter.sighted(advertiser(1), rssi: nil, by: hci0, at: at(time)) }
        let first = try Self.only(cutter.cut(completeTo: at(2), now: at(3), wall: at(3)))
        let second = try Self.only(cutter.cut(completeTo: at(3), now: at(3), wall: at(3)))
        #expect(first.sightings.map(\.time) == [at(1.5)])
        #expect(second.sightings.map(\.time) == [at(2), at(2.5)])
        #expect(first.adapters.map(\.reports?.last) == [at(1.5)])
        #expect(second.adapters.map(\.reports?.last) == [at(2.5)])
        #expect(cutter.counts == BatchCutter.Counts())
    }

    @Test func `T2: input from before the last cut counts as late and is dated at the next batch's start`() throws {
        var cutter = try Self.cutter()
        let hci0 = try Self.place("hci0", in: &cutter)
        cutter.received(by: hci0, at: at(1.5))
        _ = cutter.cut(completeTo: at(2), now: at(2), wall: at(2))
        cutter.sighted(advertiser(1), rssi: nil, by: hci0, at: at(1.9))
        let batch = try Self.only(cutter.cut(completeTo: at(3), now: at(3), wall: at(3)))
        #expect(batch.sightings.map(\.time) == [at(2)])
        #expect(cutter.counts.late == 1)
    }

    @Test func `sightings above the limit are dropped and counted, and their adapter counts as stopped`() throws {
        var cutter = try Self.cutter(pendingMax: 4)
        let hci0 = try Self.place("hci0", in: &cutter)
        for number in 0..<10 { cutter.sighted(advertiser(1), rssi: nil, by: hci0, at: at(1.1 + Double(number) / 100)) }
        let full = try Self.only(cutter.cut(completeTo: at(2), now: at(2), wall: at(2)))
        #expect(full.sightings.count == 3)
        #expect(full.changes.map(\.kind) == [.started, .stopped(since: at(1.12))])
        #expect(full.changes.last?.reason == "more was received than could be sent")
        #expect(cutter.counts.dropped == 7)
        // After the cut, input is accepted again.
        cutter.sighted(advertiser(1), rssi: nil, by: hci0, at: at(2.5))
        let next = try Self.only(cutter.cut(completeTo: at(3), now: at(3), wall: at(3)))
        #expect(next.changes.map(\.kind) == [.started])
        #expect(next.sightings.map(\.time) == [at(2.5)])
    }

    @Test func `a batch that would be too large is divided into several, without a gap`() throws {
        var settings = try BatchCutter.Settings(site: LogName("campus"), gateway: LogName("lobby"), boot: 7)
        settings.bytesMax = 4_096
        var cutter = BatchCutter(settings, nextSequence: 1, start: at(1))
        let hci0 = try Self.place("hci0", in: &cutter)
        for number in 0..<2_000 {
            // All sightings of the second half have the same time.
            let time = at(1 + Double(min(number, 1_000)) / 2_000)
            cutter.sighted(
                advertiser(UInt16(number % 100)), rssi: RSSI(dBm: Int8(-50 - number % 40)), by: hci0, at: time)
        }
        let cuts = cutter.cut(completeTo: at(2), now: at(2), wall: at(2))
        let batches = cuts.map(\.batch)
        #expect(cuts.count > 3)
        #expect(cuts.allSatisfy { $0.bytes.count <= 4_096 })
        #expect(batches.map(\.key.sequence) == (1...UInt64(cuts.count)).map { $0 })
        #expect(batches.dropFirst().map(\.span.from) == batches.dropLast().map(\.span.completeTo))
        #expect(batches.map(\.span.isStart) == [true] + Array(repeating: false, count: cuts.count - 1))
        #expect(batches.reduce(0) { $0 + $1.sightings.count } == 2_000)
        let all = batches.flatMap(\.sightings)
        #expect(all == all.sorted())
        #expect(batches.last?.span.completeTo == at(2))
    }

    @Test func `a 256th adapter is refused until a batch has reported the removal of another`() throws {
        var cutter = try Self.cutter()
        let places = (0..<255).map { cutter.adapter(named: "hci\($0)", address: nil) }
        #expect(!places.contains(nil))
        #expect(cutter.adapter(named: "late", address: nil) == nil)
        #expect(cutter.adapter(named: "no/name", address: nil) == nil)
        #expect(cutter.counts.adaptersRefused == 2)
        let gone = try #require(places[17])
        cutter.received(by: gone, at: at(1.1))
        cutter.changed(.removed, gone, at: at(1.2), reason: nil)
        // The index is free only after a batch has reported the removal.
        #expect(cutter.adapter(named: "late", address: nil) == nil)
        let reported = try Self.only(cutter.cut(completeTo: at(2), now: at(2), wall: at(2)))
        #expect(reported.changes.map(\.kind) == [.started, .removed])
        #expect(cutter.adapter(named: "late", address: nil) == gone)
        cutter.received(by: gone, at: at(2.1))
        let next = try Self.only(cutter.cut(completeTo: at(3), now: at(3), wall: at(3)))
        #expect(next.adapters.map(\.name) == ["late"])
    }

    @Test func `a reason loses its control characters, and is cut to at most 256 bytes`() throws {
        var cutter = try Self.cutter()
        let hci0 = try Self.place("hci0", in: &cutter)
        cutter.changed(.started, hci0, at: at(1.5), reason: "a\u{7}" + String(repeating: "ä", count: 300))
        let batch = try Self.only(cutter.cut(completeTo: at(2), now: at(2), wall: at(2)))
        #expect(batch.changes.map(\.reason) == ["a" + String(repeating: "ä", count: 127)])
    }

    @Test func `input for an adapter index that does not exist is ignored`() throws {
        var cutter = try Self.cutter()
        cutter.received(by: 3, at: at(1.5))
        cutter.sighted(advertiser(1), rssi: nil, by: -1, at: at(1.5))
        cutter.changed(.started, 9, at: at(1.5), reason: nil)
        let batch = try Self.only(cutter.cut(completeTo: at(2), now: at(2), wall: at(2)))
        #expect(batch.adapters == [])
    }
}
