import BaseTypes
import BluetoothLE
import TestSupport
import Testing

/// A handler that counts the reports and stores the beacons of a decoder, in order.
private struct ReceivedBeacons: ReportHandler {
    var reports = 0
    var frames: [BeaconFrame] = []

    mutating func report(_ report: AdvertisingReport, data: Span<UInt8>, adapter: Int?, time: Instant?) {
        reports += 1
    }

    mutating func beacon(_ beacon: IBeacon, report: AdvertisingReport, adapter: Int?, time: Instant?) {
        frames.append(BeaconFrame(beacon, in: report))
    }
}

@Suite struct FrameBatchTests {
    private let time = Instant(nanoseconds: 1_000_000)

    private func take(_ event: [UInt8], to batch: inout FrameBatch) -> Bool {
        var counts = batch.counts
        var entries = batch.entries.mutableSpan
        let isTaken = FrameBatch.take(event: event.span, adapter: 3, time: time, to: &entries, &counts)
        batch.counts = counts
        return isTaken
    }

    private func decode(_ event: [UInt8]) -> (received: ReceivedBeacons, malformations: MalformationCounts) {
        var decoder = ReportDecoder()
        var received = ReceivedBeacons()
        decoder.decode(event: event.span, adapter: 3, time: time, to: &received)
        return (received, decoder.malformations)
    }

    private func words(_ frame: BeaconFrame) -> [UInt64] { [frame.high, frame.low, frame.packedAddress, frame.packed] }

    private var payload: [UInt8] { flags + ad(0xFF, frame) }
    private func report(_ data: [UInt8], eventType: UInt16 = 0x03) -> WireReport {
        var report = WireReport()
        report.data = data
        report.eventType = eventType
        return report
    }

    @Test func `a batch has the beacons of an event, with the address and RSSI of their reports`() {
        var batch = FrameBatch()
        #expect(take(legacyEvent(report(payload), report(flags), report(ad(0xFF, frame(minor: 9)))), to: &batch))
        #expect(batch.counts.entries == 2)
        #expect(batch.counts.beacons == 2)
        #expect(batch.counts.reports == 3)
        let first = batch.entries[0]
        #expect(first.frame.beacon == beacon)
        #expect(first.frame.rssi == RSSI(dBm: -61))
        #expect(first.frame.address == DeviceAddress(0xC098_E500_0007, kind: .random))
        #expect(first.time == time)
        #expect(first.adapter == 3)
        #expect(first.kind.isFirst && first.kind.hasReports && first.kind.isBeacon)
        let second = batch.entries[1]
        #expect(second.frame.beacon.identity.minor == 9)
        #expect(!second.kind.isFirst && !second.kind.hasReports && second.kind.isBeacon)
    }

    @Test func `an event without a beacon counts as received, one without a report only advances the time`() {
        var batch = FrameBatch()
        #expect(take(extendedEvent(report(flags, eventType: 0x13)), to: &batch))
        #expect(take([0x0E, 0x04, 0x01, 0x03, 0x0C, 0x00], to: &batch))
        #expect(batch.counts.entries == 2)
        #expect(batch.counts.beacons == 0)
        let kinds = (0..<2).map { batch.entries[$0].kind }
        #expect(kinds.map(\.hasReports) == [true, false])
        #expect(kinds.map(\.isFirst) == [true, true])
        #expect(kinds.map(\.isBeacon) == [false, false])
    }

    @Test func `B5: an event with a fragment is left to ReportDecoder, together with its other reports`() {
        var batch = FrameBatch()
        // More to come, and truncated.
        for eventType: UInt16 in [0x20, 0x40] {
            let fragment = report(payload, eventType: eventType)
            #expect(!take(extendedEvent(report(payload, eventType: 0x13), fragment), to: &batch))
        }
        #expect(batch.counts.entries == 0)
        #expect(batch.counts.reports == 0)
    }

    @Test func `a full batch takes no event until it is emptied`() {
        var batch = FrameBatch(capacity: 2)
        while take(legacyEvent(report(payload)), to: &batch) { #expect(batch.counts.entries <= batch.entries.count) }
        let before = batch.counts.entries
        #expect(!take(legacyEvent(report(payload)), to: &batch))
        #expect(batch.counts.entries == before)
        batch.removeAll()
        #expect(take(legacyEvent(report(payload)), to: &batch))
    }

    @Test func `batch and decoder find the same in damaged events, unless the batch does not take them`() {
        var generator = SeededGenerator(state: SeededGenerator.seed)
        var (taken, left) = (0, 0)
        var batch = FrameBatch()
        for _ in 0..<20_000 {
            var event = randomEvent(&generator)
            for _ in 0..<Int.random(in: 0...2, using: &generator) where !event.isEmpty {
                event[Int.random(in: event.indices, using: &generator)] = .random(in: 0...255, using: &generator)
            }
            if Bool.random(using: &generator) {
                event.removeLast(Int.random(in: 0...min(3, event.count), using: &generator))
            }
            batch.removeAll()
            guard take(event, to: &batch) else {
                left += 1
                #expect(batch.counts.entries == 0)
                continue
            }
            taken += 1
            let (received, malformations) = decode(event)
            #expect(batch.counts.reports == received.reports, "\(hex(event))")
            #expect(batch.counts.beacons == received.frames.count, "\(hex(event))")
            #expect(batch.counts.structuresTruncated == malformations[.adStructureTruncated], "\(hex(event))")
            #expect(malformations.occurred.allSatisfy { $0.kind == .adStructureTruncated }, "\(hex(event))")
            let found = (0..<batch.counts.entries).map { batch.entries[$0] }.filter(\.kind.isBeacon).map(\.frame)
            #expect(found.map(words) == received.frames.map(words), "\(hex(event))")
        }
        #expect(taken > 1000)
        #expect(left > 1000)
    }

    private func randomEvent(_ generator: inout SeededGenerator) -> [UInt8] {
        let isExtended = Bool.random(using: &generator)
        let structures = [
            flags, ad(0xFF, frame), ad(0xFF, frame(minor: 5) + [99]), ad(0x09, [0x41, 0x42]), [0], ad(0xFF, [0x4C]),
        ]
        var reports: [UInt8] = []
        let count = Int.random(in: 1...3, using: &generator)
        for _ in 0..<count {
            var wire = WireReport()
            wire.eventType =
                isExtended
                ? [0x13, 0x10, 0x00, 0x20].randomElement(using: &generator) ?? 0x13
                : .random(in: 0...4, using: &generator)
            wire.rssi = [0xC3, 0x7F, 0x14].randomElement(using: &generator) ?? 0
            wire.addressType = [0, 1, 2, 3, 0x55, 0xFE, 0xFF].randomElement(using: &generator) ?? 0
            for _ in 0..<Int.random(in: 0...2, using: &generator) {
                wire.data += structures.randomElement(using: &generator) ?? []
            }
            reports += isExtended ? wire.extended : wire.legacy
        }
        return metaEvent([isExtended ? 0x0D : 0x02, UInt8(count)] + reports)
    }
}
