import BaseTypes
import EventLoops
import SystemPackage

/// The owner of a ``ManagementChannel``. All calls are made on the thread of the event loop.
protocol ManagementChannelOwner: AnyObject {
    /// Called when there is something to receive. The owner should receive ``EventLoop/recordsPerTurn`` records from
    /// each socket.
    func receive()

    /// Called when everything that was received up to the call must be delivered.
    func drain()

    /// Called when the time has advanced to `now`, after the session was advanced.
    func advance(to now: Instant)

    /// Performs an action that the channel cannot perform by itself, caused by an event at `time`.
    func perform(_ action: ManagementAction, at time: Instant)

    /// Called when all actions for the event at `time` were performed, before the next deadline is read.
    func performed(at time: Instant)

    /// The next time at which ``advance(to:)`` has work to do for the owner; `nil`: never.
    var nextDeadline: Instant? { get }
}

/// The kernel's management channel on an event loop, with its session and the machine's rfkill switches. All scanners
/// that use the kernel's sockets share this code.
final class ManagementChannel {
    private(set) var socket: BluetoothSocket?
    var session: ManagementSession
    weak var owner: (any ManagementChannelOwner)?
    /// The number of commands that were sent, including those that could not be sent.
    private(set) var commands = 0
    /// Whether the session's actions are being performed. Further actions are performed by the outer call.
    private(set) var isPerforming = false

    private let loop: EventLoop
    private var rfkill: RFKillWatcher?
    private var watch: EventLoop.Watch?
    private var timer: EventLoop.Timer?

    /// Creates a closed channel.
    init(_ session: ManagementSession, on loop: EventLoop) {
        self.session = session
        self.loop = loop
    }

    deinit { close() }

    /// Starts to wait for a socket and for rfkill, and starts a session.
    ///
    /// - Throws: ``ScannerError`` if one of them cannot be waited for; then neither is.
    func open(
        _ socket: BluetoothSocket, _ session: ManagementSession, rfkill path: FilePath
    ) throws(ScannerError) {
        // If there is no rfkill, or this user cannot read it, only the power state is known.
        let rfkill = try? RFKillWatcher(loop: loop, path: path)
        do throws(Errno) {
            try rfkill?.start()
            watch = try loop.watch(socket.descriptor, for: .read, mayRest: true) { [weak self] _ in
                self?.owner?.receive()
            }
        } catch {
            rfkill?.stop()
            throw ScannerError(.unavailable, "the process can't wait for Bluetooth: \(error)")
        }
        self.socket = socket
        self.rfkill = rfkill
        self.session = session
        timer = loop.makeTimer { [weak self] now in self?.advance(to: now) }
        rfkill?.changed = { [weak self] state in self?.received(state) }
        let now = loop.now
        if let rfkill { self.session.received(rfkill.state, at: now) }
        self.session.start(at: now)
        perform(at: now)
    }

    /// Stops waiting. The socket is closed when its last user releases it.
    func close() {
        if let watch { loop.end(watch) }
        if let timer { loop.end(timer) }
        rfkill?.stop()
        (socket, watch, timer, rfkill) = (nil, nil, nil, nil)
    }

    /// Reads all waiting rfkill events.
    func readSwitches() { rfkill?.read() }

    private func received(_ state: RFKillState) {
        let now = loop.now
        session.received(state, at: now)
        perform(at: now)
    }

    private func advance(to now: Instant) {
        // A reply can follow more records than one turn handles; it is not late then.
        owner?.drain()
        guard socket != nil else { return }
        session.advance(to: now)
        owner?.advance(to: now)
        // Events that were delivered meanwhile can be later than `now`.
        perform(at: loop.now)
    }

    /// Performs the session's actions for the event at `time`, and the actions that follow from them. A command that
    /// cannot be sent counts as failed.
    func perform(at time: Instant) {
        guard !isPerforming else { return }
        isPerforming = true
        defer { isPerforming = false }
        while session.hasActions, let socket {
            for action in session.takeActions() where self.socket === socket { perform(action, socket, at: time) }
        }
        guard socket != nil else { return }
        owner?.performed(at: time)
        setTimer()
    }

    private func perform(_ action: ManagementAction, _ socket: BluetoothSocket, at time: Instant) {
        guard case .send(let command, let index) = action else {
            owner?.perform(action, at: time)
            return
        }
        commands &+= 1
        do throws(Errno) {
            try socket.send(command.packet(for: index))
        } catch {
            let reply = ManagementEvent.reply(opcode: command.opcode, status: .failed, result: .none)
            session.received(ManagementMessage(index: index, event: reply), at: time)
        }
    }

    /// Sets the timer to the next deadline of the session or the owner.
    func setTimer() {
        guard let timer else { return }
        let next = min(session.nextDeadline ?? .latest, owner?.nextDeadline ?? .latest)
        loop.set(timer, at: next == .latest ? nil : next)
    }
}
