import Foundation
import SiteMonitoring
import TestSupport
import Testing

@Suite struct SiteOrderTests {
    private static let runs = SeededGenerator.seeds(environment("BEACON_SITE_RUNS", default: 300))

    /// Passes the entries of a log to an order. Returns the order, and its inputs as texts.
    private func result(of entries: [OrderFixture.Entry], _ limits: OrderLimits = OrderLimits()) -> (
        SiteOrder, [NaiveOrder.Input]
    ) {
        var order = SiteOrder(limits)
        var inputs: [SiteInput] = []
        for entry in entries { order.take(entry.batch, stored: entry.stored, into: &inputs) }
        return (order, inputs.map { words($0, order) })
    }

    private func words(_ input: SiteInput, _ order: SiteOrder) -> NaiveOrder.Input {
        func name(_ number: SiteAdapterNumber) -> String { order.adapters[Int(number.offset)].name }
        let text: String
        switch input.content {
        case .received(let adapter): text = "\(name(adapter)) heard"
        case .sighted(let advertiser, let rssi, let adapter):
            text = "\(name(adapter)) sighted \(advertiser.beacon.minor) \(rssi.map { "\($0.dBm)" } ?? "-")"
        case .listens(let adapter, let reason): text = "\(name(adapter)) listens" + (reason.map { " \($0)" } ?? "")
        case .stopped(let adapter, let since, let reason):
            text =
                "\(name(adapter)) stopped" + (since.map { " since \($0.nanoseconds)" } ?? "")
                + (reason.map { " \($0)" } ?? "")
        case .removed(let adapter, let reason): text = "\(name(adapter)) removed" + (reason.map { " \($0)" } ?? "")
        case .clock(let isCorrected): text = "corrected \(isCorrected)"
        }
        return NaiveOrder.Input(
            time: input.place.time.nanoseconds, gateway: input.place.gateway.description, boot: input.place.boot,
            sequence: input.place.sequence, index: Int(input.place.index), text: text)
    }

    @Test func `for random logs, the order equals that of a naive implementation of the rules`() throws {
        var (inputs, corrections, silences, missing, late) = (0, 0, 0, 0, 0)
        for seed in Self.runs {
            var limits = OrderLimits()
            // Some runs must reach the limits.
            if seed % 5 == 0 { limits.heldMax = 20 }
            if seed % 7 == 0 { limits.streamsMax = 3 }
            if seed % 11 == 0 { limits.waitingMax = 2 }
            if seed % 13 == 0 { limits.catchUpTimeout = .seconds(8) }
            let fixture = try OrderFixture(seed: seed, .all)
            var naive = NaiveOrder(limits)
            for entry in fixture.entries { naive.take(entry.batch, stored: entry.stored) }
            let (order, reported) = result(of: fixture.entries, limits)
            guard reported == naive.reported, order.watermark.nanoseconds == naive.watermark,
                order.counters.lateSightings == naive.late
            else {
                let index = zip(reported, naive.reported).enumerated().first { $0.element.0 != $0.element.1 }?.offset
                let place = index ?? min(reported.count, naive.reported.count)
                Issue.record(
                    """
                    BEACON_SEED=\(seed): at \(place) of \(reported.count) and \(naive.reported.count): \
                    \(place < reported.count ? "\(reported[place])" : "-"), \
                    naively \(place < naive.reported.count ? "\(naive.reported[place])" : "-"); \
                    late \(order.counters.lateSightings), naively \(naive.late)
                    """)
                return
            }
            inputs += reported.count
            corrections += Int(order.counters.corrections)
            silences += Int(order.counters.silences)
            missing += Int(order.counters.missingBatches)
            late += Int(order.counters.lateSightings)
        }
        guard Self.runs.count >= 300 else { return }
        // The runs must be such that everything happens.
        #expect(inputs > 50_000)
        #expect(min(corrections, silences, missing, late) > 100)
    }

    @Test func `if clocks are right and nothing is late, all sightings are in the order of their times`() throws {
        for seed in Self.runs.prefix(150) {
            let fixture = try OrderFixture(seed: seed, .none, seconds: 30)
            let (order, reported) = result(of: fixture.entries)
            let end = order.watermark.nanoseconds
            let expected = fixture.sightings.filter { $0.time < end }.sorted { ($0.time, $0.text) < ($1.time, $1.text) }
            let sightings = reported.filter { $0.text.contains("sighted") }
            let areInOrder = sightings.map(\.time) == expected.map(\.time)
            #expect(areInOrder, "BEACON_SEED=\(seed)")
            let texts = sightings.sorted { ($0.time, $0.text) < ($1.time, $1.text) }.map(\.text)
            let areSame = texts == expected.map(\.text)
            #expect(areSame, "BEACON_SEED=\(seed)")
            #expect(order.counters.lateSightings == 0 && order.counters.silences == 0, "BEACON_SEED=\(seed)")
            #expect(fixture.sightings.isEmpty || expected.count * 2 > fixture.sightings.count, "BEACON_SEED=\(seed)")
        }
    }

    @Test func `batches that are repeated, or arrive after the next one, change nothing`() throws {
        for seed in Self.runs.prefix(150) {
            var fixture = try OrderFixture(seed: seed, .none, seconds: 30)
            let (before, reported) = result(of: fixture.entries)
            var random = SeededGenerator(state: seed ^ 0x5EED)
            fixture.disturb(&random)
            let (after, disturbed) = result(of: fixture.entries)
            // A failure must not print thousands of inputs, so only the result of the comparison is checked.
            let isSame = disturbed == reported
            #expect(isSame, "BEACON_SEED=\(seed): \(before.counters), disturbed \(after.counters)")
            #expect(after.watermark == before.watermark, "BEACON_SEED=\(seed)")
            #expect(after.counters.sightings == before.counters.sightings, "BEACON_SEED=\(seed)")
        }
    }
}
