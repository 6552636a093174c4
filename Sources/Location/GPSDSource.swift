import BaseTypes
import BeaconMonitoring
package import EventLoops
import Glibc
import SystemPackage

/// Where this gateway is, as gpsd says: its JSON socket, on the thread of a loop.
///
/// It connects again whenever the connection ends, after 1 s and then ever longer, up to a minute.
package final class GPSDSource: LocationSource {
    /// `gpsd`.
    package let name = "gpsd"
    /// What the conversation has counted.
    package var counters: GPSDSession.Counters { session.counters }

    /// Looks a host up and begins to connect to it.
    typealias Connect = (_ host: String, _ port: UInt16) -> Result<FileDescriptor, TCPSocket.Problem>

    private let loop: EventLoop
    private let beginConnecting: Connect
    private let host: String
    private let port: UInt16
    private var session: GPSDSession
    private var handler: (any LocationHandler)?
    private var socket: FileDescriptor?
    private var watch: EventLoop.Watch?
    private var timer: EventLoop.Timer?
    private var isConnected = false
    // Whether the watch is for reading, which it is outside of a pause.
    private var isWaiting = false
    private var flags: Diagnostics = []
    // Bytes that were read and not used yet.
    private var unused: ArraySlice<UInt8> = []

    private static let readMax = 8192

    /// Makes one for gpsd at a host and port, which has not begun.
    package convenience init(host: String = "localhost", port: UInt16 = 2947, on loop: EventLoop) {
        self.init(host: host, port: port, on: loop, connect: TCPSocket.connect)
    }

    init(host: String, port: UInt16, on loop: EventLoop, connect: @escaping Connect) {
        self.loop = loop
        beginConnecting = connect
        self.host = host
        self.port = port
        session = GPSDSession(at: loop.now)
    }

    deinit { close() }

    /// Begins to connect.
    package func start(_ handler: any LocationHandler) {
        self.handler = handler
        session = GPSDSession(at: loop.now)
        raise(.authorizationRequestInProgress)
        timer = loop.makeTimer { [unowned self] now in
            // In a pause, nothing was read before this timer.
            drain()
            perform(session.advance(to: now))
        }
        perform(session.advance(to: loop.now))
    }

    /// Reads from gpsd, at most 64 records in 100 ms.
    package func drain() { if isConnected { read() } }

    /// Ends the connection, and stays away.
    package func stop() {
        handler = nil
        close()
        if let timer { loop.end(timer) }
        timer = nil
    }

    private func perform(_ actions: [GPSDSession.Action]) {
        for action in actions {
            switch action {
            case .connect: connect()
            case .close: close()
            case .send(let octets): send(octets)
            case .fix(let fix): handler?.located(fix)
            case .change(let change): handler?.changed(change, at: loop.now)
            }
        }
        if let timer, handler != nil { loop.set(timer, at: session.nextDeadline) }
    }

    /// Says who refuses, where that has changed.
    private func raise(_ flags: Diagnostics) {
        guard flags != self.flags else { return }
        self.flags = flags
        handler?.changed(.flags(flags), at: loop.now)
    }

    /// What a system call's error says of this user's rights (connect(2)): a firewall or a security module answers so.
    static func flags(for error: Errno?) -> Diagnostics {
        error == .permissionDenied || error == .notPermitted ? .authorizationDenied : []
    }

    private func fail(_ problem: String) {
        perform(session.disconnected(problem, at: loop.now))
    }

    private func close() {
        if let watch { loop.end(watch) }
        watch = nil
        // Nothing that was to be written is lost with it.
        _ = try? socket?.close()
        socket = nil
        isConnected = false
        unused = []
    }

    private func connect() {
        switch beginConnecting(host, port) {
        case .failure(let problem):
            raise(Self.flags(for: problem.error))
            fail(problem.text)
        case .success(let descriptor):
            socket = descriptor
            do throws(Errno) {
                watch = try loop.watch(descriptor, for: .write) { [unowned self] readiness in ready(readiness) }
            } catch {
                fail("\(error)")
            }
        }
    }

    private func ready(_ readiness: EventLoop.Readiness) {
        guard let socket, let watch else { return }
        guard !isConnected else {
            // It would be reported in each turn of the pause.
            let isOver = session.isPaused && !readiness.isDisjoint(with: [.hangUp, .error])
            return isOver ? fail("it closed the connection") : read()
        }
        if let problem = TCPSocket.problem(of: socket) {
            raise(Self.flags(for: problem))
            return fail("\(problem)")
        }
        isConnected = true
        raise([])
        do throws(Errno) {
            try loop.change(watch, to: .read)
        } catch {
            return fail("\(error)")
        }
        isWaiting = true
        perform(session.connected(at: loop.now))
    }

    /// Reads and uses bytes until none is left, or up to a pause, in which the loop does not wait for the socket.
    private func read() {
        // One moment for all, so that the pause comes however long the use of a record takes.
        let now = loop.now
        while let socket {
            use(at: now)
            guard !session.isPaused, self.socket == socket else { break }
            var buffer = [UInt8](repeating: 0, count: Self.readMax)
            do {
                let count = try unsafe buffer.withUnsafeMutableBytes { try unsafe socket.read(into: $0) }
                guard count > 0 else { return fail("it closed the connection") }
                unused = buffer.prefix(count)
            } catch {
                if let error = error as? Errno, error == .wouldBlock || error == .interrupted { break }
                return fail("\(error)")
            }
        }
        guard let watch, session.isPaused == isWaiting else { return }
        isWaiting = !session.isPaused
        do throws(Errno) {
            try loop.change(watch, to: isWaiting ? .read : [])
        } catch {
            fail("\(error)")
        }
    }

    private func use(at now: Instant) {
        // Taken out meanwhile: an action can close the connection.
        var bytes = unused
        unused = []
        let actions = session.received(&bytes, at: now)
        unused = bytes
        perform(actions)
    }

    private func send(_ octets: [UInt8]) {
        guard let socket else { return }
        // A few octets on a connection that is new or idle: there is room for them, or it is dead.
        let sent = unsafe octets.withUnsafeBytes { bytes in
            unsafe sendQuietly(socket.rawValue, bytes.baseAddress, bytes.count)
        }
        if sent != octets.count { fail("it accepts no requests") }
    }
}

/// send(2) without the signal of a connection that is gone.
@unsafe private func sendQuietly(_ descriptor: Int32, _ start: UnsafeRawPointer?, _ count: Int) -> Int {
    unsafe send(descriptor, start, count, Int32(MSG_NOSIGNAL))
}
