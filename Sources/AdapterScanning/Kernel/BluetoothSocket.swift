import BaseTypes
import CBluetooth
import EventLoops
import Glibc
import SystemPackage

/// A bound, non-blocking Bluetooth socket of the kernel (AF_BLUETOOTH, BTPROTO_HCI).
final class BluetoothSocket {
    /// The HCI channels that are used (include/net/bluetooth/hci_sock.h).
    enum Channel: UInt16 {
        case raw = 0
        case control = 3
    }

    /// HCI_DEV_NONE: no adapter, or all adapters.
    private static let noDevice: UInt16 = 0xFFFF

    let descriptor: FileDescriptor
    /// The size of the receive buffer in bytes as the kernel counts it: about twice the requested size.
    let receiveBufferBytes: Int
    private var dropsSeen: UInt32 = 0
    /// A time just before the last attempt that found no message. Each message that is received later arrived after it.
    private(set) var emptyAt: Instant

    /// Creates and binds a socket.
    ///
    /// - Throws: `Errno` of socket(2), bind(2) and setsockopt(2).
    init(_ channel: Channel, device: UInt16 = noDevice, receiveBufferBytes: Int) throws(Errno) {
        let descriptor = gateway_bluetooth_socket()
        guard descriptor >= 0 else { throw Errno(rawValue: errno) }
        self.descriptor = FileDescriptor(rawValue: descriptor)
        emptyAt = BootClock.now
        // This must happen before bind(2), because messages arrive from then on.
        self.receiveBufferBytes = Int(
            gateway_receive_buffer(descriptor, Int32(clamping: max(receiveBufferBytes, 4096))))
        guard gateway_bluetooth_timestamps(descriptor, channel == .raw ? 1 : 0) >= 0,
            gateway_bluetooth_bind(descriptor, device, channel.rawValue) >= 0
        else { throw Errno(rawValue: errno) }
    }

    /// Takes ownership of an open socket with the same message format as the kernel's.
    init(_ descriptor: FileDescriptor, at now: Instant = BootClock.now) {
        self.descriptor = descriptor
        emptyAt = now
        receiveBufferBytes = 0
    }

    deinit {
        // No caller can handle an error of close(2).
        try? descriptor.close()
    }

    /// Limits a raw socket to some packet types, and among the events to some event codes.
    ///
    /// - Parameters:
    ///   - types: a bit for each H4 packet type.
    ///   - events: a bit for each event code.
    /// - Throws: `Errno` of setsockopt(2).
    func filter(types: UInt32, events: UInt64) throws(Errno) {
        guard gateway_hci_set_filter(descriptor.rawValue, types, events, 0) >= 0 else {
            throw Errno(rawValue: errno)
        }
    }

    /// Sends one complete packet.
    ///
    /// - Throws: `Errno` of send(2).
    func send(_ packet: [UInt8]) throws(Errno) {
        let result = unsafe packet.withUnsafeBytes { bytes in
            unsafe gateway_send(descriptor.rawValue, bytes.baseAddress, bytes.count)
        }
        guard result >= 0 else { throw Errno(rawValue: errno) }
    }

    /// The result of one attempt to receive.
    enum Received {
        /// A message with its length in bytes, and its receive time on the wall clock in nanoseconds if the kernel
        /// reported one.
        case message(count: Int, stamp: Int64?)
        /// A message that was longer than the buffer and is lost.
        case tooLong
        case nothing
        case failed(Errno)
    }

    /// Receives a message into `buffer`, without waiting.
    ///
    /// - Parameters:
    ///   - buffer: receives the message.
    ///   - now: the current time of the timeline, read before the call. If the process is stopped in between, messages
    ///     that arrive meanwhile are later than this.
    /// - Returns: the result of the attempt.
    func receive(into buffer: inout [UInt8], at now: Instant) -> Received {
        var stamp: Int64 = -1
        var isTruncated: Int32 = 0
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes { bytes in
                unsafe gateway_receive(descriptor.rawValue, bytes.baseAddress, bytes.count, &stamp, &isTruncated)
            }
            if count >= 0 {
                guard isTruncated == 0 else { return .tooLong }
                return .message(count: count, stamp: stamp < 0 ? nil : stamp)
            }
            switch errno {
            case EINTR: continue
            case EAGAIN:
                emptyAt = now
                return .nothing
            default: return .failed(Errno(rawValue: errno))
            }
        }
    }

    /// Returns how many messages the kernel dropped since the last call because the buffer was full; 0 if the kernel
    /// does not report it.
    func takeDrops() -> Int {
        var drops: UInt32 = 0
        guard unsafe gateway_drops(descriptor.rawValue, &drops) >= 0 else { return 0 }
        // The counter has 32 bits and can wrap around.
        defer { dropsSeen = drops }
        return Int(drops &- dropsSeen)
    }

    /// Waits for at most `milliseconds` until there is something to receive. Returns whether there is.
    private func waitReadable(milliseconds: Int) -> Bool {
        gateway_wait_readable(descriptor.rawValue, Int32(clamping: milliseconds)) > 0
    }

    // MARK: Requests

    private static let answerWaitMilliseconds = 2000

    /// Returns the management commands that this kernel supports on this socket. If the socket was bound without
    /// CAP_NET_ADMIN, the kernel lists only commands that change nothing.
    ///
    /// - Throws: ``ScannerError`` if the kernel does not answer within 2 s.
    func managementCommands() throws(ScannerError) -> Set<UInt16> {
        var left = Self.answerWaitMilliseconds
        var buffer = [UInt8](repeating: 0, count: 4096)
        let answer = answer(
            to: .readSupportedCommands, of: ManagementMessage.none, left: &left, buffer: &buffer)
        guard case .reply(_, _, .commands(let commands)) = answer else {
            throw ScannerError(.unavailable, "the kernel's Bluetooth management does not answer; check dmesg")
        }
        return commands
    }

    /// Sends a command and waits for its answer, for at most `left` milliseconds, and subtracts the time that it took.
    /// Other messages that arrive meanwhile are discarded.
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

/// Computes the receive time of a message on the timeline (rule T1).
enum ReceiveTime {
    // In nanoseconds. A timestamp that is older than this, or in the future, means that the wall clock was set.
    // Exception: if this process was stopped or got no CPU time, a message can be as old as the last attempt that found
    // no message (rule T5).
    private static let ageMax: Int64 = 1_000_000_000

    /// Converts the timestamp of a message to the timeline.
    ///
    /// - Parameters:
    ///   - stamp: the wall clock when the message was received, in nanoseconds.
    ///   - now: the current time of the timeline.
    ///   - wall: the current wall clock, in nanoseconds.
    ///   - emptyAt: the last time at which there was no message to receive.
    /// - Returns: the receive time; `now` if the message has no timestamp or an implausible one.
    static func time(stamp: Int64?, now: Instant, wall: Int64, emptyAt: Instant) -> Instant {
        guard let stamp else { return now }
        let (age, overflow) = wall.subtractingReportingOverflow(stamp)
        let (unread, isFar) = now.nanoseconds.subtractingReportingOverflow(emptyAt.nanoseconds)
        guard !overflow, age >= 0, age <= max(ageMax, isFar ? 0 : unread) else { return now }
        return Instant(nanoseconds: now.nanoseconds - age)
    }
}

extension ScannerError {
    /// Creates the error for a Bluetooth socket that the kernel refused.
    static func noSocket(_ error: Errno, for what: String) -> ScannerError {
        switch error {
        case .addressFamilyNotSupported, .protocolNotSupported:
            ScannerError(
                .unavailable,
                "Bluetooth sockets are not available to this process: \(error)",
                remedy:
                    "Load its module (modprobe bluetooth) or use a kernel that has one (Debian: linux-image-amd64, not the "
                    + "-cloud one); in a container, use the host's network; in a systemd unit, add "
                    + "AF_BLUETOOTH to RestrictAddressFamilies=")
        case .notPermitted, .permissionDenied:
            ScannerError(
                .denied,
                "the kernel refuses a Bluetooth socket (\(what)): \(error)",
                remedy:
                    "Give the program the capability that this backend needs, or check its restrictions (seccomp, SELinux, AppArmor)"
            )
        default:
            ScannerError(.unavailable, "a Bluetooth socket (\(what)) can't be opened: \(error)")
        }
    }
}
