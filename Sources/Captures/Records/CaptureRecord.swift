public import BaseTypes
public import BluetoothLE

/// One record of a capture, whatever its format.
public struct CaptureRecord: Sendable {
    /// The kinds of HCI packets; the numbers are the H4 packet indicators (Bluetooth Core Vol 4 Part A §2).
    public enum PacketKind: UInt8, Sendable {
        case command = 0x01
        case acl = 0x02
        case sco = 0x03
        case event = 0x04
        case iso = 0x05
    }

    /// What a record holds. Its bytes, where it has any, are ``CaptureRecord/payload``.
    public enum Content: Sendable {
        /// An HCI packet without its H4 octet.
        case hci(PacketKind, isReceived: Bool)
        /// A link-layer frame: access address, PDU, CRC.
        case linkLayer(rssi: RSSI?, check: FrameCheck)
        /// One advertising report; its `data` are the payload.
        case report(AdvertisingReport)
        /// An iBeacon that was decoded already, with the report that it came in (whose `data` are empty).
        case beacon(IBeacon, AdvertisingReport)
        /// The adapter listens, or does not, from now on.
        case listening(Bool)
        /// The adapter does not listen from now on, which was learnt of late: it had stopped at `since` (rules L1, L2).
        case stopped(since: Instant)
        /// A record of the Linux monitor that tells neither (its opcode).
        case monitor(opcode: UInt16)
        /// Nothing but that time went on.
        case timeOnly

        /// The mark that the adapter listens, or does not; absent in other records.
        @inline(__always)
        package var mark: MetAdapters.Mark? {
            switch self {
            case .listening(let isListening): MetAdapters.Mark(isListening: isListening, since: nil)
            case .stopped(let since): MetAdapters.Mark(isListening: false, since: since)
            default: nil
            }
        }
    }

    /// When, on the capture's timeline; absent in a capture without times.
    public var time: Instant?
    /// The place of its adapter's name in ``CaptureReader/adapters``; absent where it belongs to none.
    public var adapter: Int?
    /// Whether its adapter's address is still to come: the kernel knows none when it has a new index (rule L7).
    public var awaitsAddress = false
    /// Whether it ends the wait for its adapter's address: Index Info, or a report (rules L4, L7).
    package var endsWait = false
    /// What it holds.
    public var content: Content
    /// Where its bytes stand in ``CaptureReader/window``, until the next record is read.
    public var payload: Range<Int>

    /// Makes a record.
    @inlinable public init(time: Instant?, adapter: Int?, content: Content, payload: Range<Int>) {
        self.time = time
        self.adapter = adapter
        self.content = content
        self.payload = payload
    }
}
