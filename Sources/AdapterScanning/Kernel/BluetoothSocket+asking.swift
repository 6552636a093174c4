import BaseTypes
import EventLoops

extension BluetoothSocket {
    private static let answerWaitMilliseconds = 2000

    /// Which commands of the management this kernel has for this socket: to one that was bound without CAP_NET_ADMIN it
    /// names only those that change nothing.
    ///
    /// - Throws: ``ScannerError`` where no answer comes.
    func managementCommands() throws(ScannerError) -> Set<UInt16> {
        var left = Self.answerWaitMilliseconds
        var buffer = [UInt8](repeating: 0, count: 4096)
        let answer = answer(
            to: .readSupportedCommands, of: ManagementMessage.none, left: &left, buffer: &buffer)
        guard case .reply(_, _, .commands(let commands)) = answer else {
            throw ScannerError(.unavailable, "the kernel's Bluetooth management does not answer; look at dmesg")
        }
        return commands
    }

    /// Sends a command and waits for its answer, at most `left` milliseconds, which are less afterwards; what else comes
    /// meanwhile is not looked at.
    func answer(
        to command: ManagementCommand, of index: UInt16, left: inout Int, buffer: inout [UInt8]
    ) -> ManagementEvent? {
        do {
            try send(command.packet(for: index))
        } catch {
            return nil
        }
        let end = BootClock.now + .milliseconds(left)
        defer { left = max(0, Self.milliseconds(until: end)) }
        while true {
            while case .message(let count, _) = receive(into: &buffer, at: BootClock.now) {
                let bytes = buffer.span.extracting(0..<count)
                guard !ManagementReport.isReport(bytes), let message = try? ManagementMessage(bytes),
                    message.index == index, case .reply(command.opcode, _, _) = message.event
                else { continue }
                return message.event
            }
            let wait = Self.milliseconds(until: end)
            guard wait > 0, waitReadable(milliseconds: wait) else { return nil }
        }
    }

    private static func milliseconds(until end: Instant) -> Int { Int((end - BootClock.now).nanoseconds / 1_000_000) }
}
