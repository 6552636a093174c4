import AdapterScanning
import BaseTypes
import BluetoothLE
import ProgramSupport
import Testing

@testable import GatewayCommands

/// Rule L7 in the daemon: over a restart, in its settings, and on its status page.
@Suite(.serialized) struct DaemonAdapterTests {
    let folder: Scratch
    init() throws { folder = try Scratch() }

    private static let first = DeviceAddress(0x00AA_0100_0001, kind: .public)
    private static let second = DeviceAddress(0x00AA_0100_0002, kind: .public)
    private static let monitor = "monitor: {name: site, exit_timeout: 4s, outage_timeout: 10h, deaf_after: off}"

    @Test(arguments: [false, true])
    func `L7: over a restart, holds belong to the controller's address`(isKilled: Bool) throws {
        try DaemonFixture.write(Self.monitor, in: folder)
        let before = try DaemonFixture(folder)
        before.appear(0, Self.first)
        before.scanner.receive(badge(1), on: 0)
        #expect(before.state == .satisfied)
        before.end(isKilled: isKilled)

        let after = try DaemonFixture(folder)
        // Another controller is hci0 now. A badge must not exit because this controller does not receive it.
        after.appear(0, Self.second)
        after.wait(.seconds(100))
        #expect(after.state == .satisfied)
        // The first controller is hci1 now. Its hold ends when it has scanned for `exit_timeout`.
        after.appear(1, Self.first)
        after.wait(.milliseconds(3_900))
        #expect(after.state == .satisfied)
        after.wait(.milliseconds(200))
        #expect(after.state == .unsatisfied)
        after.end()
        let adapters = try after.payloads("adapter").suffix(2).map {
            "\($0["adapter"] as? String ?? "") \($0["address"] as? String ?? "") \($0["state"] as? String ?? "")"
        }
        #expect(
            adapters == [
                "hci0-00AA01000002 00:AA:01:00:00:02 listening", "hci0 00:AA:01:00:00:01 listening",
            ])
    }

    @Test func `T5: reports lost while the process did not run cause no exit, and no report is late`()
        throws
    {
        try DaemonFixture.write(Self.monitor, in: folder)
        let fixture = try DaemonFixture(folder)
        for (number, address) in [(0, Self.first), (1, Self.second)] { fixture.appear(number, address) }
        let start = fixture.daemon.loop.now
        fixture.scanner.receive(badge(1), at: start)
        // 30 s pass. The buffer had room for the reports until 3 s, and another adapter has received others since.
        fixture.scanner.unread = [
            { $0.receive(badge(1), at: start + .seconds(3)) },
            { $0.receive(nil, on: 1, at: start + .milliseconds(3_001)) },
            { scanner in
                let last = start + .seconds(3)
                scanner.say(.lost(adapter: 0, count: 99, since: last), at: last)
            },
            { $0.receive(nil, on: 1, at: start + .seconds(29)) },
            { $0.receive(nil, on: 0, at: start + .seconds(31)) },
        ]
        fixture.daemon.scanning.drain()
        #expect(fixture.state == .satisfied)
        // The absence of the badge counts from the last report on, while the adapter scans.
        fixture.daemon.monitor.advance(to: start + .milliseconds(34_998))
        #expect(fixture.state == .satisfied)
        fixture.daemon.monitor.advance(to: start + .seconds(35))
        #expect(fixture.state == .unsatisfied)
        #expect(fixture.engine.lateInputs == 0)
        fixture.end()
        let stop = try #require(try fixture.payloads("adapter").first { $0["state"] as? String == "off" })
        #expect(stop["reason"] as? String == "99 messages were lost")
    }

    @Test func `L7: an address in scanner.adapters means its controller, and the page shows the present name`() throws {
        let scanner = "scanner: {adapters: [00:aa:01:00:00:01, 00:AA:01:00:00:09]}\n"
        try DaemonFixture.write(scanner + Self.monitor, in: folder)
        let fixture = try DaemonFixture(folder)
        fixture.appear(0, Self.second)
        fixture.scanner.receive(badge(1), on: 0)
        #expect(fixture.state == .unsatisfied)
        fixture.appear(1, Self.first)
        fixture.scanner.receive(badge(1), on: 1)
        #expect(fixture.state == .satisfied)
        let page = fixture.daemon.report.page
        #expect(page.contains("\n  hci1 00:AA:01:00:00:01: listening for "), "\(page)")
        #expect(page.contains("\n  00:AA:01:00:00:09 of scanner.adapters does not exist\n"), "\(page)")
        #expect(!page.contains("hci0"))
        fixture.end()
    }
}
