import BaseTypes
import BluetoothLE
import EventLoops
import SystemPackage

/// The raw channel of one adapter: its socket, the driver of its scan, and the decoder that reassembles reports.
final class HCILine {
    let adapter: Int
    let queue: ReceiveQueue
    var driver: ScanDriver
    var decoder = ReportDecoder()
    var watch: EventLoop.Watch?

    // Packet types 1 (commands of other programs to the controller) and 4 (events). Of the events, Command Complete,
    // Command Status and LE Meta.
    private static let types: UInt32 = 1 << 1 | 1 << 4
    private static let events: UInt64 = 1 << 0x0E | 1 << 0x0F | 1 << 0x3E

    /// Creates a line with the queue of the socket that ``open(_:receiveBufferBytes:)`` returns, or of a test's socket.
    init(adapter: Int, queue: ReceiveQueue, options: HCIOptions) {
        self.adapter = adapter
        self.queue = queue
        driver = ScanDriver(
            adapter: adapter, scansActively: options.scansActively, timing: options.timing,
            leavesOthersAlone: options.leavesOthersAlone)
    }

    /// Opens the raw channel of an adapter.
    ///
    /// - Throws: `Errno` of socket(2), bind(2) and setsockopt(2); ENODEV if there is no such adapter.
    static func open(_ adapter: Int, receiveBufferBytes: Int) throws(Errno) -> BluetoothSocket {
        let socket = try BluetoothSocket(
            .raw, device: UInt16(truncatingIfNeeded: adapter), receiveBufferBytes: receiveBufferBytes)
        try socket.filter(types: types, events: events)
        return socket
    }
}

/// Passes decoded reports to the scanner's handler.
struct HCIRelay: ReportHandler, ~Copyable {
    let hand: (_ report: AdvertisingReport, _ data: Span<UInt8>, _ adapter: Int, _ time: Instant) -> Void
    /// When the packet was received, used for reports without a time of their own.
    let time: Instant

    mutating func report(_ report: AdvertisingReport, data: Span<UInt8>, adapter: Int?, time: Instant?) {
        if let adapter { hand(report, data, adapter, time ?? self.time) }
    }

    mutating func beacon(_ beacon: IBeacon, report: AdvertisingReport, adapter: Int?, time: Instant?) {}
}
