import BaseTypes
package import BluetoothLE
package import EventLoops
import Glibc
import SystemPackage

/// The publisher as a process of its own, for who writes the files: it is started, told, heard, and started again when it
/// ends, whatever ended it.
///
/// A library that talks to the network may be aborted by seven octets of a broker's, or filled by 256 MiB; whoever hears
/// beacons has nothing of it but one end of a pair of sockets. Nothing here waits, and nothing that comes is trusted.
package final class PublisherProcess {
    /// The program, beside the gateway's.
    package static let program = "beacon-gateway-publisher"

    /// How long what takes.
    package struct Timing: Sendable, Hashable {
        /// Until it is started again after its first end.
        package var firstDelay: Duration = .milliseconds(500)
        /// After its last: each end without a line shipped since the start doubles it up to here.
        package var lastDelay: Duration = .seconds(60)
        /// For how long it may leave a ping unanswered: longer than a name server that hangs takes, mostly (resolv.conf(5)).
        package var silenceMax: Duration = .seconds(60)
        /// Between two pings.
        package var pingInterval: Duration = .seconds(60)
        /// How long it has to run for all to be well again.
        package var steadyAfter: Duration = .seconds(60)
        /// How long it may take for its leave.
        package var leave: Duration = .seconds(5)

        /// The defaults.
        package init() {}
    }

    /// What is told of it.
    package enum News: Sendable, Hashable {
        /// Something is to be said in the log.
        case remark(PublisherRemark)
        /// A connection to the broker has come about, or has gone.
        case connection(isThere: Bool)
        /// It is over, and is not started again: all is shipped, it was told to stop, or (where nothing but shipping is
        /// wanted) it can't.
        case ended
    }

    // A child that says more in a second is not ours.
    private static let messagesPerSecond = 2000
    // What is said of the same in an episode again and again is said once.
    private static let saidMax = 64
    private static let remarksPerMinute = 100
    // Files are closed, and the pair with them, a moment before the process is one that has ended.
    private static let reapInterval: Duration = .milliseconds(10)
    private static let reapsBeforeKill = 100

    /// Gives what beacons are called, where the settings say that it may be told; set before the start.
    package var names: () -> [(BeaconIdentity, PublishedName)] = { [] }
    /// How it stands, by what it said last; while it does not run, what is known here.
    package private(set) var status: PublisherStatus
    /// How often it was started.
    package private(set) var starts = 0
    /// Its number; absent while it does not run.
    package var processID: Int32? { child?.id }
    /// How it ended, and when it is started again, until it has run for a minute; absent where all is well.
    package private(set) var trouble: String?

    let loop: EventLoop
    private let timing: Timing
    private let executable: String
    private let makeSettings: (Int) -> PublisherSettings
    private var tellsNames = false
    private let isForever: Bool
    private let take: (News) -> Void

    private var child: ChildProcess?
    private var pair: PairEnd?
    private var restartTimer: EventLoop.Timer?
    private var pingTimer: EventLoop.Timer?
    private var reapTimer: EventLoop.Timer?
    private var startTime: Instant
    private var reaps = 0
    private var ended: String?
    private var backOff: BackOff
    private var isAccepted = false
    private var pings = 0
    private var unanswered: (ping: Int, deadline: Instant)?
    private var isStopping = false
    private var isOver = false
    private var endsInEpisode = 0
    private var said: Set<PublisherRemark> = []
    private var second: (begin: Instant, messages: Int)
    private var minute: (begin: Instant, remarks: Int)
    private var durable = 0
    private var unnumbered = 0

    /// Makes one that is not started.
    ///
    /// - Parameters:
    ///   - executable: the program's path.
    ///   - isForever: whether it is started again also where it says that it can't go on; else that is its end.
    ///   - settings: gives what it is to know at a start, by how often it was started before.
    ///   - loop: who waits for it.
    ///   - timing: how long what takes.
    ///   - take: takes news.
    package init(
        _ executable: String = Companions.path(PublisherProcess.program), isForever: Bool,
        settings: @escaping (Int) -> PublisherSettings, on loop: EventLoop, timing: Timing = Timing(),
        _ take: @escaping (News) -> Void
    ) {
        self.executable = executable
        self.isForever = isForever
        makeSettings = settings
        self.loop = loop
        self.timing = timing
        backOff = BackOff(first: timing.firstDelay, most: timing.lastDelay)
        self.take = take
        let now = loop.now
        startTime = now
        status = PublisherStatus(since: now)
        second = (now, 0)
        minute = (now, 0)
        restartTimer = loop.makeTimer { [unowned self] _ in spawn() }
        pingTimer = loop.makeTimer { [unowned self] now in checkLife(at: now) }
        reapTimer = loop.makeTimer { [unowned self] _ in reap() }
    }

    deinit {
        for timer in [restartTimer, pingTimer, reapTimer] { if let timer { loop.end(timer) } }
        // Its end of the pair tells it that nobody is here any more.
        pair?.close()
    }

    /// Starts it. Where that fails it is tried again, as after an end.
    package func start() { spawn() }

    // MARK: What it is told

    /// Lines up to this number are durable; it does not read beyond.
    package func tell(durable number: Int) {
        guard number > durable else { return }
        durable = number
        tellDurable()
    }

    /// There are lines without a number behind the last that is durable.
    package func tellOfLines() {
        unnumbered &+= 1
        tellDurable()
    }

    private func tellDurable() {
        var fields = Fields()
        fields.put("durable", durable)
        fields.put("unnumbered", unnumbered & Int.max)
        say(.durable, fields.octets)
    }

    /// What `status` says now.
    ///
    /// What was told before a connection came is not sent through it, since it says that there is none: tell it anew then.
    package func tell(status octets: [UInt8]) {
        guard octets.count < PairEnd.octetsMax else { return }
        say(.status, octets)
    }

    /// Names, secrets and certificates may have been mended: what waits is tried at once.
    package func reload() {
        if child != nil { tellNames() }
        say(.reload, [])
        guard child == nil, !isStopping, let restartTimer, loop.time(of: restartTimer) != nil else { return }
        loop.set(restartTimer, at: loop.now)
    }

    /// It is to ship what it can within some seconds, take its leave, and end; ``News/ended`` tells when it has.
    package func stop() {
        guard !isStopping else { return }
        isStopping = true
        guard child != nil else { return finish() }
        say(.stop, [])
        if let pingTimer { loop.set(pingTimer, at: loop.now + timing.leave) }
    }

    /// The same, waited for, where the loop turns no more.
    package func stopAndWait() {
        stop()
        let end = loop.now + timing.leave + .seconds(1)
        while !isOver, loop.now < end {
            var poll = pollfd(fd: -1, events: 0, revents: 0)
            _ = unsafe Glibc.poll(&poll, 1, 5)
            pair?.flush()
            pair?.receive()
            if pair == nil { reap() }
            if loop.now >= end - .seconds(1) { killChild("it took too long to stop") }
        }
    }

    private func tellNames() {
        guard tellsNames else { return }
        for message in PublishedNames.messages(names()) {
            pair?.put(OwnerMessage.names.rawValue, message, keeping: PublishedNames.messagesMax)
        }
    }

    private func say(_ kind: OwnerMessage, _ octets: [UInt8]) { pair?.put(kind.rawValue, octets) }

    // MARK: Its life

    private func spawn() {
        guard child == nil, !isStopping, !isOver else { return }
        let now = loop.now
        startTime = now
        ended = nil
        reaps = 0
        isAccepted = false
        do throws(Errno) {
            var ends: [Int32] = [-1, -1]
            guard
                unsafe socketpair(
                    AF_UNIX,
                    Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue),
                    0, &ends) == 0
            else { throw Errno(rawValue: errno) }
            defer { _ = Glibc.close(ends[1]) }
            // The longest message has to fit; more than the system's maximum is cut to that (socket(7)).
            var size = Int32(2 * PairEnd.octetsMax)
            for descriptor in ends {
                unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
            }
            let pair = try PairEnd(FileDescriptor(rawValue: ends[0]), on: loop)
            // Until it ignores them itself, they wait: a signal to the whole group must not end it in its first moments.
            child = try ChildProcess(
                executable, input: FileDescriptor(rawValue: ends[1]), output: .standardError, errors: .standardError,
                environment: ChildProcess.environment(), blocking: [SIGTERM, SIGINT, SIGHUP, SIGUSR1])
            self.pair = pair
            pair.take = { [unowned self] kind, octets in hear(kind, octets) }
            pair.ended = { [unowned self] end in
                if end == .garbage { killChild("it sent an invalid message") }
                pairEnded()
            }
        } catch {
            starts += 1
            return over("\(executable) can't be started: \(error)")
        }
        let settings = makeSettings(starts)
        starts += 1
        let before = status
        status = PublisherStatus(since: now)
        (status.shipped, status.released) = (before.shipped, before.released)
        say(.settings, settings.message)
        tellsNames = settings.present?.names ?? false
        tellNames()
        tellDurable()
        unanswered = nil
        ping(at: now)
    }

    private func ping(at now: Instant) {
        pings &+= 1
        unanswered = (pings, now + timing.silenceMax)
        say(.ping, Array("\(pings)".utf8))
        if let pingTimer { loop.set(pingTimer, at: now + timing.silenceMax) }
    }

    private func checkLife(at now: Instant) {
        guard child != nil else { return }
        if isStopping { return killChild("it took too long to stop") }
        guard let waiting = unanswered else { return ping(at: now) }
        // Where this process itself did not turn, since the machine was suspended, the child has not had its time.
        guard now < waiting.deadline + .seconds(5) else { return ping(at: now) }
        killChild("it did not answer for \(timing.silenceMax.components.seconds) s")
    }

    private func killChild(_ why: String) {
        guard let child, ended == nil else { return }
        ended = why
        child.kill()
        pair?.close()
        pairEnded()
    }

    private func pairEnded() {
        pair = nil
        reaps = 0
        reap()
    }

    private func reap() {
        guard let child, pair == nil else { return }
        guard let ending = child.ending() else {
            reaps += 1
            if reaps == Self.reapsBeforeKill { child.kill() }
            // One that waits for a disk can't be ended, and is waited for.
            let interval = reaps < Self.reapsBeforeKill ? Self.reapInterval : .seconds(1)
            if let reapTimer { loop.set(reapTimer, at: loop.now + interval) }
            return
        }
        over(ended ?? ending.description)
    }

    /// It does not run any more: it is started again, or all is done.
    private func over(_ why: String) {
        let wasConnected = status.version != nil
        let id = child.map { " (process \($0.id))" } ?? ""
        child = nil
        pair = nil
        unanswered = nil
        if let pingTimer { loop.set(pingTimer, at: nil) }
        status.version = nil
        if wasConnected { take(.connection(isThere: false)) }
        let isDone = status.state == .ended && (status.failure == nil || !isForever)
        guard !isStopping, !(isDone && !isForever) else { return finish() }
        // It worked: what ended it may be a broker's mood, or somebody who kills it.
        if status.acknowledged > 0 { backOff.reset() }
        let now = loop.now
        let next = backOff.next()
        endsInEpisode += 1
        // Where it could not go on it has said so itself.
        trouble = status.failure ?? "the publisher process ended: \(why); it is restarted, and nothing is lost"
        if endsInEpisode == 1, status.failure == nil {
            let text = "the publisher process\(id) ended: \(why); it is restarted, and lines wait in the files"
            take(.remark(PublisherRemark(isTrouble: true, text: text)))
        }
        status.state = .waiting
        status.since = now
        status.failure = nil
        status.nextAttempt = now + next
        status.inFlight = 0
        if let restartTimer { loop.set(restartTimer, at: now + next) }
    }

    private func finish() {
        guard !isOver else { return }
        isOver = true
        for timer in [restartTimer, pingTimer, reapTimer] { if let timer { loop.set(timer, at: nil) } }
        status.state = .ended
        status.nextAttempt = nil
        take(.ended)
    }

    // MARK: What it says

    private func hear(_ kind: UInt8, _ octets: ArraySlice<UInt8>) -> Bool {
        let now = loop.now
        if now - second.begin >= .seconds(1) { second = (now, 0) }
        second.messages += 1
        guard second.messages <= Self.messagesPerSecond else { return false }
        switch PublisherMessage(rawValue: kind) {
        case .status:
            guard let said = PublisherStatus(octets) else { return false }
            hear(said, at: now)
        case .remark:
            guard let said = PublisherRemark(octets) else { return false }
            remark(said)
        case .pong:
            guard octets.count < 20, let number = Int(String(decoding: octets, as: UTF8.self)), number <= pings
            else { return false }
            if number == pings { answered(at: now) }
        case nil: return false
        }
        return true
    }

    private func answered(at now: Instant) {
        unanswered = nil
        guard !isStopping else { return }
        if let pingTimer { loop.set(pingTimer, at: now + timing.pingInterval) }
        guard now - startTime >= timing.steadyAfter else { return }
        said = []
        guard endsInEpisode > 0 else { return }
        let times = endsInEpisode == 1 ? "once" : "\(endsInEpisode) times"
        (endsInEpisode, trouble) = (0, nil)
        backOff.reset()
        take(
            .remark(PublisherRemark(isTrouble: false, text: "the publisher process runs again; it had ended \(times)")))
    }

    private func hear(_ said: PublisherStatus, at now: Instant) {
        var said = said
        // Nobody is believed who has shipped what is not there, or to whom something happens in a year.
        if isForever {
            said.shipped = min(said.shipped, max(durable, status.shipped))
            said.released = min(said.released, durable)
        }
        said.since = min(said.since, now)
        said.nextAttempt = said.nextAttempt.map { min($0, now + .seconds(86_400)) }
        let wasConnected = status.version != nil
        status = said
        let isConnected = said.version != nil
        if isConnected != wasConnected { take(.connection(isThere: isConnected)) }
    }

    private func remark(_ remark: PublisherRemark) {
        let now = loop.now
        if now - minute.begin >= .seconds(60) { minute = (now, 0) }
        minute.remarks += 1
        guard minute.remarks <= Self.remarksPerMinute else { return }
        // One that is started again and again says the same again and again.
        if said.count >= Self.saidMax { said = [] }
        guard said.insert(remark).inserted else { return }
        take(.remark(remark))
    }
}
