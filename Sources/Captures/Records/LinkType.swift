import BaseTypes
import BluetoothLE

/// The supported link types of pcap and pcapng (https://www.tcpdump.org/linktypes.html).
enum LinkType: UInt32 {
    case h4 = 187
    case h4WithDirection = 201
    case linkLayer = 251
    case linuxMonitor = 254
    case linkLayerWithHeader = 256
    case nordicSniffer = 272
}

extension CaptureReader {
    /// Returns the record of a packet of pcap or pcapng. If the packet is too short for its pseudo-header, the record
    /// only shows that time passed, and the damage is recorded.
    ///
    /// `adapter` is the adapter of the interface; `nil` for a monitor interface of all adapters, whose packets name
    /// them.
    @inline(__always) mutating func record(
        _ linkType: LinkType, _ time: Instant?, adapter: Int?, _ packet: Range<Int>
    ) -> CaptureRecord {
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
        case .linkLayer, .linkLayerWithHeader, .nordicSniffer: return frame(linkType, time, adapter, packet)
        }
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
        case .nordicSniffer:
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
        if linkType == .nordicSniffer, frame.count >= 10,
            frame.count == 4 + 2 + 1 + Int(window[frame.lowerBound + 5]) + 3
        {
            frame = dropping(at: 6, of: frame)
        }
        return CaptureRecord(
            time: time, adapter: adapter, content: .linkLayer(rssi: rssi, check: check), payload: frame)
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
