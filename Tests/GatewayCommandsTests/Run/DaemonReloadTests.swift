import AdapterScanning
import BluetoothLE
import ProgramSupport
import Testing

@testable import GatewayCommands

/// Reloads of a gateway that has dropped the capabilities for starting to scan.
@Suite(.serialized) struct DaemonReloadTests {
    let folder: Scratch
    init() throws { folder = try Scratch() }

    private static let address = DeviceAddress(0x00AA_0100_0001, kind: .public)

    private func write(_ scanner: String = "", monitor: String = "exit_timeout: 4s") throws {
        try DaemonFixture.write("scanner: {\(scanner)}\nmonitor: {name: site, \(monitor)}", in: folder)
    }

    private func running(_ capabilities: Set<Capabilities.Capability> = [.networkAdministration]) throws
        -> DaemonFixture
    {
        let fixture = try DaemonFixture(folder, capabilities: capabilities)
        fixture.appear(0, Self.address)
        fixture.scanner.receive(badge(1))
        #expect(fixture.state == .satisfied)
        return fixture
    }

    @Test(arguments: [
        ("backend: dbus", "exit_timeout: 4s", ["scanner"]), ("adapters: [hci1]", "exit_timeout: 4s", ["scanner"]),
        ("", "exit_timeout: 4s, deaf_after: 3s", ["deaf_after"]),
        ("mode: active", "exit_timeout: 4s, deaf_after: 3s", ["scanner", "deaf_after"]),
    ])
    func `if scanning cannot be restarted, its changed settings wait for a restart with a warning; scanning continues`(
        scanner: String, monitor: String, settings: [String]
    ) throws {
        try write()
        let fixture = try running()
        #expect(fixture.rights.present == [])
        try write(scanner, monitor: monitor)
        fixture.daemon.reload()
        fixture.finishTurn()
        for setting in settings {
            #expect(
                fixture.log.contains(
                    """
                    warning: \(setting) changed in the file; management can't be opened again, because CAP_NET_ADMIN was \
                    dropped: it takes effect with `systemctl restart beacon-gateway`
                    """), "\(fixture.log)")
        }
        #expect(fixture.scannersMade == 1 && fixture.scanner.stops == 0)
        #expect(fixture.daemon.scanning.status?.isListening == true)
        #expect(fixture.daemon.failure == nil)
        // States are kept, and new sightings count.
        #expect(fixture.state == .satisfied)
        fixture.wait(.seconds(3))
        fixture.scanner.receive(badge(1))
        fixture.wait(.seconds(3))
        #expect(fixture.state == .satisfied)
        fixture.wait(.seconds(2))
        #expect(fixture.state == .unsatisfied)
        fixture.end()
    }

    @Test func `a reload applies all settings except those that must wait, also with a new engine, which scans`() throws
    {
        try write(monitor: "exit_timeout: 4s, max_beacons: 100")
        let fixture = try running()
        try write("adapters: [hci1]", monitor: "exit_timeout: 9s, max_beacons: 200")
        fixture.daemon.reload()
        #expect(fixture.engine.settings.maxBeacons == 200)
        #expect(fixture.daemon.configuration.scanner.adapters == [])
        fixture.scanner.receive(badge(1))
        fixture.wait(.seconds(8))
        #expect(fixture.state == .satisfied)
        fixture.wait(.seconds(2))
        #expect(fixture.state == .unsatisfied)
        // If the same file is loaded again, the same warning is logged, because the setting still waits.
        fixture.daemon.reload()
        #expect(fixture.log.count { $0.contains("scanner changed in the file") } == 2)
        fixture.end()
    }

    @Test func `a gateway that dropped no capability for scanning restarts scanning at once`() throws {
        try write("backend: dbus")
        let fixture = try running([])
        try write("backend: dbus, mode: passive")
        fixture.daemon.reload()
        #expect(fixture.scannersMade == 2)
        #expect(fixture.daemon.configuration.scanner.mode == .passive)
        #expect(!fixture.log.contains { $0.contains("systemctl restart") })
        fixture.end()
    }

    @Test func `reports that the scanner of a reloaded configuration has received count when the gateway stops`() throws
    {
        try write("backend: dbus")
        let fixture = try DaemonFixture(folder)
        try write("backend: dbus, mode: passive")
        fixture.daemon.reload()
        fixture.appear(0, Self.address)
        fixture.scanner.unread.append { $0.receive(badge(1)) }
        fixture.daemon.finish()
        #expect(fixture.state == .satisfied)
        #expect(fixture.scannersMade == 2 && fixture.scanner.stops == 1)
    }
}
