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
        try DaemonWorld.write("scanner: {\(scanner)}\nmonitor: {name: site, \(monitor)}", in: folder)
    }

    private func running(_ capabilities: Set<Capabilities.Capability> = [.networkAdministration]) throws -> DaemonWorld
    {
        let world = try DaemonWorld(folder, capabilities: capabilities)
        world.appear(0, Self.address)
        world.scanner.receive(badge(1))
        #expect(world.state == .satisfied)
        return world
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
        let world = try running()
        #expect(world.rights.present == [])
        try write(scanner, monitor: monitor)
        world.daemon.reload()
        world.finishTurn()
        for setting in settings {
            #expect(
                world.log.contains(
                    """
                    warning: \(setting) changed in the file; management can't be opened again, because CAP_NET_ADMIN was \
                    dropped: it takes effect with `systemctl restart beacon-gateway`
                    """), "\(world.log)")
        }
        #expect(world.scannersMade == 1 && world.scanner.stops == 0)
        #expect(world.daemon.scanning.status?.isListening == true)
        #expect(world.daemon.failure == nil)
        // States are kept, and new sightings count.
        #expect(world.state == .satisfied)
        world.wait(.seconds(3))
        world.scanner.receive(badge(1))
        world.wait(.seconds(3))
        #expect(world.state == .satisfied)
        world.wait(.seconds(2))
        #expect(world.state == .unsatisfied)
        world.end()
    }

    @Test func `a reload applies all settings except those that must wait, also with a new engine, which scans`() throws
    {
        try write(monitor: "exit_timeout: 4s, max_beacons: 100")
        let world = try running()
        try write("adapters: [hci1]", monitor: "exit_timeout: 9s, max_beacons: 200")
        world.daemon.reload()
        #expect(world.engine.settings.maxBeacons == 200)
        #expect(world.daemon.configuration.scanner.adapters == [])
        world.scanner.receive(badge(1))
        world.wait(.seconds(8))
        #expect(world.state == .satisfied)
        world.wait(.seconds(2))
        #expect(world.state == .unsatisfied)
        // If the same file is loaded again, the same warning is logged, because the setting still waits.
        world.daemon.reload()
        #expect(world.log.count { $0.contains("scanner changed in the file") } == 2)
        world.end()
    }

    @Test func `a gateway that dropped no capability for scanning restarts scanning at once`() throws {
        try write("backend: dbus")
        let world = try running([])
        try write("backend: dbus, mode: passive")
        world.daemon.reload()
        #expect(world.scannersMade == 2)
        #expect(world.daemon.configuration.scanner.mode == .passive)
        #expect(!world.log.contains { $0.contains("systemctl restart") })
        world.end()
    }

    @Test func `reports that the scanner of a reloaded configuration has received count when the gateway stops`() throws
    {
        try write("backend: dbus")
        let world = try DaemonWorld(folder)
        try write("backend: dbus, mode: passive")
        world.daemon.reload()
        world.appear(0, Self.address)
        world.scanner.unread.append { $0.receive(badge(1)) }
        world.daemon.finish()
        #expect(world.state == .satisfied)
        #expect(world.scannersMade == 2 && world.scanner.stops == 1)
    }
}
