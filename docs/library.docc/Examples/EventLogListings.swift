import BaseTypes
import BeaconMonitoring
import BeaconMonitoringTesting
import BluetoothLE
import EventLog
import Foundation
import GatewayConfiguration
import SystemPackage
import Testing

/// The examples in the documentation comments of `EventLog` and `GatewayConfiguration`.
@Suite struct EventLogListings {
    @Test func `a configuration`() {
        let bytes = Array("conditions:\n  - identifier: staff\n    uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E\n".utf8)
        switch Configuration.parse(bytes, file: "gateway.yaml") {
        case .success(let configuration): print(configuration.monitors.count)
        case .failure(let errors): print(errors)
        }
    }

    @Test func `a journal is written, followed and read`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "listings-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let now = ManualClock().now
        let (site, lobby) = (try Identifier("site"), try Identifier("lobby"))
        var engine = MonitorEngine(start: now)
        var actions = ActionBuffer()
        try engine.addMonitor(site)
        try engine.add(.beacon(uuid: staff), identifier: lobby, monitor: site, at: now, into: &actions)
        let directory = FilePath(folder.appending(path: "events").path)
        try write(actions, of: engine, to: directory, FilePath(folder.appending(path: "state").path), at: now)
        var topics: [String] = []
        try follow(directory) { topic, _ in topics.append(String(decoding: topic, as: UTF8.self)) }
        #expect(topics.first == "beacons/lobby/condition/lobby")
    }

    private func write(
        _ actions: ActionBuffer, of engine: MonitorEngine, to events: FilePath, _ state: FilePath, at now: Instant
    ) throws {
        let offset = ClockOffset.zero
        let options = JournalOptions(directory: events, stateDirectory: state, gateway: try Identifier("lobby"))
        let journal = try Journal(
            options, boot: try BootID.current(), now: now, clockOffset: offset, isClockSynchronized: true)
        journal.append(actions)
        journal.commit(at: now)
        if journal.wantsSnapshot { journal.keep(engine.snapshot, at: now) }
        journal.close(engine.snapshot, at: now)
    }

    private func follow(_ directory: FilePath, _ publish: (ArraySlice<UInt8>, ArraySlice<UInt8>) -> Void) throws {
        var follower = LineFollower(directory, from: LinePosition(sequence: 0))
        var message = LineMessage(prefix: "beacons")
        var line: [UInt8] = []
        while try follower.next(into: &line, upTo: .max, &message) {
            if message.isPublished { publish(message.topic.dropLast(), line[message.payload]) }
        }
    }

    @Test func `a watch over the clock, and a recorder of sightings`() {
        let (now, rssi) = (ManualClock().now, RSSI(dBm: -70))
        let (adapter, beacon) = (AdapterID(index: 0), BeaconIdentity(uuid: staff, major: 1, minor: 7))
        var recorder = EvidenceRecorder()
        recorder.name(adapter, "hci0")
        recorder.sighted(beacon, by: adapter, rssi: rssi, at: now)
        #expect(recorder.unfollowed == 0)
    }

    /// Compiled only: these use the folders of an installed program.
    static func elsewhere(journal: Journal, clock: ManualClock, offset: ClockOffset, reading: ClockOffset) throws {
        let now = clock.now
        do {
            var watch = WallClockWatch(offset: offset, isSynchronized: false)
            if let change = watch.observe(reading, isSynchronized: true, at: now) {
                journal.append(change)
            }
        }
        do {
            let store = FileRecordStore(directory: "/var/lib/my-app/beacons")
            let monitor = try BeaconMonitor("site", clock: clock, store: store)
            print(monitor.name)
        }
        let lock = try StateLock(in: "/var/lib/my-gateway/state", program: "my-gateway")
        defer { lock.release() }
        if let remark = lock.remark { print(remark) }
        var reader = try LogReader(["/var/lib/beacon-gateway/events"])
        try reader.read([.event, .visit]) { line in
            if case .visit(let visit) = line.entry { print(line.date, visit.identifier, visit.reason) }
            return true
        }
    }
}
