import BaseTypes
import BluetoothLE

/// The supported link types of pcap and pcapng (https://www.tcpdump.org/linktypes.html).
enum LinkType: UInt32 {
    /// LINKTYPE_USER10, which the first programs for Nordic's sniffers used.
    case nordicSnifferUser = 157
    case h4 = 187
    case perPacketInformation = 192
    case h4WithDirection = 201
    case linkLayer = 251
    case linuxMonitor = 254
    case linkLayerWithHeader = 256
    case nordicSniffer = 272

    /// Returns whether a link type is one of LINKTYPE_USER0…15, whose packets can be Bluetooth.
    static func isPrivate(_ number: UInt32) -> Bool { 147...162 ~= number }
}

/// The packets of a capture whose link types are not read, for example those of a Wi-Fi interface. They are skipped, which
/// is not damage.
public struct SkippedPackets: Sendable, Hashable, CustomStringConvertible {
    /// The maximum number of link types that are listed.
    public static let linkTypesMax = 4

    /// The number of packets.
    public private(set) var count = 0
    /// Their first link types, at most ``linkTypesMax`` (https://www.tcpdump.org/linktypes.html).
    public private(set) var linkTypes: [UInt32] = []
    private var hasMoreTypes = false

    mutating func add(linkType: UInt32) {
        count += 1
        guard !linkTypes.contains(linkType) else { return }
        if linkTypes.count < Self.linkTypesMax { linkTypes.append(linkType) } else { hasMoreTypes = true }
    }

    /// A sentence, such as `2 packets have link types that are not read (1, 105), and were skipped`.
    public var description: String {
        let list = linkTypes.map { "\($0)" }.joined(separator: ", ") + (hasMoreTypes ? ", …" : "")
        return count == 1
            ? "1 packet has a link type that is not read (\(list)), and was skipped"
            : "\(count) packets have link types that are not read (\(list)), and were skipped"
    }
}

extension CaptureReader {
    /// Returns the record of a packet of pcap or pcapng; `nil` if it has another link type after its PPI header. If the
    /// packet is too short for its pseudo-header, the record only shows that time passed, and the damage is recorded.
    ///
    /// `adapter` is the adapter of the interface; `nil` for a monitor interface of all adapters, whose packets name
    /// them.
    @inline(__always) mutating func record(
        _ linkType: LinkType, _ time: Instant?, adapter: Int?, _ packet: Range<Int>
    ) -> CaptureRecord? {
        switch linkType {
        case .h4: return h4Record(time, adapter, packet, isReceived: nil)
        case .h4WithDirection:
            guard packet.count >= 5 else { return short(linkType, time, adapter, packet) }
            let direction = UInt32(bigEndian: load(packet.lowerBound, as: UInt32.self))
            return h4Record(
                time, adapter, packet.lowerBound + 4..<packet.upperBound, isReceived: direction & 1 != 0)
        case .linuxMonitor:
            guard packet.count >= 4 else { return short(linkType, time, adapter, packet) }
            return monitorRecord(
                opcode: UInt16(bigEndian: load(packet.lowerBound + 2, as: UInt16.self)),
                index: UInt16(bigEndian: load(packet.lowerBound, as: UInt16.self)), time,
                packet.lowerBound + 4..<packet.upperBound, adapter: adapter)
        case .linkLayer, .linkLayerWithHeader, .nordicSniffer, .nordicSnifferUser:
            return frame(linkType, time, adapter, packet)
        case .perPacketInformation: return wrapped(time, adapter, packet)
        }
    }

    /// Returns the record of the packet after a PPI header; `nil` if its link type is not read.
    ///
    /// The header has version, flags, its length with its fields (2) and the link type of the packet (4), in little
    /// endian. Each field has its type (2), its length (2) and its data. The signal strengths in the field of Ubertooth
    /// are not used, because they are not in dBm.
    ///
    /// Source: CACE Technologies, "Per-Packet Information Header Specification", section 3; libbtbb's pcap.c.
    @inline(never) private mutating func wrapped(
        _ time: Instant?, _ adapter: Int?, _ packet: Range<Int>
    ) -> CaptureRecord? {
        guard packet.count >= 8 else { return short(.perPacketInformation, time, adapter, packet) }
        let length = Int(UInt16(littleEndian: load(packet.lowerBound + 2, as: UInt16.self)))
        let number = UInt32(littleEndian: load(packet.lowerBound + 4, as: UInt32.self))
        guard length >= 8, length <= packet.count else {
            damages.note(
                offset: base + packet.lowerBound, record: recordCount,
                "its PPI header claims \(length) bytes; must be from 8 to \(packet.count)")
            return CaptureRecord(time: time, adapter: adapter, content: .timeOnly, payload: packet)
        }
        // Ubertooth marks frames of the link layer as LINKTYPE_USER0, and adds its own field.
        let isUbertooth =
            number == 147 && length >= 12
            && UInt16(littleEndian: load(packet.lowerBound + 8, as: UInt16.self)) == 30006
        let inner = packet.lowerBound + length..<packet.upperBound
        if let linkType = isUbertooth ? .linkLayer : LinkType(rawValue: number), linkType != .perPacketInformation {
            return record(linkType, time, adapter: linkType == .linuxMonitor ? nil : adapter, inner)
        }
        guard LinkType.isPrivate(number) else {
            skippedPackets.add(linkType: number)
            // Like that of another interface, the packet is not a record.
            recordCount &-= 1
            return nil
        }
        damages.note(
            offset: base + packet.lowerBound, record: recordCount,
            "its PPI header has the link type \(number), which is not supported")
        return CaptureRecord(time: time, adapter: adapter, content: .timeOnly, payload: packet)
    }

    @inline(never) private mutating func short(
        _ linkType: LinkType, _ time: Instant?, _ adapter: Int?, _ packet: Range<Int>
    ) -> CaptureRecord {
        damages.note(
            offset: base + packet.lowerBound, record: recordCount,
            "its length of \(packet.count) is too small for link type \(linkType.rawValue)")
        return CaptureRecord(time: time, adapter: adapter, content: .timeOnly, payload: packet)
    }

    private mutating func frame(
        _ linkType: LinkType, _ time: Instant?, _ adapter: Int?, _ packet: Range<Int>
    ) -> CaptureRecord {
        var rssi: RSSI?
        var check = FrameCheck.unchecked
        var isCoded = false
        var frame = packet
        switch linkType {
        case .linkLayerWithHeader:
            // Channel, signal (dBm), noise, access address offences, reference access address (4), flags (2).
            guard packet.count >= 10 else { return short(linkType, time, adapter, packet) }
            let flags = UInt16(littleEndian: load(packet.lowerBound + 8, as: UInt16.self))
            if flags & 0x0002 != 0 { rssi = RSSI(reported: window[packet.lowerBound + 1]) }
            if flags & 0x0400 != 0 { check = flags & 0x0800 != 0 ? .valid : .invalid }
            isCoded = flags >> 14 == 2
            frame = packet.lowerBound + 10..<packet.upperBound
        case .nordicSniffer, .nordicSnifferUser:
            guard linkType == .nordicSniffer || isNordic(packet) else {
                damages.note(
                    offset: base + packet.lowerBound, record: recordCount,
                    "it has link type 157, but not the header of an nRF sniffer")
                return CaptureRecord(time: time, adapter: adapter, content: .timeOnly, payload: packet)
            }
            guard let (start, flags, signal) = nordicHeader(packet) else {
                return short(linkType, time, adapter, packet)
            }
            guard let flags, let signal else {
                return CaptureRecord(time: time, adapter: adapter, content: .timeOnly, payload: packet)
            }
            // The sample is the signal strength without its sign.
            rssi = RSSI(dBm: Int8(-Int(min(signal, 127))))
            check = flags & 0x01 != 0 ? .valid : .invalid
            isCoded = flags >> 4 & 0x7 == 2
            frame = start..<packet.upperBound
        default: break
        }
        // With the Coded PHY, the coding indicator is between access address and PDU and belongs to neither.
        if isCoded, frame.count > 5 { frame = dropping(at: 4, of: frame) }
        // Nordic's sniffers insert a byte after the PDU's header; their host software usually removes it.
        if linkType == .nordicSniffer || linkType == .nordicSnifferUser, frame.count >= 10,
            frame.count == 4 + 2 + 1 + Int(window[frame.lowerBound + 5]) + 3
        {
            frame = dropping(at: 6, of: frame)
        }
        return CaptureRecord(
            time: time, adapter: adapter, content: .linkLayer(rssi: rssi, check: check), payload: frame)
    }

    /// Returns whether a packet has the length in its header of an nRF sniffer, or the start of the legacy header. Other
    /// programs use the same private link type.
    private func isNordic(_ packet: Range<Int>) -> Bool {
        guard packet.count >= 8 else { return false }
        let start = packet.lowerBound
        let rest = packet.count - 7
        switch window[start + 3] {
        case 1 where window[start + 1] == 6: return rest == Int(window[start + 2])
        case 2, 3: return rest == Int(window[start + 1]) | Int(window[start + 2]) << 8
        default: return window[start] == 0xBE && window[start + 1] == 0xEF
        }
    }

    /// Returns the start of the frame after the header of an nRF sniffer, its flags and its signal. Without the latter,
    /// there is no frame.
    ///
    /// Source: the header comment of Wireshark's packet-nordic_ble.c; versions 1 to 3 and the legacy one.
    private mutating func nordicHeader(_ packet: Range<Int>) -> (start: Int, flags: UInt8?, signal: UInt8?)? {
        let start = packet.lowerBound
        guard packet.count >= 8 else { return nil }
        // The legacy header: BEEF, packet id, counter (2), unused (2), length; then flags, channel, signal, and more.
        if window[start] == 0xBE, window[start + 1] == 0xEF {
            guard packet.count >= 17 else { return nil }
            return (start + 17, window[start + 8], window[start + 10])
        }
        // Board, length (2; in version 1 one byte each for the lengths of header and payload), version, counter (2),
        // packet id.
        let version = window[start + 3]
        let id = window[start + 6]
        // 0x06: a packet, from version 3 on one of a connection; 0x02: an advertising packet, from version 3 on.
        guard id == 0x06 || id == 0x02 && version >= 3 else { return (packet.upperBound, nil, nil) }
        // The payload: the length of its header, flags, channel, signal, event counter (2), time (4).
        let length = Int(window[start + 7])
        guard length >= 10, packet.count >= 7 + length else { return nil }
        return (start + 7 + length, window[start + 8], window[start + 10])
    }

    /// Removes one byte from a frame by moving the bytes before it.
    private mutating func dropping(at offset: Int, of frame: Range<Int>) -> Range<Int> {
        for index in (0..<offset).reversed() { window[frame.lowerBound + index + 1] = window[frame.lowerBound + index] }
        return frame.lowerBound + 1..<frame.upperBound
    }
}
