import BaseTypes
import BluetoothLE
import CBluetooth
package import EventLoops
import SystemPackage

/// Receives advertising reports through the kernel's management socket (HCI_CHANNEL_CONTROL), with an advertisement
/// monitor of its own.
///
/// The kernel scans passively without filtering duplicates, and delivers every report with its own RSSI and bytes,
/// whether bluetoothd is running or not. Clients of D-Bus do not see it. Without offload to the controller the kernel
/// does not match the pattern: the reports of all devices are received, and all are delivered.
///
/// It needs CAP_NET_ADMIN while ``start(_:)`` runs, and no capability afterwards (``Capabilities/drop(keeping:)``).
///
/// An adapter is listening from the time at which the kernel's scan is known not to filter. If no discovery is running,
/// that is at once. If one is running, or if that is unknown, it is the first of these: the first report of the passive
/// scan, the end of the discovery, or 10.5 s after the monitor was added. Earlier reports are not delivered.
///
/// A monitor remains when its process ends. ``stop()`` removes it. After a crash, the next start removes it if
/// ``ManagementOptions/recordFile`` proves that it belongs to the gateway.
///
/// Sources: BlueZ doc/mgmt-api.txt; Linux net/bluetooth/mgmt.c.
package final class ManagementScanner: AdvertisingScanner, ManagementChannelOwner {
    /// `management`.
    package var backend: ScannerBackend { .management }
    /// The counters of this scanner.
    package var statistics: ManagementStatistics {
        var statistics = counted
        statistics.commands = channel.commands
        return statistics
    }
    /// The parts of the kernel that the scanner opens. Tests replace them.
    var kernel = KernelAccess()

    private let loop: EventLoop
    private let options: ManagementOptions
    private let channel: ManagementChannel
    private var counted = ManagementStatistics()
    private weak var handler: (any ScanHandler)?
    private var queue: ReceiveQueue?
    // Whether messages were lost and the state of the kernel was not requested again yet.
    private var hasLost = false
    private var isDraining = false

    // More messages than any buffer holds. So a drain reads everything that was there at its start, and it ends even if
    // messages arrive as fast as it reads.
    private static let drainMax = 65_536
    private static let stopWaitMilliseconds = 1500

    /// Creates a scanner that does nothing until it is started.
    package init(loop: EventLoop, options: ManagementOptions = ManagementOptions()) {
        self.loop = loop
        self.options = options
        channel = ManagementChannel(ManagementSession(options: options), on: loop)
        channel.owner = self
    }

    // MARK: AdvertisingScanner

    /// Opens the socket, checks that this kernel lets this user add monitors, and starts.
    ///
    /// It waits for the kernel's first answer, which is immediate.
    /// - Throws: ``ScannerError``. A scanner that is already started continues unchanged.
    package func start(_ handler: any ScanHandler) throws(ScannerError) {
        guard channel.socket == nil else { return }
        let socket: BluetoothSocket
        do {
            socket = try kernel.openControl(options.receiveBufferBytes)
        } catch {
            throw .noSocket(error, for: "the management channel")
        }
        try checkCommands(of: socket)
        counted.receiveBufferBytes = socket.receiveBufferBytes
        self.handler = handler
        try channel.open(
            socket, ManagementSession(options: options, inherited: inherited()), rfkill: kernel.rfkill)
        queue = channel.socket.map { socket in
            ReceiveQueue(socket, clock: { [loop] in loop.now }, wall: kernel.wall, timing: kernel.lossTiming)
        }
    }

    /// Delivers everything that the kernel has received for this socket.
    package func drain() { receive(atMost: Self.drainMax) }

    func receive() { receive(atMost: EventLoop.recordsPerTurn) }

    private func receive(atMost count: Int) {
        guard let queue, !isDraining else { return }
        isDraining = true
        defer { isDraining = false }
        channel.readSwitches()
        queue.beginTurn()
        var left = count
        while left > 0, channel.socket === queue.socket {
            let isMore = queue.fill(before: .earliest)
            takeLoss(of: queue)
            guard isMore else {
                resynchronize()
                break
            }
            left -= 1
            // A handler that was notified of a loss may have stopped this scanner.
            guard channel.socket === queue.socket else { return }
            queue.take(received)
        }
        if left == 0 { loop.refuseRest() }
        channel.setTimer()
    }

    /// Takes `widen` (if the controller matches patterns), `restartScan` and `powerCycle`; skips `reset`.
    package func take(_ step: WatchdogStep, on adapter: Int) -> WatchdogStep.Outcome {
        guard channel.socket != nil else { return .skipped(reason: "the scanner is not started") }
        let now = loop.now
        let outcome = channel.session.take(step, on: adapter, at: now)
        channel.perform(at: now)
        return outcome
    }

    /// Restores the kernel's settings, removes this scanner's monitors, and closes the socket.
    ///
    /// It waits for the kernel's answers, at most 1.5 s in total, because a second removal is refused while one is
    /// running. Changes without an answer stay in the record file for the next start.
    package func stop() {
        guard let socket = channel.socket else { return }
        close()
        var left = Self.stopWaitMilliseconds
        var buffer = [UInt8](repeating: 0, count: 4096)
        var isClean = true
        for (command, index) in channel.session.undoing {
            isClean = undo(command, of: index, on: socket, left: &left, buffer: &buffer) && isClean
        }
        if isClean { forgetRecord() }
        channel.session = ManagementSession(options: options)
    }

    // MARK: Receiving

    private func received(_ item: ReceiveQueue.Item, _ message: Span<UInt8>, at time: Instant) {
        switch item {
        case .message: received(message, at: time)
        case .tooLong: counted.malformed &+= 1
        case .failed(let error): fail(error, at: time)
        }
    }

    private func received(_ message: Span<UInt8>, at time: Instant) {
        counted.messages &+= 1
        do {
            guard ManagementReport.isReport(message) else {
                channel.session.received(try ManagementMessage(message), at: time)
                channel.perform(at: time)
                return
            }
            guard let found = try ManagementReport(message) else { return }
            let isReceived = channel.session.received(found.index, isMonitors: found.isMonitors, at: time)
            if channel.session.hasActions { channel.perform(at: time) }
            guard isReceived else { return }
            counted.reports &+= 1
            handler?.received(
                found.report, data: message.extracting(found.report.data), on: Int(found.index), at: time)
        } catch {
            counted.malformed &+= 1
        }
    }

    private func takeLoss(of queue: ReceiveQueue) {
        let dropped = queue.takeLoss()
        guard dropped > 0 else { return }
        counted.dropped &+= dropped
        hasLost = true
        channel.session.lost(dropped, at: queue.lastTime)
        channel.perform(at: queue.lastTime)
    }

    /// Requests the kernel's state if messages were lost. Everything that the kernel had received was delivered before.
    private func resynchronize() {
        guard hasLost else { return }
        hasLost = false
        let now = loop.now
        channel.session.resynchronize(at: now)
        channel.perform(at: now)
    }

    private func fail(_ error: Errno, at time: Instant) {
        end(
            ScannerError(
                .unavailable, "the kernel's Bluetooth management can't be read: \(error); restart the program"),
            at: time)
    }

    // MARK: Actions

    var nextDeadline: Instant? { nil }

    func advance(to now: Instant) {}

    func performed(at time: Instant) {}

    func perform(_ action: ManagementAction, at time: Instant) {
        switch action {
        case .report(.ended(let error)): end(error, at: time)
        case .report(let change): handler?.changed(change, at: time)
        case .record: writeRecord()
        case .send: break
        }
    }

    private func end(_ error: ScannerError, at time: Instant) {
        let handler = self.handler
        close()
        handler?.changed(.ended(error), at: time)
    }

    private func close() {
        channel.close()
        queue = nil
        hasLost = false
        handler = nil
    }

    // MARK: The record of changes to undo

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
        let changes = channel.session.changes
        guard !changes.isEmpty else {
            forgetRecord()
            return
        }
        do throws(Errno) {
            guard let evidence = MachineEvidence.collect(adapters: changes.map(\.index)) else { return }
            try SmallFile.replace(path, with: ManagementRecord(evidence: evidence, changes: changes).text)
        } catch {
            counted.recordFailures &+= 1
        }
    }

    private func forgetRecord() {
        if let path = options.recordFile { SmallFile.remove(path) }
    }

    // MARK: Waiting for answers, at the start and the end

    private func checkCommands(of socket: BluetoothSocket) throws(ScannerError) {
        let commands = try socket.managementCommands()
        guard commands.contains(ManagementOpcode.setPowered) else { throw .managementDenied }
        guard commands.contains(ManagementOpcode.addMonitor) else { throw .kernelTooOld }
    }

    /// Sends a command, again while the kernel refuses it because it is busy. Returns whether the change is undone.
    private func undo(
        _ command: ManagementCommand, of index: UInt16, on socket: BluetoothSocket, left: inout Int,
        buffer: inout [UInt8]
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
