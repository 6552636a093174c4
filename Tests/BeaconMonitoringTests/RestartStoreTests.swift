import BaseTypes
import BeaconMonitoringTesting
import BluetoothLE
import EventLog
import Foundation
import SystemPackage
import Testing

@testable import BeaconMonitoring

/// A monitor with a store: N1, N3 and N4 as a user of the library sees them.
@Suite struct RestartStoreTests {
    private final class Folder {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("records-\(UUID().uuidString)").path
        deinit { try? FileManager.default.removeItem(atPath: path) }
    }

    @Test func `N4: a monitor that is created again with the same name has its conditions and records`() async throws {
        let folder = Folder()
        let clock = ManualClock()
        do {
            let monitor = try BeaconMonitor(
                "store-4", clock: clock, store: FileRecordStore(directory: FilePath(folder.path)))
            let adapter = try await monitor.adapter(named: "hci0")
            await monitor.listening(ListeningChange(.started, adapter: adapter), at: Fixture.start)
            try await monitor.add(.anyA, identifier: "lobby", assuming: .unsatisfied)
            try await monitor.add(.anyB, identifier: "yard")
            clock.set(.seconds(1))
            await monitor.sighted(
                Sighting(
                    time: Fixture.start + .seconds(1), adapter: adapter, beacon: .a(1), measuredPower: -59,
                    rssi: RSSI(dBm: -60)))
            #expect(await monitor.record(for: "lobby")?.lastEvent.state == .satisfied)
            await monitor.end()
        }
        clock.set(.seconds(100))
        let monitor = try BeaconMonitor(
            "store-4", clock: clock, store: FileRecordStore(directory: FilePath(folder.path)))
        #expect(await monitor.identifiers == ["lobby", "yard"])
        let record = try #require(await monitor.record(for: "lobby"))
        #expect(record.condition == .anyA)
        #expect(record.lastEvent.state == .satisfied)
        #expect(record.lastEvent.time == Fixture.start + .seconds(1))
        #expect(await monitor.record(for: "yard")?.lastEvent.state == .unknown)
        // The beacon is still present: there is no event until it leaves.
        let adapter = try await monitor.adapter(named: "hci0")
        await monitor.listening(ListeningChange(.started, adapter: adapter), at: Fixture.start + .seconds(100))
        clock.set(.seconds(129))
        await monitor.received(by: adapter, at: Fixture.start + .seconds(129))
        #expect(await monitor.record(for: "lobby")?.lastEvent.state == .satisfied)
        clock.set(.seconds(130))
        await monitor.received(by: adapter, at: Fixture.start + .seconds(130))
        #expect(await monitor.record(for: "lobby")?.lastEvent.state == .unsatisfied)
        #expect(await monitor.remove("yard"))
        await monitor.end()
        let third = try BeaconMonitor("store-4", clock: clock, store: FileRecordStore(directory: FilePath(folder.path)))
        #expect(await third.identifiers == ["lobby"])
        await third.end()
    }

    @Test func `N1: a name with a store is free at once, 100 times, after end() or a release without it`() async throws
    {
        let folder = Folder()
        for number in 0..<100 {
            let monitor = try BeaconMonitor(
                "store-1 again", clock: ManualClock(), store: FileRecordStore(directory: FilePath(folder.path)))
            try await monitor.add(.anyA, identifier: "lobby")
            guard number.isMultiple(of: 2) else { continue }
            let loop = Task { [monitor] in try await monitor.run() }
            loop.cancel()
            await monitor.end()
        }
    }

    @Test func `N5: if the mark of a handled event cannot be written, the store tries again`() async {
        await #expect(processExitsWith: .success) {
            let folder = Folder()
            let clock = ManualClock()
            let store = FileRecordStore(directory: FilePath(folder.path))
            _ = try store.open(try Identifier("store-5"), at: clock.now, offset: .zero)
            #expect(store.isStoring)
            let regular = store.nextDeadline
            // write(2) fails from now on: no file may become longer (setrlimit(2), RLIMIT_FSIZE).
            signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit()
            #expect(getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
            let former = limit.rlim_cur
            limit.rlim_cur = 0
            #expect(setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
            store.handled([1])
            #expect(!store.isStoring)
            #expect(store.nextDeadline == .earliest)
            let snapshot = MonitorEngine(start: clock.now, clockOffset: .zero).snapshot
            store.advance(to: clock.now) { snapshot }
            #expect(!store.isStoring)
            let next = try #require(store.nextDeadline)
            #expect(next > clock.now && next != regular)
            limit.rlim_cur = former
            #expect(setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
            store.advance(to: next) { snapshot }
            #expect(store.isStoring)
        }
    }

    @Test func `N1: if another program uses the name in the folder, the error names that program`() async throws {
        let folder = Folder()
        let site = try Identifier("store-1")
        let other = try StateLock(site, in: FilePath(folder.path + "/store-1"), program: "another program")
        #expect {
            _ = try BeaconMonitor(
                "store-1", clock: ManualClock(), store: FileRecordStore(directory: FilePath(folder.path)))
        } throws: { error in
            guard case MonitorError.recordsUnavailable(let reason)? = error as? MonitorError else { return false }
            return reason.contains("another program")
        }
        other.release()
        let monitor = try BeaconMonitor(
            "store-1", clock: ManualClock(), store: FileRecordStore(directory: FilePath(folder.path)))
        await monitor.end()
    }
}
