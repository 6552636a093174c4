import BeaconMonitoring
import CommandSupport
import EventLog
import EventLoops
import GatewayConfiguration
import OperatorLogging
import Reports
import SystemPackage

/// Serves the pages, reports, events and metrics of one gateway's event files.
final class ReportServer {
    /// The files that the server reads, and the programs that it asks.
    struct Source {
        /// The folder of the event files.
        var directory: FilePath
        /// The folder of the cache, which keeps totals over restarts; `nil` means no cache.
        var cacheDirectory: FilePath?
        /// The names of beacons.
        var names = BeaconNames()
        /// The path of the configuration, which commands need.
        var configuration = ""
        /// The program whose commands make reports.
        var program = ""
        /// The path of the gateway's status socket; empty means that the gateway is not asked.
        var statusSocket = ""
        /// The format and zone of dates.
        var time = ZonedTime(isUTC: false)
    }

    /// The names of beacons. SIGHUP reads them again.
    var names: BeaconNames {
        didSet {
            guard names != oldValue else { return }
            directory = BeaconDirectory(names)
            namings += 1
        }
    }
    /// The HTTP server.
    private(set) var server: HTTPServer?
    /// The reader of the event files.
    let following: Following
    /// Called with the error if the event files cannot be read, and with `nil` when they can be read again.
    var failureChanged: (EventLogError?) -> Void = { _ in }
    private var reportedFailure: EventLogError?
    /// The runner of the commands that make reports over all files.
    let runner: ReportRunner
    /// The status of the gateway; `nil` if the gateway is not asked.
    private let daemon: DaemonStatus?
    // The streams that notify open pages.
    private let changes: ChangeStreams
    private let loop: EventLoop
    private let wall: () -> WallDate
    private let orders: ReportOrders
    private var directory: BeaconDirectory
    // The number of times that the names have changed.
    private var namings = 0
    private var renderer: SnapshotRenderer?

    /// Starts to serve `source` at `listener`.
    ///
    /// - Parameters:
    ///   - source: the files and programs.
    ///   - listener: a listening socket.
    ///   - settings: the limits, and the addresses that can connect.
    ///   - access: the check of logins; `nil` means that each client that can connect has access.
    ///   - loop: the event loop.
    ///   - wall: returns the time of the wall clock.
    /// - Throws: `Errno` of eventfd(2) and epoll_ctl(2); ENOMEM if the HTTP library cannot be started.
    init(
        _ source: Source, listener: FileDescriptor, _ settings: HTTPServerSettings, access: BasicAccess? = nil,
        on loop: EventLoop,
        wall: @escaping () -> WallDate = { WallDate(microseconds: BootClock.wall / 1000) }
    ) throws(Errno) {
        (names, self.loop, self.wall) = (source.names, loop, wall)
        directory = BeaconDirectory(source.names)
        orders = ReportOrders(configuration: source.configuration, time: source.time)
        following = Following(
            source.directory, storedIn: source.cacheDirectory.map { TotalsCache(in: $0, of: source.directory) },
            on: loop)
        changes = ChangeStreams(on: loop)
        runner = ReportRunner(source.program, on: loop)
        daemon = source.statusSocket.isEmpty ? nil : DaemonStatus(source.statusSocket, on: loop)
        renderer = try SnapshotRenderer(on: loop, inputs)
        try listen(listener, settings, access)
        following.changed = { [unowned self] in
            server?.wakeStreams()
            changes.note(
                ChangeStreams.Shown(
                    sequence: following.state.counts.sequence, failure: following.failure?.description,
                    missed: following.missed, damaged: following.damaged, reading: following.reading))
            reportFailure(following.failure)
        }
    }

    /// Serves at another `listener`, with other settings, from now on. Existing connections are closed.
    ///
    /// - Throws: `Errno`. Then the previous server continues.
    func listen(
        _ listener: FileDescriptor, _ settings: HTTPServerSettings, _ access: BasicAccess?
    ) throws(Errno) {
        let next = try HTTPServer(listener, settings, on: loop) { [unowned self] in answer($0) }
        next.everySecond = { [unowned self] in following.checkFolder() }
        next.access = access
        next.form = { ProblemForm.response($0, path: $1) }
        if let server {
            server.stop()
            next.takeOver(server.counters)
        }
        server = next
    }

    /// Ends all connections and all commands.
    func stop() {
        runner.stop()
        server?.stop()
        renderer?.stop()
    }

    private func reportFailure(_ failure: EventLogError?) {
        guard failure != reportedFailure, failure != nil || following.isCurrent else { return }
        reportedFailure = failure
        failureChanged(failure)
    }

    private static let style = HTTPResponse(
        contentType: "text/css; charset=utf-8", body: PackageResources.page_css)
    private static let script = HTTPResponse(
        contentType: "text/javascript; charset=utf-8", body: PackageResources.live_js)
    private static let icon = HTTPResponse(contentType: "image/svg+xml", body: PackageResources.icon_svg)

    private func answer(_ original: HTTPRequest) -> HTTPAnswer {
        let request = orders.meant(original, now: wall())
        let answer: HTTPAnswer
        do throws(HTTPProblem) {
            answer = try checkedAnswer(request)
        } catch {
            answer = .problem(error)
        }
        guard case .problem(let problem) = answer else { return answer }
        return orders.page(problem, of: request, now: wall()).map { .whole($0) } ?? answer
    }

    private func checkedAnswer(_ request: HTTPRequest) throws(HTTPProblem) -> HTTPAnswer {
        following.checkFolder()
        try ReportQuery(time: orders.time, directory: directory, now: wall()).check(request)
        switch request.path {
        case "/style.css":
            return .whole(Self.style)
        case "/live.js":
            return .whole(Self.script)
        case "/icon.svg", "/favicon.ico":
            return .whole(Self.icon)
        case "/api/v1/events":
            try checkCurrent()
            return try events(request)
        case "/api/v1/changes":
            try checkCurrent()
            return .stream(changes.open())
        default:
            if let path = SnapshotPath(rawValue: request.path) {
                try checkCurrent()
                if !path.hasWarnings { try checkReadable() }
                if path == .presentJSON { try checkBegun() }
                return answer(path)
            }
            return runner.answer(try orders.order(request, now: wall()))
        }
    }

    private func events(_ request: HTTPRequest) throws(HTTPProblem) -> HTTPAnswer {
        // With `limit` or `after`, the answer is a page of lines instead of a stream.
        if request["limit"] != nil || request["after"] != nil {
            return EventPage.open(request, following)
        }
        let gateway = following.state.counts.gateway
        if let id = request["lastEventID"], !gateway.isEmpty, EventStream.sequence(id, of: gateway) == nil {
            throw ReportQuery.wrong(
                "lastEventID", id, "expected \(EventStream.stem(gateway)):NUMBER, with the sequence number of a line")
        }
        return .stream(EventStream.open(request, following))
    }

    private func answer(_ path: SnapshotPath) -> HTTPAnswer {
        let promise = HTTPPromise()
        if path == .metrics, let daemon, !daemon.isFresh {
            daemon.ask { [unowned self] in renderer?.answer(path, promise) }
        } else {
            renderer?.answer(path, promise)
        }
        return .later(promise)
    }

    private func checkCurrent() throws(HTTPProblem) {
        guard !following.isCurrent else { return }
        try checkReadable()
        throw HTTPProblem(
            503, "the event files are still being read: up to line \(following.state.counts.sequence) so far",
            hint: "try again in a second", retryAfter: 1)
    }

    private func checkReadable() throws(HTTPProblem) {
        if let failure = following.failure { throw HTTPProblem(failure) }
    }

    /// Throws if there is no line yet: an empty array would mean that no beacon is present.
    private func checkBegun() throws(HTTPProblem) {
        guard following.state.counts.sequence == 0 else { return }
        throw HTTPProblem(
            503, "\(following.directory) contains no lines yet",
            hint: "start the gateway, or set output.directory to the folder that it writes to", retryAfter: 2)
    }

    private var inputs: SnapshotRenderer.Inputs {
        SnapshotRenderer.Inputs(
            key: { [unowned self] in
                SnapshotRenderer.Key(
                    version: following.version, second: wall().microseconds / 1_000_000,
                    epoch: following.reading + namings)
            },
            source: { [unowned self] () throws(HTTPProblem) in
                try checkCurrent()
                return Snapshot.Source(following, directory, orders.time, now: wall())
            },
            addServer: { [unowned self] metrics in
                if let server { metrics.write(server) }
                metrics.write(runner.counters)
                if let access = server?.access { metrics.write(access.counters) }
                if let daemon { metrics.write(daemon: daemon.answer) }
            })
    }
}
