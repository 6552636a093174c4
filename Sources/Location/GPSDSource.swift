import BaseTypes
import BeaconMonitoring
package import EventLoops
import Glibc
import SystemPackage

/// Fixes from the JSON socket of gpsd, on the thread of an event loop.
///
/// It reconnects whenever the connection ends, first after 1 s, then with increasing pauses of at most one minute.
package final class GPSDSource: LocationSource {
    /// The name in lines, `gpsd`.
    package let name = "gpsd"
    /// The counters of the session.
    package var counters: GPSDSession.Counters { session.counters }

    /// Looks a host up and starts to connect to it.
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
    // Whether the watch is for reading, as it is except in a pause.
    private var isWaiting = false
    private var flags: Diagnostics = []
    // The bytes that were read and not processed yet.
    private var unused: ArraySlice<UInt8> = []

    private static let readMax = 8192

    /// Creates a source for gpsd at a host and port, without starting it.
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

    /// Starts to connect.
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

    /// Closes the connection and does not connect again.
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
            case .send(let bytes): send(bytes)
            case .fix(let fix): handler?.located(fix)
            case .change(let change): handler?.changed(change, at: loop.now)
            }
        }
        if let timer, handler != nil { loop.set(timer, at: session.nextDeadline) }
    }

    /// Reports the diagnostics if they have changed.
    private func raise(_ flags: Diagnostics) {
        guard flags != self.flags else { return }
        self.flags = flags
        handler?.changed(.flags(flags), at: loop.now)
    }

    /// Returns the diagnostics for the error of a system call (connect(2)): a firewall or a security module can deny
    /// access.
    static func flags(for error: Errno?) -> Diagnostics {
        error == .permissionDenied || error == .notPermitted ? .authorizationDenied : []
    }

    private func fail(_ problem: String) {
        perform(session.disconnected(problem, at: loop.now))
    }

    private func close() {
        if let watch { loop.end(watch) }
        watch = nil
        // No data are lost, because none wait to be written.
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
            // The loop would report it in each turn of the pause.
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

    /// Reads and processes bytes until none is left, or up to a pause, in which the loop does not wait for the socket.
    private func read() {
        // The same time for all bytes, so that the pause does not depend on how long processing takes.
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
        // Moved out while it is used, because an action can close the connection.
        var bytes = unused
        unused = []
        let actions = session.received(&bytes, at: now)
        unused = bytes
        perform(actions)
    }

    private func send(_ bytes: [UInt8]) {
        guard let socket else { return }
        // There is room for these few bytes, because the connection is new or idle; otherwise it is dead.
        let sent = unsafe bytes.withUnsafeBytes { bytes in
            unsafe sendQuietly(socket.rawValue, bytes.baseAddress, bytes.count)
        }
        if sent != bytes.count { fail("it accepts no requests") }
    }
}

/// send(2) without a signal if the connection has ended.
@unsafe private func sendQuietly(_ descriptor: Int32, _ start: UnsafeRawPointer?, _ count: Int) -> Int {
    unsafe send(descriptor, start, count, Int32(MSG_NOSIGNAL))
}
