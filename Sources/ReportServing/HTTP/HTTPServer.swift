import BaseTypes
import CMicrohttpd
package import EventLoops
import Glibc
package import SystemPackage

/// An HTTP/1.1 server in a loop of ours, over libmicrohttpd: one thread, no waiting of its own.
///
/// What is not asked by GET or HEAD, has a body, or comes by a name or from a page of others is refused here, before
/// anybody's handler. It belongs to the loop's thread, and is ended by ``stop()``.
@safe package final class HTTPServer {
    private static let roomForComing = 32

    /// What it has done.
    package internal(set) var counters = HTTPServerCounters()
    /// Who may look; anybody who can connect where absent.
    package var access: BasicAccess?
    /// Makes the answer to a request for a path that has a problem; the server sets its status.
    package var form: (HTTPProblem, _ path: String) -> HTTPResponse = { problem, _ in problem.text }
    /// Called once a second while there are connections.
    package var everySecond: () -> Void = {}
    /// How many connections there are.
    package var connectionCount: Int { connections.count }
    /// How many of them are streams.
    package var streamCount: Int { connections.values.count { $0.stream != nil } }
    /// The bytes of the bodies that are being sent, each counted once.
    package var bodyBytes: Int { bodies.bytes }

    let loop: EventLoop
    let settings: HTTPServerSettings
    private let handler: (HTTPRequest) -> HTTPAnswer
    // By their places in the library's memory: what these are pointers to is the library's own.
    var connections: [UInt: HTTPConnection] = [:]
    var bodies: BodiesInUse
    private(set) var daemon: OpaquePointer?
    private var watch: EventLoop.Watch?
    private var timer: EventLoop.Timer?
    private var tick: EventLoop.Timer?
    // Streams that had no turn, in the order in which they asked.
    var waiting: [UInt] = []
    private var piecesLeft = 0
    // Of the connection that is just being taken on.
    private var latestAddress: InternetAddress?
    private var isRunning = false
    private var isTurnDue = false
    private(set) var isStopping = false

    /// Serves at a socket that listens, which it closes when it is stopped.
    ///
    /// - Parameters:
    ///   - listener: the socket, non-blocking.
    ///   - settings: its bounds.
    ///   - loop: where it waits.
    ///   - handler: answers; it must not wait for anything.
    /// - Throws: `Errno` of what watches; ENOMEM where the library can't be started.
    package init(
        _ listener: FileDescriptor, _ settings: HTTPServerSettings, on loop: EventLoop,
        _ handler: @escaping (HTTPRequest) -> HTTPAnswer
    ) throws(Errno) {
        (self.loop, self.settings, self.handler) = (loop, settings, handler)
        bodies = BodiesInUse(settings)
        var options = unsafe cmicrohttpd_settings()
        unsafe options.listener = listener.rawValue
        unsafe options.connection_memory = settings.headOctetsMax
        // Some more than there may be: whoever comes then has one of the others dropped, and is let in himself.
        unsafe options.connections_max = UInt32(clamping: settings.connectionsMax + Self.roomForComing)
        unsafe options.connections_per_address_max = UInt32(clamping: settings.connectionsPerAddressMax)
        unsafe options.idle_seconds_max = UInt32(clamping: settings.idleSecondsMax)
        // It is stopped before it goes: `stop()`, or `deinit`.
        unsafe options.context = Unmanaged.passUnretained(self).toOpaque()
        unsafe options.accepts = { context, address, _ in
            guard let server = unsafe HTTPServer.at(context), let address = unsafe address else { return .NO }
            return server.accepts(unsafe InternetAddress(address)) ? .YES : .NO
        }
        unsafe options.answers = { context, connection, url, method, version, _, size, state in
            guard let server = unsafe HTTPServer.at(context), let connection = unsafe connection,
                let url = unsafe url, let method = unsafe method, let version = unsafe version,
                let state = unsafe state, let size = unsafe size
            else { return .NO }
            // Anything else: the head has been looked at.
            let looked = unsafe Unmanaged.passUnretained(server).toOpaque()
            if unsafe state.pointee == looked { return unsafe server.received(connection, url, bodySize: size.pointee) }
            let found = unsafe state.pointee
            unsafe state.pointee = looked
            return unsafe server.received(
                connection, url, HTTPHead(connection, method, url, version, found: found))
        }
        unsafe options.completed = { context, connection, _, _ in
            guard let server = unsafe HTTPServer.at(context), let connection = unsafe connection else { return }
            server.completed(UInt(bitPattern: connection))
        }
        unsafe options.notified = { context, connection, _, what in
            guard let server = unsafe HTTPServer.at(context), let connection = unsafe connection else { return }
            server.note(
                UInt(bitPattern: connection), socket: unsafe cmicrohttpd_socket(connection),
                isClosed: what == .CONNECTION_NOTIFY_CLOSED)
        }
        guard let daemon = unsafe TLSIdentity.start(&options, as: settings.identity) else { throw .noMemory }
        unsafe self.daemon = daemon
        watch = try loop.watch(FileDescriptor(rawValue: unsafe cmicrohttpd_epoll(daemon)), for: .read) {
            [unowned self] _ in run()
        }
        timer = loop.makeTimer { [unowned self] _ in run() }
        tick = loop.makeTimer { [unowned self] now in look(now) }
    }

    deinit { stop() }

    private static func at(_ context: UnsafeMutableRawPointer?) -> HTTPServer? {
        unsafe context.map { unsafe Unmanaged<HTTPServer>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Goes on counting where another server of the same socket has ended.
    package func takeOver(_ counters: HTTPServerCounters) { self.counters = counters }

    /// Has all streams of lines ask for what they have not sent yet.
    package func wakeStreams() {
        var isWoken = false
        for connection in connections.values {
            // Those that wait for a turn have one coming.
            guard let stream = connection.stream, stream.isWokenForLines, stream.isSuspended, !stream.isInQueue else {
                continue
            }
            stream.wake()
            isWoken = true
        }
        if isWoken { run() }
    }

    /// Closes all connections and the socket that it listens at.
    package func stop() {
        guard let daemon = unsafe daemon else { return }
        isStopping = true
        // None may be suspended then (microhttpd.h, MHD_suspend_connection).
        for connection in connections.values {
            connection.stream?.end()
            connection.promise?.fulfil(
                .problem(HTTPProblem(503, "the server is stopping", hint: "try again later")))
        }
        run()
        unsafe self.daemon = nil
        if let watch { loop.end(watch) }
        if let timer { loop.end(timer) }
        if let tick { loop.end(tick) }
        // The library would shut down a socket at which another server listens by now.
        let listener = unsafe MHD_quiesce_daemon(daemon)
        unsafe MHD_stop_daemon(daemon)
        if listener >= 0 { close(listener) }
        connections = [:]
    }

    // MARK: The library's turns

    private func run() {
        guard let daemon = unsafe daemon, !isRunning else { return }
        isRunning = true
        isTurnDue = false
        piecesLeft = settings.piecesPerTurn
        let turn = waiting.prefix(settings.piecesPerTurn)
        waiting.removeFirst(turn.count)
        for connection in turn {
            if let stream = connections[connection]?.stream, stream.isInQueue { stream.wake() }
        }
        // It fails for a daemon with threads alone.
        _ = unsafe MHD_run(daemon)
        isRunning = false
        var milliseconds: UInt64 = 0
        var isWaiting = unsafe MHD_get_timeout(daemon, &milliseconds) == .YES
        // What was woken in this turn, the library finds in the next.
        if !waiting.isEmpty || isTurnDue { (isWaiting, milliseconds) = (true, 0) }
        if let timer {
            loop.set(timer, at: isWaiting ? loop.now + .milliseconds(Int64(clamping: min(milliseconds, 60_000))) : nil)
        }
        if let tick, !connections.isEmpty, loop.time(of: tick) == nil { loop.set(tick, at: loop.now + .seconds(1)) }
    }

    /// Has the library look once more, behind the turn that it is in perhaps.
    private func takeTurn() {
        isTurnDue = true
        if let timer { loop.set(timer, at: loop.now) }
    }

    /// Once a second, while there are connections: drops those whose time is over.
    private func look(_ now: Instant) {
        everySecond()
        for (connection, entry) in connections {
            if let stream = entry.stream {
                let silence = now - stream.lastAsked
                if stream.isSuspended, !stream.isInQueue {
                    if stream.hasHeartbeat, silence >= settings.heartbeat { stream.wake(Array(":\n\n".utf8)) }
                } else if !stream.isSuspended, silence >= settings.stallTime {
                    drop(connection)
                }
            } else if let deadline = entry.deadline, deadline <= now {
                if let promise = entry.promise {
                    promise.fulfil(.problem(HTTPProblem(504, "the response took too long", hint: "request less data")))
                    promise.abandoned()
                } else {
                    drop(connection)
                }
            }
        }
        run()
    }

    /// The library finds its socket shut, and lets go of all that belongs to it.
    private func drop(_ connection: UInt) {
        guard let entry = connections[connection] else { return }
        counters.dropped += 1
        shutdown(entry.socket, Int32(SHUT_RDWR))
        connections[connection]?.deadline = nil
        entry.stream?.end()
    }

    private func accepts(_ address: InternetAddress?) -> Bool {
        latestAddress = address
        guard let only = settings.onlyFrom, address != only else { return true }
        counters.turnedAway += 1
        return false
    }

    private func note(_ connection: UInt, socket: Int32, isClosed: Bool) {
        if isClosed {
            let entry = connections.removeValue(forKey: connection)
            entry?.stream?.forget()
            entry?.promise?.abandoned()
            if let entry, let body = entry.body { bodies.remove(body, to: entry.address) }
            return
        }
        counters.connections += 1
        connections[connection] = HTTPConnection(
            socket: socket, address: latestAddress, number: counters.connections,
            deadline: loop.now + settings.requestTime)
        counters.connectionsMost = max(counters.connectionsMost, connections.count)
        if connections.count > settings.connectionsMax { makeRoom() }
    }

    /// Drops a connection that nothing is being sent on: the oldest of the address that has the most of them, so that who
    /// fills the server is in his own way, and in nobody else's.
    private func makeRoom() {
        var counts: [InternetAddress?: Int] = [:]
        let idle = connections.filter { $0.value.deadline != nil && $0.value.promise == nil }
        for connection in idle.values { counts[connection.address, default: 0] += 1 }
        let most = counts.values.max() ?? 0
        let candidates = idle.filter { counts[$0.value.address] == most }
        guard let oldest = candidates.min(by: { $0.value.number < $1.value.number }) else { return }
        drop(oldest.key)
        // The library looks at it again in its next turn.
        if let timer { loop.set(timer, at: loop.now) }
    }

    private func completed(_ connection: UInt) {
        guard var entry = connections[connection] else { return }
        entry.stream?.forget()
        entry.stream = nil
        entry.promise?.abandoned()
        entry.promise = nil
        if let body = entry.body { bodies.remove(body, to: entry.address) }
        entry.body = nil
        // The next request of the connection has as long as the first.
        entry.deadline = loop.now + settings.requestTime
        connections[connection] = entry
    }

    // MARK: Requests

    /// Called with a request's head: refuses it, or waits for its end.
    private func received(
        _ connection: OpaquePointer, _ url: UnsafePointer<CChar>, _ head: HTTPHead
    ) -> MHD_Result {
        // The handler may be gone already.
        guard !isStopping else { return .NO }
        connections[UInt(bitPattern: connection)]?.isHead = head.method == "HEAD"
        guard var refusal = settings.refusal(of: head) else { return .YES }
        // The following bytes can be a body, and are not read as a request.
        refusal.closes = true
        return unsafe send(.problem(refusal), to: String(cString: url), on: connection)
    }

    /// Called at the end of a request that was not refused.
    private func received(
        _ connection: OpaquePointer, _ url: UnsafePointer<CChar>, bodySize: Int
    ) -> MHD_Result {
        guard !isStopping, bodySize == 0 else { return .NO }
        let headers = unsafe HTTPFields(connection, .HEADER_KIND)
        let place = UInt(bitPattern: connection)
        if let promise = connections[place]?.promise {
            guard let answer = promise.answer else {
                unsafe MHD_suspend_connection(connection)
                return .YES
            }
            connections[place]?.promise = nil
            return unsafe send(answer, to: String(cString: url), on: connection)
        }
        var request = HTTPRequest(path: unsafe String(cString: url))
        request.query = unsafe HTTPFields(connection, .GET_ARGUMENT_KIND).all
        request.ifNoneMatch = headers["if-none-match"].first
        request.lastEventID = headers["last-event-id"].first
        guard let access else { return unsafe send(handler(request), to: request.path, on: connection) }
        let shown = headers["authorization"]
        let answer = access.answer(shown.count == 1 ? shown[0] : nil, from: connections[place]?.address) {
            [unowned self] in handler(request)
        }
        return unsafe send(answer, to: request.path, on: connection)
    }

    // MARK: Answers

    /// Sends the answer to a request for `path`, or has the connection wait for it.
    func send(_ answer: HTTPAnswer, to path: String, on connection: OpaquePointer) -> MHD_Result {
        switch answer {
        case .whole(let response):
            let header = unsafe HTTPFields(connection, .HEADER_KIND)["if-none-match"].first
            let isKnown = response.hasTag && response.status == 200 && header.map(response.isKnown) ?? false
            let place = UInt(bitPattern: connection)
            if !isKnown, let entry = connections[place], !entry.isHead {
                guard bodies.add(response.body, to: entry.address) else {
                    counters.bodiesRefused += 1
                    let problem = HTTPProblem(
                        503, "too many bytes are being sent to other clients", hint: "try again in 5 s",
                        retryAfter: 5)
                    return unsafe send(.problem(problem), to: path, on: connection)
                }
                connections[place]?.body = response.body
            }
            return unsafe send(response, isKnown: isKnown, on: connection)
        case .stream(let stream): return unsafe send(stream, to: path, on: connection)
        case .problem(let problem):
            var response = form(problem, path)
            response.status = problem.status
            response.retryAfter = problem.retryAfter
            response.closes = problem.closes
            response.hasTag = false
            return unsafe send(response, on: connection)
        case .later(let promise): return unsafe wait(for: promise, to: path, on: connection)
        }
    }

    private func wait(for promise: HTTPPromise, to path: String, on connection: OpaquePointer) -> MHD_Result {
        let place = UInt(bitPattern: connection)
        guard promise.answer == nil, var entry = connections[place] else {
            guard let answer = promise.answer else { return .NO }
            return unsafe send(answer, to: path, on: connection)
        }
        entry.promise = promise
        entry.deadline = loop.now + settings.promiseTime
        connections[place] = entry
        // A promise can outlive the server if another one replaces it.
        promise.resume = { [weak self, unowned promise] in
            guard let self, unsafe daemon != nil, connections[place]?.promise === promise else { return }
            unsafe MHD_resume_connection(connection)
            takeTurn()
        }
        unsafe MHD_suspend_connection(connection)
        return .YES
    }

    private func send(_ response: HTTPResponse, isKnown: Bool = false, on connection: OpaquePointer) -> MHD_Result {
        let made = unsafe isKnown ? HTTPBody.makeEmptyResponse() : response.body.makeResponse()
        guard let made = unsafe made else { return .NO }
        defer { unsafe MHD_destroy_response(made) }
        unsafe HTTPHeaders.add(of: response, to: made)
        // A request with a length of 0 is answered, but it is unusual.
        if unsafe response.closes || MHD_lookup_connection_value(connection, .HEADER_KIND, "content-length") != nil {
            unsafe HTTPHeaders.add("Connection", "close", to: made)
        }
        return unsafe queue(
            made, isKnown ? 304 : response.status, bringsStyle: response.bringsStyle, on: connection)
    }

    private func send(_ stream: HTTPStream, to path: String, on connection: OpaquePointer) -> MHD_Result {
        if streamCount >= settings.streamsMax {
            // The library does not look at those that wait: somebody else would be turned away for who is gone.
            for entry in connections.values { entry.stream?.end(ifClosedAt: entry.socket) }
            takeTurn()
        }
        guard connections.values.count(where: { $0.stream?.isOver == false }) < settings.streamsMax else {
            stream.forget()
            let problem = HTTPProblem(
                503, "too many clients are reading events", hint: "try again in 10 s", retryAfter: 10)
            return unsafe send(.problem(problem), to: path, on: connection)
        }
        unsafe stream.connection = connection
        stream.now = { [unowned loop] in loop.now }
        let place = UInt(bitPattern: connection)
        stream.mayGoOn = { [unowned self] in
            guard piecesLeft > 0 || isStopping else {
                waiting.append(place)
                return false
            }
            piecesLeft -= 1
            return true
        }
        stream.woken = { [unowned self] in takeTurn() }
        let context = unsafe Unmanaged.passRetained(stream).toOpaque()
        let made = unsafe MHD_create_response_from_callback(
            UInt64.max, 4096,
            { context, _, buffer, size in
                guard let context = unsafe context, let buffer = unsafe buffer else { return -1 }
                return unsafe Unmanaged<HTTPStream>.fromOpaque(context).takeUnretainedValue()
                    .take(into: UnsafeMutableRawBufferPointer(start: buffer, count: size))
            }, context,
            { context in
                if let context = unsafe context { unsafe Unmanaged<HTTPStream>.fromOpaque(context).release() }
            })
        guard let made = unsafe made else {
            unsafe Unmanaged<HTTPStream>.fromOpaque(context).release()
            stream.forget()
            return .NO
        }
        defer { unsafe MHD_destroy_response(made) }
        unsafe HTTPHeaders.add(of: stream, to: made)
        let result = unsafe queue(made, 200, bringsStyle: stream.bringsStyle, on: connection)
        if result == .YES, var entry = connections[place] {
            entry.deadline = nil
            entry.stream = stream
            connections[place] = entry
            counters.streamsMost = max(counters.streamsMost, streamCount)
        }
        return result
    }

    private func queue(
        _ response: OpaquePointer, _ status: UInt16, bringsStyle: Bool, on connection: OpaquePointer
    ) -> MHD_Result {
        unsafe HTTPHeaders.addAlways(to: response, bringsStyle: bringsStyle)
        counters.answers[status, default: 0] += 1
        connections[UInt(bitPattern: connection)]?.deadline = loop.now + settings.requestTime
        return unsafe MHD_queue_response(connection, UInt32(status), response)
    }
}
