import AdapterScanning
import CommandSupport
import Testing

@testable import GatewayCommands

@Suite struct ClosedWayTests {
    @Test func `if no backend can be used, the message has short lines and names doctor`() {
        let error = ScannerError(
            .unavailable, "no backend can be used:\n  management, hci: no sockets\n  dbus: no bus",
            remedy: String(repeating: "much to do ", count: 50))
        let failure = ExitFailure(error)
        #expect(failure.code == .serviceUnavailable)
        #expect(
            failure.message == """
                no backend can be used:
                  management, hci: no sockets
                  dbus: no bus
                to find the remedy, run beacon-gateway doctor
                """)
        #expect(ExitFailure(ScannerError(.denied, "not you")).code == .noPermission)
    }
}
