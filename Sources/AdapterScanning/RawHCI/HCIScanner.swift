import BaseTypes
import BluetoothLE
package import EventLoops
import SystemPackage

/// Receives advertising reports through the raw HCI channel (HCI_CHANNEL_RAW): all reports of a controller, whichever
/// program scans.
///
/// If no program scans, this scanner controls the controller directly, without the kernel's knowledge, and yields to a
/// discovery. It needs CAP_NET_RAW while it runs, also to open adapters that appear later. If it has CAP_NET_ADMIN when
/// it is started, it can also switch adapters on and reset them. It learns about adapters and their power from the
/// management socket, which reports these to every user.
///
/// An adapter is listening while its controller scans for this program, or for another program and all advertisers. A
/// scan of another program that filters duplicates is reported as ``ScanObstacle/thinned``.
///
/// Sources: Linux net/bluetooth/hci_sock.c; Bluetooth Core Vol 4 Part E §7.8.10, §7.8.11, §7.8.64, §7.8.65.
package final class HCIScanner: AdvertisingScanner, ManagementChannelOwner {
    /// `hci`.
    package var backend: ScannerBackend { .hci }

    /// The parts of the kernel that the scanner opens. Tests replace them.
    var kernel = KernelAccess()

    private let loop: EventLoop
    private let options: HCIOptions
    private let channel: ManagementChannel
    private var counted = HCIStatistics()
    private var mayPower = false
    private var control: ReceiveQueue?
    // Whether messages of the management socket were lost and the state of the kernel was not requested again yet.
    private var hasLost = false
    // For items that a turn received and did not deliver: no descriptor becomes ready for them in the next turn.
    private var timer: EventLoop.Timer?
    private var lines: [HCILine] = []
    private var obstacles: Set<ScanObstacle>?
    private weak var handler: (any ScanHandler)?
    private var isDraining = false

    private var lastTurn = 0
    // The same limit as for the management socket.
    private static let drainMax = 65_536

    /// Creates a scanner that does nothing until it is started.
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

    /// The counters of this scanner.
    package var statistics: HCIStatistics {
        var sum = counted
        for line in lines { sum.malformations.add(line.decoder.malformations) }
        return sum
    }

    // MARK: AdvertisingScanner

    /// Checks whether this user can use the raw channel, finds the adapters, and starts.
    ///
    /// - Throws: ``ScannerError``. A scanner that is already started continues unchanged.
    package func start(_ handler: any ScanHandler) throws(ScannerError) {
        guard channel.socket == nil else { return }
        let control: BluetoothSocket
        do {
            control = try kernel.openControl(1 << 18)
        } catch {
            throw .noSocket(error, for: "the management channel")
        }
        // Without this capability the socket can be opened, but it never receives a report.
        guard kernel.mayUseRawChannel() else { throw .rawDenied }
        mayPower = try control.managementCommands().contains(ManagementOpcode.setPowered)
        self.handler = handler
        var power = ManagementOptions()
        power.adapters = options.adapters
        power.powersAdapters = options.powersAdapters && mayPower
        try channel.open(control, ManagementSession(options: power, purpose: .powering), rfkill: kernel.rfkill)
        self.control = channel.socket.map { queue(of: $0) }
        timer = loop.makeTimer { [weak self] _ in self?.proceed() }
    }

    /// Delivers everything that the kernel has received for the sockets of this scanner.
    package func drain() { receive(atMost: Self.drainMax) }

    func receive() {
        // Each socket that is ready calls this.
        guard lastTurn != loop.turns else { return }
        lastTurn = loop.turns
        receive(atMost: EventLoop.recordsPerTurn)
    }

    private func proceed() {
        // A timer that is set while timers fire is due in the next turn.
        if lastTurn == loop.turns { setTimer() } else { receive() }
    }

    private func setTimer() {
        let holds = control?.nextTime != nil || lines.contains { $0.queue.nextTime != nil }
        if holds, let timer { loop.set(timer, at: loop.now) }
    }

    /// Delivers at most `count` records multiplied by the number of sockets, in the order of their times across all
    /// sockets (rule T5). The bound is shared: one socket can use all of it.
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

    /// Takes `restartScan`, and also `powerCycle` and `reset` if the scanner was started with CAP_NET_ADMIN.
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

    /// Stops the scans of this scanner and closes its sockets. The kernel has the commands when this returns.
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

    /// Returns the source of the earliest item of all sockets; `nil` if each of them was found empty in this turn.
    private func next() -> Source? {
        fill(before: .earliest)
        guard let time = earliest?.time else { return nil }
        // Items that arrived after a socket was found empty may be earlier.
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

    /// Receives the next item of each socket, unless the socket was found empty in this turn at `limit` or later.
    private func fill(before limit: Instant) {
        if let control {
            control.fill(before: limit)
            if control.takeLoss() > 0 { hasLost = true }
        }
        // A handler that was notified of a loss may have stopped this scanner.
        for line in lines where channel.socket != nil {
            line.queue.fill(before: limit)
            takeLoss(of: line)
        }
    }

    private func received(_ item: ReceiveQueue.Item, _ message: Span<UInt8>, at time: Instant) {
        switch item {
        case .message:
            // If another program has a monitor, reports arrive here too. The raw channel delivers the same ones
            // unchanged.
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
            // Moved out while it is used, so that nothing that is called meanwhile can change it.
            var decoder = ReportDecoder()
            swap(&decoder, &line.decoder)
            defer { swap(&decoder, &line.decoder) }
            received(packet, of: line, at: time, decoder: &decoder)
        case .tooLong: counted.malformed &+= 1
        // EPIPE: the adapter was removed. The management socket reports it too.
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
            let isReceived = line.driver.received(at: time, into: &actions)
            if !actions.isEmpty { perform(actions, on: line, at: time) }
            actions = []
            guard isReceived else { return }
            var relay = HCIRelay(
                hand: { [self] report, data, adapter, time in
                    counted.reports &+= 1
                    handler?.received(report, data: data, on: adapter, at: time)
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

    /// Requests the kernel's state if messages of the management socket were lost. Everything that was received before
    /// has been delivered.
    private func resynchronize() {
        guard hasLost, control != nil else { return }
        hasLost = false
        let now = loop.now
        channel.session.resynchronize(at: now)
        channel.perform(at: now)
    }

    // MARK: Actions

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
        reportObstacles(at: time)
    }

    func perform(_ action: ManagementAction, at time: Instant) {
        switch action {
        case .report(.appeared(let adapter, let controller, let address)):
            handler?.changed(.appeared(adapter: adapter, controller: controller, address: address), at: time)
            open(adapter)
        case .report(.disappeared(let adapter)):
            if let line = lines.first(where: { $0.adapter == adapter }) { end(line, at: time) }
            handler?.changed(.disappeared(adapter: adapter), at: time)
        case .report, .record, .send: break
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
                    // ENETDOWN while the adapter is switched off, EPERM without CAP_NET_RAW. It is retried when no
                    // answer was received in time.
                    counted.commandsRefused &+= 1
                }
            case .report(let change): handler?.changed(change, at: time)
            }
        }
        if !actions.isEmpty, !channel.isPerforming {
            reportObstacles(at: time)
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
            // The adapter was removed again, which will be reported.
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

    // Not with the ioctl HCIDEVRESET, which waits 10 s for a controller that hangs (measured). The HCI command has the
    // same effect. After a reset the controller has lost the kernel's settings, and a power cycle makes the kernel send
    // them again.
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

    private func reportObstacles(at time: Instant) {
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
