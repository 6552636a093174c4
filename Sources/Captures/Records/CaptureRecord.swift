public import BaseTypes
public import BluetoothLE

/// One record of a capture, in any format.
public struct CaptureRecord: Sendable {
    /// The kinds of HCI packets; the numbers are the H4 packet indicators (Bluetooth Core Vol 4 Part A §2).
    public enum PacketKind: UInt8, Sendable {
        case command = 0x01
        case acl = 0x02
        case sco = 0x03
        case event = 0x04
        case iso = 0x05
    }

    /// The content of a record. Its bytes are ``CaptureRecord/payload``.
    public enum Content: Sendable {
        /// An HCI packet without its H4 byte.
        case hci(PacketKind, isReceived: Bool)
        /// A link-layer frame: access address, PDU, CRC.
        case linkLayer(rssi: RSSI?, check: FrameCheck)
        /// An advertising report. Its data are the payload.
        case report(AdvertisingReport)
        /// An iBeacon that was already decoded, with its report, whose `data` are empty.
        case beacon(IBeacon, AdvertisingReport)
        /// The adapter starts or stops scanning.
        case listening(Bool)
        /// The adapter does not scan. This was recorded later than it happened: it had stopped at `since` (rules L1,
        /// L2).
        case stopped(since: Instant)
        /// Another record of the Linux monitor, with its opcode.
        case monitor(opcode: UInt16)
        /// The record only shows that time passed.
        case timeOnly

        /// The start or stop of scanning; `nil` for other records.
        @inline(__always)
        package var mark: CaptureAdapters.Mark? {
            switch self {
            case .listening(let isListening): CaptureAdapters.Mark(isListening: isListening, since: nil)
            case .stopped(let since): CaptureAdapters.Mark(isListening: false, since: since)
            default: nil
            }
        }
    }

    /// The time on the timeline of the capture; `nil` in a capture without times.
    public var time: Instant?
    /// The index of its adapter in ``CaptureReader/adapters``; `nil` if it has none.
    public var adapter: Int?
    /// Whether the address of its adapter will follow: the kernel does not know it when it creates an index (rule L7).
    public var awaitsAddress = false
    /// Whether it ends the wait for the address of its adapter: Index Info, or a report (rules L4, L7).
    package var endsWait = false
    /// The content.
    public var content: Content
    /// The range of its bytes in ``CaptureReader/window``, valid until the next record is read.
    public var payload: Range<Int>

    /// Creates a record.
    @inlinable public init(time: Instant?, adapter: Int?, content: Content, payload: Range<Int>) {
        self.time = time
        self.adapter = adapter
        self.content = content
        self.payload = payload
    }
}
