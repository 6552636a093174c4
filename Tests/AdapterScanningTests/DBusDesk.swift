import BaseTypes
import Testing

@testable import AdapterScanning

/// A session with a clock that the test advances, and the actions that the session requested.
final class DBusDesk {
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

    /// Returns the actions since the last call.
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
        take().compactMap { if case .received(let report) = $0 { report } else { nil } }
    }

    /// Answers the last request to an adapter: with success, or with `error`.
    func answer(
        _ error: String? = nil, location: SourceLocation = #_sourceLocation
    ) {
        let last = actions.last {
            if case .call(.adapter) = $0 { true } else { false }
        }
        guard case .call(let request) = last else {
            Issue.record("there is no request to an adapter", sourceLocation: location)
            return
        }
        actions.removeAll { $0 == last }
        session.answered(
            request, failure: error.map { BusFailure(name: $0, text: "") }, at: now, into: &actions)
    }

    /// Joins the bus, so that the session requests the objects of bluetoothd.
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

    /// Returns a session whose adapter 0 is listening.
    static func listening(
        isPassive: Bool = false, mayPowerCycle: Bool = false, monitors: Bool = false, devicesMax: Int = 100
    ) -> DBusDesk {
        let desk = DBusDesk(isPassive: isPassive, mayPowerCycle: mayPowerCycle, devicesMax: devicesMax)
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

    /// Answers the requests that start discovery, and reports that the adapter discovers.
    func discover() {
        answer()
        answer()
        adapter(discovering: true)
    }

    var isListening: Bool { session.adapters[0]?.isListening ?? false }
}
