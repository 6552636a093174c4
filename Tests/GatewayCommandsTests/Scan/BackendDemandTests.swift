import AdapterScanning
import BeaconMonitoring
import BeaconScanning
import GatewayConfiguration
import ProgramSupport
import Testing

@testable import GatewayCommands

@Suite struct BackendDemandTests {
    @Test func `each backend has a shortfall for the demands that it cannot meet`() {
        let sparing = ServiceDemand(.lowPower(.low))
        let active = ServiceDemand(.active)
        for backend in ScannerBackend.ofMachine {
            #expect(Backends.shortfalls(of: backend, for: .implicit) == [])
        }
        #expect(Backends.shortfalls(of: .management, for: active).count == 1)
        #expect(Backends.shortfalls(of: .management, for: sparing) == [])
        #expect(Backends.shortfalls(of: .dbus, for: sparing).count == 1)
        #expect(Backends.shortfalls(of: .dbus, for: active) == [])
        #expect(Backends.shortfalls(of: .hci, for: active) == [])
        #expect(Backends.shortfalls(of: .hci, for: sparing) == [])
        // If a session requires every report, each backend scans all the time, so nothing is missing.
        let both = sparing.joined(with: ServiceDemand(needsFullAccuracy: true))
        #expect(Backends.shortfalls(of: .dbus, for: both) == [])
    }

    @Test func `the session of a gateway demands the settings of its configuration, and a later one its own`() throws {
        let registry = ServiceRegistry()
        let text = "scanner: {mode: low_power, adapters: [hci1]}\nconditions: [{identifier: a, uuid: \(Log.uuid)}]\n"
        var configuration = try Configuration.parse(Array(text.utf8), file: "g.yaml").get()
        let first = ServiceSession(configuration, in: registry)
        #expect(registry.demand == ServiceDemand(.lowPower(.low), adapters: .only(["hci1"])))
        configuration.scanner.mode = .active
        let second = ServiceSession(configuration, in: registry)
        #expect(registry.demand?.isActive == true)
        first.invalidate()
        #expect(registry.demand == second.demand)
        #expect(registry.purposes == ["the configuration's conditions"])
    }
}
