import AdapterScanning
import EventLoops
import Glibc
import TestSupport
import Testing

@testable import BeaconScanning

/// The queue between the scanning thread and the monitor: it is bounded and in order, and reports each loss.
@Suite(.timeLimit(.minutes(6))) struct HandOverTests {
    private static func entries(_ count: Int, adapter: Int = 0, from second: Int = 0) -> ContiguousArray<
        FrameBatch.Entry
    > {
        ContiguousArray(
            (0..<count).map {
                FrameBatch.Entry(.withoutBeacon, adapter: adapter, time: .earliest + .seconds(second + $0))
            })
    }

    @Test func `reports and changes are fetched in the order in which they were added`() async throws {
        let handOver = try HandOver(demand: nil)
        #expect(handOver.add(Self.entries(2)))
        #expect(handOver.add(.clock(isSynchronized: true)))
        #expect(handOver.add(Self.entries(1)))
        #expect(handOver.add(.change(.disappeared(adapter: 0), at: .earliest)))
        handOver.end(.success(()))
        let batch = try #require(await handOver.fetch())
        #expect(batch.entries.count == 3)
        #expect(batch.changes.map(\.place) == [2, 3])
        #expect(await handOver.fetch() == nil)
    }

    @Test func `the queue holds at most its maximum number of reports, and of changes`() async throws {
        let handOver = try HandOver(demand: nil)
        #expect(handOver.add(Self.entries(HandOver.entriesMax)))
        #expect(!handOver.add(Self.entries(1)))
        for _ in 0..<HandOver.changesMax { #expect(handOver.add(.clock(isSynchronized: true))) }
        #expect(!handOver.add(.clock(isSynchronized: true)))
        let batch = try #require(await handOver.fetch())
        #expect(batch.entries.count == HandOver.entriesMax && batch.changes.count == HandOver.changesMax)
        // The fetched elements leave room for new ones.
        #expect(handOver.add(Self.entries(1)) && handOver.add(.clock(isSynchronized: true)))
    }

    @Test func `T5: a loss is reported once, at its start, with the time of the last delivered report`() {
        var losses = ReportLosses()
        losses.handed(Self.entries(3))
        losses.handed(Self.entries(1, adapter: 1, from: 50))
        #expect(!losses.areUnderWay)
        let last = Instant.earliest + .seconds(2)
        let first = losses.lost(Self.entries(4, from: 3))
        #expect(first.map(\.change) == [.lost(adapter: 0, count: 0, since: last)])
        #expect(first.map(\.time) == [last])
        #expect(losses.areUnderWay)
        #expect(losses.lost(Self.entries(2, from: 7)).isEmpty)
        // If the adapter is reported to scan, or one of its reports is delivered, the next lost report starts another
        // loss.
        losses.changed(0, at: .earliest + .seconds(8))
        #expect(losses.lost(Self.entries(1, from: 9)).map(\.time) == [.earliest + .seconds(8)])
        losses.handed(Self.entries(1, from: 10))
        #expect(!losses.areUnderWay)
        #expect(losses.lost(Self.entries(1, from: 11)).map(\.time) == [.earliest + .seconds(10)])
        #expect(losses.total == 8)
    }

    @Test func `T5: a drain that was requested before the thread started is answered`() async throws {
        let handOver = try HandOver(demand: nil)
        async let drained: Void = handOver.drain()
        var wake = pollfd(fd: handOver.wake.descriptor.rawValue, events: Int16(POLLIN), revents: 0)
        try await until("the drain was requested", saw: "\(wake.revents)") { poll(&wake, 1, 0) != 0 }
        let thread = try OwnThread(named: "hearing") { ScanThread.run(LiveOptions([.dbus]), handOver) }
        var isAnswered = false
        while !isAnswered, let batch = await handOver.fetch() {
            for case .drained(let id) in batch.changes.map(\.change) {
                handOver.drained(upTo: id)
                isAnswered = true
            }
        }
        await drained
        #expect(isAnswered)
        handOver.stop()
        thread.join()
    }

    @Test func `a request for a drain is answered after the drain, if it is canceled, and at the end`() async throws {
        let handOver = try HandOver(demand: nil)
        async let first: Void = handOver.drain()
        var requests = handOver.takeRequests()
        try await until("the drain was requested", saw: "\(requests)") {
            if requests.drains == nil { requests = handOver.takeRequests() }
            return requests.drains != nil
        }
        handOver.drained(upTo: try #require(requests.drains))
        await first
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await handOver.drain() }
            group.cancelAll()
        }
        async let last: Void = handOver.drain()
        handOver.end(.success(()))
        handOver.drained()
        await last
        await handOver.drain()
    }
}
