import BeaconMonitoring
import BluetoothLE
import Polling
import Synchronization
import SystemPackage

/// One conversation with gpsd, on a thread of its own: none of those that all tasks share waits for a socket.
final class GPSDPlayback: LocationPlayback {
    private struct State {
        var isStopped = false
        var drains: [CheckedContinuation<Void, Never>] = []
        /// The thread turns its loop: who asks for a drain is answered.
        var isTurning = false
    }

    private let host: String
    private let port: UInt16
    private let mailbox = LocationMailbox()
    private let state = Mutex(State())
    private let wake = Mutex<WakeUp?>(nil)

    init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    func run(on clock: any MonitorClock, to monitor: BeaconMonitor?, _ feed: LocationFeed) async throws {
        let thread: OwnThread
        do throws(Errno) {
            let wake = try WakeUp()
            self.wake.withLock { $0 = wake }
            thread = try OwnThread(named: "beacon-location") { [self] in talk(wake) }
        } catch {
            throw LocationError(description: "gpsd can't be listened to beside what the process does: \(error)")
        }
        await withTaskCancellationHandler {
            await mailbox.deliver(on: clock, to: monitor, feed)
        } onCancel: {
            state.withLock { $0.isStopped = true }
            wake.withLock { $0 }?.signal()
        }
        // It has been asked to end, or has ended.
        state.withLock { $0.isStopped = true }
        wake.withLock { $0 }?.signal()
        thread.join()
        feed.set([])
        try Task.checkCancellation()
        throw LocationError(description: "what listens to gpsd has ended: the process has no descriptors left")
    }

    func drain(on clock: any MonitorClock, to monitor: isolated BeaconMonitor, _ feed: LocationFeed) async {
        await withCheckedContinuation { continuation in
            let isAsked = state.withLock { state in
                guard state.isTurning, !state.isStopped else { return false }
                state.drains.append(continuation)
                return true
            }
            if isAsked { wake.withLock { $0 }?.signal() } else { continuation.resume() }
        }
        mailbox.hand(at: clock.now, to: monitor, feed)
    }

    /// What the thread does.
    private func talk(_ wake: WakeUp) {
        defer {
            let waiting = state.withLock { state in
                state.isTurning = false
                let waiting = state.drains
                state.drains = []
                return waiting
            }
            for continuation in waiting { continuation.resume() }
            mailbox.end()
        }
        do throws(Errno) {
            let loop = try EventLoop()
            let source = GPSDSource(host: host, port: port, on: loop)
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
            let letters = Letters(mailbox)
            source.start(letters)
            defer { source.stop() }
            state.withLock { $0.isTurning = true }
            try loop.run()
        } catch {
            mailbox.put(.lost(since: BootClock.now, reason: "\(error)"))
        }
    }

    /// Puts what a source tells into the mailbox.
    private final class Letters: LocationHandler {
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
