import BaseTypes
import EventLoops
import SystemPackage

/// Who has a ``ManagementChannel``: what it wants to know of it. All calls come on the loop's thread.
protocol ManagementChannelOwner: AnyObject {
    /// There is something to receive: ``EventLoop/recordsPerTurn`` records are to be received for each socket.
    func receive()

    /// Everything that was received up to the call is to be handed over.
    func drain()

    /// Time has come to `now`; the session knows already.
    func advance(to now: Instant)

    /// The session wants something that it can't do by the channel alone, because of what happened at `time`.
    func perform(_ action: ManagementAction, at time: Instant)

    /// What the session wanted because of what happened at `time` has been done; when it next has something to do is asked
    /// after this.
    func performed(at time: Instant)

    /// When ``advance(to:)`` has something to do beside the session's; `nil`: never.
    var nextDeadline: Instant? { get }
}

/// The kernel's management channel on a loop, with the session that is held over it and the machine's rfkill switches: what
/// every scanner of the kernel's own sockets has.
final class ManagementChannel {
    private(set) var socket: BluetoothSocket?
    var session: ManagementSession
    weak var owner: (any ManagementChannelOwner)?
    /// Commands that were sent, or were to be.
    private(set) var commands = 0
    /// Whether the session's wishes are being done: what follows is done when they are.
    private(set) var isPerforming = false

    private let loop: EventLoop
    private var rfkill: RFKillWatcher?
    private var watch: EventLoop.Watch?
    private var timer: EventLoop.Timer?

    /// A channel that is not open, with a session that has nothing to say.
    init(_ session: ManagementSession, on loop: EventLoop) {
        self.session = session
        self.loop = loop
    }

    deinit { close() }

    /// Waits for a socket and for rfkill, and begins a session.
    ///
    /// - Throws: ``ScannerError`` where one of them can't be waited for; then neither is.
    func open(
        _ socket: BluetoothSocket, _ session: ManagementSession, rfkill path: FilePath
    ) throws(ScannerError) {
        // Where there is no rfkill, or this user may not read it, power alone tells.
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

    /// Ends waiting. The socket closes with its last user.
    func close() {
        if let watch { loop.end(watch) }
        if let timer { loop.end(timer) }
        rfkill?.stop()
        (socket, watch, timer, rfkill) = (nil, nil, nil, nil)
    }

    /// Reads what rfkill has said up to now.
    func readSwitches() { rfkill?.read() }

    private func received(_ state: RFKillState) {
        let now = loop.now
        session.received(state, at: now)
        perform(at: now)
    }

    private func advance(to now: Instant) {
        // A reply can be after more records than a turn takes; it is not late then.
        owner?.drain()
        guard socket != nil else { return }
        session.advance(to: now)
        owner?.advance(to: now)
        // What was handed over meanwhile can be later than `now`.
        perform(at: loop.now)
    }

    /// Does what the session wants because of what happened at `time`, and what follows from that: a command that can't be
    /// sent is one that failed.
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

    /// Wakes when the session, or the owner, next has something to do.
    func setTimer() {
        guard let timer else { return }
        let next = min(session.nextDeadline ?? .latest, owner?.nextDeadline ?? .latest)
        loop.set(timer, at: next == .latest ? nil : next)
    }
}
