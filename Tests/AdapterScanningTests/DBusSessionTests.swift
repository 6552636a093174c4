import BaseTypes
import BluetoothLE
import Testing

@testable import AdapterScanning

/// The session alone: no bus, no clock. What bluetoothd was measured to do, row by row, and what should come of it.
@Suite struct DBusSessionTests {
    static func stopped(_ changes: [ScanChange], at time: Instant) -> Bool {
        changes.contains { if case .stopped(0, time, _) = $0 { true } else { false } }
    }

    // MARK: When things break, as a D-Bus client sees it

    @Test func `powered off: stopped when the signal comes; powered on: discovery is asked for again`() {
        let desk = DBusDesk.listening()
        desk.wait(.seconds(3))
        desk.adapter(powered: false, discovering: false)
        #expect(Self.stopped(desk.changes(), at: desk.now))
        #expect(desk.session.presentObstacles == [.waiting])
        desk.wait(.seconds(60))
        #expect(desk.requests() == [])
        desk.adapter(powered: true)
        #expect(desk.requests() == [.setFilter])
    }

    @Test func `a hardware error: off and 10 ms later on`() {
        let desk = DBusDesk.listening()
        desk.adapter(powered: false, discovering: false)
        desk.wait(.milliseconds(10))
        desk.adapter(powered: true)
        #expect(!desk.isListening)
        desk.discover()
        #expect(desk.isListening)
        #expect(desk.session.presentObstacles == [])
    }

    @Test func `an answer from before the power went is not taken for one to what was asked after it`() {
        let desk = DBusDesk()
        desk.join()
        desk.list([DBusDesk.adapter()])
        let early = desk.take().last { if case .call(.adapter) = $0 { true } else { false } }
        desk.adapter(powered: false)
        desk.adapter(powered: true)
        guard case .call(let request) = early else {
            Issue.record("nothing was asked")
            return
        }
        _ = desk.take()
        desk.session.answered(request, failure: nil, at: desk.now, into: &desk.actions)
        #expect(desk.requests() == [])
    }

    @Test func `unplugged: stopped, then gone; plugged in: off first, started when it is on`() {
        let desk = DBusDesk.listening()
        desk.adapter(powered: false, discovering: false)
        desk.receive(.removed(.adapter(0), interfaces: [DBusName.adapter]))
        let changes = desk.changes()
        #expect(Self.stopped(changes, at: desk.now))
        #expect(changes.contains(.disappeared(adapter: 0)))
        #expect(desk.session.presentObstacles == [.unavailable])
        desk.receive(.added(DBusDesk.adapter(powered: false)))
        #expect(
            desk.changes().contains(
                .appeared(
                    adapter: 0, controller: "00:AA:01:00:00:00", address: DeviceAddress(0xAA_0100_0000, kind: .public)))
        )
        desk.adapter(powered: true)
        #expect(desk.requests() == [.setFilter])
    }

    @Test func `bluetoothd killed: stopped, not gone; what it says when it is back holds`() {
        let desk = DBusDesk.listening()
        desk.wait(.seconds(1))
        desk.owner(nil)
        let changes = desk.changes()
        #expect(Self.stopped(changes, at: desk.now))
        #expect(!changes.contains(.disappeared(adapter: 0)))
        #expect(desk.session.presentObstacles == [.unavailable, .waiting])
        desk.owner(":1.9")
        #expect(desk.session.presentObstacles == [.waiting])
        desk.list([DBusDesk.adapter()])
        desk.answer()
        desk.answer()
        desk.session.received(
            .adapterChanged(0, .discovering(true)), from: ":1.9", at: desk.now, into: &desk.actions)
        #expect(desk.isListening)
    }

    @Test func `bluetoothd that was started has its name first: what is missing five seconds later is gone`() {
        for returns in [true, false] {
            let desk = DBusDesk.listening()
            desk.owner(nil)
            desk.owner(DBusDesk.owner)
            desk.list([])
            #expect(desk.session.presentObstacles == [.waiting])
            _ = desk.take()
            desk.wait(DBusSession.returnMax - .nanoseconds(1))
            #expect(desk.changes() == [])
            if returns { desk.receive(.added(DBusDesk.adapter())) }
            #expect(desk.changes().allSatisfy { $0 == .obstacles([]) })
            desk.wait(.nanoseconds(1))
            #expect(desk.changes().contains(.disappeared(adapter: 0)) == !returns)
            #expect(desk.session.presentObstacles == (returns ? [] : [.unavailable]))
        }
    }

    @Test func `bluetoothd replaced in one step is another bluetoothd`() {
        let desk = DBusDesk.listening()
        desk.owner(":1.9")
        #expect(Self.stopped(desk.changes(), at: desk.now))
        desk.receive(.adapterChanged(0, .discovering(true)))
        #expect(desk.session.statistics.foreign == 1)
    }

    @Test func `bluetoothd stopped: everything removed, then nobody; started: off, then on`() {
        let desk = DBusDesk.listening()
        desk.adapter(powered: false, discovering: false)
        desk.receive(.removed(.adapter(0), interfaces: [DBusName.adapter]))
        desk.owner(nil)
        _ = desk.take()
        desk.owner(DBusDesk.owner)
        desk.list([DBusDesk.adapter(powered: false)])
        #expect(desk.session.presentObstacles == [.waiting])
        desk.adapter(powered: true)
        #expect(desk.requests() == [.setFilter])
    }

    @Test func `discovery that bluetoothd ends by itself is asked for again, later each time`() {
        let desk = DBusDesk.listening()
        var waits: [Duration] = []
        for _ in 0..<9 {
            desk.adapter(discovering: false)
            #expect(!desk.isListening)
            guard let next = desk.session.nextDeadline else {
                Issue.record("nothing will be tried")
                return
            }
            waits.append(next - desk.now)
            _ = desk.take()
            desk.wait((next - desk.now) - .nanoseconds(1))
            #expect(desk.requests() == [])
            desk.wait(.nanoseconds(1))
            desk.discover()
            #expect(desk.isListening)
        }
        #expect(waits == [100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000].map { .milliseconds($0) })
        // After ten seconds that went well it is as if nothing had been.
        desk.wait(.seconds(10))
        desk.adapter(discovering: false)
        #expect(desk.session.nextDeadline == desk.now + .milliseconds(100))
    }

    @Test func `a start that was answered but does not discover is stopped and tried again`() {
        let desk = DBusDesk()
        desk.join()
        desk.list([DBusDesk.adapter()])
        desk.answer()
        desk.answer()
        #expect(!desk.isListening)
        desk.wait(DBusAdapter.confirmationMax - .nanoseconds(1))
        #expect(desk.requests() == [])
        desk.wait(.nanoseconds(1))
        desk.answer()
        desk.wait(.milliseconds(100))
        #expect(desk.requests() == [.setFilter])
    }

    @Test func `somebody else's discovery is not ours: only after our start it listens`() {
        let desk = DBusDesk()
        desk.join()
        desk.list([DBusDesk.adapter()])
        desk.adapter(discovering: true)
        #expect(!desk.isListening)
        desk.answer()
        #expect(!desk.isListening)
        desk.answer()
        #expect(desk.isListening)
    }

    @Test(arguments: [
        ("org.bluez.Error.InProgress", true), ("org.freedesktop.DBus.Error.NoReply", true),
        ("org.bluez.Error.NotReady", false), ("org.bluez.Error.Failed", false),
        ("org.freedesktop.DBus.Error.UnknownObject", false), ("org.freedesktop.DBus.Error.AccessDenied", false),
    ])
    func `a start that fails is tried again; where one may be running, it is stopped before`(
        error: String, isStopped: Bool
    ) {
        let desk = DBusDesk()
        desk.join()
        desk.list([DBusDesk.adapter()])
        desk.answer()
        desk.answer(error)
        if isStopped { desk.answer("org.bluez.Error.Failed") }
        #expect(desk.session.presentObstacles == (error.hasSuffix("AccessDenied") ? [.denied] : []))
        #expect(desk.session.nextDeadline == desk.now + .milliseconds(100))
        _ = desk.take()
        desk.wait(.milliseconds(100))
        desk.discover()
        #expect(desk.isListening)
        #expect(desk.session.presentObstacles == [])
    }

    @Test func `the bus gone: stopped, and connected to again after a while`() {
        let desk = DBusDesk.listening()
        desk.session.disconnected(nil, at: desk.now, into: &desk.actions)
        #expect(Self.stopped(desk.changes(), at: desk.now))
        desk.wait(.milliseconds(99))
        #expect(desk.take() == [])
        desk.wait(.milliseconds(1))
        #expect(desk.take() == [.connect])
    }

    @Test func `objects that can't be had are asked for again`() {
        let desk = DBusDesk()
        desk.join()
        guard
            case .call(let request) = desk.take().last(where: { if case .call(.objects) = $0 { true } else { false } })
        else {
            Issue.record("nothing was asked")
            return
        }
        desk.session.answered(
            request, failure: BusFailure(name: "org.freedesktop.DBus.Error.AccessDenied", text: ""), at: desk.now,
            into: &desk.actions)
        #expect(desk.session.presentObstacles == [.denied, .waiting])
        _ = desk.take()
        desk.wait(.milliseconds(100))
        desk.list([DBusDesk.adapter()])
        #expect(desk.requests() == [.setFilter])
    }
}
