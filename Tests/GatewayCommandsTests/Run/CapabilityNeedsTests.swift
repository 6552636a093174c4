import AdapterScanning
import ProgramSupport
import Testing

@testable import GatewayCommands

/// What a process keeps of its rights once it is known by what it hears.
@Suite struct CapabilityNeedsTests {
    private static let both: Set<Capabilities.Capability> = [.networkAdministration, .rawNetwork]

    private func way(_ backend: ScannerBackend, _ isOpen: Bool = false, isDenied: Bool = false) -> ScanStatus.Way {
        ScanStatus.Way(backend: backend, standing: "", isOpen: isOpen, isDenied: isDenied)
    }

    private func kept(
        _ ways: [ScanStatus.Way], used: ScannerBackend, of present: Set<Capabilities.Capability> = both
    ) -> Set<Capabilities.Capability> {
        CapabilityNeeds(ways, used: used, present: present).capabilities
    }

    @Test func `by management nothing is kept, whatever else might be used`() {
        #expect(kept([way(.management, true)], used: .management).isEmpty)
        #expect(kept([way(.management, true), way(.dbus), way(.hci)], used: .management).isEmpty)
        // Nor while it waits for an adapter and another stands in.
        #expect(kept([way(.management, true), way(.dbus, true), way(.hci)], used: .dbus).isEmpty)
    }

    @Test func `over dbus alone nothing is kept`() {
        #expect(kept([way(.dbus, true)], used: .dbus).isEmpty)
    }

    @Test func `where auto fell back to dbus, hci keeps what it would need, if it can have it at all`() {
        let fallen = [way(.management, isDenied: true), way(.dbus, true), way(.hci)]
        #expect(kept(fallen, used: .dbus) == Self.both)
        #expect(kept(fallen, used: .dbus, of: [.rawNetwork]) == [.rawNetwork])
        // The unit's own right: without the raw channel it is of no use.
        #expect(kept(fallen, used: .dbus, of: [.networkAdministration]).isEmpty)
        let refused = [way(.management, isDenied: true), way(.dbus, true), way(.hci, isDenied: true)]
        #expect(kept(refused, used: .dbus).isEmpty)
    }

    @Test func `what management may yet need is kept while it is tried again`() {
        let ways = [way(.management), way(.dbus, true), way(.hci, isDenied: true)]
        #expect(kept(ways, used: .dbus) == [.networkAdministration])
    }

    @Test func `by hci both are kept, and it is said what for`() {
        let needs = CapabilityNeeds([way(.hci, true)], used: .hci, present: Self.both)
        #expect(
            needs.needs == [
                .init(capability: .networkAdministration, why: "hci switches adapters on and resets them"),
                .init(capability: .rawNetwork, why: "hci opens the channel of each new adapter"),
            ])
        // Nobody is said to keep what he never had.
        #expect(CapabilityNeeds([way(.hci, true)], used: .hci, present: []).needs.isEmpty)
    }
}
