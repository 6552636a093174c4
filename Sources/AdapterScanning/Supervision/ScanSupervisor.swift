import BaseTypes
package import BluetoothLE
package import EventLoops
package import OperatorLogging

/// Keeps the gateway scanning for years: it is between the backends and the gateway.
///
/// It chooses the backend (``ScanSupervisor/Options/backends``) and changes it when another one has become the best. It
/// runs a watchdog for each adapter (``WatchdogLadder``), checks the canary, and measures the cadence of the beacons.
/// It delivers reports and the changes of adapters so that rules L1 to L6 are fulfilled:
/// - When the backend changes, all listening adapters are reported as stopped, and then those that listen through the
///   new backend as listening.
/// - While an adapter is silent, a restarted scan does not count as listening until a report proves it (with
///   `deaf_after`). Otherwise each attempt of the watchdog would prolong the absence of beacons (rule L5).
/// - An adapter that does not receive the canary does not count as listening, whatever else it receives. Its reports
///   are withheld and counted.
///
/// It runs on its loop's thread, with one timer. It retains its handler until ``stop()``.
package final class ScanSupervisor {
    /// The options of a supervisor.
    package struct Options: Sendable, Hashable {
        /// The backends that can be used, the best first: all for `auto`, otherwise only the configured one, which is
        /// waited for.
        package var backends: [ScannerBackend] = ScannerBackend.ofMachine
        /// The adapters to use.
        package var adapters = AdapterSelection.all
        /// The time of rule L5; `nil`: the rule is off.
        package var deafAfter: Duration? = .seconds(10)
        /// Whether the watchdog can take steps on the adapters. If it cannot, it does nothing.
        var hasSteps: Bool { backends != [.capture] }
        /// A beacon that must always be received.
        package var canary: Canary?
        /// How long a report can stay in the kernel's buffer if no deadline is earlier: 10 ms … 1 s.
        ///
        /// The kernel records the time of each report that it keeps, so reports have correct times however late they
        /// are read. Over D-Bus they have none, and stay there for at most ``ScanSupervisor/latencyUnstamped``.
        package var latency = Duration.milliseconds(100)

        /// Creates the default options: all backends, all adapters, 10 s, no canary, 100 ms.
        package init() {}

        /// Returns the name of an adapter by its number, as the kernel and rule L4 use it: `hci0` for 0.
        package static func adapterName(of number: Int) -> String { "hci\(number)" }
    }

    /// How long a report can stay in a buffer if its time is the time at which it is read.
    package static let latencyUnstamped = Duration.milliseconds(20)
    /// The maximum number of adapters. Reports of further ones are only counted.
    package static let adaptersMax = 64

    let loop: EventLoop
    let options: Options
    let make: (ScannerBackend) throws(ScannerError) -> any AdvertisingScanner
    let exitTimeout: (BeaconIdentity) -> Duration?
    let log: (MessageKind, String) -> Void
    var handler: (any ScanHandler)?
    var timer: EventLoop.Timer?
    private var chooser: BackendChooser
    var sources: [ScanSource?]
    private var retired: [ScanSource] = []
    var watches: [AdapterWatch] = []
    var canary: CanaryWatch?
    var cadence = CadenceMeter()
    var suspension: SuspendDetector?
    var obstacles: Set<ScanObstacle> = []
    /// Whether the capture has ended, so that the numbers of its adapters are free.
    private var captureHasEnded = false
    // The time at which adapters that the present backend has not reported count as removed.
    private var confirmationDue: Instant?
    private var overall: ScanStatus

    /// Creates a supervisor that does nothing until it is started.
    ///
    /// - Parameters:
    ///   - loop: the event loop of the supervisor and its scanners.
    ///   - options: the options.
    ///   - make: creates the scanner of a backend on `loop`, not started; throws if the backend cannot be used.
    ///   - exitTimeout: returns the shortest exit timeout for a beacon; `nil` if no condition includes it.
    ///   - log: logs a message for the operator.
    package init(
        loop: EventLoop, options: Options,
        make: @escaping (ScannerBackend) throws(ScannerError) -> any AdvertisingScanner,
        exitTimeout: @escaping (BeaconIdentity) -> Duration? = { _ in nil },
        log: @escaping (MessageKind, String) -> Void
    ) {
        self.loop = loop
        self.options = options
        self.make = make
        self.exitTimeout = exitTimeout
        self.log = log
        let backends = options.backends.isEmpty ? ScannerBackend.ofMachine : options.backends
        chooser = BackendChooser(backends)
        sources = Array(repeating: nil, count: backends.count)
        overall = ScanStatus(since: loop.now)
    }

    deinit { stop() }

    /// Starts to scan with the best backend that is open.
    ///
    /// If a backend is open but cannot scan yet (no adapter, bluetoothd is not running), it waits, and reports the
    /// obstacle.
    /// - Throws: ``ScannerError`` if this user on this machine can use no backend. It has the kind of the best
    ///   backend's error, and the reasons of all.
    package func start(_ handler: any ScanHandler) throws(ScannerError) {
        guard timer == nil else { return }
        let now = loop.now
        self.handler = handler
        if let canary = options.canary {
            let silence = WatchdogLadder(deafAfter: options.deafAfter).silence
            self.canary = CanaryWatch(canary, deafAfter: options.deafAfter ?? silence * 2)
        }
        suspension = SuspendDetector(now: now, suspended: BootClock.suspended)
        timer = loop.makeTimer { [unowned self] now in act(at: now) }
        act(at: now)
        if let failure = chooser.closure {
            stop()
            throw failure
        }
    }

    /// Delivers everything that was received up to the call (rule T5), without waiting.
    package func drain() {
        for index in sources.indices { sources[index]?.scanner.drain() }
    }

    /// Must be called after each wait of the loop (`EventLoop.afterWaiting`), before anything is handled. If the
    /// machine was suspended meanwhile, it reports that no adapter was listening (rule L6).
    package func woke() {
        let now = loop.now
        if let stretch = suspension?.check(now: now, suspended: BootClock.suspended) { resumed(stretch) }
    }

    /// Stops scanning. The handler is not called afterwards, not even for stopped adapters.
    package func stop() {
        handler = nil
        if let timer { loop.end(timer) }
        timer = nil
        for index in sources.indices {
            sources[index]?.isEnded = true
            sources[index]?.scanner.stop()
            sources[index] = nil
        }
        for source in retired { source.scanner.stop() }
        retired = []
    }

    /// The present state.
    package var status: ScanStatus {
        var status = overall
        status.backend = chooser.used.map { chooser.backend(of: $0) }
        status.backends = (0..<chooser.count).map {
            ScanStatus.BackendStatus(
                backend: chooser.backend(of: $0), state: chooser.state(of: $0), isOpen: chooser.isBegun($0),
                isDenied: chooser.isDenied($0))
        }
        status.obstacles = obstacles
        status.adapters = watches.map { watch in
            var adapter = watch.status
            adapter.name = watch.name
            adapter.controller = watch.controller
            adapter.address = watch.address
            adapter.watchdog = watch.ladder.state
            adapter.watchdogCounters = watch.ladder.counters
            adapter.canary = canary?.lastReceived(on: watch.number)
            adapter.isThinned = watch.thinning.isThinned
            return adapter
        }.sorted { $0.number < $1.number }
        status.followedBeacons = cadence.followed
        status.unfollowedReports = cadence.unfollowed
        status.exitTimeoutsTooShort = cadence.tooShort
        return status
    }

    /// Returns the beacons that are received too rarely for their exit timeouts, in no order; at most `limit`.
    package func exitTimeoutsTooShort(atMost limit: Int) -> [Cadence] { cadence.tooShort(atMost: limit) }

    /// The next time at which the supervisor has work to do without an event; `nil`: never.
    var nextDeadline: Instant? { timer.flatMap { loop.time(of: $0) } }

    /// Returns the index of an adapter, which is added if it is new; `nil` beyond the bound.
    func place(of adapter: Int) -> Int? {
        if let place = watches.firstIndex(where: { $0.number == adapter }) { return place }
        guard watches.count < Self.adaptersMax else { return nil }
        watches.append(AdapterWatch(number: adapter, options: options, now: loop.now))
        return watches.count - 1
    }

    // MARK: Reports

    // This path allocates nothing for a known beacon.

    func received(_ report: AdvertisingReport, data: Span<UInt8>, on adapter: Int, at time: Instant) {
        guard let place = place(of: adapter) else {
            overall.reportsOfOthers &+= 1
            return
        }
        watches[place].status.reports &+= 1
        if watches[place].status.lastReport.map({ $0 < time }) ?? true { watches[place].status.lastReport = time }
        let isCanary = noteBeacons(in: data, on: adapter, place, at: time)
        let isProof = isCanary || !(canary?.isJudged(adapter) ?? false)
        if isProof { prove(place, at: time) }
        if isCanary { receivedCanary(on: adapter, at: time) }
        guard watches[place].isReportedListening || isProof else {
            watches[place].status.withheld &+= 1
            return
        }
        // A report is proof, even if the backend has not reported that the adapter is listening.
        if !watches[place].isReportedListening { reportListening(place, reason: "a report came", at: time) }
        watches[place].isProven = true
        loop.restAfterTurn(for: rest)
        handler?.received(report, data: data, on: adapter, at: time)
    }

    /// How long reports can stay in the buffer. Reports over D-Bus have no time of their own; the time at which they
    /// are read is used.
    private var rest: Duration {
        chooser.used.map { chooser.backend(of: $0) } == .dbus
            ? min(options.latency, Self.latencyUnstamped) : options.latency
    }

    /// Passes the iBeacons of a report to the meters.
    ///
    /// - Returns: whether the canary is one of them.
    private func noteBeacons(in data: Span<UInt8>, on adapter: Int, _ place: Int, at time: Instant) -> Bool {
        var isCanary = false
        var structures = ADStructures()
        // A malformed structure ends the loop. It is counted where the sightings are decoded.
        while let beacon = try? structures.nextBeacon(in: data) {
            let identity = beacon.identity
            if canary?.canary.matches(identity) ?? false { isCanary = true }
            if let due = cadence.received(identity, on: adapter, at: time) { judge(due) }
            if watches[place].thinning.received(identity, at: time) { thinningChanged(place, at: time) }
        }
        return isCanary
    }

    private func prove(_ place: Int, at time: Instant) {
        watches[place].unproven = .zero
        watches[place].proofDue = nil
        guard let recovery = watches[place].ladder.received(at: time) else { return }
        let after = recovery.step.map { "; the last step: \($0.words)" } ?? ""
        log(
            .adapterReceivesAgain,
            "\(watches[place].name) receives again after \(recovery.silence.inSeconds) s of silence\(after)")
    }

    @inline(never)
    private func receivedCanary(on adapter: Int, at time: Instant) {
        guard let released = canary?.received(on: adapter, at: time), !released.isEmpty else { return }
        for number in released {
            guard let place = place(of: number), watches[place].isScanning, !watches[place].isReportedListening else {
                continue
            }
            log(.canaryReceived, "\(watches[place].name): the canary is received again")
            reportListening(place, reason: "the canary is received", at: time)
        }
    }

    @inline(never)
    private func judge(_ due: CadenceMeter.Due) {
        switch cadence.judge(due, exitTimeout: exitTimeout(due.beacon)) {
        case .tooShort(let cadence, let exitTimeout):
            // The first ones show the problem. All of them are in the status.
            guard self.cadence.tooShort <= 16 else { return }
            log(.beaconTooRare, cadence.warning(exitTimeout: exitTimeout))
        case .bearable(let cadence, let exitTimeout):
            log(
                .beaconOftenEnough,
                "beacon \(cadence.beacon) is received often enough again for exit_timeout \(exitTimeout.inSeconds) s"
            )
        case nil: break
        }
    }

    private func thinningChanged(_ place: Int, at time: Instant) {
        let name = watches[place].name
        if watches[place].thinning.isThinned {
            log(
                .duplicatesFiltered,
                """
                \(name) delivers one report per beacon and scan of 10.24 s: its controller filters duplicates, so exits are \
                less exact; with CAP_NET_ADMIN, the management backend delivers all reports
                """)
        } else {
            log(.duplicatesReported, "\(name) delivers every report again")
        }
        reportObstacles(at: time)
    }

    // MARK: Deadlines

    /// Makes the loop call ``act(at:)`` in this turn or the next one, and not from within a call of a scanner.
    private func actSoon() {
        if let timer { loop.set(timer, at: loop.now) }
    }

    func act(at now: Instant) {
        guard timer != nil else { return }
        for source in retired { source.scanner.stop() }
        retired = []
        // Silence counts only when everything that was received is known (rule T5). The clock is read before `drain()`:
        // if the process is stopped after `drain()`, reports that arrive during the stop are not read yet, so the time
        // of the stop must not count as silence.
        let now = max(now, loop.now)
        drain()
        while let action = chooser.next(at: now) { perform(action, at: now) }
        dropUnconfirmed(at: now)
        checkCanary(at: now)
        for place in watches.indices {
            doubt(place, at: now)
            while let action = watches[place].ladder.next(at: now) { perform(action, on: place, at: now) }
        }
        setTimer()
    }

    // A report moves the deadline of a ladder and does not change the timer, which is corrected when it fires.
    private func setTimer() {
        guard let timer else { return }
        var next = chooser.nextDeadline
        func consider(_ time: Instant?) { if let time { next = min(next ?? .latest, time) } }
        consider(confirmationDue)
        consider(canary?.nextDeadline)
        for place in watches.indices {
            consider(watches[place].ladder.nextDeadline)
            consider(watches[place].proofDue)
        }
        loop.set(timer, at: next)
    }

    // MARK: Backends

    private func perform(_ action: BackendChooser.Action, at now: Instant) {
        switch action {
        case .begin(let index): begin(index, at: now)
        case .end(let index):
            log(.scannerUnneeded, "\(chooser.backend(of: index).rawValue) is not needed any more")
            sources[index]?.isEnded = true
            sources[index]?.scanner.stop()
            sources[index] = nil
        case .use(let index, let because): use(index, because: because, at: now)
        }
    }

    private func begin(_ index: Int, at now: Instant) {
        let backend = chooser.backend(of: index)
        do throws(ScannerError) {
            let source = ScanSource(index: index, scanner: try make(backend), supervisor: self)
            sources[index] = source
            // Before `start`, because the scanner can already report changes during that call.
            chooser.began(index, at: now)
            try source.scanner.start(source)
            log(.scannerStarted, "\(backend.rawValue) was started")
        } catch {
            sources[index]?.isEnded = true
            sources[index] = nil
            chooser.failed(index, error, at: now)
            log(.scannerClosed, "\(backend.rawValue) is not available: \(error.description)")
        }
    }

    private func use(_ index: Int, because: String, at now: Instant) {
        let name = chooser.backend(of: index).rawValue
        let before = sources.compactMap { $0 }.first { $0.isUsed }
        if let before {
            overall.backendChanges &+= 1
            stopAll(reason: "the backend changes from \(before.scanner.backend.rawValue) to \(name)", at: now)
            before.isUsed = false
        }
        log(.scannerUsed, "scanning with \(name): \(because)")
        overall.reason = because
        overall.since = now
        for place in watches.indices where watches[place].isPresent { watches[place].isUnconfirmed = true }
        confirmationDue = now + .seconds(5)
        guard let source = sources[index] else { return }
        source.isUsed = true
        reportObstacles(at: now)
        for place in watches.indices { holdUp(place, at: now) }
        for adapter in source.adapters where adapter.isPresent {
            apply(
                .appeared(adapter: adapter.number, controller: adapter.controller, address: adapter.address), at: now)
            if adapter.isListening { apply(.listening(adapter: adapter.number, reason: adapter.reason), at: now) }
        }
    }

    private func dropUnconfirmed(at now: Instant) {
        guard let due = confirmationDue, due <= now else { return }
        confirmationDue = nil
        for place in watches.indices where watches[place].isUnconfirmed {
            disappeared(place, reason: "the present backend does not have it", at: now)
        }
    }

    // MARK: Watchdogs

    private func checkCanary(at now: Instant) {
        guard let silences = canary?.advance(to: now), !silences.isEmpty else { return }
        for silence in silences {
            guard let place = place(of: silence.adapter) else { continue }
            let seconds = (now - silence.since).inSeconds
            let what =
                canary?.isProven ?? false
                ? "the canary has not been received again" : "the canary has not been received"
            log(
                .canarySilent,
                "\(watches[place].name) counts as deaf: \(what) for \(seconds) s; its other reports are not used")
            let reason = "\(what) for \(seconds) s"
            if watches[place].isReportedListening {
                reportStopped(place, since: silence.since, reason: reason, at: now)
            }
        }
    }

    private func doubt(_ place: Int, at now: Instant) {
        guard let due = watches[place].proofDue, due <= now else { return }
        watches[place].proofDue = nil
        guard watches[place].isReportedListening, !watches[place].isProven else { return }
        let since = watches[place].reportedListeningAt
        reportStopped(place, since: since, reason: "no report was received since it restarted scanning", at: now)
    }

    private func perform(_ action: WatchdogLadder.Action, on place: Int, at now: Instant) {
        let name = watches[place].name
        switch action {
        case .fellSilent(let since):
            log(.adapterSilent, "\(name) has delivered no report for \((now - since).inSeconds) s")
        case .exhausted:
            log(.adapterStaysSilent, "\(name) still delivers no report after all steps; they are repeated")
        case .take(let step):
            take(step, on: place, at: now)
        }
    }

    private func take(_ step: WatchdogStep, on place: Int, at now: Instant) {
        let (name, number) = (watches[place].name, watches[place].number)
        let source = chooser.used.flatMap { sources[$0] }
        // The attempts at the top are repeated as long as the silence lasts. They are in the status.
        let kind: MessageKind = watches[place].ladder.state == .retrying ? .adapterStepRepeated : .adapterStep
        switch source?.scanner.take(step, on: number) ?? .skipped(reason: "no backend is available") {
        case .taken:
            log(kind, "\(name): step: \(step.words)")
        case .skipped(let reason):
            watches[place].ladder.skipped(step, at: now)
            watches[place].status.lastSkipped = "\(step.words): \(reason)"
            log(kind, "\(name): skipped step: \(step.words): \(reason)")
        }
    }

    // MARK: Changes of adapters

    func changed(_ change: ScanChange, by source: ScanSource, at time: Instant) {
        switch change {
        case .obstacles(let obstacles): chooser.obstacles(obstacles, of: source.index, at: time)
        case .listening, .stopped, .disappeared: chooser.listening(source.listening, by: source.index, at: time)
        case .ended(let error): ended(source, error, at: time)
        case .appeared, .lost, .needs, .capture: break
        }
        if source.isUsed { apply(change, at: time) }
        actSoon()
    }

    private func ended(_ source: ScanSource, _ error: ScannerError, at time: Instant) {
        log(.scannerEnded, "\(source.scanner.backend.rawValue) has stopped: \(error.description)")
        if source.isUsed { stopAll(reason: "\(source.scanner.backend.rawValue) has stopped", at: time) }
        source.isEnded = true
        source.isUsed = false
        sources[source.index] = nil
        // It is calling this function at the moment, so it is stopped later.
        retired.append(source)
        chooser.failed(source.index, error, at: time)
        for place in watches.indices { holdUp(place, at: time) }
    }

    func apply(_ change: ScanChange, at time: Instant) {
        switch change {
        case .appeared(let adapter, let controller, let address):
            if let place = place(of: adapter) { appeared(place, controller, address, at: time) }
        case .disappeared(let adapter):
            if let place = place(of: adapter) { disappeared(place, reason: "it no longer exists", at: time) }
        case .listening(let adapter, let reason):
            if let place = place(of: adapter) { listening(place, reason: reason, at: time) }
        case .stopped(let adapter, let since, let reason):
            if let place = place(of: adapter) { stopped(place, since: since, reason: reason, at: time) }
        case .lost(let adapter, let count, let since):
            if let place = place(of: adapter) { lost(place, count: count, since: since, at: time) }
        case .needs(let adapter, let step, let reason):
            if let place = place(of: adapter) { needs(place, step, reason: reason, at: time) }
        case .capture(let change): apply(change, at: time)
        case .obstacles: reportObstacles(at: time)
        case .ended: break
        }
    }

    /// Handles a change in a capture. The handler decides by rules L4 and L7 which adapters it is about; here it only
    /// changes the status.
    private func apply(_ change: CaptureChange, at time: Instant) {
        switch change {
        case .added(let adapter, let name, let address, let controller, let listens):
            if captureHasEnded { watches = [] }
            captureHasEnded = false
            guard let place = place(of: adapter) else {
                return log(
                    .captureProblem,
                    "\(controller) has more than \(Self.adaptersMax) adapters; reports of \(name) are not used")
            }
            var isFirst = !watches[place].isPresent
            watches[place].name = name
            watches[place].address = address
            watches[place].controller = controller
            watches[place].isPresent = true
            for other in watches.indices where other != place {
                // A controller that had the name stops. One with the same address is the same, and continues as it is.
                if watches[other].name == name, watches[other].isReportedListening {
                    set(other, isListening: false, reason: "another controller has its name", at: time)
                } else if address != nil, watches[other].address == address, !watches[other].isReportedListening {
                    isFirst = false
                }
            }
            watches[place].note(reason: "it appeared", at: time)
            if isFirst, listens { set(place, isListening: true, reason: "first record", at: time) }
        case .marked(let adapter, let isListening, _):
            guard let place = place(of: adapter) else { return }
            set(place, isListening: isListening, reason: "marked in the capture", at: time)
        case .interrupted(let reason):
            for place in watches.indices where watches[place].isReportedListening {
                let last = max(watches[place].status.lastReport ?? .earliest, watches[place].reportedListeningAt)
                reportStopped(place, since: last, reason: reason, at: last)
            }
        case .ended(let reason):
            for place in watches.indices { set(place, isListening: false, reason: reason, at: time) }
            captureHasEnded = true
        }
        handler?.changed(.capture(change), at: time)
    }

    private func set(_ place: Int, isListening: Bool, reason: String, at time: Instant) {
        if isListening { watches[place].reportedListeningAt = time } else { interrupted(place, at: time) }
        watches[place].isScanning = isListening
        watches[place].isReportedListening = isListening
        watches[place].note(reason: reason, at: time)
    }

    private func appeared(_ place: Int, _ controller: String, _ address: DeviceAddress?, at time: Instant) {
        if let address, let known = watches[place].address, known.value != address.value {
            another(place, known, address, at: time)
        }
        // If a backend does not report the address, an adapter that stayed is still the same one.
        let address = address ?? (watches[place].isPresent ? watches[place].address : nil)
        let isNew =
            !watches[place].isPresent || watches[place].controller != controller || watches[place].address != address
        watches[place].address = address
        watches[place].isPresent = true
        watches[place].isUnconfirmed = false
        watches[place].controller = controller
        watches[place].ladder.appeared(at: time)
        holdUp(place, at: time)
        guard isNew else { return }
        watches[place].note(reason: "it appeared", at: time)
        log(.adapterAppeared, "\(watches[place].name) appeared: \(controller)")
        handler?.changed(
            .appeared(adapter: watches[place].number, controller: controller, address: address), at: time)
    }

    /// Another controller has the name now (rule L7), so all state of the previous one is discarded.
    private func another(_ place: Int, _ known: DeviceAddress, _ address: DeviceAddress, at time: Instant) {
        let number = watches[place].number
        disappeared(place, reason: "\(watches[place].name) is now \(address), and was \(known)", at: time)
        cadence.interrupted(number, at: time)
        canary?.forget(number)
        watches[place] = AdapterWatch(number: number, options: options, now: time)
    }

    func disappeared(_ place: Int, reason: String, at time: Instant) {
        guard watches[place].isPresent || watches[place].isReportedListening else { return }
        stopped(place, since: time, reason: reason, at: time)
        watches[place].isPresent = false
        watches[place].isUnconfirmed = false
        watches[place].ladder.disappeared()
        watches[place].note(reason: reason, at: time)
        log(.adapterGone, "\(watches[place].name) is gone: \(reason)")
        handler?.changed(.disappeared(adapter: watches[place].number), at: time)
    }

    private func listening(_ place: Int, reason: String, at time: Instant) {
        watches[place].isPresent = true
        watches[place].isUnconfirmed = false
        watches[place].isScanning = true
        canary?.listening(watches[place].number, at: time)
        holdUp(place, at: time)
        watches[place].ladder.listening(at: time)
        guard !watches[place].isReportedListening else { return }
        if isDoubted(place) {
            watches[place].note(reason: "it scans, but it is not confirmed that it receives", at: time)
            let proof = canary?.isDeaf(watches[place].number) ?? false ? "the canary's" : "its"
            log(
                .adapterUnconfirmed,
                "\(watches[place].name) scans (\(reason)), but it is not confirmed that it receives; it counts as "
                    + "scanning from \(proof) next report on")
        } else {
            reportListening(place, reason: reason, at: time)
        }
    }

    // Whether a restarted scan does not prove anything any more: see the documentation of the type, rule L5.
    private func isDoubted(_ place: Int) -> Bool {
        if canary?.isDeaf(watches[place].number) ?? false { return true }
        // In a capture, it is rule L4 that decides when an adapter scans.
        guard options.deafAfter != nil, options.hasSteps else { return false }
        return watches[place].ladder.isClimbing || watches[place].unproven >= watches[place].ladder.silence
    }

    // If a scan ends while the watchdog takes steps, it had been silent for half of `deaf_after`, and it is unknown how
    // much of that time it could receive. So the adapter counts as not scanning from its last report on, as when
    // `deaf_after` has passed (rule L5).
    private func doubtedSince(_ place: Int) -> Instant? {
        guard options.deafAfter != nil, watches[place].isReportedListening, watches[place].ladder.isClimbing else {
            return nil
        }
        return max(watches[place].reportedListeningAt, watches[place].status.lastReport ?? .earliest)
    }

    private func stopped(_ place: Int, since: Instant, reason: String, at time: Instant) {
        let since = doubtedSince(place).map { min($0, since) } ?? since
        watches[place].isScanning = false
        canary?.stopped(watches[place].number)
        watches[place].ladder.stopped(at: time)
        holdUp(place, at: time)
        if watches[place].isReportedListening {
            reportStopped(place, since: since, reason: reason, at: time)
        } else {
            watches[place].note(reason: reason, at: time)
        }
    }

    // The step is taken in the following turn, like all steps. A scanner repeats this request; it is logged only if it
    // has an effect.
    private func needs(_ place: Int, _ step: WatchdogStep, reason: String, at time: Instant) {
        guard watches[place].ladder.needs(step, at: time) else { return }
        log(.adapterNeedsStep, "\(watches[place].name): \(reason)")
        watches[place].note(reason: reason, at: time)
    }

    private func lost(_ place: Int, count: Int, since: Instant, at time: Instant) {
        watches[place].status.losses &+= 1
        watches[place].status.lost &+= max(count, 0)
        interrupted(place, at: time)
        guard watches[place].isReportedListening else { return }
        let messages = PlainText.count(count, "message was", "messages were")
        log(.reportsLost, "\(watches[place].name): \(messages) lost; the adapter counts as not scanning in that time")
        // It has not been listening longer than that, whatever its scanner received before.
        let since = min(max(since, watches[place].reportedListeningAt), time)
        handler?.changed(.lost(adapter: watches[place].number, count: count, since: since), at: time)
    }

    func interrupted(_ place: Int, at time: Instant) {
        cadence.interrupted(watches[place].number, at: time)
        watches[place].thinning.interrupted()
    }

    // MARK: Notifications

    private func reportListening(_ place: Int, reason: String, at time: Instant) {
        watches[place].isReportedListening = true
        watches[place].reportedListeningAt = time
        watches[place].isProven = false
        if let deafAfter = options.deafAfter, options.hasSteps, watches[place].unproven > .zero {
            watches[place].proofDue = time + (deafAfter - watches[place].unproven)
        }
        watches[place].note(reason: reason, at: time)
        log(.adapterScans, "\(watches[place].name) scans: \(reason)")
        handler?.changed(.listening(adapter: watches[place].number, reason: reason), at: time)
    }

    private func reportStopped(_ place: Int, since: Instant, reason: String, at time: Instant) {
        let since = min(since, time)
        // How long it counted as listening without a report: since it was reported as listening, or since the last
        // report.
        let last = watches[place].status.lastReport ?? .earliest
        let silent = max(since - max(watches[place].reportedListeningAt, last), .zero)
        watches[place].unproven = watches[place].isProven ? silent : watches[place].unproven + silent
        watches[place].isReportedListening = false
        watches[place].proofDue = nil
        interrupted(place, at: time)
        watches[place].note(reason: reason, at: time)
        log(.adapterNotScanning, "\(watches[place].name) does not scan: \(reason)")
        handler?.changed(.stopped(adapter: watches[place].number, since: since, reason: reason), at: time)
    }

    func stopAll(reason: String, at time: Instant) {
        for place in watches.indices {
            watches[place].isScanning = false
            canary?.stopped(watches[place].number)
            watches[place].ladder.stopped(at: time)
            if watches[place].isReportedListening { reportStopped(place, since: time, reason: reason, at: time) }
        }
    }

    /// Reports the obstacles if they have changed, and pauses the ladders on which no step would help.
    func reportObstacles(at time: Instant) {
        var present = chooser.used.map { chooser.obstacles(of: $0) } ?? []
        if watches.contains(where: { $0.thinning.isThinned && $0.isPresent }) { present.insert(.thinned) }
        guard present != obstacles else { return }
        let words = present.map(\.words).sorted().joined(separator: ", ")
        if present.isEmpty {
            log(.scanningUnobstructed, "there is no obstacle to scanning any more")
        } else {
            log(.scanningObstructed, words)
        }
        obstacles = present
        for place in watches.indices { holdUp(place, at: time) }
        handler?.changed(.obstacles(present), at: time)
    }

    private func holdUp(_ place: Int, at time: Instant) {
        let isScanning = watches[place].isScanning
        if chooser.used == nil {
            // There is no backend that could take a step.
            watches[place].ladder.heldUp(unlessAfter: nil, at: time)
        } else if !obstacles.isDisjoint(with: [.denied, .blocked, .blockedByHardware]), !isScanning {
            watches[place].ladder.heldUp(unlessAfter: nil, at: time)
        } else if obstacles.contains(.unavailable), !isScanning {
            watches[place].ladder.heldUp(unlessAfter: .powerCycle, at: time)
        } else if obstacles.contains(.waiting), !isScanning {
            watches[place].ladder.heldUp(unlessAfter: .restartScan, at: time)
        } else {
            watches[place].ladder.released(at: time)
        }
    }

    func resumed(_ stretch: SuspendDetector.Stretch) {
        overall.suspensions &+= 1
        overall.suspended += stretch.suspended
        log(
            .machineSuspended,
            "the machine was suspended for \(stretch.suspended.inSeconds) s; no adapter scanned in that time")
        canary?.resumed(at: stretch.end)
        for place in watches.indices {
            watches[place].ladder.resumed(at: stretch.end)
            guard watches[place].isReportedListening else { continue }
            reportStopped(place, since: stretch.start, reason: "the machine was suspended", at: stretch.start)
            interrupted(place, at: stretch.end)
            if watches[place].isScanning, !isDoubted(place) {
                reportListening(place, reason: "the machine was resumed", at: stretch.end)
            }
        }
        actSoon()
    }
}

extension Cadence {
    /// Returns the warning about an exit timeout that is too short, with figures, for operators.
    package func warning(exitTimeout: Duration) -> String {
        """
        beacon \(beacon) is received too rarely for exit_timeout \(exitTimeout.inSeconds) s: of \(gaps) gaps, half are at most \
        \(median.inSeconds) s, 99 of 100 at most \(p99.inSeconds) s, and the longest is \(longest.inSeconds) s; \
        set exit_timeout to at least \(bearable.inSeconds) s, or make the beacon advertise more often
        """
    }
}

extension WatchdogStep {
    /// The action, for operators.
    package var words: String {
        switch self {
        case .widen: "widen the scan"
        case .restartScan: "restart the scan"
        case .powerCycle: "switch the adapter off and on"
        case .reset: "reset the adapter"
        }
    }
}
