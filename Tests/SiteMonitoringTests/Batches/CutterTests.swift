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

    /// The batch that is alone.
    private static func only(_ cuts: [CutBatch]) throws -> Batch {
        #expect(cuts.count == 1)
        return try #require(cuts.first).batch
    }

    @Test func `each interval has its batch, also where nothing was heard`() throws {
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
        // Who listens is said again, so that a batch can be understood without the one before.
        #expect(second.flatMap(\.adapters).map(\.isListening) == [true])
        #expect(cutter.nextSequence == 7)
    }

    @Test func `a report of who did not listen says that he does`() throws {
        var cutter = try Self.cutter()
        let hci0 = try Self.place("hci0", in: &cutter)
        cutter.heard(hci0, at: at(1.25))
        cutter.changed(.stopped(since: at(1.25)), hci0, at: at(1.25), reason: nil)
        cutter.sighted(advertiser(1), rssi: nil, by: hci0, at: at(1.25))
        let batch = try Self.only(cutter.cut(completeTo: at(2), now: at(2), wall: at(2)))
        // What came before a change has an earlier microsecond.
        let later = at(1.25) + .microseconds(1)
        #expect(batch.changes.map(\.kind) == [.started, .stopped(since: at(1.25)), .started])
        #expect(batch.changes.map(\.time) == [at(1.25), later, later])
        #expect(batch.sightings.map(\.time) == [later])
        #expect(batch.adapters.map(\.reports?.first) == [at(1.25)])
        #expect(batch.adapters.map(\.reports?.last) == [later])
    }

    @Test func `what is stamped behind the cut goes into the next batch`() throws {
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

    @Test func `T2: what comes after its time was cut counts as late, and is of the next batch's beginning`() throws {
        var cutter = try Self.cutter()
        let hci0 = try Self.place("hci0", in: &cutter)
        cutter.heard(hci0, at: at(1.5))
        _ = cutter.cut(completeTo: at(2), now: at(2), wall: at(2))
        cutter.sighted(advertiser(1), rssi: nil, by: hci0, at: at(1.9))
        let batch = try Self.only(cutter.cut(completeTo: at(3), now: at(3), wall: at(3)))
        #expect(batch.sightings.map(\.time) == [at(2)])
        #expect(cutter.counts.late == 1)
    }

    @Test func `more than may wait is counted, and its adapter did not listen`() throws {
        var cutter = try Self.cutter(pendingMax: 4)
        let hci0 = try Self.place("hci0", in: &cutter)
        for number in 0..<10 { cutter.sighted(advertiser(1), rssi: nil, by: hci0, at: at(1.1 + Double(number) / 100)) }
        let full = try Self.only(cutter.cut(completeTo: at(2), now: at(2), wall: at(2)))
        #expect(full.sightings.count == 3)
        #expect(full.changes.map(\.kind) == [.started, .stopped(since: at(1.12))])
        #expect(full.changes.last?.reason == "more was heard than could be sent")
        #expect(cutter.counts.dropped == 7)
        // And it goes on.
        cutter.sighted(advertiser(1), rssi: nil, by: hci0, at: at(2.5))
        let next = try Self.only(cutter.cut(completeTo: at(3), now: at(3), wall: at(3)))
        #expect(next.changes.map(\.kind) == [.started])
        #expect(next.sightings.map(\.time) == [at(2.5)])
    }

    @Test func `a batch that would be too big is cut in several, without a gap`() throws {
        var settings = try BatchCutter.Settings(site: LogName("campus"), gateway: LogName("lobby"), boot: 7)
        settings.octetsMax = 4_096
        var cutter = BatchCutter(settings, nextSequence: 1, start: at(1))
        let hci0 = try Self.place("hci0", in: &cutter)
        for number in 0..<2_000 {
            // All of the second half at one moment.
            let time = at(1 + Double(min(number, 1_000)) / 2_000)
            cutter.sighted(
                advertiser(UInt16(number % 100)), rssi: RSSI(dBm: Int8(-50 - number % 40)), by: hci0, at: time)
        }
        let cuts = cutter.cut(completeTo: at(2), now: at(2), wall: at(2))
        let batches = cuts.map(\.batch)
        #expect(cuts.count > 3)
        #expect(cuts.allSatisfy { $0.octets.count <= 4_096 })
        #expect(batches.map(\.key.sequence) == (1...UInt64(cuts.count)).map { $0 })
        #expect(batches.dropFirst().map(\.span.from) == batches.dropLast().map(\.span.completeTo))
        #expect(batches.map(\.span.isStart) == [true] + Array(repeating: false, count: cuts.count - 1))
        #expect(batches.reduce(0) { $0 + $1.sightings.count } == 2_000)
        let all = batches.flatMap(\.sightings)
        #expect(all == all.sorted())
        #expect(batches.last?.span.completeTo == at(2))
    }

    @Test func `256 adapters are one too many, until one of them was taken out`() throws {
        var cutter = try Self.cutter()
        let places = (0..<255).map { cutter.adapter(named: "hci\($0)", address: nil) }
        #expect(!places.contains(nil))
        #expect(cutter.adapter(named: "late", address: nil) == nil)
        #expect(cutter.adapter(named: "no/name", address: nil) == nil)
        #expect(cutter.counts.adaptersRefused == 2)
        let gone = try #require(places[17])
        cutter.heard(gone, at: at(1.1))
        cutter.changed(.removed, gone, at: at(1.2), reason: nil)
        // Not before it was told.
        #expect(cutter.adapter(named: "late", address: nil) == nil)
        let told = try Self.only(cutter.cut(completeTo: at(2), now: at(2), wall: at(2)))
        #expect(told.changes.map(\.kind) == [.started, .removed])
        #expect(cutter.adapter(named: "late", address: nil) == gone)
        cutter.heard(gone, at: at(2.1))
        let next = try Self.only(cutter.cut(completeTo: at(3), now: at(3), wall: at(3)))
        #expect(next.adapters.map(\.name) == ["late"])
    }

    @Test func `words that are too long, or hold control characters, are cut`() throws {
        var cutter = try Self.cutter()
        let hci0 = try Self.place("hci0", in: &cutter)
        cutter.changed(.started, hci0, at: at(1.5), reason: "a\u{7}" + String(repeating: "ä", count: 300))
        let batch = try Self.only(cutter.cut(completeTo: at(2), now: at(2), wall: at(2)))
        #expect(batch.changes.map(\.reason) == ["a" + String(repeating: "ä", count: 127)])
    }

    @Test func `a place that nobody has is passed over`() throws {
        var cutter = try Self.cutter()
        cutter.heard(3, at: at(1.5))
        cutter.sighted(advertiser(1), rssi: nil, by: -1, at: at(1.5))
        cutter.changed(.started, 9, at: at(1.5), reason: nil)
        let batch = try Self.only(cutter.cut(completeTo: at(2), now: at(2), wall: at(2)))
        #expect(batch.adapters == [])
    }
}
