import BaseTypes
import BluetoothLE
package import EventLoops
import SystemPackage

/// Hears by the raw HCI channel (HCI_CHANNEL_RAW): every report that a controller gives, whoever scans.
///
/// Where nobody scans it drives the controllers itself, behind the kernel's back, and gives way to a discovery. It takes
/// CAP_NET_RAW as long as it runs, also to open adapters that come later; with CAP_NET_ADMIN when it is started it
/// switches adapters on and resets them. Adapters and their power it knows from the management socket, which tells that
/// to everybody.
///
/// An adapter listens while its controller scans for us, or for somebody else and all advertisers. A scan of somebody
/// else's that filters duplicates is told as ``ScanObstacle/thinned``.
///
/// Sources: Linux net/bluetooth/hci_sock.c; Bluetooth Core Vol 4 Part E §7.8.10, §7.8.11, §7.8.64, §7.8.65.
package final class HCIScanner: AdvertisingScanner, ManagementChannelOwner {
    /// `hci`.
    package var backend: ScannerBackend { .hci }

    /// What it opens.
    var kernel = KernelAccess()

    private let loop: EventLoop
    private let options: HCIOptions
    private let channel: ManagementChannel
    private var counted = HCIStatistics()
    private var mayPower = false
    private var control: ReceiveQueue?
    // Whether messages of the management socket were lost and the kernel has not been asked for its state since.
    private var hasLost = false
    // For items that a turn received and did not hand over: no descriptor is ready for them in the next turn.
    private var timer: EventLoop.Timer?
    private var lines: [HCILine] = []
    private var obstacles: Set<ScanObstacle>?
    private weak var handler: (any ScanHandler)?
    private var isDraining = false

    private var lastTurn = 0
    // As at the management socket.
    private static let drainMax = 65_536

    /// Makes one that has done nothing yet.
    package init(loop: EventLoop, options: HCIOptions = HCIOptions()) {
        self.loop = loop
        self.options = options
        channel = ManagementChannel(
            ManagementSession(options: ManagementOptions(), purpose: .powering), on: loop)
        channel.owner = self
    }

    deinit {
        for line in lines { if let watch = line.watch { loop.end(watch) } }
        if let timer { loop.end(timer) }
    }

    /// What was counted.
    package var statistics: HCIStatistics {
        var sum = counted
        for line in lines { sum.malformations.add(line.decoder.malformations) }
        return sum
    }

    // MARK: AdvertisingScanner

    /// Sees whether this user may use the raw channel, finds the adapters, and begins.
    ///
    /// - Throws: ``ScannerError``; a scanner that is started already goes on as it is.
    package func start(_ handler: any ScanHandler) throws(ScannerError) {
        guard channel.socket == nil else { return }
        let control: BluetoothSocket
        do {
            control = try kernel.openControl(1 << 18)
        } catch {
            throw .noSocket(error, for: "the management channel")
        }
        // Without it the socket opens, and no report ever comes.
        guard kernel.mayUseRawChannel() else { throw .rawDenied }
        mayPower = try control.managementCommands().contains(ManagementOpcode.setPowered)
        self.handler = handler
        var power = ManagementOptions()
        power.adapters = options.adapters
        power.powersAdapters = options.powersAdapters && mayPower
        try channel.open(control, ManagementSession(options: power, purpose: .powering), rfkill: kernel.rfkill)
        self.control = channel.socket.map { queue(of: $0) }
        timer = loop.makeTimer { [weak self] _ in self?.goOn() }
    }

    /// Hands over everything that the kernel has received for this scanner's sockets.
    package func drain() { receive(atMost: Self.drainMax) }

    func receive() {
        // Each socket that is ready calls this.
        guard lastTurn != loop.turns else { return }
        lastTurn = loop.turns
        receive(atMost: EventLoop.recordsPerTurn)
    }

    private func goOn() {
        // A timer that is set while timers fire is due in the next turn.
        if lastTurn == loop.turns { setTimer() } else { receive() }
    }

    private func setTimer() {
        let holds = control?.nextTime != nil || lines.contains { $0.queue.nextTime != nil }
        if holds, let timer { loop.set(timer, at: loop.now) }
    }

    /// Hands over `count` records for each socket, the earliest of all sockets first (rule T5).
    private func receive(atMost count: Int) {
        guard control != nil, !isDraining else { return }
        isDraining = true
        defer { isDraining = false }
        channel.readSwitches()
        control?.beginTurn()
        for line in lines { line.queue.beginTurn() }
        var left = count * (lines.count + 1)
        while left > 0, let source = next() {
            left -= 1
            switch source {
            case .control(let queue): queue.take(received)
            case .line(let line): line.queue.take { item, packet, time in received(item, packet, of: line, at: time) }
            }
        }
        if left == 0 { loop.refuseRest() } else { resynchronize() }
        setTimer()
        channel.setTimer()
    }

    /// Takes `restartScan`; `powerCycle` and `reset` where it was started with CAP_NET_ADMIN.
    package func take(_ step: WatchdogStep, on adapter: Int) -> WatchdogStep.Outcome {
        guard let line = lines.first(where: { $0.adapter == adapter }) else {
            return .skipped(reason: "there is no adapter hci\(adapter)")
        }
        let now = loop.now
        defer { channel.perform(at: now) }
        switch step {
        case .widen: return .skipped(reason: "the raw channel receives all kinds of reports already")
        case .restartScan:
            guard line.driver.isOn else { return .skipped(reason: "it is off") }
            guard !line.driver.isKeptFromScan else {
                return .skipped(reason: "another program scans, and its scan is not changed")
            }
            var actions: [ScanDriver.Action] = []
            line.driver.restart(at: now, into: &actions)
            perform(actions, on: line, at: now)
            return .taken
        case .powerCycle:
            guard mayPower else { return .skipped(reason: "switching it off and on needs CAP_NET_ADMIN at the start") }
            return channel.session.take(.powerCycle, on: adapter, at: now)
        case .reset: return reset(line)
        }
    }

    /// Ends this scanner's own scans and closes its sockets. The commands are with the kernel when this returns.
    package func stop() {
        guard channel.socket != nil else { return }
        for line in lines {
            if let command = line.driver.ending { try? line.queue.socket.send(command.packet) }
        }
        close()
    }

    // MARK: Receiving

    private enum Source {
        case control(ReceiveQueue)
        case line(HCILine)
    }

    /// The source of the earliest item of all sockets; `nil` if each of them was found empty in this turn.
    private func next() -> Source? {
        fill(before: .earliest)
        guard let time = earliest?.time else { return nil }
        // What came since a socket was found empty can be earlier.
        fill(before: time)
        return earliest?.source
    }

    private var earliest: (source: Source, time: Instant)? {
        var earliest: (source: Source, time: Instant)?
        if let control, let time = control.nextTime { earliest = (.control(control), time) }
        for line in lines {
            guard let time = line.queue.nextTime, earliest.map({ time < $0.time }) ?? true else { continue }
            earliest = (.line(line), time)
        }
        return earliest
    }

    /// Receives the next item of each socket that was not found empty in this turn, or not at `limit` or later.
    private func fill(before limit: Instant) {
        if let control {
            control.fill(before: limit)
            if control.takeLoss() > 0 { hasLost = true }
        }
        // A handler that learned of a loss can have stopped this scanner.
        for line in lines where channel.socket != nil {
            line.queue.fill(before: limit)
            takeLoss(of: line)
        }
    }

    private func received(_ item: ReceiveQueue.Item, _ message: Span<UInt8>, at time: Instant) {
        switch item {
        case .message:
            // Reports come here too if a program has a monitor; the raw channel has them as the controller gave them.
            guard !ManagementReport.isReport(message) else { return }
            do {
                channel.session.received(try ManagementMessage(message), at: time)
                channel.perform(at: time)
            } catch {
                counted.malformed &+= 1
            }
        case .tooLong: counted.malformed &+= 1
        case .failed(let error):
            end(
                ScannerError(.unavailable, "the kernel's Bluetooth management can't be read: \(error)"), at: time)
        }
    }

    private func received(_ item: ReceiveQueue.Item, _ packet: Span<UInt8>, of line: HCILine, at time: Instant) {
        switch item {
        case .message:
            // Taken out while it is used, so that nothing that is called meanwhile can change it.
            var decoder = ReportDecoder()
            swap(&decoder, &line.decoder)
            defer { swap(&decoder, &line.decoder) }
            received(packet, of: line, at: time, decoder: &decoder)
        case .tooLong: counted.malformed &+= 1
        // EPIPE: the adapter is gone; the management socket says so too.
        case .failed: end(line, at: time)
        }
    }

    private func received(_ packet: Span<UInt8>, of line: HCILine, at time: Instant, decoder: inout ReportDecoder) {
        counted.packets &+= 1
        var actions: [ScanDriver.Action] = []
        switch HCIPacket(packet) {
        case .command(let command): line.driver.saw(command, at: time)
        case .complete(let opcode, let status, let supportsExtendedScanning):
            line.driver.completed(
                opcode, status, supportsExtendedScanning: supportsExtendedScanning, at: time, into: &actions)
        case .reports:
            let isHeard = line.driver.heard(at: time, into: &actions)
            if !actions.isEmpty { perform(actions, on: line, at: time) }
            actions = []
            guard isHeard else { return }
            var relay = HCIRelay(
                hand: { [self] report, data, adapter, time in
                    counted.reports &+= 1
                    handler?.heard(report, data: data, on: adapter, at: time)
                }, time: time)
            decoder.decode(
                event: packet.extracting(1..<packet.count), adapter: line.adapter, time: time, to: &relay)
        case .other: break
        }
        perform(actions, on: line, at: time)
    }

    private func takeLoss(of line: HCILine) {
        let dropped = line.queue.takeLoss()
        guard dropped > 0 else { return }
        counted.dropped &+= dropped
        var actions: [ScanDriver.Action] = []
        line.driver.lost(dropped, at: loop.now, into: &actions)
        perform(actions, on: line, at: line.queue.lastTime)
    }

    /// Asks the kernel for its state if messages of the management socket were lost. Everything was handed over before.
    private func resynchronize() {
        guard hasLost, control != nil else { return }
        hasLost = false
        let now = loop.now
        channel.session.resynchronize(at: now)
        channel.perform(at: now)
    }

    // MARK: Acting

    var nextDeadline: Instant? {
        var next: Instant?
        for line in lines {
            if let deadline = line.driver.nextDeadline { next = min(next ?? deadline, deadline) }
        }
        return next
    }

    func advance(to now: Instant) {
        for line in lines {
            var actions: [ScanDriver.Action] = []
            line.driver.advance(to: now, into: &actions)
            perform(actions, on: line, at: now)
        }
    }

    func performed(at time: Instant) {
        for line in lines { followPower(of: line, at: time) }
        tellObstacles(at: time)
    }

    func perform(_ action: ManagementAction, at time: Instant) {
        switch action {
        case .tell(.appeared(let adapter, let controller, let address)):
            handler?.changed(.appeared(adapter: adapter, controller: controller, address: address), at: time)
            open(adapter)
        case .tell(.disappeared(let adapter)):
            if let line = lines.first(where: { $0.adapter == adapter }) { end(line, at: time) }
            handler?.changed(.disappeared(adapter: adapter), at: time)
        case .tell, .record, .send: break
        }
    }

    private func perform(_ actions: [ScanDriver.Action], on line: HCILine, at time: Instant) {
        for action in actions {
            switch action {
            case .send(let command):
                do {
                    try line.queue.socket.send(command.packet)
                    counted.commands &+= 1
                } catch {
                    // ENETDOWN while it goes off, EPERM without CAP_NET_RAW; it is tried again when no answer has come.
                    counted.commandsRefused &+= 1
                }
            case .tell(let change): handler?.changed(change, at: time)
            }
        }
        if !actions.isEmpty, !channel.isPerforming {
            tellObstacles(at: time)
            channel.setTimer()
        }
    }

    private func followPower(of line: HCILine, at time: Instant) {
        guard let adapter = channel.session.adapters.first(where: { $0.number == line.adapter }) else { return }
        var actions: [ScanDriver.Action] = []
        let reason = adapter.block == .none ? "it was switched off" : "rfkill blocks it"
        line.driver.update(isOn: adapter.isReady, at: time, reason, into: &actions)
        perform(actions, on: line, at: time)
    }

    private func open(_ adapter: Int) {
        do throws(Errno) {
            let socket = try kernel.openLine(adapter, options.receiveBufferBytes)
            let line = HCILine(adapter: adapter, queue: queue(of: socket), options: options)
            line.watch = try loop.watch(socket.descriptor, for: .read, mayRest: true) { [weak self] _ in
                self?.receive()
            }
            lines.append(line)
            lines.sort { $0.adapter < $1.adapter }
        } catch {
            // Gone again, which will be told.
            counted.commandsRefused &+= 1
        }
    }

    private func queue(of socket: BluetoothSocket) -> ReceiveQueue {
        ReceiveQueue(socket, clock: { [loop] in loop.now }, wall: kernel.wall, timing: kernel.lossTiming)
    }

    private func end(_ line: HCILine, at time: Instant) {
        if let watch = line.watch { loop.end(watch) }
        line.watch = nil
        lines.removeAll { $0 === line }
        counted.malformations.add(line.decoder.malformations)
        var actions: [ScanDriver.Action] = []
        line.driver.update(isOn: false, at: time, "it was unplugged", into: &actions)
        perform(actions, on: line, at: time)
    }

    // Not by the ioctl HCIDEVRESET: it waits for a controller that hangs, 10 s (measured). The command alone does the same;
    // a controller that was reset has forgotten what the kernel wants of it, and switching it off and on tells it anew.
    private func reset(_ line: HCILine) -> WatchdogStep.Outcome {
        guard mayPower else { return .skipped(reason: "switching it on again needs CAP_NET_ADMIN at the start") }
        let outcome = channel.session.take(.powerCycle, on: line.adapter, at: loop.now)
        guard outcome == .taken else { return outcome }
        do {
            try line.queue.socket.send(HCICommand.reset.packet)
            counted.commands &+= 1
        } catch {
            return .skipped(reason: "it can't be reset: \(error)")
        }
        return .taken
    }

    private func end(_ error: ScannerError, at time: Instant) {
        let handler = self.handler
        close()
        handler?.changed(.ended(error), at: time)
    }

    private func close() {
        for line in lines {
            if let watch = line.watch { loop.end(watch) }
            line.watch = nil
            counted.malformations.add(line.decoder.malformations)
        }
        lines = []
        control = nil
        hasLost = false
        if let timer { loop.end(timer) }
        timer = nil
        channel.close()
        handler = nil
        obstacles = nil
    }

    private func tellObstacles(at time: Instant) {
        guard channel.socket != nil, channel.session.hasList else { return }
        let listening = lines.filter(\.driver.isListening)
        let present = channel.session.obstacles(
            listening: listening.count, thinned: listening.contains(where: \.driver.isThinned))
        guard present != obstacles else { return }
        obstacles = present
        handler?.changed(.obstacles(present), at: time)
    }
}

extension ScannerError {
    static let rawDenied = ScannerError(
        .denied,
        "this user has no access to the raw HCI channel: CAP_NET_RAW is needed",
        remedy: "Start it with AmbientCapabilities=CAP_NET_RAW in the systemd unit, or once: "
            + "setcap cap_net_raw+ep on the program; or set scanner.backend to dbus")
}
