import BaseTypes
import BeaconMonitoring
import EventLog
import EventLoops
import Foundation
import GatewayConfiguration
import ProgramSupport
import SystemPackage
import Testing

@testable import AdapterScanning
@testable import BluetoothLE
@testable import GatewayCommands

/// The status of a gateway, made from values.
@Suite struct StatusReportTests {
    private static let uuid = "F7826DA6-4FA2-4E98-8024-BC5B71E0893E"
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    private func report(conditions: Int, scanning: ScanStatus?) throws -> StatusReport {
        let conditions = (0..<conditions).map { "- {identifier: c\($0), uuid: \(Self.uuid), major: \($0)}\n" }
        return try report("conditions:\n" + conditions.joined(), scanning: scanning)
    }

    /// Returns the status with this configuration, after the beacons with these minors were received.
    private func report(_ configured: String, receiving beacons: [UInt16] = [], scanning: ScanStatus?) throws
        -> StatusReport
    {
        let text = "output: {directory: \(scratch.path("e")), state_directory: \(scratch.path("s"))}\n" + configured
        let configuration = try Configuration.parse(Array(text.utf8), file: "c.yaml").get()
        let now = Instant(nanoseconds: 90_000_000_000)
        let gateway = try Identifier("lobby")
        let offset = ClockOffset(nanoseconds: 0)
        let journal = try Journal(
            JournalOptions(
                directory: FilePath(scratch.path("e")), stateDirectory: FilePath(scratch.path("s")), gateway: gateway),
            boot: try BootID.current(), now: now, clockOffset: offset, isClockSynchronized: true)
        var engine = MonitorEngine(settings: configuration.liveEngineSettings, start: now)
        var actions = ActionBuffer()
        try engine.begin(
            configuration.setups, naming: configuration.beacons.beacons, from: nil, at: now, into: &actions)
        let adapter = try engine.adapter(named: "hci0", at: now, into: &actions)
        engine.listening(ListeningChange(.started, adapter: adapter), at: now, into: &actions)
        for minor in beacons {
            let beacon = BeaconIdentity(uuid: try #require(ProximityUUID(Self.uuid)), major: 1, minor: minor)
            engine.sighted(
                Sighting(time: now, adapter: adapter, beacon: beacon, measuredPower: -59, rssi: RSSI(dBm: -60)),
                into: &actions)
        }
        return StatusReport(
            gateway: gateway, startTime: Instant(nanoseconds: 0), now: now, clockOffset: offset, scanning: scanning,
            needs: [], configuration: configuration,
            monitor: LiveMonitor(engine: engine),
            malformations: ReportDecoder().malformations, ranging: RangingWriter(configuration), journal: journal,
            location: LocationTracker.SourceState(name: "gpsd", lastFix: nil, failure: "gpsd is away"), broker: nil,
            reloads: 3, wakeUps: 4)
    }

    private func scanning(adapters: Int) -> ScanStatus {
        var status = ScanStatus(since: Instant(nanoseconds: 30_000_000_000))
        status.adapters = (0..<adapters).map {
            ScanStatus.Adapter(number: $0, since: Instant(nanoseconds: 60_000_000_000))
        }
        status.backends = [
            ScanStatus.BackendStatus(backend: .management, state: "closed", isOpen: false, isDenied: true)
        ]
        return status
    }

    @Test func `the object has the present state, and the page has the same as text`() throws {
        let report = try report(conditions: 2, scanning: scanning(adapters: 1))
        let said = try object(report.json())
        #expect(said["gateway"] as? String == "lobby" && said["state"] as? String == "waiting")
        #expect(said["uptime"] as? Double == 90)
        #expect((said["counters"] as? [String: Any])?["reloads"] as? Int == 3)
        #expect((said["location"] as? [String: Any])?["trouble"] as? String == "gpsd is away")
        #expect((said["adapters"] as? [[String: Any]])?.first?["since"] as? Double == 30)
        #expect(said["shortened"] == nil && said["mqtt"] == nil)
        #expect(report.page.hasPrefix("lobby: waits for a Bluetooth adapter; runs since 1 min\n"), "\(report.page)")
        #expect(report.page.contains("location\n  gpsd: no fix yet; gpsd is away\n"))
    }

    @Test func `a condition with a reversed UUID is in the object and on the page`() throws {
        let uuid = try #require(ProximityUUID(Self.uuid))
        let report = try report(
            "conditions: [{identifier: badge, uuid: \(uuid.byteReversed)}]", receiving: [1, 2],
            scanning: scanning(adapters: 1))
        let said = try object(report.json())["reversedUUIDs"] as? [[String: String]]
        #expect(said == [["identifier": "badge", "received": Self.uuid]])
        #expect(
            report.page.contains(
                "\n  received beacons with the UUID \(Self.uuid) match no condition; the uuid of condition badge"))
        #expect(try object(self.report(conditions: 1, scanning: nil).json())["reversedUUIDs"] == nil)
    }

    @Test func `a status that is too long for a broker omits whole lists, conditions first, and names them`() throws {
        let report = try report(conditions: 300, scanning: scanning(adapters: 60))
        let whole = report.json()
        #expect(try object(whole)["shortened"] == nil)
        func shortened(_ bytesMax: Int) throws -> [String]? {
            let text = report.json(bytesMax: bytesMax)
            #expect(text.utf8.count <= bytesMax)
            return try object(text)["shortened"] as? [String]
        }
        #expect(try shortened(whole.utf8.count) == nil)
        let without = report.json(leavingOut: [.conditions])
        #expect(without.utf8.count < whole.utf8.count)
        #expect(try shortened(whole.utf8.count - 1) == ["conditions"])
        #expect(try shortened(without.utf8.count - 1) == ["conditions", "adapters"])
    }

    @Test func `the page lists present beacons by name or numbers, and the object has no names`() throws {
        let report = try report(
            """
            conditions:
            - {identifier: staff, uuid: \(Self.uuid), per_beacon: true}
            - {identifier: nobody, uuid: \(Self.uuid), major: 2, per_beacon: true}
            beacons:
            - {major: 1, minor: 3, name: Grace}
            - {major: 1, minor: 2, name: Ada}
            - {major: 1, minor: 4, name: Absent}
            """, receiving: [1, 2, 3], scanning: scanning(adapters: 1))
        let page = report.page
        #expect(page.contains("  staff: satisfied"), "\(page)")
        #expect(page.contains("\n    Ada (1/2), Grace (1/3), 1/1\n"), "\(page)")
        #expect(!page.contains("Absent"))
        #expect(!report.json().contains("Ada"))
    }

    @Test func `the page lists twenty of many beacons, those with names first, and counts the others`() throws {
        let report = try report(
            """
            conditions:
            - {identifier: staff, uuid: \(Self.uuid), per_beacon: true}
            beacons:
            - {major: 1, minor: 300, name: Ada}
            """, receiving: Array(1...300), scanning: scanning(adapters: 1))
        #expect(report.page.contains("\n    Ada (1/300), 1/1, 1/2,") && report.page.contains(", 1/19 and 280 more\n"))
    }

    @Test func `before a backend was selected, there is no page, and the object has the state waiting`() throws {
        let report = try report(conditions: 1, scanning: nil)
        #expect(report.page.isEmpty)
        let said = try object(report.json())
        #expect(said["state"] as? String == "waiting" && said["scanner"] == nil)
    }
}
