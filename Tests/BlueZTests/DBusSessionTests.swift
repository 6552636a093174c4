import BeaconScanning
import BluetoothLE
import Testing

@testable import BlueZ

/// The session alone: no bus, no clock. What bluetoothd was measured to do, row by row, and what should come of it.
@Suite struct DBusSessionTests {
    /// A session, and a time that goes on when it is told to.
    final class Desk {
        var session: DBusSession
        var now = Instant(nanoseconds: 1_000_000_000_000)
        var actions: [DBusAction] = []

        static let owner = ":1.7"

        init(
            adapters: AdapterSelection = .all, isPassive: Bool = false, mayPowerCycle: Bool = false,
            devicesMax: Int = 100
        ) {
            session = DBusSession(
                options: .init(
                    adapters: adapters, isPassive: isPassive, mayPowerCycle: mayPowerCycle, devicesMax: devicesMax))
        }

        /// What came of it since the last look.
        func take() -> [DBusAction] {
            defer { actions.removeAll() }
            return actions
        }

        func changes() -> [ScanChange] {
            take().compactMap { if case .change(let change) = $0 { change } else { nil } }
        }

        func requests() -> [DBusRequest.AdapterRequest] {
            take().compactMap { if case .call(.adapter(_, let request, _)) = $0 { request } else { nil } }
        }

        func reports() -> [DBusReport] {
            take().compactMap { if case .heard(let report) = $0 { report } else { nil } }
        }

        /// Answers the last request to an adapter.
        func answer(
            _ error: String? = nil, location: SourceLocation = #_sourceLocation
        ) {
            let last = actions.last {
                if case .call(.adapter) = $0 { true } else { false }
            }
            guard case .call(let request) = last else {
                Issue.record("nothing was asked", sourceLocation: location)
                return
            }
            actions.removeAll { $0 == last }
            session.answered(
                request, failure: error.map { BusFailure(name: $0, text: "") }, at: now, into: &actions)
        }

        /// Joins the bus and asks bluetoothd for its objects.
        func join() {
            session.connected(at: now, into: &actions)
            session.answered(.hello, failure: nil, at: now, into: &actions)
            session.ownerAnswered(Self.owner, at: now, into: &actions)
        }

        func list(_ objects: [DBusObject]) {
            guard
                case .call(.objects(let token)) = actions.last(where: {
                    if case .call(.objects) = $0 { true } else { false }
                })
            else { return }
            session.listed(objects, token: token, at: now, into: &actions)
        }

        func receive(_ signal: DBusSignal) {
            session.received(signal, from: Self.owner, at: now, into: &actions)
        }

        func owner(_ name: String?) {
            session.received(.ownerChanged(name: "org.bluez", owner: name), from: DBusName.bus, at: now, into: &actions)
        }

        func adapter(powered: Bool? = nil, discovering: Bool? = nil) {
            var properties = DBusAdapterProperties()
            properties.isPowered = powered
            properties.isDiscovering = discovering
            receive(.adapterChanged(0, properties))
        }

        func wait(_ duration: Duration) {
            now = now + duration
            session.advance(to: now, into: &actions)
        }

        static func adapter(
            _ index: Int = 0, _ address: String = "00:AA:01:00:00:00", powered: Bool = true, monitors: Bool = false
        ) -> DBusObject {
            var object = DBusObject(.adapter(index))
            var properties = DBusAdapterProperties()
            properties.address = address
            properties.isPowered = powered
            properties.isDiscovering = false
            object.adapter = properties
            object.offersMonitors = monitors
            return object
        }

        /// A session whose adapter 0 listens.
        static func listening(
            isPassive: Bool = false, mayPowerCycle: Bool = false, monitors: Bool = false, devicesMax: Int = 100
        ) -> Desk {
            let desk = Desk(isPassive: isPassive, mayPowerCycle: mayPowerCycle, devicesMax: devicesMax)
            desk.join()
            desk.list([adapter(monitors: monitors)])
            if monitors {
                desk.answer()
                desk.session.monitorActivated(0, at: desk.now, into: &desk.actions)
            }
            if !isPassive { desk.discover() }
            #expect(desk.isListening)
            desk.actions.removeAll()
            return desk
        }

        /// Answers what discovery asks.
        func discover() {
            answer()
            answer()
            adapter(discovering: true)
        }

        var isListening: Bool { session.adapters[0]?.isListening ?? false }
    }

    static func stopped(_ changes: [ScanChange], at time: Instant) -> Bool {
        changes.contains { if case .stopped(0, time, _) = $0 { true } else { false } }
    }

    // MARK: When things break, as a D-Bus client sees it

    @Test func `powered off: stopped when the signal comes; powered on: discovery is asked for again`() {
        let desk = Desk.listening()
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
        let desk = Desk.listening()
        desk.adapter(powered: false, discovering: false)
        desk.wait(.milliseconds(10))
        desk.adapter(powered: true)
        #expect(!desk.isListening)
        desk.discover()
        #expect(desk.isListening)
        #expect(desk.session.presentObstacles == [])
    }

    @Test func `an answer from before the power went is not taken for one to what was asked after it`() {
        let desk = Desk()
        desk.join()
        desk.list([Desk.adapter()])
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
        let desk = Desk.listening()
        desk.adapter(powered: false, discovering: false)
        desk.receive(.removed(.adapter(0), interfaces: [DBusName.adapter]))
        let changes = desk.changes()
        #expect(Self.stopped(changes, at: desk.now))
        #expect(changes.contains(.disappeared(adapter: 0)))
        #expect(desk.session.presentObstacles == [.unavailable])
        desk.receive(.added(Desk.adapter(powered: false)))
        #expect(
            desk.changes().contains(
                .appeared(
                    adapter: 0, controller: "00:AA:01:00:00:00", address: DeviceAddress(0xAA_0100_0000, kind: .public)))
        )
        desk.adapter(powered: true)
        #expect(desk.requests() == [.setFilter])
    }

    @Test func `bluetoothd killed: stopped, not gone; what it says when it is back holds`() {
        let desk = Desk.listening()
        desk.wait(.seconds(1))
        desk.owner(nil)
        let changes = desk.changes()
        #expect(Self.stopped(changes, at: desk.now))
        #expect(!changes.contains(.disappeared(adapter: 0)))
        #expect(desk.session.presentObstacles == [.unavailable, .waiting])
        desk.owner(":1.9")
        #expect(desk.session.presentObstacles == [.waiting])
        desk.list([Desk.adapter()])
        desk.answer()
        desk.answer()
        desk.session.received(
            .adapterChanged(0, .discovering(true)), from: ":1.9", at: desk.now, into: &desk.actions)
        #expect(desk.isListening)
    }

    @Test func `bluetoothd that was started has its name first: what is missing five seconds later is gone`() {
        for returns in [true, false] {
            let desk = Desk.listening()
            desk.owner(nil)
            desk.owner(Desk.owner)
            desk.list([])
            #expect(desk.session.presentObstacles == [.waiting])
            _ = desk.take()
            desk.wait(DBusSession.returnMax - .nanoseconds(1))
            #expect(desk.changes() == [])
            if returns { desk.receive(.added(Desk.adapter())) }
            #expect(desk.changes().allSatisfy { $0 == .obstacles([]) })
            desk.wait(.nanoseconds(1))
            #expect(desk.changes().contains(.disappeared(adapter: 0)) == !returns)
            #expect(desk.session.presentObstacles == (returns ? [] : [.unavailable]))
        }
    }

    @Test func `bluetoothd replaced in one step is another bluetoothd`() {
        let desk = Desk.listening()
        desk.owner(":1.9")
        #expect(Self.stopped(desk.changes(), at: desk.now))
        desk.receive(.adapterChanged(0, .discovering(true)))
        #expect(desk.session.statistics.foreign == 1)
    }

    @Test func `bluetoothd stopped: everything removed, then nobody; started: off, then on`() {
        let desk = Desk.listening()
        desk.adapter(powered: false, discovering: false)
        desk.receive(.removed(.adapter(0), interfaces: [DBusName.adapter]))
        desk.owner(nil)
        _ = desk.take()
        desk.owner(Desk.owner)
        desk.list([Desk.adapter(powered: false)])
        #expect(desk.session.presentObstacles == [.waiting])
        desk.adapter(powered: true)
        #expect(desk.requests() == [.setFilter])
    }

    @Test func `discovery that bluetoothd ends by itself is asked for again, later each time`() {
        let desk = Desk.listening()
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
        let desk = Desk()
        desk.join()
        desk.list([Desk.adapter()])
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
        let desk = Desk()
        desk.join()
        desk.list([Desk.adapter()])
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
        let desk = Desk()
        desk.join()
        desk.list([Desk.adapter()])
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
        let desk = Desk.listening()
        desk.session.disconnected(nil, at: desk.now, into: &desk.actions)
        #expect(Self.stopped(desk.changes(), at: desk.now))
        desk.wait(.milliseconds(99))
        #expect(desk.take() == [])
        desk.wait(.milliseconds(1))
        #expect(desk.take() == [.connect])
    }

    @Test func `objects that can't be had are asked for again`() {
        let desk = Desk()
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
        desk.list([Desk.adapter()])
        #expect(desk.requests() == [.setFilter])
    }

    // MARK: Monitors

    @Test func `a monitor that is not activated within three seconds is not waited for`() {
        let desk = Desk()
        desk.join()
        desk.list([Desk.adapter(monitors: true)])
        desk.answer()
        desk.wait(DBusAdapter.activationMax - .nanoseconds(1))
        #expect(desk.requests() == [])
        desk.wait(.nanoseconds(1))
        #expect(desk.requests() == [.setFilter])
    }

    @Test func `a monitor stands through power, and is registered again with bluetoothd`() {
        let desk = Desk.listening(monitors: true)
        desk.adapter(powered: false, discovering: false)
        desk.adapter(powered: true)
        #expect(desk.requests() == [.setFilter])
        desk.owner(nil)
        desk.owner(Desk.owner)
        desk.list([Desk.adapter(monitors: true)])
        #expect(desk.requests() == [.registerMonitor])
    }

    @Test func `a passive adapter listens while its monitor is active`() {
        let desk = Desk.listening(isPassive: true, monitors: true)
        desk.session.monitorReleased(0, at: desk.now, into: &desk.actions)
        #expect(Self.stopped(desk.changes(), at: desk.now))
        desk.wait(.milliseconds(100))
        desk.answer()
        desk.session.monitorActivated(0, at: desk.now, into: &desk.actions)
        #expect(desk.isListening)
        desk.adapter(powered: false)
        #expect(!desk.isListening)
        desk.adapter(powered: true)
        #expect(desk.isListening)
        _ = desk.take()
        var outcome = desk.session.take(.widen, on: 0, at: desk.now, into: &desk.actions)
        #expect(outcome == .taken)
        desk.discover()
        #expect(desk.isListening)
        outcome = desk.session.take(.widen, on: 0, at: desk.now, into: &desk.actions)
        #expect(outcome != .taken)
    }

    @Test func `power that was switched off by us is switched on by us, whatever is answered first`() {
        let desk = Desk.listening(mayPowerCycle: true)
        let outcome = desk.session.take(.powerCycle, on: 0, at: desk.now, into: &desk.actions)
        #expect(outcome == .taken)
        desk.answer()
        #expect(desk.actions.contains { if case .call(.adapter(_, .setPowered(true), _)) = $0 { true } else { false } })
        desk.adapter(powered: false, discovering: false)
        desk.answer("org.bluez.Error.Busy")
        desk.wait(.milliseconds(100))
        desk.answer()
        desk.adapter(powered: true)
        desk.discover()
        #expect(desk.isListening)
    }

    @Test func `what is still owed when it is stopped is said in the farewell`() {
        let desk = Desk.listening(mayPowerCycle: true, monitors: true)
        let requests = { (session: DBusSession) -> [DBusRequest.AdapterRequest] in
            session.farewell.compactMap { if case .adapter(_, let request, _) = $0 { request } else { nil } }
        }
        #expect(requests(desk.session) == [.stopDiscovery, .unregisterMonitor])
        _ = desk.session.take(.powerCycle, on: 0, at: desk.now, into: &desk.actions)
        #expect(requests(desk.session) == [.setPowered(true), .unregisterMonitor])
    }

    @Test func `64 adapters are looked after, one more is not; those that went make room`() {
        let desk = Desk()
        desk.join()
        desk.list((0..<70).map { Desk.adapter($0) })
        #expect(desk.session.adapters.count == DBusSession.adaptersMax)
        desk.receive(.removed(.adapter(3), interfaces: [DBusName.adapter]))
        desk.receive(.added(Desk.adapter(69)))
        #expect(desk.session.adapters[69] != nil)
    }
}

extension DBusAdapterProperties {
    static func discovering(_ isDiscovering: Bool) -> DBusAdapterProperties {
        var properties = DBusAdapterProperties()
        properties.isDiscovering = isDiscovering
        return properties
    }
}
