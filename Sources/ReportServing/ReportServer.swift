import BeaconMonitoring
import EventLog
import EventLoops
import GatewayConfiguration
import OperatorLogging
import Reports
import SystemPackage

/// What is served of one gateway's event files, at which path.
final class ReportServer {
    /// Where it reads, and what makes the reports that it does not hold.
    struct Source {
        /// The folder of the event files.
        var directory: FilePath
        /// Where what the files come to is kept over restarts; absent: nowhere.
        var cacheDirectory: FilePath?
        /// What people call beacons.
        var names = BeaconNames()
        /// The configuration's path, for the commands.
        var configuration = ""
        /// The program whose commands make reports.
        var program = ""
        /// Where the gateway answers; empty: it is not asked.
        var statusSocket = ""
        /// How dates are told.
        var time = VisitsTime(isUTC: false)
    }

    /// The names of beacons; read again on SIGHUP.
    var names: BeaconNames {
        didSet {
            guard names != oldValue else { return }
            directory = BeaconDirectory(names)
            namings += 1
        }
    }
    /// The server below.
    private(set) var server: HTTPServer?
    /// What is followed.
    let following: Following
    /// Called with why the event files can't be read, and with `nil` when they can be read again.
    var troubleChanged: (EventLogError?) -> Void = { _ in }
    private var toldTrouble: EventLogError?
    /// What makes the reports that are not held.
    let runner: ReportRunner
    /// What the gateway says of itself; absent where it is not asked.
    private let daemon: DaemonStatus?
    // What open pages wait for.
    private let changes: ChangeStreams
    private let loop: EventLoop
    private let wall: () -> WallDate
    private let orders: ReportOrders
    private var directory: BeaconDirectory
    // How often the names have been read again.
    private var namings = 0
    private var renderer: SnapshotRenderer?

    /// Serves at `listener` what `source` has.
    ///
    /// - Parameters:
    ///   - source: where it reads.
    ///   - listener: a socket that listens.
    ///   - settings: bounds, and which address may ask.
    ///   - access: who may look; anybody who can ask where absent.
    ///   - loop: where it waits.
    ///   - wall: the wall clock.
    /// - Throws: `Errno` of what watches.
    init(
        _ source: Source, listener: FileDescriptor, _ settings: HTTPServerSettings, access: BasicAccess? = nil,
        on loop: EventLoop,
        wall: @escaping () -> WallDate = { WallDate(microseconds: BootClock.wall / 1000) }
    ) throws(Errno) {
        (names, self.loop, self.wall) = (source.names, loop, wall)
        directory = BeaconDirectory(source.names)
        orders = ReportOrders(configuration: source.configuration, time: source.time)
        following = Following(
            source.directory, keptIn: source.cacheDirectory.map { FoldFile(in: $0, of: source.directory) }, on: loop)
        changes = ChangeStreams(on: loop)
        runner = ReportRunner(source.program, on: loop)
        daemon = source.statusSocket.isEmpty ? nil : DaemonStatus(source.statusSocket, on: loop)
        renderer = try SnapshotRenderer(on: loop, inputs)
        try listen(listener, settings, access)
        following.changed = { [unowned self] in
            server?.wakeStreams()
            changes.note(
                ChangeStreams.Shown(
                    sequence: following.state.counts.sequence, trouble: following.trouble?.description,
                    missed: following.missed, damaged: following.damaged, reading: following.reading))
            tellTrouble(following.trouble)
        }
    }

    /// Serves at `listener` from now on, with other settings: connections of before are ended.
    ///
    /// - Throws: `Errno`; it goes on as before then.
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

    /// Ends all connections, and all commands.
    func stop() {
        runner.stop()
        server?.stop()
        renderer?.stop()
    }

    private func tellTrouble(_ trouble: EventLogError?) {
        guard trouble != toldTrouble, trouble != nil || following.isCurrent else { return }
        toldTrouble = trouble
        troubleChanged(trouble)
    }

    private static let style = HTTPResponse(
        contentType: "text/css; charset=utf-8", body: PackageResources.page_css)
    private static let script = HTTPResponse(
        contentType: "text/javascript; charset=utf-8", body: PackageResources.live_js)
    private static let icon = HTTPResponse(contentType: "image/svg+xml", body: PackageResources.icon_svg)

    private func answer(_ original: HTTPRequest) -> HTTPAnswer {
        let request = orders.meant(original)
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
        try ReportQuery(time: orders.time, directory: directory).check(request)
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
        // With a number of lines, the answer ends.
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
        if let trouble = following.trouble { throw HTTPProblem(trouble) }
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
