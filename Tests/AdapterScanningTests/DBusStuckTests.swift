import BluetoothLE
import Testing

@testable import AdapterScanning

/// A controller that hangs: bluetoothd cannot stop its discovery and does not start another one, whatever it answers.
@Suite struct DBusStuckTests {
    static let inProgress = "org.bluez.Error.InProgress"

    /// Returns a session after a restart of its adapter's discovery: the stop failed with `error`, the next start
    /// succeeded.
    static func stuck(_ error: String = inProgress) -> DBusDesk {
        let desk = DBusDesk.listening(mayPowerCycle: true)
        let outcome = desk.session.take(.restartScan, on: 0, at: desk.now, into: &desk.actions)
        #expect(outcome == .taken)
        desk.answer(error)
        desk.answer()
        desk.answer()
        return desk
    }

    @Test(arguments: [
        (inProgress, false), ("org.freedesktop.DBus.Error.NoReply", false), ("org.bluez.Error.Failed", true),
        ("org.freedesktop.DBus.Error.UnknownObject", true),
    ])
    func `a start after a stop that was refused or timed out proves nothing; it does if there was nothing to stop`(
        error: String, listens: Bool
    ) {
        let desk = Self.stuck(error)
        #expect(desk.isListening == listens)
    }

    @Test func `a failed stop is repeated after 0.1 s, then ever later, at most 5 s; once it works, the scan starts`() {
        let desk = Self.stuck()
        for wait in [100, 200, 400, 800, 1600, 3200, 5000, 5000] {
            _ = desk.take()
            desk.wait(.milliseconds(wait) - .nanoseconds(1))
            #expect(desk.requests() == [])
            desk.wait(.nanoseconds(1))
            desk.answer(Self.inProgress)
            desk.answer()
            desk.answer()
            #expect(!desk.isListening)
        }
        _ = desk.take()
        desk.wait(.seconds(5))
        desk.adapter(discovering: false)
        desk.answer()
        desk.discover()
        #expect(desk.isListening)
    }

    @Test func `if a scan cannot be restarted, this step is skipped, and the power can be switched off and on`() {
        let desk = Self.stuck()
        guard case .skipped = desk.session.take(.restartScan, on: 0, at: desk.now, into: &desk.actions) else {
            Issue.record("the scan was restarted")
            return
        }
        let outcome = desk.session.take(.powerCycle, on: 0, at: desk.now, into: &desk.actions)
        #expect(outcome == .taken)
        desk.adapter(powered: false, discovering: false)
        desk.answer()
        desk.adapter(powered: true)
        desk.discover()
        #expect(desk.isListening)
    }

    @Test func `an adapter that cannot be switched off is not listening until it was off`() {
        let desk = DBusDesk.listening(isPassive: true, mayPowerCycle: true, monitors: true)
        for _ in 0..<3 {
            _ = desk.session.take(.powerCycle, on: 0, at: desk.now, into: &desk.actions)
            desk.answer("org.bluez.Error.Failed")
            #expect(!desk.isListening)
            desk.wait(.seconds(5))
        }
        _ = desk.session.take(.powerCycle, on: 0, at: desk.now, into: &desk.actions)
        desk.adapter(powered: false)
        desk.answer()
        desk.adapter(powered: true)
        #expect(desk.isListening)
    }

    @Test func `if a policy forbids switching an adapter off, the adapter continues to count as listening`() {
        let desk = DBusDesk.listening(isPassive: true, mayPowerCycle: true, monitors: true)
        _ = desk.session.take(.powerCycle, on: 0, at: desk.now, into: &desk.actions)
        desk.answer("org.freedesktop.DBus.Error.AccessDenied")
        #expect(desk.isListening)
    }

    @Test func `a report proves that an adapter scans, although its discovery could not be stopped`() {
        let desk = Self.stuck()
        _ = desk.take()
        var device = DBusDeviceProperties()
        device.rssi = RSSI(dBm: -60)
        device.isReport = true
        desk.receive(.deviceChanged(DBusDeviceKey(adapter: 0, address: 0xC000_0000_0001), device))
        #expect(desk.isListening)
        let actions = desk.take()
        #expect(actions.first == .change(.listening(adapter: 0, reason: "a report came")))
        #expect(actions.count { if case .received = $0 { true } else { false } } == 1)
        #expect(desk.session.nextDeadline == nil)
    }

    @Test func `after a restart of bluetoothd, an earlier failure to stop discovery has no effect`() {
        let desk = Self.stuck()
        desk.owner(nil)
        desk.owner(DBusDesk.owner)
        desk.list([DBusDesk.adapter()])
        desk.discover()
        #expect(desk.isListening)
    }
}
