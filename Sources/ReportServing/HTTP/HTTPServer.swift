import BaseTypes
import CMicrohttpd
package import EventLoops
import Glibc
package import SystemPackage

/// An HTTP/1.1 server in an event loop, with libmicrohttpd. It has no thread of its own and never blocks.
///
/// A request is refused before the handler is called if its method is not GET or HEAD, or if it has a body. It is also
/// refused if its host name or origin is not allowed. The server belongs to the loop's thread, and must be stopped with
/// ``stop()``.
@safe package final class HTTPServer {
    private static let roomForComing = 32

    /// The counters since the start.
    package internal(set) var counters = HTTPServerCounters()
    /// The check of logins; `nil` means that each client that can connect has access.
    package var access: BasicAccess?
    /// Converts a problem to the answer to a request for `path`. The server sets its status.
    package var form: (HTTPProblem, _ path: String) -> HTTPResponse = { problem, _ in problem.text }
    /// Called once per second while there are connections.
    package var everySecond: () -> Void = {}
    /// The number of connections.
    package var connectionCount: Int { connections.count }
    /// The number of connections that are streams.
    package var streamCount: Int { connections.values.count { $0.stream != nil } }
    /// The bytes of the bodies that are being sent, each counted once.
    package var bodyBytes: Int { bodies.bytes }

    let loop: EventLoop
    let settings: HTTPServerSettings
    private let handler: (HTTPRequest) -> HTTPAnswer
    // The connections by their address in the library's memory. Only the library may access the memory at these
    // addresses.
    var connections: [UInt: HTTPConnection] = [:]
    var bodies: BodiesInUse
    private(set) var daemon: OpaquePointer?
    private var watch: EventLoop.Watch?
    private var timer: EventLoop.Timer?
    private var tick: EventLoop.Timer?
    // The connections of streams that wait for a turn, in the order in which they started to wait.
    var waiting: [UInt] = []
    private var piecesLeft = 0
    // The address of the connection that is being accepted.
    private var latestAddress: InternetAddress?
    private var isRunning = false
    private var isTurnDue = false
    private(set) var isStopping = false

    /// Starts to serve at a listening socket, which the server closes when it is stopped.
    ///
    /// - Parameters:
    ///   - listener: the socket, non-blocking.
    ///   - settings: its limits.
    ///   - loop: the event loop.
    ///   - handler: returns the answer to a request; it must not block.
    /// - Throws: `Errno` of epoll_ctl(2); ENOMEM if the library cannot be started.
    package init(
        _ listener: FileDescriptor, _ settings: HTTPServerSettings, on loop: EventLoop,
        _ handler: @escaping (HTTPRequest) -> HTTPAnswer
    ) throws(Errno) {
        (self.loop, self.settings, self.handler) = (loop, settings, handler)
        bodies = BodiesInUse(settings)
        var options = unsafe cmicrohttpd_settings()
        unsafe options.listener = listener.rawValue
        unsafe options.connection_memory = settings.headBytesMax
        // More connections than the maximum: a further one is accepted, and then `makeRoom` drops another one.
        unsafe options.connections_max = UInt32(clamping: settings.connectionsMax + Self.roomForComing)
        unsafe options.connections_per_address_max = UInt32(clamping: settings.connectionsPerAddressMax)
        unsafe options.idle_seconds_max = UInt32(clamping: settings.idleSecondsMax)
        // The pointer stays valid, because `stop()` or `deinit` stops the daemon before the server is freed.
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
            // Marks that the head was checked, with a value that `found` cannot have.
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

    /// Continues the counters of a previous server of the same socket.
    package func takeOver(_ counters: HTTPServerCounters) { self.counters = counters }

    /// Makes all suspended streams of lines check for bytes to send.
    package func wakeStreams() {
        var isWoken = false
        for connection in connections.values {
            // A stream in the queue gets a turn anyway.
            guard let stream = connection.stream, stream.isWokenForLines, stream.isSuspended, !stream.isInQueue else {
                continue
            }
            stream.wake()
            isWoken = true
        }
        if isWoken { run() }
    }

    /// Closes all connections and the listening socket.
    package func stop() {
        guard let daemon = unsafe daemon else { return }
        isStopping = true
        // When the daemon is stopped, no connection may be suspended (microhttpd.h, MHD_suspend_connection).
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
        // Otherwise the library would shut down the socket, although another server can already listen at a copy of it.
        let listener = unsafe MHD_quiesce_daemon(daemon)
        unsafe MHD_stop_daemon(daemon)
        if listener >= 0 { close(listener) }
        connections = [:]
    }

    // MARK: Turns of the library

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
        // MHD_run fails only for a daemon with threads.
        _ = unsafe MHD_run(daemon)
        isRunning = false
        var milliseconds: UInt64 = 0
        var isWaiting = unsafe MHD_get_timeout(daemon, &milliseconds) == .YES
        // Connections that were resumed in this turn are handled by the library in the next.
        if !waiting.isEmpty || isTurnDue { (isWaiting, milliseconds) = (true, 0) }
        if let timer {
            loop.set(timer, at: isWaiting ? loop.now + .milliseconds(Int64(clamping: min(milliseconds, 60_000))) : nil)
        }
        if let tick, !connections.isEmpty, loop.time(of: tick) == nil { loop.set(tick, at: loop.now + .seconds(1)) }
    }

    /// Makes the library run again, after the current turn if there is one.
    private func takeTurn() {
        isTurnDue = true
        if let timer { loop.set(timer, at: loop.now) }
    }

    /// Called once per second while there are connections. Sends heartbeats of streams, answers promises that took too
    /// long, and drops connections whose time has expired.
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

    /// Shuts down the socket of a connection. The library detects this and frees the connection.
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

    /// Drops a connection that is neither a stream nor waiting for a promise: the oldest of the address that has the
    /// most of them. So an address that fills the server loses its own connections, and not those of others.
    private func makeRoom() {
        var counts: [InternetAddress?: Int] = [:]
        let idle = connections.filter { $0.value.deadline != nil && $0.value.promise == nil }
        for connection in idle.values { counts[connection.address, default: 0] += 1 }
        let most = counts.values.max() ?? 0
        let candidates = idle.filter { counts[$0.value.address] == most }
        guard let oldest = candidates.min(by: { $0.value.number < $1.value.number }) else { return }
        drop(oldest.key)
        // The library detects the shutdown in its next turn.
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
        // The next request of the connection has as much time as the first.
        entry.deadline = loop.now + settings.requestTime
        connections[connection] = entry
    }

    // MARK: Requests

    /// Called with the head of a request. Refuses the request, or waits for its end.
    private func received(
        _ connection: OpaquePointer, _ url: UnsafePointer<CChar>, _ head: HTTPHead
    ) -> MHD_Result {
        // The handler can already be deallocated.
        guard !isStopping else { return .NO }
        connections[UInt(bitPattern: connection)]?.isHead = head.method == "HEAD"
        guard var refusal = settings.refusal(of: head) else { return .YES }
        // The following bytes can be a body, and must not be read as a request.
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

    /// Sends the answer to a request for `path`, or suspends the connection until the answer is known.
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
        // A promise can outlive the server if another server replaces it.
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
        // A request with `Content-Length: 0` is answered, but it is unusual, so the connection is closed afterwards.
        if unsafe response.closes || MHD_lookup_connection_value(connection, .HEADER_KIND, "content-length") != nil {
            unsafe HTTPHeaders.add("Connection", "close", to: made)
        }
        return unsafe queue(
            made, isKnown ? 304 : response.status, bringsStyle: response.bringsStyle, on: connection)
    }

    private func send(_ stream: HTTPStream, to path: String, on connection: OpaquePointer) -> MHD_Result {
        if streamCount >= settings.streamsMax {
            // The library does not check suspended connections. Streams whose clients have disconnected are ended, so
            // that they do not count against the limit.
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
        stream.mayProceed = { [unowned self] in
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
