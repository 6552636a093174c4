public import BeaconScanning
import BluetoothLE
import CBluetooth
public import Polling
import SystemPackage

/// Hears by the kernel's management socket (HCI_CHANNEL_CONTROL) with an advertisement monitor of its own.
///
/// The kernel scans passively with duplicates on and hands over every report with its own RSSI and bytes, beside a
/// bluetoothd or without one; clients of D-Bus see nothing of it. Without offload to the controller it does not match the
/// pattern: the reports of all devices come, and all are handed over.
///
/// It takes CAP_NET_ADMIN while ``start(_:)`` runs and no capability afterwards (``Capabilities/drop(keeping:)``).
///
/// An adapter listens from when the kernel's scan is known not to filter: at once where nobody discovers; else, and where
/// that is not known, from the first report of the passive scan, the discovery's end, or 10.5 s after the monitor was put
/// up, whichever is first. Reports before that are not handed over.
///
/// A monitor outlives its process. ``stop()`` removes it; what a crash leaves is removed by the next start, where
/// ``ManagementOptions/recordFile`` says for certain whose it is.
///
/// Sources: BlueZ doc/mgmt-api.txt; Linux net/bluetooth/mgmt.c; `docs/decisions/`.
public final class ManagementScanner: AdvertisingScanner {
    /// `management`.
    public var backend: ScannerBackend { .management }
    /// What was counted.
    public private(set) var statistics = ManagementStatistics()

    private let loop: EventLoop
    private let options: ManagementOptions
    private var session: ManagementSession
    private var socket: BluetoothSocket?
    private var rfkill: RFKillWatcher?
    private var watch: EventLoop.Watch?
    private var timer: EventLoop.Timer?
    private weak var handler: (any ScanHandler)?
    // Longer than any message: a Device Found with all that an extended advertisement may carry.
    private var buffer = [UInt8](repeating: 0, count: 8192)
    private var isDraining = false
    private var isPerforming = false

    // Messages between two looks at the drop counter.
    private static let batch = 256
    // More than any buffer holds: at the end of a drain everything has been read that was there at its beginning, and one
    // that is fed as fast as it reads comes to an end.
    private static let drainMax = 65_536
    private static let stopWaitMilliseconds = 1500

    /// Makes one that has done nothing yet.
    public init(loop: EventLoop, options: ManagementOptions = ManagementOptions()) {
        self.loop = loop
        self.options = options
        session = ManagementSession(options: options)
    }

    deinit {
        if let watch { loop.end(watch) }
        if let timer { loop.end(timer) }
    }

    // MARK: AdvertisingScanner

    /// Opens the socket, sees whether this kernel lets this user put up monitors, and begins.
    ///
    /// It waits for the kernel's first answer, which is there at once.
    /// - Throws: ``ScannerError``; a scanner that is started already goes on as it is.
    public func start(_ handler: any ScanHandler) throws(ScannerError) {
        guard socket == nil else { return }
        let socket: BluetoothSocket
        do {
            socket = try BluetoothSocket(.control, receiveBufferBytes: options.receiveBufferBytes)
        } catch {
            throw .noSocket(error, for: "the management channel")
        }
        try checkCommands(of: socket)
        statistics.receiveBufferBytes = socket.receiveBufferBytes
        let rfkill = try? RFKillWatcher(loop: loop)
        do {
            watch = try loop.watch(socket.descriptor, for: .read) { [weak self] _ in self?.drain() }
            try rfkill?.start()
        } catch {
            throw ScannerError(.unavailable, "waiting for Bluetooth: \(error)")
        }
        self.socket = socket
        self.rfkill = rfkill
        self.handler = handler
        timer = loop.makeTimer { [weak self] now in self?.advance(to: now) }
        session = ManagementSession(options: options, inherited: inherited())
        rfkill?.changed = { [weak self] state in self?.take(state) }
        let now = loop.now
        if let rfkill { session.received(rfkill.state, at: now) }
        session.start(at: now)
        perform()
    }

    /// Hands over everything that the kernel has received for this socket.
    public func drain() {
        guard let socket, !isDraining else { return }
        isDraining = true
        defer { isDraining = false }
        rfkill?.read()
        lookForLoss(socket)
        var left = Self.drainMax
        while left > 0, self.socket === socket, receive(socket, atMost: Self.batch) {
            left -= Self.batch
            lookForLoss(socket)
        }
        guard self.socket === socket else { return }
        lookForLoss(socket)
        setTimer()
    }

    /// Takes `widen` (where a controller matches patterns), `restartScan` and `powerCycle`; skips `reset`.
    public func take(_ step: WatchdogStep, on adapter: Int) -> WatchdogStep.Outcome {
        guard socket != nil else { return .skipped(reason: "the scanner is not started") }
        let outcome = session.take(step, on: adapter, at: loop.now)
        perform()
        return outcome
    }

    /// Puts the kernel's settings back, removes this scanner's monitors, and closes the socket.
    ///
    /// It waits for the kernel's answers, at most 1.5 s in all: a second removal is refused while one is under way. What is
    /// not answered by then stays written down for the next start.
    public func stop() {
        guard let socket else { return }
        close()
        var left = Self.stopWaitMilliseconds
        var isClean = true
        for (command, index) in session.undoing {
            isClean = settle(command, of: index, on: socket, left: &left) && isClean
        }
        if isClean { forgetRecord() }
        session = ManagementSession(options: options)
    }

    // MARK: Receiving

    private func receive(_ socket: BluetoothSocket, atMost count: Int) -> Bool {
        // Taken out while it is read, so that nothing that is called meanwhile can change it.
        var buffer: [UInt8] = []
        swap(&buffer, &self.buffer)
        defer { swap(&buffer, &self.buffer) }
        for _ in 0..<count {
            switch socket.receive(into: &buffer) {
            case .message(let length, let stamp):
                take(buffer.span.extracting(0..<length), stamp: stamp, emptyAt: socket.emptyAt)
                if self.socket == nil { return false }
            case .tooLong: statistics.malformed &+= 1
            case .nothing: return false
            case .failed(let error):
                fail(error)
                return false
            }
        }
        return true
    }

    private func take(_ message: Span<UInt8>, stamp: Int64?, emptyAt: Instant) {
        statistics.messages &+= 1
        let wall = BootClock.wall
        let time = ReceiveTime.time(stamp: stamp, now: loop.now, wall: wall, emptyAt: emptyAt)
        do {
            guard ManagementReport.isReport(message) else {
                session.received(try ManagementMessage(message), at: time)
                perform()
                return
            }
            guard let found = try ManagementReport(message) else { return }
            let isHeard = session.heard(found.index, isMonitors: found.isMonitors, at: time)
            if session.hasActions { perform() }
            guard isHeard else { return }
            statistics.reports &+= 1
            handler?.heard(
                found.report, data: message.extracting(found.report.data), on: Int(found.index), at: time)
        } catch {
            statistics.malformed &+= 1
        }
    }

    private func lookForLoss(_ socket: BluetoothSocket) {
        let dropped = socket.takeDrops()
        if dropped == 0 {
            session.nothingLost()
        } else {
            statistics.dropped &+= dropped
            session.lost(dropped, at: loop.now)
            perform()
        }
    }

    private func fail(_ error: Errno) {
        end(ScannerError(.unavailable, "receiving from the kernel's Bluetooth management: \(error); start it again"))
    }

    // MARK: Acting

    private func take(_ state: RFKillState) {
        session.received(state, at: loop.now)
        perform()
    }

    private func advance(to now: Instant) {
        guard socket != nil else { return }
        session.advance(to: now)
        perform()
    }

    // Performing may lead to more: a command that can't be sent is one that failed.
    private func perform() {
        guard !isPerforming else { return }
        isPerforming = true
        defer { isPerforming = false }
        while session.hasActions, let socket {
            for action in session.takeActions() where self.socket === socket { perform(action, socket) }
        }
        setTimer()
    }

    private func perform(_ action: ManagementAction, _ socket: BluetoothSocket) {
        switch action {
        case .send(let command, let index):
            statistics.commands &+= 1
            do {
                try socket.send(command.packet(for: index))
            } catch {
                let reply = ManagementEvent.reply(opcode: command.opcode, status: .failed, result: .none)
                session.received(ManagementMessage(index: index, event: reply), at: loop.now)
            }
        case .tell(.ended(let error)): end(error)
        case .tell(let change): handler?.changed(change, at: loop.now)
        case .record: writeRecord()
        }
    }

    private func end(_ error: ScannerError) {
        let handler = self.handler
        close()
        handler?.changed(.ended(error), at: loop.now)
    }

    private func close() {
        if let watch { loop.end(watch) }
        if let timer { loop.end(timer) }
        watch = nil
        timer = nil
        rfkill?.stop()
        rfkill = nil
        socket = nil
        handler = nil
    }

    private func setTimer() {
        if let timer { loop.set(timer, at: session.nextDeadline) }
    }

    // MARK: The record of what is to be undone

    private func inherited() -> [AdapterChanges] {
        guard let path = options.recordFile, let text = SmallFile.text(of: path),
            let record = ManagementRecord(text),
            let present = MachineEvidence.collect(adapters: record.changes.map(\.index))
        else { return [] }
        let owner = record.evidence.owner
        return record.remaining(
            in: present, ownerIsAlive: MachineEvidence.identity(of: owner.number) == owner)
    }

    private func writeRecord() {
        guard let path = options.recordFile else { return }
        let changes = session.changes
        guard !changes.isEmpty else {
            forgetRecord()
            return
        }
        do throws(Errno) {
            guard let evidence = MachineEvidence.collect(adapters: changes.map(\.index)) else { return }
            try SmallFile.replace(path, with: ManagementRecord(evidence: evidence, changes: changes).text)
        } catch {
            statistics.recordFailures &+= 1
        }
    }

    private func forgetRecord() {
        if let path = options.recordFile { SmallFile.remove(path) }
    }

    // MARK: Waiting for answers, at the beginning and the end

    private func checkCommands(of socket: BluetoothSocket) throws(ScannerError) {
        let commands = try socket.managementCommands()
        guard commands.contains(ManagementOpcode.setPowered) else { throw .managementDenied }
        guard commands.contains(ManagementOpcode.addMonitor) else { throw .kernelTooOld }
    }

    /// Sends a command until it is not refused for being too early; whether what it is to undo is undone.
    private func settle(
        _ command: ManagementCommand, of index: UInt16, on socket: BluetoothSocket, left: inout Int
    ) -> Bool {
        while true {
            let answer = socket.answer(to: command, of: index, left: &left, buffer: &buffer)
            guard case .reply(_, let status, _) = answer else { return false }
            switch status {
            case .busy, .rejected:
                guard left > 0 else { return false }
                left -= 20
                gateway_pause(20)
            case .success, .invalidParameters, .invalidIndex: return true
            default: return false
            }
        }
    }
}
