import OperatorLogging
import Testing

@testable import GatewayCommands

/// Notifications to systemd, and which of them are logged for operators.
@Suite struct ManagerReportsTests {
    private final class ReportedLines { var lines: [String] = [] }

    private let said = ReportedLines()
    private let manager: ServiceNotifierTests.Manager
    private let reports: ManagerReports

    init() throws {
        let address = "@beacon-gateway-test/reports-\(UInt64.random(in: 0 ... .max))"
        manager = try ServiceNotifierTests.Manager(address)
        let variables = ["NOTIFY_SOCKET": address, "WATCHDOG_USEC": "2000000"]
        reports = ManagerReports(ServiceNotifier(environment: { variables[$0] }, processID: 7)) { [said] _, line in
            said.lines.append(line)
        }
    }

    private func received() -> [String] {
        var received: [String] = []
        while let text = manager.received() { received.append(text) }
        return received
    }

    @Test func `READY is sent once, when an adapter first scans, and no status is sent twice in succession`() {
        reports.reportStatus("waits for a Bluetooth adapter", isListening: false)
        reports.reportStatus("waits for a Bluetooth adapter", isListening: false)
        #expect(received() == ["STATUS=waits for a Bluetooth adapter"])
        reports.reportStatus("scans on hci0", isListening: true)
        #expect(received() == ["READY=1\nSTATUS=scans on hci0"])
        reports.reportStatus("waits for an adapter to scan", isListening: false)
        reports.reportStatus("scans on hci0", isListening: true)
        #expect(received() == ["STATUS=waits for an adapter to scan", "STATUS=scans on hci0"])
        // Operators get a line while the gateway waits. When an adapter scans, the line of the adapter reports it.
        #expect(said.lines == ["waits for a Bluetooth adapter", "waits for an adapter to scan"])
    }

    @Test func `a reload sends RELOADING, and ends with READY and the present status`() {
        reports.reportStatus("scans on hci0", isListening: true)
        _ = received()
        var order: [String] = []
        reports.reload { order = received() }
        #expect(order.count == 1 && order[0].hasPrefix("RELOADING=1\nMONOTONIC_USEC="))
        #expect(received() == ["READY=1\nSTATUS=scans on hci0"])
    }

    @Test func `a reload while no adapter scans yet does not notify systemd that the gateway is ready`() {
        reports.reportStatus("waits for a Bluetooth adapter", isListening: false)
        _ = received()
        var isDone = false
        reports.reload { isDone = true }
        #expect(isDone)
        #expect(received() == [])
        reports.reportStatus("scans on hci0", isListening: true)
        #expect(received() == ["READY=1\nSTATUS=scans on hci0"])
    }

    @Test func `the watchdog is notified, and the end is reported`() {
        #expect(reports.watchdogInterval == .seconds(1))
        reports.live()
        reports.end()
        #expect(received() == ["WATCHDOG=1", "STOPPING=1\nSTATUS=ends"])
    }

    @Test func `if systemd's socket does not exist, there is only a debug message`() throws {
        let gone = ["NOTIFY_SOCKET": "@beacon-gateway-test/gone-\(UInt64.random(in: 0 ... .max))"]
        var levels: [LogLevel] = []
        let reports = ManagerReports(ServiceNotifier(environment: { gone[$0] }, processID: 7)) { kind, _ in
            levels.append(kind.level)
        }
        reports.live()
        #expect(levels == [.debug])
    }
}
