import BaseTypes
import CommandSupport
import EventLoops
import Glibc
import SystemPackage

/// Answers each client of the status socket with one JSON object, a page and an empty line, and closes the connection.
///
/// It reads nothing, because the request is always the same. A client can be hostile or broken, and must not affect
/// scanning. Therefore everything is bounded:
///
/// - how many connections are accepted in a turn and in a second;
/// - how often the answer is made, and how much of it is sent in a turn;
/// - how many clients are served at a time, and for how long one can read less than a portion.
///
/// Clients that are not accepted yet wait in the kernel, which costs nothing here.
final class StatusServer {
    /// The limits of the server.
    struct Limits {
        /// The maximum number of connections that are accepted in one turn of the loop.
        var acceptedPerTurn = 4
        /// For how long no connection is accepted after a turn with ``acceptedPerTurn`` connections, or after an error
        /// of accept(2). It is also the minimum pause while all places are taken.
        var pause: Duration = .milliseconds(10)
        /// The maximum number of clients that are served at a time.
        var clients = 64
        /// The maximum number of bytes that a client gets in a turn. A client is slow if it does not read this many
        /// bytes within ``patience``, or within ``patienceWhereOthersWait``.
        var portion = 64 << 10
        /// For how long a client can read less than a portion before it is disconnected.
        var patience: Duration = .seconds(5)
        /// The same if all places are taken and another client waits for one.
        var patienceWhereOthersWait: Duration = .milliseconds(250)
        /// The interval between two answers. Clients that connect earlier wait, and all get the same answer.
        var interval: Duration = .seconds(1)
        /// The number of answers that can be made without this interval, after as many intervals without an answer:
        /// `doctor` and `status` ask several times in succession.
        var answers = 4
    }

    /// The counters of the server.
    struct Counters {
        /// The number of accepted connections.
        var accepted = 0
        /// How often the answer was made.
        var rendered = 0
        /// The number of clients that did not get the complete answer: they disconnected, were too slow, or could not
        /// be watched.
        var unanswered = 0
        /// The number of these clients that were disconnected because they were too slow.
        var dropped = 0
        /// The number of bytes that were sent.
        var bytes = 0
    }

    private let loop: EventLoop
    private let answer: () -> String
    private let limits: Limits
    private let listener: UnixSocket.Listener
    private var watch: EventLoop.Watch?
    private var timer: EventLoop.Timer?
    private var isAccepting = true
    /// When connections are accepted again; `nil` while they are accepted.
    private var resumesAt: Instant?
    /// Whether accepting is paused because all places are taken.
    private var isFull = false
    private var clients: [Client] = []
    /// How many answers can be made, and the time for which this was computed.
    private var renderings: (left: Int, time: Instant)
    private(set) var counters = Counters()

    private struct Client {
        let descriptor: FileDescriptor
        let watch: EventLoop.Watch
        /// The answer; empty until it is made.
        var bytes: [UInt8] = []
        var sent = 0
        /// How much was sent when the client last had read a complete portion, and when that was; `nil` until there is
        /// an answer.
        var mark: (sent: Int, time: Instant)?
    }

    /// The number of clients that are served now or wait for the answer.
    var clientCount: Int { clients.count }

    /// Listens at `path`. A socket there on which no process listens any more is replaced. The folder is created if it
    /// does not exist, because without a service manager nothing else creates it. Folders above it are not created.
    ///
    /// - Throws: ``ExitFailure`` with a remedy if this fails.
    init(
        at path: String, on loop: EventLoop, limits: Limits = Limits(), answer: @escaping () -> String
    ) throws(ExitFailure) {
        self.loop = loop
        self.limits = limits
        self.answer = answer
        renderings = (limits.answers, loop.now)
        do throws(UnixSocket.Failure) {
            listener = try UnixSocket.Listener(at: path)
        } catch {
            throw ExitFailure(error, path)
        }
        do throws(Errno) {
            watch = try loop.watch(listener.descriptor, for: .read) { [unowned self] _ in accept() }
        } catch {
            throw ExitFailure(.failed, "the process can't wait for the status socket: \(error)")
        }
        timer = loop.makeTimer { [unowned self] now in look(at: now) }
    }

    deinit {
        if let timer { loop.end(timer) }
        if let watch { loop.end(watch) }
        for client in clients { end(client) }
    }

    // MARK: Connections

    private func accept() {
        let now = loop.now
        defer {
            serve(at: now)
            setTimer()
        }
        for _ in 0..<limits.acceptedPerTurn {
            guard clients.count < limits.clients || dropSlowest(at: now) else { return waitForPlace(at: now) }
            do throws(Errno) {
                guard let descriptor = try listener.accept() else { return }
                counters.accepted &+= 1
                begin(descriptor)
            } catch {
                // If no connection can be accepted (no descriptor is left), the socket would wake the loop again at
                // once.
                return listen(at: now + limits.pause)
            }
        }
        // More clients can be waiting than one turn should accept.
        listen(at: now + limits.pause)
    }

    private func begin(_ descriptor: FileDescriptor) {
        do throws(Errno) {
            let raw = descriptor.rawValue
            let watch = try loop.watch(descriptor, for: []) { [unowned self] in continueSending(raw, $0) }
            clients.append(Client(descriptor: descriptor, watch: watch))
        } catch {
            counters.unanswered &+= 1
            try? descriptor.close()
        }
    }

    /// Waits for a place while all are taken. The present clients can still be about to read.
    private func waitForPlace(at now: Instant) {
        isFull = true
        let next = clients.compactMap { $0.mark?.time }.min().map { $0 + limits.patienceWhereOthersWait }
        listen(at: max(next ?? now, now + limits.pause))
    }

    /// Stops accepting connections until `time`; `nil` means that they are accepted again at once.
    private func listen(at time: Instant?) {
        resumesAt = time
        if time == nil { isFull = false }
        guard isAccepting == (time != nil), let watch else { return }
        isAccepting = time == nil
        // This cannot fail for a descriptor that is watched (epoll_ctl(2)).
        try? loop.change(watch, to: isAccepting ? .read : [])
    }

    /// Disconnects the client that has read less than a portion for the longest time, if that is long enough.
    private func dropSlowest(at now: Instant) -> Bool {
        var slowest: (index: Int, time: Instant)?
        for (index, client) in clients.enumerated() {
            guard let time = client.mark?.time, slowest.map({ time < $0.time }) ?? true else { continue }
            slowest = (index, time)
        }
        guard let slowest, now - slowest.time >= limits.patienceWhereOthersWait else { return false }
        drop(slowest.index)
        return true
    }

    private func drop(_ index: Int) {
        counters.unanswered &+= 1
        counters.dropped &+= 1
        end(clients.remove(at: index))
    }

    private func end(_ client: Client) {
        loop.end(client.watch)
        try? client.descriptor.close()
    }

    /// Does everything that is due: disconnects slow clients, accepts connections again, and makes an answer.
    private func look(at now: Instant) {
        while let index = clients.firstIndex(where: { $0.mark.map { now - $0.time >= limits.patience } ?? false }) {
            drop(index)
        }
        if let resumesAt, resumesAt <= now { listen(at: nil) }
        serve(at: now)
        setTimer()
    }

    private func setTimer() {
        guard let timer else { return }
        var next = resumesAt
        for client in clients {
            let due = client.mark.map { $0.time + limits.patience } ?? renderings.time + limits.interval
            next = min(next ?? due, due)
        }
        loop.set(timer, at: next)
    }

    // MARK: Answers

    /// Makes the answer for all clients that wait for it, unless that would be too often.
    private func serve(at now: Instant) {
        guard clients.contains(where: { $0.mark == nil }) else { return }
        while renderings.left < limits.answers, now - renderings.time >= limits.interval {
            renderings = (renderings.left + 1, renderings.time + limits.interval)
        }
        if renderings.left == limits.answers { renderings.time = now }
        guard renderings.left > 0 else { return }
        renderings.left -= 1
        counters.rendered &+= 1
        let bytes = Array(answer().utf8) + [0x0A]
        for index in clients.indices where clients[index].mark == nil {
            clients[index].bytes = bytes
            clients[index].mark = (0, now)
            // This cannot fail for a descriptor that is watched (epoll_ctl(2)).
            try? loop.change(clients[index].watch, to: .write)
        }
    }

    private func continueSending(_ raw: Int32, _ readiness: EventLoop.Readiness) {
        guard let index = clients.firstIndex(where: { $0.descriptor.rawValue == raw }) else { return }
        let isThere = readiness.isDisjoint(with: [.hangUp, .error]) && send(to: &clients[index])
        let client = clients[index]
        if isThere, client.sent < client.bytes.count || client.mark == nil {
            guard let mark = client.mark, client.sent - mark.sent >= limits.portion else { return }
            clients[index].mark = (client.sent, loop.now)
            return
        }
        if !isThere { counters.unanswered &+= 1 }
        end(clients.remove(at: index))
        // A place is free again.
        if isFull { listen(at: min(resumesAt ?? .latest, loop.now + limits.pause)) }
        setTimer()
    }

    /// Sends at most one portion; returns `false` if the client has disconnected.
    private func send(to client: inout Client) -> Bool {
        let (sent, size) = (client.sent, min(client.bytes.count - client.sent, limits.portion))
        guard size > 0 else { return true }
        let count = unsafe client.bytes.withUnsafeBytes { bytes in
            unsafe Glibc.send(
                client.descriptor.rawValue, bytes.baseAddress.map { unsafe $0 + sent }, size, Int32(MSG_NOSIGNAL))
        }
        guard count > 0 else { return errno == EAGAIN || errno == EINTR }
        client.sent += count
        counters.bytes &+= count
        return true
    }
}

extension ExitFailure {
    /// Creates the failure for a status socket at `path` that cannot be created.
    init(_ failure: UnixSocket.Failure, _ path: String) {
        switch failure {
        case .answered:
            self.init(
                .cannotCreate, "another gateway answers at \(path); set another output.status_socket")
        case .occupied(let what):
            self.init(
                .cannotCreate,
                "\(path) is \(what), and is not replaced; set output.status_socket to a path that does not exist")
        case .system(let error):
            self.init(
                error == .permissionDenied ? .noPermission : .cannotCreate,
                "the status socket \(path) can't be created: \(error); check output.status_socket")
        }
    }
}
