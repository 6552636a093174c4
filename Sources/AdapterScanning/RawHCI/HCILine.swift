import BaseTypes
import BluetoothLE
import EventLoops
import SystemPackage

/// One adapter's raw channel: its socket, who scans, and the reports that come in pieces.
final class HCILine {
    let adapter: Int
    let queue: ReceiveQueue
    var driver: ScanDriver
    var decoder = ReportDecoder()
    var watch: EventLoop.Watch?

    // Packet types: 1, commands (others' on their way to the controller), and 4, events. Of these Command Complete,
    // Command Status and LE Meta.
    private static let types: UInt32 = 1 << 1 | 1 << 4
    private static let events: UInt64 = 1 << 0x0E | 1 << 0x0F | 1 << 0x3E

    /// A line of the socket that ``open(_:receiveBufferBytes:)`` returns, or of a test's.
    init(adapter: Int, queue: ReceiveQueue, options: HCIOptions) {
        self.adapter = adapter
        self.queue = queue
        driver = ScanDriver(
            adapter: adapter, scansActively: options.scansActively, timing: options.timing,
            leavesOthersAlone: options.leavesOthersAlone)
    }

    /// Opens the raw channel of an adapter.
    ///
    /// - Throws: `Errno` of socket(2), bind(2) and setsockopt(2); ENODEV where there is no such adapter.
    static func open(_ adapter: Int, receiveBufferBytes: Int) throws(Errno) -> BluetoothSocket {
        let socket = try BluetoothSocket(
            .raw, device: UInt16(truncatingIfNeeded: adapter), receiveBufferBytes: receiveBufferBytes)
        try socket.filter(types: types, events: events)
        return socket
    }
}

/// Hands reports on to the scanner's handler.
struct HCIRelay: ReportHandler, ~Copyable {
    let hand: (_ report: AdvertisingReport, _ data: Span<UInt8>, _ adapter: Int, _ time: Instant) -> Void
    /// When the packet was received, for what carries no time of its own.
    let time: Instant

    mutating func report(_ report: AdvertisingReport, data: Span<UInt8>, adapter: Int?, time: Instant?) {
        if let adapter { hand(report, data, adapter, time ?? self.time) }
    }

    mutating func beacon(_ beacon: IBeacon, report: AdvertisingReport, adapter: Int?, time: Instant?) {}
}
