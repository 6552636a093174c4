import BaseTypes
package import EventLoops

/// Receives advertising reports through bluetoothd, over D-Bus. It needs no capabilities.
///
/// On each powered adapter it registers an advertisement monitor, if bluetoothd offers that, and starts discovery. It
/// does so again when bluetoothd, the adapter or its power returns. Reports arrive as changed properties of devices, so
/// some details are missing: the PDU type, all data except manufacturer specific data, and the receive time (the time
/// at which the D-Bus message is handled is used). bluetoothd merges reports of one device if it has no time to signal
/// each, and loses reports without notice when it is overloaded. So this backend never reports
/// ``ScanChange/lost(adapter:count:since:)``.
///
/// Without a monitor, the kernel makes the controller filter duplicates. A controller that does this strictly reports a
/// beacon once in 10.24 s: ``mayBeThinned(on:)`` returns whether that is possible, and ``ScanObstacle/thinned`` is
/// reported if the times between reports show it.
package final class DBusScanner: AdvertisingScanner {
    /// The options of a scanner.
    package struct Options: Sendable, Hashable {
        /// The adapters to scan with.
        package var adapters = AdapterSelection.all
        /// Whether to scan passively: the adapters never send scan requests. Discovery does, so only monitors are used.
        /// If bluetoothd offers none, nothing is received (``ScanObstacle/unavailable``).
        package var isPassive = false
        /// Whether ``WatchdogStep/powerCycle`` can switch an adapter off and on, which affects all programs on the
        /// machine.
        package var mayPowerCycle = false
        /// Whether ``DBusScanner/start(_:)`` succeeds if bluetoothd is not running, and waits for it.
        package var waitsForService = false
        /// The bus, in the format of “Server Addresses” in the D-Bus specification. `nil` means the system bus:
        /// DBUS_SYSTEM_BUS_ADDRESS if it is set, or else the default address.
        package var busAddress: String?
        /// The maximum number of devices whose last data are kept, at least 1. The one received least recently is
        /// evicted.
        package var devicesMax = 8192

        /// Creates the default options.
        package init() {}
    }

    /// `dbus`.
    package var backend: ScannerBackend { .dbus }

    let options: Options
    let loop: EventLoop
    let address: String
    var session: DBusSession
    var connection: BusConnection?
    var calls = BusCallTable<DBusRequest>()
    // In milliseconds. Switching an adapter off takes several hundred milliseconds, and the end of the program should
    // not be delayed longer than this.
    private static let powerMax = 3000

    private weak var handler: (any ScanHandler)?
    private var timer: EventLoop.Timer?
    private var actions: [DBusAction] = []
    private var isPerforming = false
    // Set if stop() was called from a handler, where waiting is not possible: the rest follows in the next turn.
    private var isEnding = false
    // Calls of the handler that are delayed until start() has succeeded.
    private var heldBack: [DBusAction]?

    /// Creates a scanner that does nothing until it is started.
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

    /// The counters of this scanner.
    package var statistics: DBusStatistics {
        var statistics = session.statistics
        statistics.evicted &+= session.devices.evicted
        statistics.unsent &+= (connection?.unsent ?? 0) &+ calls.refused
        return statistics
    }

    /// Returns whether an adapter discovers without an advertisement monitor, so that its controller may report a
    /// beacon only once in 10.24 s.
    package func mayBeThinned(on adapter: Int) -> Bool { session.mayBeThinned(adapter) }

    // MARK: AdvertisingScanner

    /// Starts to scan. See ``AdvertisingScanner/start(_:)``. It waits for the bus and for bluetoothd, for up to 5 s
    /// each.
    ///
    /// The scanner does not retain `handler`.
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
        let waiting = heldBack ?? []
        heldBack = nil
        actions.insert(contentsOf: waiting, at: 0)
        perform { _, _, _ in }
    }

    /// Delivers everything that was received up to the call.
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

    /// Stops scanning: stops discovery, unregisters the monitors and closes the connection.
    ///
    /// The handler is not called from here on. If this is called from within a call of the handler, the rest follows in
    /// the next turn of the loop.
    package func stop() {
        handler = nil
        guard let timer, isPerforming else { return finish() }
        isEnding = true
        loop.set(timer, at: loop.now)
    }

    private func timePassed() {
        guard !isEnding else { return finish() }
        // An answer can follow more messages than one turn handles; it is not late then.
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
            // An adapter that this program has just switched off accepts the request to switch it on only when it is
            // off.
            _ = connection.pump(milliseconds: Self.powerMax) {
                self.advance(to: self.loop.now)
                return !self.session.isSwitchingPower || !connection.isOpen
            }
            for request in session.farewell { _ = connection.send(request.call(wantsReply: false)) }
            // When a connection closes, bluetoothd undoes all of its requests except the power. So it is enough to wait
            // a short time until everything is written.
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

    // MARK: Actions of the session

    /// Passes an event to the session and performs its actions.
    func perform(_ body: (inout DBusSession, Instant, inout [DBusAction]) -> Void) {
        body(&session, loop.now, &actions)
        // A handler can ask for a step of the watchdog. Its actions are performed by the outer call.
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
        case .change, .received:
            if heldBack != nil { heldBack?.append(action) } else { report(action) }
        case .call(let request): send(request)
        case .connect: connect()
        case .disconnect: disconnect()
        }
    }

    private func report(_ action: DBusAction) {
        guard let handler else { return }
        switch action {
        case .change(let change): handler.changed(change, at: loop.now)
        case .received(let report):
            handler.received(report.advertisingReport, data: report.data.span, on: report.adapter, at: loop.now)
        case .call, .connect, .disconnect: break
        }
    }

    private func send(_ request: DBusRequest) {
        guard calls.hasRoom(), let serial = connection?.send(request.call()) else {
            // Handled like a missing answer, so it is retried.
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

    /// Closes and discards the connection.
    func disconnect() {
        calls.removeAll()
        guard let connection else { return }
        session.statistics.unsent &+= connection.unsent
        self.connection = nil
        connection.close()
    }

    // MARK: The bus

    // In milliseconds: the time that dbus-daemon gives a connection to authenticate (auth_timeout).
    private static let joinMax = 5000
    // In milliseconds: the time for the list of objects on a machine that is busy with its start. If it takes longer,
    // the answer is handled in later turns.
    private static let listMax = 5000

    /// Connects to the bus and looks for bluetoothd. If its objects are not listed in time, the answer is handled
    /// later.
    /// - Throws: ``ScannerError`` if the bus cannot be joined, its policy refuses this user, or bluetoothd is not
    ///   running and ``Options/waitsForService`` is not set.
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

    /// Returns the text of a libdbus error without the error name before it, because both say the same.
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

    /// Opens a connection, if that is possible now.
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
            // libdbus creates this signal itself; no other process can send it.
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
        // The bus accepts an answer only from the process that was called.
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

    // Each adapter has an application with one advertisement monitor, so that the path of a call names the adapter.
    // bluetoothd asks for the objects of the application, then calls the methods of the monitor, which have no answer.
    // Source: bluez doc/advertisement-monitor-api.txt.

    /// Handles a call of bluetoothd. Calls of other processes are rejected and counted.
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
        // It reports silence, which this program evaluates itself.
        case (DBusName.monitor, "DeviceLost"): break
        default: return false
        }
        return true
    }

    /// The pattern of the monitor: iBeacons, by the first bytes of their manufacturer specific data (rule B1).
    private static let monitorProperties = BusValue.properties([
        ("Type", .string("or_patterns")),
        (
            "Patterns",
            .array(of: "(yyay)", [.structure([.byte(0), .byte(0xFF), .bytes([0x4C, 0x00, 0x02, 0x15])])])
        ),
    ])
}
