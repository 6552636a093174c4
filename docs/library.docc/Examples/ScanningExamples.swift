import BeaconMonitoringTesting
import BeaconScanning
import EventLog
import Testing

/// The listings of “Scan for a beacon in five minutes”; the program is part of the sample.
@Suite(.timeLimit(.minutes(20))) struct ScanningExamples {
    @Test func `a monitor that cannot scan reports the reason`() async throws {
        let monitor = try BeaconMonitor("nowhere", scanning: .capture("/nowhere/lobby.btsnoop"))
        let events = monitor.subscribe()
        let error = await #expect(throws: ScanningError.self) { try await monitor.run() }
        #expect(error?.kind == .captureUnreadable)
        await #expect(throws: MonitorError.self) { for try await _ in events {} }
    }

    /// Compiled, but not run here: they need a machine with Bluetooth, a folder, and a recording of the user's.
    static func elsewhere() async throws {
        do {
            let scanning = Scanning.automatic.logging { level, text in if level <= .notice { print(text) } }
            await (try BeaconMonitor("quiet", scanning: scanning)).end()
        }
        do {
            let store = FileRecordStore(directory: "/var/lib/near")
            let monitor = try BeaconMonitor("site", scanning: .automatic, store: store)
            await monitor.end()
        }
        do {
            let monitor = try BeaconMonitor("yesterday", scanning: .capture("lobby.btsnoop"))
            await monitor.end()
        }
        do {
            let fields = try FieldMap("adapter=scannerID,measuredPower=calibratedPower")
            let monitor = try BeaconMonitor(
                "site", scanning: .capture("week.jsonl", fields: fields, reorder: .seconds(5)))
            await monitor.end()
        }
        for way in [Scanning.management, .bluetoothd, .hci] {
            await (try BeaconMonitor("ways", scanning: way.on(adapters: ["hci0"]).withCanary(uuid: staff))).end()
        }
    }
}
