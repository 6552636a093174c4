import BluetoothLE
import Testing

@testable import AdapterScanning

/// A controller that hung: bluetoothd can't stop its discovery, and starts none, whatever it answers.
@Suite struct DBusStuckTests {
    static let inProgress = "org.bluez.Error.InProgress"

    /// A session whose adapter's discovery could not be stopped, and whose next start was answered all the same.
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
    func `a start after a stop that was refused proves nothing; after one with nothing to stop it does`(
        error: String, listens: Bool
    ) {
        let desk = Self.stuck(error)
        #expect(desk.isListening == listens)
    }

    @Test func `a discovery that could not be stopped is stopped again, later each time, and begun once it was`() {
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

    @Test func `the watchdog is not kept at a scan that can't be restarted, and may switch power off and on`() {
        let desk = Self.stuck()
        guard case .skipped = desk.session.take(.restartScan, on: 0, at: desk.now, into: &desk.actions) else {
            Issue.record("it was restarted")
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

    @Test func `power that can't be switched off says that it does not hear, until it was`() {
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

    @Test func `power that can't be switched off by a policy says nothing of the controller`() {
        let desk = DBusDesk.listening(isPassive: true, mayPowerCycle: true, monitors: true)
        _ = desk.session.take(.powerCycle, on: 0, at: desk.now, into: &desk.actions)
        desk.answer("org.freedesktop.DBus.Error.AccessDenied")
        #expect(desk.isListening)
    }

    @Test func `a report proves an adapter that could not be stopped`() {
        let desk = Self.stuck()
        _ = desk.take()
        var device = DBusDeviceProperties()
        device.rssi = RSSI(dBm: -60)
        device.isReport = true
        desk.receive(.deviceChanged(DBusDeviceKey(adapter: 0, address: 0xC000_0000_0001), device))
        #expect(desk.isListening)
        let actions = desk.take()
        #expect(actions.first == .change(.listening(adapter: 0, reason: "a report came")))
        #expect(actions.count { if case .heard = $0 { true } else { false } } == 1)
        #expect(desk.session.nextDeadline == nil)
    }

    @Test func `bluetoothd's going and coming forget what could not be stopped`() {
        let desk = Self.stuck()
        desk.owner(nil)
        desk.owner(DBusDesk.owner)
        desk.list([DBusDesk.adapter()])
        desk.discover()
        #expect(desk.isListening)
    }
}
