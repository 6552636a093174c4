import BaseTypes
import CBluetooth
import EventLoops
import Glibc
import SystemPackage

/// A socket of the kernel's Bluetooth (AF_BLUETOOTH, BTPROTO_HCI), bound, that does not block.
final class BluetoothSocket {
    /// The channels that are used (include/net/bluetooth/hci_sock.h).
    enum Channel: UInt16 {
        case raw = 0
        case control = 3
    }

    /// HCI_DEV_NONE: no adapter, or all of them.
    private static let noDevice: UInt16 = 0xFFFF

    let descriptor: FileDescriptor
    /// What the kernel counts as the buffer's size: about twice what was asked for.
    let receiveBufferBytes: Int
    private var dropsSeen: UInt32 = 0
    /// A moment before the last look that found nothing: what is received now came after it.
    private(set) var emptyAt: Instant

    /// Makes and binds one.
    ///
    /// - Throws: `Errno` of socket(2), bind(2) and setsockopt(2).
    init(_ channel: Channel, device: UInt16 = noDevice, receiveBufferBytes: Int) throws(Errno) {
        let descriptor = gateway_bluetooth_socket()
        guard descriptor >= 0 else { throw Errno(rawValue: errno) }
        self.descriptor = FileDescriptor(rawValue: descriptor)
        emptyAt = BootClock.now
        // Before binding: from then on messages come.
        self.receiveBufferBytes = Int(
            gateway_receive_buffer(descriptor, Int32(clamping: max(receiveBufferBytes, 4096))))
        guard gateway_bluetooth_timestamps(descriptor, channel == .raw ? 1 : 0) >= 0,
            gateway_bluetooth_bind(descriptor, device, channel.rawValue) >= 0
        else { throw Errno(rawValue: errno) }
    }

    /// A socket that is open already, and speaks as the kernel does; it is this one's from here on.
    init(_ descriptor: FileDescriptor, at now: Instant = BootClock.now) {
        self.descriptor = descriptor
        emptyAt = now
        receiveBufferBytes = 0
    }

    deinit {
        // Closing can't fail in a way that anybody could act on.
        try? descriptor.close()
    }

    /// Has a raw socket receive only packets of some types, and of the events some.
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

    /// Sends a packet whole.
    ///
    /// - Throws: `Errno` of send(2).
    func send(_ packet: [UInt8]) throws(Errno) {
        let result = unsafe packet.withUnsafeBytes { bytes in
            unsafe gateway_send(descriptor.rawValue, bytes.baseAddress, bytes.count)
        }
        guard result >= 0 else { throw Errno(rawValue: errno) }
    }

    /// What one attempt to receive gave.
    enum Received {
        /// A message of so many octets, and its receive time on the wall clock in nanoseconds, where the kernel gave one.
        case message(count: Int, stamp: Int64?)
        /// One that was longer than the buffer and is lost.
        case tooLong
        case nothing
        case failed(Errno)
    }

    /// Receives a message into `buffer`, without waiting.
    ///
    /// - Parameters:
    ///   - buffer: receives the message.
    ///   - now: the present of the timeline, read before the call: if the process is stopped in between, messages that come
    ///     meanwhile are younger than this.
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

    /// How many messages the kernel dropped since the last call, because the buffer was full; 0 where it does not tell.
    func takeDrops() -> Int {
        var drops: UInt32 = 0
        guard unsafe gateway_drops(descriptor.rawValue, &drops) >= 0 else { return 0 }
        // The counter is 32 bits and may wrap around.
        defer { dropsSeen = drops }
        return Int(drops &- dropsSeen)
    }

    /// Waits until there is something to receive, at most so long; whether there is.
    private func waitReadable(milliseconds: Int) -> Bool {
        gateway_wait_readable(descriptor.rawValue, Int32(clamping: milliseconds)) > 0
    }

    // MARK: Requests

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
            throw ScannerError(.unavailable, "the kernel's Bluetooth management does not answer; check dmesg")
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

/// When a message was received, on the timeline (rule T1).
enum ReceiveTime {
    // A stamp that is older, or in the future, says that the wall clock stepped; but where this process was stopped or
    // starved, a message may be as old as the last look that found none (rule T5).
    private static let ageMax: Int64 = 1_000_000_000

    /// The moment on the timeline at which a message that is stamped `stamp` was received.
    ///
    /// - Parameters:
    ///   - stamp: the wall clock at its receipt, in nanoseconds.
    ///   - now: the timeline's present.
    ///   - wall: the wall clock's present, in nanoseconds.
    ///   - emptyAt: when nothing was left to receive the last time.
    /// - Returns: the moment; `now` where the message has no stamp, or one that can't be believed.
    static func time(stamp: Int64?, now: Instant, wall: Int64, emptyAt: Instant) -> Instant {
        guard let stamp else { return now }
        let (age, overflow) = wall.subtractingReportingOverflow(stamp)
        let (unread, isFar) = now.nanoseconds.subtractingReportingOverflow(emptyAt.nanoseconds)
        guard !overflow, age >= 0, age <= max(ageMax, isFar ? 0 : unread) else { return now }
        return Instant(nanoseconds: now.nanoseconds - age)
    }
}

extension ScannerError {
    /// What it comes to that the kernel gives no Bluetooth socket.
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
