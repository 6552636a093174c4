import AdapterScanning
import ProgramSupport
import Testing

@testable import GatewayCommands

/// The capabilities that a process keeps when a backend is in use.
@Suite struct CapabilityNeedsTests {
    private static let both: Set<Capabilities.Capability> = [.networkAdministration, .rawNetwork]

    private func entry(_ backend: ScannerBackend, _ isOpen: Bool = false, isDenied: Bool = false)
        -> ScanStatus.BackendStatus
    {
        ScanStatus.BackendStatus(backend: backend, state: "", isOpen: isOpen, isDenied: isDenied)
    }

    private func kept(
        _ backends: [ScanStatus.BackendStatus], used: ScannerBackend, of present: Set<Capabilities.Capability> = both
    ) -> Set<Capabilities.Capability> {
        CapabilityNeeds(backends, used: used, present: present).capabilities
    }

    @Test func `with management no capability is kept, whatever other backends could be used`() {
        #expect(kept([entry(.management, true)], used: .management).isEmpty)
        #expect(kept([entry(.management, true), entry(.dbus), entry(.hci)], used: .management).isEmpty)
        // This is also so while management waits for an adapter and another backend is used.
        #expect(kept([entry(.management, true), entry(.dbus, true), entry(.hci)], used: .dbus).isEmpty)
    }

    @Test func `with dbus alone no capability is kept`() {
        #expect(kept([entry(.dbus, true)], used: .dbus).isEmpty)
    }

    @Test func `if auto uses dbus instead of management, the needs of hci are kept, if hci can be used at all`() {
        let fallen = [entry(.management, isDenied: true), entry(.dbus, true), entry(.hci)]
        #expect(kept(fallen, used: .dbus) == Self.both)
        #expect(kept(fallen, used: .dbus, of: [.rawNetwork]) == [.rawNetwork])
        // Without CAP_NET_RAW, the CAP_NET_ADMIN of the unit is of no use to hci.
        #expect(kept(fallen, used: .dbus, of: [.networkAdministration]).isEmpty)
        let refused = [entry(.management, isDenied: true), entry(.dbus, true), entry(.hci, isDenied: true)]
        #expect(kept(refused, used: .dbus).isEmpty)
    }

    @Test func `while management is tried again, the capability that it needs is kept`() {
        let backends = [entry(.management), entry(.dbus, true), entry(.hci, isDenied: true)]
        #expect(kept(backends, used: .dbus) == [.networkAdministration])
    }

    @Test func `with hci both capabilities are kept, each with its reason`() {
        let needs = CapabilityNeeds([entry(.hci, true)], used: .hci, present: Self.both)
        #expect(
            needs.needs == [
                .init(capability: .networkAdministration, why: "hci switches adapters on and resets them"),
                .init(capability: .rawNetwork, why: "hci opens the channel of each new adapter"),
            ])
        // A capability that the process never had is not listed.
        #expect(CapabilityNeeds([entry(.hci, true)], used: .hci, present: []).needs.isEmpty)
    }
}
