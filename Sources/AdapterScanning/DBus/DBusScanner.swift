import BaseTypes
package import EventLoops

/// Hears advertising reports through bluetoothd, over D-Bus: the way for users without any right.
///
/// On each adapter that is on it registers an advertisement monitor where bluetoothd offers that, and starts discovery,
/// again whenever bluetoothd, the adapter or its power comes back. Reports come as the properties of devices that change.
/// That costs detail: no kind of advertisement, no data but manufacturer specific ones, and the time at which the bus
/// handed a report over. bluetoothd merges reports of one device that it has no time to tell one by one, and loses some
/// when it is overrun, without a word: ``ScanChange/lost(adapter:count:since:)`` is never told here.
///
/// Without a monitor the kernel has the controller filter duplicates, and a controller that takes this to the letter
/// reports a beacon once in 10.24 s: ``mayBeThinned(on:)`` says where that is possible, and
/// ``ScanObstacle/thinned`` is told where the times between reports show it.
package final class DBusScanner: AdvertisingScanner {
    /// How it hears.
    package struct Options: Sendable, Hashable {
        /// The adapters to hear with.
        package var adapters = AdapterSelection.all
        /// Only listen: never ask advertisers for scan responses. Discovery does, so only monitors are left, and with a
        /// bluetoothd that has none nothing is heard (``ScanObstacle/unavailable``).
        package var isPassive = false
        /// Whether ``WatchdogStep/powerCycle`` may switch an adapter off and on, for everybody on the machine.
        package var mayPowerCycle = false
        /// Whether ``DBusScanner/start(_:)`` may succeed while bluetoothd does not run, and wait for it.
        package var waitsForService = false
        /// The bus, as the D-Bus specification's “Server Addresses” writes it; `nil` for the system bus, which is what
        /// DBUS_SYSTEM_BUS_ADDRESS says, if it is set.
        package var busAddress: String?
        /// The most devices whose last data are kept, at least 1; the one heard least recently gives way.
        package var devicesMax = 8192

        /// The defaults.
        package init() {}
    }

    /// Which way it is.
    package var backend: ScannerBackend { .dbus }

    let options: Options
    let loop: EventLoop
    let address: String
    var session: DBusSession
    var connection: BusConnection?
    var calls = BusCallTable<DBusRequest>()
    // Switching an adapter off takes some hundred milliseconds; nobody wants to wait longer for the end.
    private static let powerMax = 3000

    private weak var handler: (any ScanHandler)?
    private var timer: EventLoop.Timer?
    private var actions: [DBusAction] = []
    private var isPerforming = false
    // Stopped from within what is told, where nothing can be waited for: the rest follows in the next turn.
    private var isEnding = false
    // What was to be told before start() knew whether it succeeds.
    private var heldBack: [DBusAction]?

    /// Makes a scanner that does nothing yet.
    package init(options: Options = Options(), loop: EventLoop) {
        self.options = options
        self.loop = loop
        address = options.busAddress ?? SystemBus.address
        session = DBusSession(
            options: .init(
                adapters: options.adapters, isPassive: options.isPassive, mayPowerCycle: options.mayPowerCycle,
                devicesMax: options.devicesMax))
    }

    deinit { finish() }

    /// What was counted.
    package var statistics: DBusStatistics {
        var statistics = session.statistics
        statistics.evicted &+= session.devices.evicted
        statistics.unsent &+= (connection?.unsent ?? 0) &+ calls.refused
        return statistics
    }

    /// Whether an adapter discovers without an advertisement monitor, so that its controller may report a beacon only
    /// once in 10.24 s.
    package func mayBeThinned(on adapter: Int) -> Bool { session.mayBeThinned(adapter) }

    // MARK: AdvertisingScanner

    /// Begins to hear. See ``AdvertisingScanner/start(_:)``; it waits for the bus and bluetoothd for up to 5 s each.
    ///
    /// `handler` is not kept alive.
    package func start(_ handler: any ScanHandler) throws(ScannerError) {
        if isEnding { finish() }
        guard timer == nil else { return }
        self.handler = handler
        timer = loop.makeTimer { [weak self] _ in self?.timePassed() }
        heldBack = []
        do {
            try join()
        } catch {
            heldBack = nil
            stop()
            throw error
        }
        let told = heldBack ?? []
        heldBack = nil
        actions.insert(contentsOf: told, at: 0)
        perform { _, _, _ in }
    }

    /// Hands over everything that has been received up to the call.
    package func drain() { connection?.drain() }

    /// Takes a step of the watchdog's ladder on one adapter.
    package func take(_ step: WatchdogStep, on adapter: Int) -> WatchdogStep.Outcome {
        var outcome = WatchdogStep.Outcome.skipped(reason: "the scanner has not been started")
        guard timer != nil, !isEnding else { return outcome }
        perform { session, now, actions in
            outcome = session.take(step, on: adapter, at: now, into: &actions)
        }
        return outcome
    }

    /// Ends hearing: discovery is stopped, the monitors are taken back, the connection is closed.
    ///
    /// Nothing is told from here on. Called from within a report or a change, the rest follows in the loop's next turn.
    package func stop() {
        handler = nil
        guard let timer, isPerforming else { return finish() }
        isEnding = true
        loop.set(timer, at: loop.now)
    }

    private func timePassed() {
        guard !isEnding else { return finish() }
        // An answer can be after more messages than a turn takes; it is not late then.
        let now = loop.now
        drain()
        guard timer != nil, !isEnding else { return }
        advance(to: now)
    }

    private func advance(to now: Instant) {
        expireCalls(at: now)
        perform { session, _, actions in session.advance(to: now, into: &actions) }
    }

    private func finish() {
        handler = nil
        if let connection {
            // An adapter that was just switched off by us takes no order to come on before it has obeyed the first.
            _ = connection.pump(milliseconds: Self.powerMax) {
                self.advance(to: self.loop.now)
                return !self.session.isSwitchingPower || !connection.isOpen
            }
            for request in session.farewell { _ = connection.send(request.call(wantsReply: false)) }
            // bluetoothd forgets what a closed connection asked for, all but the power that is to come on again; only
            // that it is all written is waited for, and not long.
            connection.flush(milliseconds: 200)
        }
        disconnect()
        if let timer { loop.end(timer) }
        timer = nil
        isEnding = false
        actions.removeAll()
        session = DBusSession(options: session.options, keeping: statistics)
        calls = BusCallTable()
    }

    // MARK: What the session wants

    /// Puts something into the session, and does what it wants done.
    func perform(_ body: (inout DBusSession, Instant, inout [DBusAction]) -> Void) {
        body(&session, loop.now, &actions)
        // Whoever is told something may ask for a step: that is done in its turn.
        guard !isPerforming else { return }
        isPerforming = true
        defer { isPerforming = false }
        var next = 0
        while next < actions.count {
            let action = actions[next]
            next += 1
            perform(action)
            if next == actions.count {
                actions.removeAll(keepingCapacity: true)
                next = 0
            }
        }
        actions.removeAll(keepingCapacity: true)
        if let timer, !isEnding {
            let next = min(session.nextDeadline ?? .latest, calls.nextDeadline ?? .latest)
            loop.set(timer, at: next == .latest ? nil : next)
        }
    }

    private func perform(_ action: DBusAction) {
        switch action {
        case .change, .heard:
            if heldBack != nil { heldBack?.append(action) } else { tell(action) }
        case .call(let request): send(request)
        case .connect: connect()
        case .disconnect: disconnect()
        }
    }

    private func tell(_ action: DBusAction) {
        guard let handler else { return }
        switch action {
        case .change(let change): handler.changed(change, at: loop.now)
        case .heard(let report):
            handler.heard(report.advertisingReport, data: report.data.span, on: report.adapter, at: loop.now)
        case .call, .connect, .disconnect: break
        }
    }

    private func send(_ request: DBusRequest) {
        guard calls.hasRoom(), let serial = connection?.send(request.call()) else {
            // As if there had been no answer: it is tried again.
            session.answered(
                request, failure: BusFailure(name: "org.freedesktop.DBus.Error.NoReply", text: "it could not be sent"),
                at: loop.now, into: &actions)
            return
        }
        calls.await(request, serial: serial, at: loop.now)
    }

    private func expireCalls(at now: Instant) {
        while let request = calls.expired(at: now) {
            session.statistics.unanswered &+= 1
            session.answered(
                request,
                failure: BusFailure(name: "org.freedesktop.DBus.Error.NoReply", text: "no answer arrived in time"),
                at: now, into: &actions)
        }
    }

    /// Forgets the connection.
    func disconnect() {
        calls.removeAll()
        guard let connection else { return }
        session.statistics.unsent &+= connection.unsent
        self.connection = nil
        connection.close()
    }

    // MARK: The bus

    // dbus-daemon gives a connection as long to introduce itself (auth_timeout).
    private static let joinMax = 5000
    // What bluetoothd has, told by a machine that is busy starting. It may take longer: it is then waited for in turns.
    private static let listMax = 5000

    /// Connects to the bus and finds bluetoothd, or says why that can't be.
    func join() throws(ScannerError) {
        perform { _, _, actions in actions.append(.connect) }
        guard let connection else { throw refusal(atBus: true) }
        let hasJoined = connection.pump(milliseconds: Self.joinMax) {
            self.session.stage != .joining || !connection.isOpen
        }
        guard hasJoined, session.stage != .away else { throw refusal(atBus: true) }
        if session.stage == .ownerless {
            if options.waitsForService { return }
            throw ScannerError(
                .unavailable,
                "org.bluez is not on the system bus",
                remedy:
                    "Install bluetoothd with `apt install bluez` and start it with `systemctl enable --now bluetooth`")
        }
        _ = connection.pump(milliseconds: Self.listMax) {
            self.session.stage != .listing || self.session.lastFailure != nil || !connection.isOpen
        }
        if session.stage == .listing, session.lastFailure?.kind == .denied { throw refusal(atBus: false) }
    }

    /// What libdbus says, without the name of the error before it: the words say the same.
    private static func withoutName(_ text: String) -> Substring {
        guard text.hasPrefix("org."), let colon = text.firstRange(of: ": ") else { return text[...] }
        return text[colon.upperBound...]
    }

    private func refusal(atBus: Bool) -> ScannerError {
        let failure = session.lastFailure
        let text = failure?.text ?? "it does not answer"
        if failure?.kind == .denied {
            return ScannerError(
                .denied,
                atBus
                    ? "the system bus at \(address) refuses this user (\(text))"
                    : "the policy of the system bus does not allow this user to call bluetoothd (\(text))",
                remedy: atBus
                    ? "Check its policy in /etc/dbus-1"
                    : "Allow send_destination=\"org.bluez\" for this user in a file of /etc/dbus-1/system.d, or run as "
                        + "a user who has the permission")
        }
        return ScannerError(
            .unavailable,
            "the system bus can't be reached: \(Self.withoutName(text))",
            remedy:
                "Install the bus with `apt install dbus bluez` and start it with `systemctl start dbus`, or set "
                + "DBUS_SYSTEM_BUS_ADDRESS, if its address is not \(address)")
    }

    /// Opens a connection, if it can be opened now.
    func connect() {
        disconnect()
        do {
            connection = try BusConnection(address: address, loop: loop) { [weak self] in self?.received($0) ?? false }
            perform { $0.connected(at: $1, into: &$2) }
        } catch {
            perform { $0.disconnected(error, at: $1, into: &$2) }
        }
    }

    private func received(_ message: BusMessage) -> Bool {
        switch message.kind {
        case .signal: return receivedSignal(message)
        case .call: return receivedCall(message)
        case .reply, .error: return receivedAnswer(message)
        case .other: return false
        }
    }

    private func receivedSignal(_ message: BusMessage) -> Bool {
        guard let path = message.path, let interface = message.interface, let member = message.member else {
            return false
        }
        if interface == DBusName.local {
            // libdbus makes it itself; nobody can send one.
            guard member == "Disconnected" else { return false }
            session.statistics.disconnections &+= 1
            disconnect()
            perform { $0.disconnected(nil, at: $1, into: &$2) }
            return true
        }
        guard let signal = DBusSignal(message, path: path, interface: interface, member: member),
            let sender = message.sender
        else { return false }
        perform { $0.received(signal, from: sender, at: $1, into: &$2) }
        return true
    }

    private func receivedAnswer(_ message: BusMessage) -> Bool {
        // The bus lets only whom we asked answer, and nobody else.
        guard let request = calls.answered(message.answeredSerial) else { return true }
        if message.kind == .error {
            var arguments = message.arguments
            let failure = BusFailure(name: message.errorName ?? "unnamed error", text: arguments.text() ?? "")
            perform { $0.answered(request, failure: failure, at: $1, into: &$2) }
            return true
        }
        let malformed = BusFailure(
            name: "org.freedesktop.DBus.Error.InvalidArgs", text: "the answer has an unexpected form")
        switch request {
        case .owner:
            var arguments = message.arguments
            let name = arguments.text()
            perform { session, now, actions in
                if let name {
                    session.ownerAnswered(name, at: now, into: &actions)
                } else {
                    session.answered(request, failure: malformed, at: now, into: &actions)
                }
            }
        case .objects(let token):
            let objects = DBusSignal.objects(message)
            perform { session, now, actions in
                if let objects {
                    session.listed(objects, token: token, at: now, into: &actions)
                } else {
                    session.answered(request, failure: malformed, at: now, into: &actions)
                }
            }
        case .hello, .match, .adapter:
            perform { $0.answered(request, failure: nil, at: $1, into: &$2) }
        }
        return true
    }

    // MARK: Objects for bluetoothd

    // Each adapter has an application with one advertisement monitor, so that the path of a call names the adapter. bluetoothd
    // asks for the objects of the application, then calls the methods of the monitor, which have no answer. Source: bluez
    // doc/advertisement-monitor-api.txt.

    /// bluetoothd called something: only it may.
    private func receivedCall(_ message: BusMessage) -> Bool {
        guard let path = message.path, let interface = message.interface, let member = message.member else {
            return false
        }
        guard let sender = message.sender, sender == session.owner else {
            session.statistics.foreign &+= 1
            return false
        }
        guard
            let adapter = session.adapters.keys.first(where: {
                path == DBusApplication.path(of: $0) || path == DBusApplication.monitor(of: $0)
            })
        else { return false }
        switch (interface, member) {
        case (DBusName.objectManager, "GetManagedObjects"):
            let monitor = BusValue.dictionary(
                of: "sa{sv}", [BusEntry(key: .string(DBusName.monitor), value: Self.monitorProperties)])
            connection?.reply(
                to: message,
                [
                    .dictionary(
                        of: "oa{sa{sv}}", [BusEntry(key: .path(DBusApplication.monitor(of: adapter)), value: monitor)])
                ])
        case (DBusName.properties, "GetAll"): connection?.reply(to: message, [Self.monitorProperties])
        case (DBusName.monitor, "Activate"): perform { $0.monitorActivated(adapter, at: $1, into: &$2) }
        case (DBusName.monitor, "Release"): perform { $0.monitorReleased(adapter, at: $1, into: &$2) }
        case (DBusName.monitor, "DeviceFound"):
            var arguments = message.arguments
            guard let device = arguments.text(), case .device(let key) = DBusPath(device) else { return true }
            perform { $0.monitorFound(key, at: $1, into: &$2) }
        // It tells of silence, which is ours to judge.
        case (DBusName.monitor, "DeviceLost"): break
        default: return false
        }
        return true
    }

    /// What is monitored: iBeacons, by how their manufacturer specific data begin (rule B1).
    private static let monitorProperties = BusValue.properties([
        ("Type", .string("or_patterns")),
        (
            "Patterns",
            .array(of: "(yyay)", [.structure([.byte(0), .byte(0xFF), .bytes([0x4C, 0x00, 0x02, 0x15])])])
        ),
    ])
}
