import BaseTypes
package import BluetoothLE
package import EventLoops
package import OperatorLogging

/// Stands between the ways of hearing and the gateway, and sees to it that something is heard, for years.
///
/// It chooses the way (``ScanSupervisor/Options/backends``) and changes over when another has become the best; runs a
/// watchdog for each adapter (``WatchdogLadder``); listens for the canary; learns the beacons' cadence; and hands over what
/// is heard, with the adapters' listening so that rules L1 to L6 hold:
/// - over a change of the way, what listened is told to have stopped, and then what listens by the new way;
/// - while an adapter is silent, a scan that was begun anew does not count as listening before a report proves it (with
///   `deaf_after`): else each try of the watchdog would add to somebody's absence (rule L5);
/// - an adapter that does not hear the canary does not listen, whatever else it delivers: that is kept back, and counted.
///
/// It lives on its loop's thread, with one timer. It keeps its handler until ``stop()``.
package final class ScanSupervisor {
    /// What it is to do.
    package struct Options: Sendable, Hashable {
        /// The ways that may be used, the best first: all for `auto`, else the one that is named, which is waited for.
        package var backends: [ScannerBackend] = ScannerBackend.allCases
        /// The adapters to use.
        package var adapters = AdapterSelection.all
        /// Rule L5's; `nil`: off.
        package var deafAfter: Duration? = .seconds(10)
        /// A beacon that must always be heard.
        package var canary: Canary?
        /// How long a report may lie in the kernel's buffer where nothing is due before: 10 ms … 1 s.
        ///
        /// The kernel stamps what it keeps, so reports have their own times however late they are read. Over D-Bus they
        /// have none, and lie there for ``ScanSupervisor/latencyUnstamped`` at most.
        package var latency = Duration.milliseconds(100)

        /// All ways, all adapters, 10 s, no canary, 100 ms.
        package init() {}

        /// The name of an adapter by its number, as the kernel and rule L4 have it: `hci0` for 0.
        package static func adapterName(of number: Int) -> String { "hci\(number)" }
    }

    /// How long a report may lie that gets its time by being read.
    package static let latencyUnstamped = Duration.milliseconds(20)
    /// How many adapters are followed; the reports of others are counted, and no more.
    package static let adaptersMax = 64

    let loop: EventLoop
    let options: Options
    let make: (ScannerBackend) throws(ScannerError) -> any AdvertisingScanner
    let exitTimeout: (BeaconIdentity) -> Duration?
    let log: (MessageKind, String) -> Void
    var handler: (any ScanHandler)?
    var timer: EventLoop.Timer?
    var chooser: WayChooser
    var sources: [ScanSource?]
    var retired: [ScanSource] = []
    var watches: [AdapterWatch] = []
    var canary: CanaryWatch?
    var cadence = CadenceMeter()
    var suspension: SuspendDetector?
    var obstacles: Set<ScanObstacle> = []
    // When adapters that the present way has not named are taken to be gone.
    var confirmationDue: Instant?
    var overall: ScanStatus

    /// Makes a supervisor that does nothing yet.
    ///
    /// - Parameters:
    ///   - loop: where it lives, and its scanners.
    ///   - options: what it is to do.
    ///   - make: makes a way's scanner on `loop`, not started; throws where that is closed.
    ///   - exitTimeout: the shortest exit timeout that holds for a beacon; `nil` where no condition is on it.
    ///   - log: takes lines for the operator.
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
        let backends = options.backends.isEmpty ? ScannerBackend.allCases : options.backends
        chooser = WayChooser(backends)
        sources = Array(repeating: nil, count: backends.count)
        overall = ScanStatus(since: loop.now)
    }

    deinit { stop() }

    /// Begins to hear by the best way that is open.
    ///
    /// Where it is open and there is nothing to hear with yet (no adapter, bluetoothd away), it waits, and says so.
    /// - Throws: ``ScannerError`` where no way is open to this user on this machine: of the best way's kind, with the
    ///   reasons of all.
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

    /// Hands over everything that has been received up to the call (rule T5), without waiting.
    package func drain() {
        for index in sources.indices { sources[index]?.scanner.drain() }
    }

    /// To be called after each wait of the loop (`EventLoop.afterWaiting`), before anything is handled: where the machine
    /// was suspended meanwhile, says that nothing listened (rule L6).
    package func woke() {
        let now = loop.now
        if let stretch = suspension?.check(now: now, suspended: BootClock.suspended) { resumed(stretch) }
    }

    /// Ends hearing. Nothing is handed over afterwards, not that adapters stopped either.
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

    /// What is known at present.
    package var status: ScanStatus {
        var status = overall
        status.backend = chooser.used.map { chooser.backend(of: $0) }
        status.ways = (0..<chooser.count).map {
            ScanStatus.Way(
                backend: chooser.backend(of: $0), standing: chooser.standing(of: $0), isOpen: chooser.isBegun($0),
                isDenied: chooser.isDenied($0))
        }
        status.obstacles = obstacles
        status.adapters = watches.map { watch in
            var adapter = watch.status
            adapter.controller = watch.controller
            adapter.address = watch.address
            adapter.watchdog = watch.ladder.state
            adapter.watchdogCounters = watch.ladder.counters
            adapter.canary = canary?.lastHeard(on: watch.number)
            adapter.isThinned = watch.thinning.isThinned
            return adapter
        }.sorted { $0.number < $1.number }
        status.followedBeacons = cadence.followed
        status.unfollowedReports = cadence.unfollowed
        status.exitTimeoutsTooShort = cadence.tooShort
        return status
    }

    /// The beacons that are heard too rarely for their exit timeouts, in no order; at most `limit`.
    package func exitTimeoutsTooShort(atMost limit: Int) -> [Cadence] { cadence.tooShort(atMost: limit) }

    /// When it has something to do though nothing is told; `nil`: never.
    var nextDeadline: Instant? { timer.flatMap { loop.time(of: $0) } }

    /// The place of an adapter, made where it is new; `nil` past the bound.
    func place(of adapter: Int) -> Int? {
        if let place = watches.firstIndex(where: { $0.number == adapter }) { return place }
        guard watches.count < Self.adaptersMax else { return nil }
        watches.append(AdapterWatch(number: adapter, deafAfter: options.deafAfter, now: loop.now))
        return watches.count - 1
    }
}
