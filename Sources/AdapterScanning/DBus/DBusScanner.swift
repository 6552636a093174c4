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
                failure: BusFailure(name: "org.freedesktop.DBus.Error.NoReply", text: "no answer came in time"),
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
}
