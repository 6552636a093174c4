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
    private var lines: [HCILine] = []
    private var obstacles: Set<ScanObstacle>?
    private weak var handler: (any ScanHandler)?
    private var buffer = [UInt8](repeating: 0, count: 8192)
    private var isDraining = false

    // As at the management socket.
    private static let batch = 256
    private var lastTurn = 0
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
    }

    /// Hands over everything that the kernel has received for this scanner's sockets.
    package func drain() { receive(atMost: Self.drainMax) }

    func receive() {
        // Each socket that is ready calls this.
        guard lastTurn != loop.turns else { return }
        lastTurn = loop.turns
        receive(atMost: EventLoop.recordsPerTurn)
    }

    /// Hands over at most `count` records of each socket.
    private func receive(atMost count: Int) {
        guard let control = channel.socket, !isDraining else { return }
        isDraining = true
        defer { isDraining = false }
        channel.readSwitches()
        receive(control, atMost: count)
        for line in lines where channel.socket === control { receive(line, upTo: count) }
        if channel.socket === control { channel.perform() }
    }

    /// Takes `restartScan`; `powerCycle` and `reset` where it was started with CAP_NET_ADMIN.
    package func take(_ step: WatchdogStep, on adapter: Int) -> WatchdogStep.Outcome {
        guard let line = lines.first(where: { $0.adapter == adapter }) else {
            return .skipped(reason: "there is no adapter hci\(adapter)")
        }
        defer { channel.perform() }
        switch step {
        case .widen: return .skipped(reason: "the raw channel hears all kinds already")
        case .restartScan:
            guard line.driver.isOn else { return .skipped(reason: "it is off") }
            guard !line.driver.isKeptFromScan else { return .skipped(reason: "somebody else's scan is left alone") }
            var actions: [ScanDriver.Action] = []
            line.driver.restart(at: loop.now, into: &actions)
            perform(actions, on: line)
            return .taken
        case .powerCycle:
            guard mayPower else { return .skipped(reason: "switching it takes CAP_NET_ADMIN at the start") }
            return channel.session.take(.powerCycle, on: adapter, at: loop.now)
        case .reset: return reset(line)
        }
    }

    /// Ends this scanner's own scans and closes its sockets. The commands are with the kernel when this returns.
    package func stop() {
        guard channel.socket != nil else { return }
        for line in lines {
            if let command = line.driver.ending { try? line.socket.send(command.packet) }
        }
        close()
    }

    // MARK: Receiving

    private func receive(_ control: BluetoothSocket, atMost count: Int) {
        for _ in 0..<count {
            guard channel.socket === control else { return }
            switch control.receive(into: &buffer) {
            case .message(let count, let stamp):
                received(buffer.span.extracting(0..<count), stamp: stamp, emptyAt: control.emptyAt)
            case .tooLong: counted.malformed &+= 1
            case .nothing:
                if control.takeDrops() > 0 { channel.session.resynchronize(at: loop.now) }
                channel.perform()
                return
            case .failed(let error):
                end(ScannerError(.unavailable, "receiving from the kernel's Bluetooth management: \(error)"))
                return
            }
        }
        loop.refuseRest()
    }

    private func received(_ message: Span<UInt8>, stamp: Int64?, emptyAt: Instant) {
        // Reports come here too, where somebody has a monitor; the raw channel has them as they were.
        guard !ManagementReport.isReport(message) else { return }
        do {
            let time = ReceiveTime.time(stamp: stamp, now: loop.now, wall: BootClock.wall, emptyAt: emptyAt)
            channel.session.received(try ManagementMessage(message), at: time)
        } catch {
            counted.malformed &+= 1
        }
    }

    private func receive(_ line: HCILine, upTo count: Int) {
        lookForLoss(line)
        var left = count
        while left > 0, receive(line, atMost: min(left, Self.batch)) {
            left -= Self.batch
            lookForLoss(line)
        }
        if left <= 0 { loop.refuseRest() }
        if line.watch != nil { lookForLoss(line) }
    }

    private func receive(_ line: HCILine, atMost count: Int) -> Bool {
        // Taken out while they are used, so that nothing that is called meanwhile can change them.
        var buffer: [UInt8] = []
        swap(&buffer, &self.buffer)
        var decoder = ReportDecoder()
        swap(&decoder, &line.decoder)
        defer {
            swap(&buffer, &self.buffer)
            swap(&decoder, &line.decoder)
        }
        for _ in 0..<count {
            // Whoever is told may have stopped this scanner.
            guard line.watch != nil else { return false }
            switch line.socket.receive(into: &buffer) {
            case .message(let length, let stamp):
                received(buffer.span.extracting(0..<length), stamp: stamp, of: line, decoder: &decoder)
            case .tooLong: counted.malformed &+= 1
            case .nothing: return false
            case .failed:
                // EPIPE: the adapter is gone; the management socket says so too.
                end(line)
                return false
            }
        }
        return true
    }

    private func received(_ packet: Span<UInt8>, stamp: Int64?, of line: HCILine, decoder: inout ReportDecoder) {
        counted.packets &+= 1
        // In this order: where the process is stopped between the two, the message seems too old to be believed, never too
        // young.
        let now = loop.now
        let wall = BootClock.wall
        let time = ReceiveTime.time(stamp: stamp, now: now, wall: wall, emptyAt: line.socket.emptyAt)
        var actions: [ScanDriver.Action] = []
        switch HCIPacket(packet) {
        case .command(let command): line.driver.saw(command, at: time)
        case .complete(let opcode, let status, let supportsExtendedScanning):
            line.driver.completed(
                opcode, status, supportsExtendedScanning: supportsExtendedScanning, at: time, into: &actions)
        case .reports:
            let isHeard = line.driver.heard(at: time, into: &actions)
            if !actions.isEmpty { perform(actions, on: line) }
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
        perform(actions, on: line)
    }

    private func lookForLoss(_ line: HCILine) {
        let dropped = line.socket.takeDrops()
        guard dropped > 0 else {
            line.driver.nothingLost()
            return
        }
        counted.dropped &+= dropped
        var actions: [ScanDriver.Action] = []
        line.driver.lost(dropped, at: loop.now, into: &actions)
        perform(actions, on: line)
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
            perform(actions, on: line)
        }
    }

    func performed() {
        for line in lines { followPower(of: line) }
        tellObstacles()
    }

    func perform(_ action: ManagementAction) {
        switch action {
        case .tell(.appeared(let adapter, let controller, let address)):
            handler?.changed(.appeared(adapter: adapter, controller: controller, address: address), at: loop.now)
            open(adapter)
        case .tell(.disappeared(let adapter)):
            if let line = lines.first(where: { $0.adapter == adapter }) { end(line) }
            handler?.changed(.disappeared(adapter: adapter), at: loop.now)
        case .tell, .record, .send: break
        }
    }

    private func perform(_ actions: [ScanDriver.Action], on line: HCILine) {
        for action in actions {
            switch action {
            case .send(let command):
                do {
                    try line.socket.send(command.packet)
                    counted.commands &+= 1
                } catch {
                    // ENETDOWN while it goes off, EPERM without CAP_NET_RAW; it is tried again when no answer has come.
                    counted.commandsRefused &+= 1
                }
            case .tell(let change): handler?.changed(change, at: loop.now)
            }
        }
        if !actions.isEmpty, !channel.isPerforming {
            tellObstacles()
            channel.setTimer()
        }
    }

    private func followPower(of line: HCILine) {
        guard let adapter = channel.session.adapters.first(where: { $0.number == line.adapter }) else { return }
        var actions: [ScanDriver.Action] = []
        let reason = adapter.block == .none ? "it was switched off" : "rfkill blocks it"
        line.driver.update(isOn: adapter.isReady, at: loop.now, reason, into: &actions)
        perform(actions, on: line)
    }

    private func open(_ adapter: Int) {
        do throws(Errno) {
            let line = try HCILine(adapter: adapter, options: options)
            line.watch = try loop.watch(line.socket.descriptor, for: .read, mayRest: true) { [weak self] _ in
                self?.receive()
            }
            lines.append(line)
            lines.sort { $0.adapter < $1.adapter }
        } catch {
            // Gone again, which will be told.
            counted.commandsRefused &+= 1
        }
    }

    private func end(_ line: HCILine) {
        if let watch = line.watch { loop.end(watch) }
        line.watch = nil
        lines.removeAll { $0 === line }
        counted.malformations.add(line.decoder.malformations)
        var actions: [ScanDriver.Action] = []
        line.driver.update(isOn: false, at: loop.now, "it was unplugged", into: &actions)
        perform(actions, on: line)
    }

    // Not by the ioctl HCIDEVRESET: it waits for a controller that hangs, 10 s (measured). The command alone does the same;
    // a controller that was reset has forgotten what the kernel wants of it, and switching it off and on tells it anew.
    private func reset(_ line: HCILine) -> WatchdogStep.Outcome {
        guard mayPower else { return .skipped(reason: "switching it on again takes CAP_NET_ADMIN at the start") }
        let outcome = channel.session.take(.powerCycle, on: line.adapter, at: loop.now)
        guard outcome == .taken else { return outcome }
        do {
            try line.socket.send(HCICommand.reset.packet)
            counted.commands &+= 1
        } catch {
            return .skipped(reason: "resetting it: \(error)")
        }
        return .taken
    }

    private func end(_ error: ScannerError) {
        let handler = self.handler
        close()
        handler?.changed(.ended(error), at: loop.now)
    }

    private func close() {
        for line in lines {
            if let watch = line.watch { loop.end(watch) }
            line.watch = nil
            counted.malformations.add(line.decoder.malformations)
        }
        lines = []
        channel.close()
        handler = nil
        obstacles = nil
    }

    private func tellObstacles() {
        guard channel.socket != nil, channel.session.hasList else { return }
        let listening = lines.filter(\.driver.isListening)
        let present = channel.session.obstacles(
            listening: listening.count, thinned: listening.contains(where: \.driver.isThinned))
        guard present != obstacles else { return }
        obstacles = present
        handler?.changed(.obstacles(present), at: loop.now)
    }
}

extension ScannerError {
    static let rawDenied = ScannerError(
        .denied,
        "the raw HCI channel is closed to this user: it takes CAP_NET_RAW",
        remedy: "Start it with AmbientCapabilities=CAP_NET_RAW in the systemd unit, or once: "
            + "setcap cap_net_raw+ep on the program; or set scanner.backend to dbus")
}
