import BaseTypes
package import BluetoothLE
package import EventLoops
import Glibc
import SystemPackage

/// Starts the publisher as a separate process, exchanges messages with it, and restarts it if it ends unexpectedly.
///
/// A library that talks to the network can be crashed by seven bytes from a broker, or filled with 256 MiB. The process
/// that scans is therefore connected to it only by one end of a pair of sockets. It never waits for the publisher and
/// does not trust its messages.
package final class PublisherProcess {
    /// The file name of the publisher program, which ``ProgramFinder/path(_:)`` finds.
    package static let program = "beacon-gateway-publisher"

    /// The delays and time limits of the process.
    package struct Timing: Sendable, Hashable {
        /// The delay of the first restart.
        package var firstDelay: Duration = .milliseconds(500)
        /// The maximum delay of a restart. Each end without a published line since the start doubles the delay.
        package var lastDelay: Duration = .seconds(60)
        /// How long a ping may stay unanswered. This is longer than most waits for a name server that does not respond
        /// (resolv.conf(5)).
        package var silenceMax: Duration = .seconds(60)
        /// The time from an answer to the next ping.
        package var pingInterval: Duration = .seconds(60)
        /// How long the process must run until it counts as healthy again.
        package var steadyAfter: Duration = .seconds(60)
        /// How long the process may take to stop.
        package var leave: Duration = .seconds(5)

        /// Creates the default values.
        package init() {}
    }

    /// A report to the owner.
    package enum Report: Sendable, Hashable {
        /// A message for the log.
        case remark(PublisherRemark)
        /// A connection to the broker was established or has ended.
        case connection(isThere: Bool)
        /// The publisher has ended and is not restarted: it was stopped, or (if `isForever` is `false`) it has
        /// published all lines or has failed permanently.
        case ended
    }

    // A process that sends more messages in a second is not our publisher.
    private static let messagesPerSecond = 2000
    // Equal remarks are logged once per episode. An episode of failures ends when the process is healthy again.
    private static let reportedMax = 64
    private static let remarksPerMinute = 100
    // The kernel closes the files of a process, and so the pair, shortly before the process counts as ended.
    private static let reapInterval: Duration = .milliseconds(10)
    private static let reapsBeforeKill = 100

    /// Returns the names of beacons, if the settings allow their publication. It must be set before the start.
    package var names: () -> [(BeaconIdentity, PublishedName)] = { [] }
    /// The last status that the publisher sent. While it does not run, this type updates the status.
    package private(set) var status: PublisherStatus
    /// The number of starts.
    package private(set) var starts = 0
    /// The ID of the process; `nil` while it does not run.
    package var processID: Int32? { child?.id }
    /// How the process ended and that it is restarted, until it has run for a minute; `nil` if there is no problem.
    package private(set) var failure: String?

    let loop: EventLoop
    private let timing: Timing
    private let executable: String
    private let makeSettings: (Int) -> PublisherSettings
    private var reportsNames = false
    private let isForever: Bool
    private let take: (Report) -> Void

    private var child: ChildProcess?
    private var pair: SocketPairEnd?
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
    private var reported: Set<PublisherRemark> = []
    private var second: (begin: Instant, messages: Int)
    private var minute: (begin: Instant, remarks: Int)
    private var durable = 0
    private var unnumbered = 0

    /// Creates a publisher without starting it.
    ///
    /// - Parameters:
    ///   - executable: the path of the program.
    ///   - isForever: whether the process is also restarted after it reported that it cannot continue. If `false`, that
    ///     is its end.
    ///   - settings: returns the settings for a start. Its argument is the number of earlier starts.
    ///   - loop: the event loop that waits for messages and time limits.
    ///   - timing: the delays and time limits.
    ///   - take: called with each report.
    package init(
        _ executable: String = ProgramFinder.path(PublisherProcess.program), isForever: Bool,
        settings: @escaping (Int) -> PublisherSettings, on loop: EventLoop, timing: Timing = Timing(),
        _ take: @escaping (Report) -> Void
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
        // The publisher detects that its end of the pair has no owner any more.
        pair?.close()
    }

    /// Starts the process. If that fails, it tries again, as after an end.
    package func start() { spawn() }

    // MARK: Messages to the publisher

    /// Reports that lines up to this number are durable. The publisher does not read beyond them.
    package func update(durable number: Int) {
        guard number > durable else { return }
        durable = number
        reportDurable()
    }

    /// Reports that there is another line without a sequence number after the last durable line.
    package func reportUnnumberedLine() {
        unnumbered &+= 1
        reportDurable()
    }

    private func reportDurable() {
        var fields = Fields()
        fields.put("durable", durable)
        fields.put("unnumbered", unnumbered & Int.max)
        say(.durable, fields.bytes)
    }

    /// Sets the content of the `status` topic.
    ///
    /// A status from before a connection is not published in that connection, because it says that there is none. The
    /// caller must set the status again after each connection.
    package func update(status bytes: [UInt8]) {
        guard bytes.count < SocketPairEnd.bytesMax else { return }
        say(.status, bytes)
    }

    /// Sends the names again, and makes the publisher retry immediately if it waits. If the process waits for its
    /// restart, it is restarted immediately. Call it when names, secrets or certificates may have been fixed.
    package func reload() {
        if child != nil { reportNames() }
        say(.reload, [])
        guard child == nil, !isStopping, let restartTimer, loop.time(of: restartTimer) != nil else { return }
        loop.set(restartTimer, at: loop.now)
    }

    /// Makes the publisher publish as much as it can within some seconds, disconnect and exit. ``Report/ended`` is
    /// reported when it has exited.
    package func stop() {
        guard !isStopping else { return }
        isStopping = true
        guard child != nil else { return finish() }
        say(.stop, [])
        if let pingTimer { loop.set(pingTimer, at: loop.now + timing.leave) }
    }

    /// Stops the publisher and waits until it has exited. Use it when the event loop does not run any more.
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

    private func reportNames() {
        guard reportsNames else { return }
        for message in PublishedNames.messages(names()) {
            pair?.put(OwnerMessage.names.rawValue, message, keeping: PublishedNames.messagesMax)
        }
    }

    private func say(_ kind: OwnerMessage, _ bytes: [UInt8]) { pair?.put(kind.rawValue, bytes) }

    // MARK: Start, restart and end

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
            // The longest message must fit. The system reduces a larger value to its maximum (socket(7)).
            var size = Int32(2 * SocketPairEnd.bytesMax)
            for descriptor in ends {
                unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
            }
            let pair = try SocketPairEnd(FileDescriptor(rawValue: ends[0]), on: loop)
            // These signals stay blocked until the publisher ignores them itself. Otherwise a signal to the process
            // group could end it in its first moments.
            child = try ChildProcess(
                executable, input: FileDescriptor(rawValue: ends[1]), output: .standardError, errors: .standardError,
                environment: ChildProcess.environment(), blocking: [SIGTERM, SIGINT, SIGHUP, SIGUSR1])
            self.pair = pair
            pair.take = { [unowned self] kind, bytes in receive(kind, bytes) }
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
        (status.published, status.released) = (before.published, before.released)
        say(.settings, settings.message)
        reportsNames = settings.present?.names ?? false
        reportNames()
        reportDurable()
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
        // If this process did not run either, because the machine was suspended, the publisher had no time to answer.
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
            // A process that waits for a disk cannot be killed, so this type waits for it.
            let interval = reaps < Self.reapsBeforeKill ? Self.reapInterval : .seconds(1)
            if let reapTimer { loop.set(reapTimer, at: loop.now + interval) }
            return
        }
        over(ended ?? ending.description)
    }

    /// Handles the end of the process: restarts it, or reports the end.
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
        // It has published lines, so the cause can be a passing problem of the broker, or a user who killed the
        // process.
        if status.acknowledged > 0 { backOff.reset() }
        let now = loop.now
        let next = backOff.next()
        endsInEpisode += 1
        // If it could not continue, it has reported the reason itself.
        failure = status.failure ?? "the publisher process ended: \(why); it is restarted, and nothing is lost"
        if endsInEpisode == 1, status.failure == nil {
            let text = "the publisher process\(id) ended: \(why); it is restarted, and lines wait in the files"
            take(.remark(PublisherRemark(isError: true, text: text)))
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

    // MARK: Messages from the publisher

    private func receive(_ kind: UInt8, _ bytes: ArraySlice<UInt8>) -> Bool {
        let now = loop.now
        if now - second.begin >= .seconds(1) { second = (now, 0) }
        second.messages += 1
        guard second.messages <= Self.messagesPerSecond else { return false }
        switch PublisherMessage(rawValue: kind) {
        case .status:
            guard let newStatus = PublisherStatus(bytes) else { return false }
            receive(newStatus, at: now)
        case .remark:
            guard let newRemark = PublisherRemark(bytes) else { return false }
            remark(newRemark)
        case .pong:
            guard bytes.count < 20, let number = Int(String(decoding: bytes, as: UTF8.self)), number <= pings
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
        reported = []
        guard endsInEpisode > 0 else { return }
        let times = endsInEpisode == 1 ? "once" : "\(endsInEpisode) times"
        (endsInEpisode, failure) = (0, nil)
        backOff.reset()
        take(
            .remark(PublisherRemark(isError: false, text: "the publisher process runs again; it had ended \(times)")))
    }

    private func receive(_ newStatus: PublisherStatus, at now: Instant) {
        var newStatus = newStatus
        // The status is not trusted: it cannot contain lines that are not durable, or an attempt that is more than a
        // day away.
        if isForever {
            newStatus.published = min(newStatus.published, max(durable, status.published))
            newStatus.released = min(newStatus.released, durable)
        }
        newStatus.since = min(newStatus.since, now)
        newStatus.nextAttempt = newStatus.nextAttempt.map { min($0, now + .seconds(86_400)) }
        let wasConnected = status.version != nil
        status = newStatus
        let isConnected = newStatus.version != nil
        if isConnected != wasConnected { take(.connection(isThere: isConnected)) }
    }

    private func remark(_ remark: PublisherRemark) {
        let now = loop.now
        if now - minute.begin >= .seconds(60) { minute = (now, 0) }
        minute.remarks += 1
        guard minute.remarks <= Self.remarksPerMinute else { return }
        // A process that is restarted repeatedly sends the same remarks repeatedly.
        if reported.count >= Self.reportedMax { reported = [] }
        guard reported.insert(remark).inserted else { return }
        take(.remark(remark))
    }
}
