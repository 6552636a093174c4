import BaseTypes
import BluetoothLE
import SiteMonitoring
import Testing

@Suite struct BatchTests {
    @Test func `times are rounded down to whole microseconds, and stay in order`() throws {
        let adapter = try Batch.Adapter(name: "hci0", address: nil, isListening: true, reports: nil)
        let sighting = Batch.Sighting(
            at: Instant(nanoseconds: 1_000_999), adapter: 0, advertiser(1), rssi: RSSI(dBm: -60))
        let batch = try makeBatch(from: 1_000_500, to: 1_000_999, adapters: [adapter], sightings: [sighting])
        #expect(batch.span.from.nanoseconds == 1_000_000)
        #expect(batch.sightings.first?.time.nanoseconds == 1_000_000)
        #expect(batch.span.completeTo.nanoseconds == 1_000_000)
    }

    @Test func `a batch with inconsistent parts is refused`() throws {
        let one = try Batch.Adapter(name: "hci0", address: nil, isListening: true, reports: nil)
        let early = Batch.Sighting(at: at(1), adapter: 0, advertiser(1), rssi: nil)
        let late = Batch.Sighting(at: at(3), adapter: 0, advertiser(1), rssi: nil)
        func refuses(_ error: BatchError, sightings: [Batch.Sighting] = []) {
            #expect(throws: error) {
                _ = try makeBatch(
                    from: 1_000_000_000, to: 3_000_000_000, adapters: [one], sightings: sightings)
            }
        }
        refuses(.outOfOrder("sightings"), sightings: [late, early])
        refuses(
            .outOfSpan("a sighting"), sightings: [Batch.Sighting(at: at(0.5), adapter: 0, advertiser(1), rssi: nil)])
        refuses(.noAdapter(1, of: 1), sightings: [Batch.Sighting(at: at(2), adapter: 1, advertiser(1), rssi: nil)])
        #expect(throws: BatchError.nameTwice("hci0")) {
            _ = try makeBatch(from: 0, to: 1, adapters: [one, one], sightings: [])
        }
        #expect(throws: BatchError.outOfOrder("the times of the batch itself")) {
            _ = try makeBatch(from: 2_000, to: 1_000, adapters: [], sightings: [])
        }
        #expect(throws: BatchError.badName("lobby/hci0")) {
            _ = try Batch.Adapter(name: "lobby/hci0", address: nil, isListening: true, reports: nil)
        }
        #expect(throws: BatchError.badReason) {
            _ = try Batch.Change(.started, adapter: 0, at: at(1), reason: String(repeating: "a", count: 257))
        }
        #expect(throws: BatchError.outOfOrder("an adapter's stop")) {
            _ = try Batch.Change(.stopped(since: at(2)), adapter: 0, at: at(1))
        }
    }

    @Test func `at equal times, inputs are reports, then changes, then sightings in their sort order`() throws {
        let reports = try Batch.Adapter.Reports(first: at(1), last: at(2))
        let adapters = try ["hci0", "hci1"].map {
            try Batch.Adapter(name: $0, address: nil, isListening: true, reports: reports)
        }
        let stop = try Batch.Change(.stopped(since: at(1)), adapter: 1, at: at(2))
        let start = try Batch.Change(.started, adapter: 1, at: at(2))
        let sightings = [
            Batch.Sighting(at: at(2), adapter: 0, advertiser(1), rssi: RSSI(dBm: -60)),
            Batch.Sighting(at: at(2), adapter: 0, advertiser(1), rssi: nil),
            Batch.Sighting(at: at(2), adapter: 0, advertiser(2), rssi: RSSI(dBm: -90)),
            Batch.Sighting(at: at(2), adapter: 1, advertiser(1), rssi: RSSI(dBm: -90)),
        ]
        let batch = try makeBatch(
            from: 0, to: 3_000_000_000, adapters: adapters, changes: [stop, start], sightings: sightings)
        #expect(
            batch.inputs
                == [
                    .received(adapter: 0, at: at(1)), .received(adapter: 1, at: at(1)),
                    .received(adapter: 0, at: at(2)),
                    .received(adapter: 1, at: at(2)), .changed(stop), .changed(start),
                ] + sightings.map { .sighted($0) })
    }

    @Test func `the address zero counts as no address`() throws {
        let zero = DeviceAddress(0, kind: .public)
        #expect(try Batch.Adapter(name: "a", address: zero, isListening: true, reports: nil).address == nil)
    }
}
