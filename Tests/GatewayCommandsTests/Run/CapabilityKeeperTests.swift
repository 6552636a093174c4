import BaseTypes
import SystemPackage
import Testing

@testable import AdapterScanning
@testable import GatewayCommands

@Suite struct CapabilityKeeperTests {
    /// A process that has its capabilities until it drops them.
    private final class Process {
        var present: Set<Capabilities.Capability> = [.networkAdministration, .rawNetwork]
        var drops: [Set<Capabilities.Capability>] = []
        var lines: [String] = []
        var error: Errno?
    }

    private let process = Process()

    private func keeper() -> CapabilityKeeper {
        CapabilityKeeper(
            ProcessCapabilities(
                present: { [process] in process.present },
                drop: { [process] (kept) throws(Errno) in
                    process.drops.append(kept)
                    if let error = process.error { throw error }
                    process.present = kept
                })
        ) { [process] _, line in process.lines.append(line) }
    }

    private func status(_ backend: ScannerBackend?, _ backends: [ScanStatus.BackendStatus]) -> ScanStatus {
        var status = ScanStatus(since: Instant(nanoseconds: 0))
        status.backend = backend
        status.backends = backends
        return status
    }

    private func entry(_ backend: ScannerBackend, _ isOpen: Bool) -> ScanStatus.BackendStatus {
        ScanStatus.BackendStatus(backend: backend, state: "", isOpen: isOpen, isDenied: false)
    }

    @Test func `no capability is dropped before a backend is in use`() {
        var keeper = keeper()
        keeper.update(status(nil, [entry(.management, false)]))
        #expect(process.drops.isEmpty && keeper.needs.isEmpty)
    }

    @Test func `capabilities that no backend needs are dropped once, and the others are logged with the reason`() {
        var keeper = keeper()
        let fallen = status(.dbus, [entry(.dbus, true), entry(.hci, false)])
        keeper.update(fallen)
        keeper.update(fallen)
        #expect(process.drops == [[.networkAdministration, .rawNetwork]])
        #expect(keeper.needs.map(\.capability) == [.networkAdministration, .rawNetwork])
        #expect(process.lines.count == 2 && process.lines.allSatisfy { $0.hasPrefix("keeps CAP_NET_") })
        keeper.update(status(.management, [entry(.management, true)]))
        #expect(process.drops.count == 2 && process.present.isEmpty)
        #expect(keeper.needs.isEmpty)
    }

    @Test func `if capabilities cannot be dropped, this is logged, and the gateway continues`() {
        process.error = .notPermitted
        var keeper = keeper()
        keeper.update(status(.management, [entry(.management, true)]))
        #expect(process.lines == ["the capabilities can't be dropped: \(Errno.notPermitted)"])
    }
}
