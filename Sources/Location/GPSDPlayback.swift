import BaseTypes
import BeaconMonitoring
import EventLoops
import Glibc
import Synchronization
import SystemPackage

/// A session with gpsd on a thread of its own, so that no shared thread waits for a socket.
///
/// The lookup of a host name can take long (resolv.conf(5)). Nothing can be received during it, so no caller waits for
/// it. If the session ends meanwhile, the thread ends by itself later.
final class GPSDPlayback: LocationPlayback {
    typealias Connect =
        @Sendable (_ host: String, _ port: UInt16) -> Result<FileDescriptor, TCPSocket.Problem>

    private struct State {
        var isStopped = false
        var drains: [CheckedContinuation<Void, Never>] = []
        /// Whether the thread runs its loop, so that it answers requests for a drain.
        var isLoopRunning = false
        /// Whether the thread looks up a name and cannot receive requests.
        var isLookingUp = false
        var hasEnded = false
        /// Whether no caller joins the thread, so that it must detach itself.
        var mustDetach = false
        /// The task that waits for the end of the thread. It receives whether the thread can be joined.
        var endWaiter: CheckedContinuation<Bool, Never>?
    }

    private let host: String
    private let port: UInt16
    private let connect: Connect
    private let mailbox = LocationMailbox()
    private let state = Mutex(State())
    private let wake = Mutex<WakeUp?>(nil)

    init(host: String, port: UInt16, connect: @escaping Connect = TCPSocket.connect) {
        self.host = host
        self.port = port
        self.connect = connect
    }

    func run(on clock: any MonitorClock, to monitor: BeaconMonitor?, _ feed: LocationFeed) async throws {
        let thread: OwnThread
        do throws(Errno) {
            let wake = try WakeUp()
            self.wake.withLock { $0 = wake }
            thread = try OwnThread(named: "beacon-location") { [self] in runThread(wake) }
        } catch {
            throw LocationError(description: "gpsd can't be read in the background: \(error)")
        }
        await withTaskCancellationHandler {
            await mailbox.deliver(on: clock, to: monitor, feed)
        } onCancel: {
            state.withLock { $0.isStopped = true }
            wake.withLock { $0 }?.signal()
        }
        // The thread has ended or is about to end, so joining it does not block.
        if await canJoin() { thread.join() }
        feed.set([])
        try Task.checkCancellation()
        throw LocationError(description: "reading gpsd has stopped: the process has no file descriptors left")
    }

    /// Requests the end of the thread.
    ///
    /// - Returns: whether the thread can be joined. If not, it detaches itself.
    private func canJoin() async -> Bool {
        await withCheckedContinuation { continuation in
            let answer = state.withLock { state -> Bool? in
                state.isStopped = true
                if state.hasEnded { return true }
                if state.isLookingUp {
                    state.mustDetach = true
                    return false
                }
                state.endWaiter = continuation
                return nil
            }
            wake.withLock { $0 }?.signal()
            if let answer { continuation.resume(returning: answer) }
        }
    }

    func drain(on clock: any MonitorClock, to monitor: isolated BeaconMonitor, _ feed: LocationFeed) async {
        await withCheckedContinuation { continuation in
            let isAsked = state.withLock { state in
                guard state.isLoopRunning, !state.isStopped else { return false }
                state.drains.append(continuation)
                return true
            }
            if isAsked { wake.withLock { $0 }?.signal() } else { continuation.resume() }
        }
        mailbox.hand(on: clock, to: monitor, feed)
    }

    /// The body of the thread.
    private func runThread(_ wake: WakeUp) {
        defer { didEnd() }
        do throws(Errno) {
            let loop = try EventLoop()
            let source = GPSDSource(host: host, port: port, on: loop) { [unowned self] in lookUp($0, $1) }
            let watch = try loop.watch(wake.descriptor, for: .read) { [unowned self] _ in
                wake.clear()
                let (isStopped, drains) = state.withLock { state in
                    let drains = state.drains
                    state.drains = []
                    return (state.isStopped, drains)
                }
                source.drain()
                for continuation in drains { continuation.resume() }
                if isStopped { loop.stop() }
            }
            defer { loop.end(watch) }
            let handler = MailboxHandler(mailbox)
            source.start(handler)
            defer { source.stop() }
            state.withLock { $0.isLoopRunning = true }
            try loop.run()
        } catch {
            mailbox.put(.lost(since: BootClock.now, reason: "\(error)"))
        }
    }

    private func didEnd() {
        let (waiting, endWaiter, mustDetach) = state.withLock { state in
            state.isLoopRunning = false
            state.hasEnded = true
            let waiting = state.drains
            state.drains = []
            return (waiting, state.endWaiter.take(), state.mustDetach)
        }
        for continuation in waiting { continuation.resume() }
        mailbox.end()
        // It cannot fail: this is the current thread, and no caller joins it.
        if mustDetach { pthread_detach(pthread_self()) }
        endWaiter?.resume(returning: true)
    }

    /// Connects to gpsd. Tasks that wait for a drain are resumed before, because nothing is received during the lookup.
    private func lookUp(_ host: String, _ port: UInt16) -> Result<FileDescriptor, TCPSocket.Problem> {
        let (isStopped, wasTurning, waiting) = state.withLock { state in
            guard !state.isStopped else { return (true, false, [CheckedContinuation<Void, Never>]()) }
            let (wasTurning, waiting) = (state.isLoopRunning, state.drains)
            state.isLoopRunning = false
            state.isLookingUp = true
            state.drains = []
            return (false, wasTurning, waiting)
        }
        guard !isStopped else { return .failure(TCPSocket.Problem(text: "it is not needed any more")) }
        for continuation in waiting { continuation.resume() }
        defer {
            state.withLock { state in
                state.isLoopRunning = wasTurning
                state.isLookingUp = false
            }
        }
        return connect(host, port)
    }

    /// Puts the output of a source into the mailbox.
    private final class MailboxHandler: LocationHandler {
        private let mailbox: LocationMailbox

        init(_ mailbox: LocationMailbox) { self.mailbox = mailbox }

        func located(_ fix: LocationFix) { mailbox.put(.fix(fix)) }

        func changed(_ change: LocationSourceChange, at time: Instant) {
            switch change {
            case .unavailable(let since, let reason): mailbox.put(.lost(since: since, reason: reason))
            case .flags(let flags): mailbox.put(.flags(flags))
            case .remark: break
            }
        }
    }
}
