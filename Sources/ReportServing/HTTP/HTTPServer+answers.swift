import BaseTypes
import CMicrohttpd
import EventLoops
import Glibc

// Sending answers.
extension HTTPServer {
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
                        503, "too many bytes are being sent to other clients already", hint: "try again in 5 s",
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
                503, "too many clients read the events already", hint: "try again in 10 s", retryAfter: 10)
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
