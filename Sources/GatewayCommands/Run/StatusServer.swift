import BaseTypes
import CommandSupport
import EventLoops
import Glibc
import SystemPackage

/// Answers whoever connects to the status socket: with one JSON object, a page, an empty line, and the end.
///
/// Nothing is read: what is asked is always the same. Who may connect may also be hostile, or broken, and hearing must not
/// suffer from either, so everything here is bounded: how many are taken on in a turn and in a second, how often the answer
/// is made, how much of it is handed over in a turn, how many are served at a time, and for how long one may take nothing.
/// Who waits to be taken on waits in the kernel, and costs nothing there.
final class StatusServer {
    /// What is spent at most, and on whom.
    struct Limits {
        /// How many connections are taken on in one turn of the loop.
        var acceptedPerTurn = 4
        /// For how long nobody is taken on where as many came.
        var pause: Duration = .milliseconds(10)
        /// How many are served at a time.
        var clients = 64
        /// How many octets one of them gets in a turn; who takes less is no faster than ``patienceWhereOthersWait``.
        var portion = 64 << 10
        /// For how long one may take less than a portion.
        var patience: Duration = .seconds(5)
        /// The same where all places are taken and somebody waits for one.
        var patienceWhereOthersWait: Duration = .milliseconds(250)
        /// How often an answer is made; who comes sooner waits, and gets it together with all others who do.
        var interval: Duration = .seconds(1)
        /// How many may be made without that where none was for as many intervals: `doctor` and `status` ask in a row.
        var answers = 4
    }

    /// What it has done.
    struct Counters {
        /// Connections that were taken on.
        var accepted = 0
        /// How often the answer was made.
        var rendered = 0
        /// Who did not get it whole: he went, took it too slowly, or there was no descriptor for him.
        var unanswered = 0
        /// Those of them who had to go because they took it too slowly.
        var dropped = 0
        /// How many octets were handed over.
        var octets = 0
    }

    private let loop: EventLoop
    private let answer: () -> String
    private let limits: Limits
    private let listener: UnixSocket.Listener
    private var watch: EventLoop.Watch?
    private var timer: EventLoop.Timer?
    private var isAccepting = true
    /// When others are taken on again.
    private var resumesAt: Instant?
    /// Whether that is because all places are taken.
    private var isFull = false
    private var clients: [Client] = []
    /// How many answers may be made, as of when.
    private var renderings: (left: Int, time: Instant)
    private(set) var counters = Counters()

    private struct Client {
        let descriptor: FileDescriptor
        let watch: EventLoop.Watch
        /// What he gets; empty until it is made.
        var octets: [UInt8] = []
        var sent = 0
        /// How much he had when his patience was last measured, and when that was; absent until there is an answer.
        var mark: (sent: Int, time: Instant)?
    }

    /// How many are served at present, or wait for the answer.
    var clientCount: Int { clients.count }

    /// Listens at `path`, in place of a socket that nobody listens at any more; its folder is made where it is missing, as
    /// it is without a service manager that has made it.
    ///
    /// - Throws: ``ExitFailure`` where that can't be, with what to do.
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

    // MARK: Who comes

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
                // Who can't be taken on (no descriptor is left) would call again at once.
                return listen(at: now + limits.pause)
            }
        }
        // More may come than is good.
        listen(at: now + limits.pause)
    }

    private func begin(_ descriptor: FileDescriptor) {
        do throws(Errno) {
            let raw = descriptor.rawValue
            let watch = try loop.watch(descriptor, for: []) { [unowned self] in goOn(raw, $0) }
            clients.append(Client(descriptor: descriptor, watch: watch))
        } catch {
            counters.unanswered &+= 1
            try? descriptor.close()
        }
    }

    /// All places are taken, by some who may still be about to read.
    private func waitForPlace(at now: Instant) {
        isFull = true
        let next = clients.compactMap { $0.mark?.time }.min().map { $0 + limits.patienceWhereOthersWait }
        listen(at: max(next ?? now, now + limits.pause))
    }

    /// Takes nobody on until then; at once where absent.
    private func listen(at time: Instant?) {
        resumesAt = time
        if time == nil { isFull = false }
        guard isAccepting == (time != nil), let watch else { return }
        isAccepting = time == nil
        // It can't fail for a descriptor that is watched (epoll_ctl(2)).
        try? loop.change(watch, to: isAccepting ? .read : [])
    }

    /// Has him go who has taken next to nothing for the longest, where that is long enough.
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

    /// What is due: an answer, who takes nothing goes, and others are taken on again.
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

    // MARK: What they get

    /// Makes the answer for all who wait for it, where it may be made.
    private func serve(at now: Instant) {
        guard clients.contains(where: { $0.mark == nil }) else { return }
        while renderings.left < limits.answers, now - renderings.time >= limits.interval {
            renderings = (renderings.left + 1, renderings.time + limits.interval)
        }
        if renderings.left == limits.answers { renderings.time = now }
        guard renderings.left > 0 else { return }
        renderings.left -= 1
        counters.rendered &+= 1
        let octets = Array(answer().utf8) + [0x0A]
        for index in clients.indices where clients[index].mark == nil {
            clients[index].octets = octets
            clients[index].mark = (0, now)
            // It can't fail for a descriptor that is watched (epoll_ctl(2)).
            try? loop.change(clients[index].watch, to: .write)
        }
    }

    private func goOn(_ raw: Int32, _ readiness: EventLoop.Readiness) {
        guard let index = clients.firstIndex(where: { $0.descriptor.rawValue == raw }) else { return }
        let isThere = readiness.isDisjoint(with: [.hangUp, .error]) && send(to: &clients[index])
        let client = clients[index]
        if isThere, client.sent < client.octets.count || client.mark == nil {
            guard let mark = client.mark, client.sent - mark.sent >= limits.portion else { return }
            clients[index].mark = (client.sent, loop.now)
            return
        }
        if !isThere { counters.unanswered &+= 1 }
        end(clients.remove(at: index))
        // There is a place again.
        if isFull { listen(at: min(resumesAt ?? .latest, loop.now + limits.pause)) }
        setTimer()
    }

    /// Sends a portion at most; `false` where the other end is gone.
    private func send(to client: inout Client) -> Bool {
        let (sent, size) = (client.sent, min(client.octets.count - client.sent, limits.portion))
        guard size > 0 else { return true }
        let count = unsafe client.octets.withUnsafeBytes { bytes in
            unsafe Glibc.send(
                client.descriptor.rawValue, bytes.baseAddress.map { unsafe $0 + sent }, size, Int32(MSG_NOSIGNAL))
        }
        guard count > 0 else { return errno == EAGAIN || errno == EINTR }
        client.sent += count
        counters.octets &+= count
        return true
    }
}

extension ExitFailure {
    /// Why there is no status socket at `path`.
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
