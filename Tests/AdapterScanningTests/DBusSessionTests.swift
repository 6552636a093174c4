import BaseTypes
import BluetoothLE
import Testing

@testable import AdapterScanning

/// The session without a bus and without a clock. Each test has a measured behavior of bluetoothd, and the reaction
/// that should follow.
@Suite struct DBusSessionTests {
    static func stopped(_ changes: [ScanChange], at time: Instant) -> Bool {
        changes.contains { if case .stopped(0, time, _) = $0 { true } else { false } }
    }

    // MARK: Failures, as a D-Bus client sees them

    @Test func `an adapter stops when it is reported off; when it is on, discovery is requested again`() {
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

    @Test func `after a hardware error, off and 10 ms later on, the adapter scans again`() {
        let desk = DBusDesk.listening()
        desk.adapter(powered: false, discovering: false)
        desk.wait(.milliseconds(10))
        desk.adapter(powered: true)
        #expect(!desk.isListening)
        desk.discover()
        #expect(desk.isListening)
        #expect(desk.session.presentObstacles == [])
    }

    @Test func `an answer to a request from before a power off is not used for a later request`() {
        let desk = DBusDesk()
        desk.join()
        desk.list([DBusDesk.adapter()])
        let early = desk.take().last { if case .call(.adapter) = $0 { true } else { false } }
        desk.adapter(powered: false)
        desk.adapter(powered: true)
        guard case .call(let request) = early else {
            Issue.record("there is no request to the adapter")
            return
        }
        _ = desk.take()
        desk.session.answered(request, failure: nil, at: desk.now, into: &desk.actions)
        #expect(desk.requests() == [])
    }

    @Test func `an unplugged adapter stops and disappears; plugged in again it is off, and starts when it is on`() {
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

    @Test func `if bluetoothd is killed, its adapter stops without disappearing, and scans when bluetoothd is back`() {
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

    @Test func `an adapter that a restarted bluetoothd does not have disappears after 5 s, not 1 ns earlier`() {
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

    @Test func `if another bluetoothd replaces one in one step, adapters stop; signals of the old one are ignored`() {
        let desk = DBusDesk.listening()
        desk.owner(":1.9")
        #expect(Self.stopped(desk.changes(), at: desk.now))
        desk.receive(.adapterChanged(0, .discovering(true)))
        #expect(desk.session.statistics.foreign == 1)
    }

    @Test func `if bluetoothd is stopped and started, discovery is requested when the adapter is on`() {
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

    @Test func `if bluetoothd ends discovery, it is requested again after 0.1 s, then ever later, at most 5 s`() {
        let desk = DBusDesk.listening()
        var waits: [Duration] = []
        for _ in 0..<9 {
            desk.adapter(discovering: false)
            #expect(!desk.isListening)
            guard let next = desk.session.nextDeadline else {
                Issue.record("no retry is scheduled")
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
        // After ten seconds without a failure, the delay is the shortest one again.
        desk.wait(.seconds(10))
        desk.adapter(discovering: false)
        #expect(desk.session.nextDeadline == desk.now + .milliseconds(100))
    }

    @Test func `a start without discovering is stopped after 5 s, not 1 ns earlier, and repeated 0.1 s later`() {
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

    @Test func `another program's discovery does not count: an adapter is listening only after its own start`() {
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
    func `a failed start is repeated; if a discovery can be running, it is stopped before`(
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

    @Test func `if the connection to the bus is lost, adapters stop, and the session connects again after 0.1 s`() {
        let desk = DBusDesk.listening()
        desk.session.disconnected(nil, at: desk.now, into: &desk.actions)
        #expect(Self.stopped(desk.changes(), at: desk.now))
        desk.wait(.milliseconds(99))
        #expect(desk.take() == [])
        desk.wait(.milliseconds(1))
        #expect(desk.take() == [.connect])
    }

    @Test func `if the objects of bluetoothd cannot be read, they are requested again`() {
        let desk = DBusDesk()
        desk.join()
        guard
            case .call(let request) = desk.take().last(where: { if case .call(.objects) = $0 { true } else { false } })
        else {
            Issue.record("the objects were not requested")
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
