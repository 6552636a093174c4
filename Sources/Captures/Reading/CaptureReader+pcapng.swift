import BaseTypes
import BluetoothLE

/// The interfaces of a pcapng section.
///
/// Source: draft-ietf-opsawg-pcapng.
struct PcapngState {
    static let sectionHeader: UInt32 = 0x0A0D_0D0A
    static let byteOrderMagic: UInt32 = 0x1A2B_3C4D

    static func isByteOrderMagic(_ number: UInt32) -> Bool {
        number == byteOrderMagic || number.byteSwapped == byteOrderMagic
    }

    /// The maximum number of interfaces in one section. Packets of further ones are damage.
    static let interfacesMax = 4096
    /// The value of if_description for an interface of one adapter, whose name is if_name.
    static let adapterDescription = "one adapter"

    struct Interface {
        var type: UInt32
        var linkType: LinkType?
        var snapLength: Int
        /// The index of its name; `nil` for a monitor interface of all adapters, whose packets name them.
        var adapter: Int?
        var isMonitor: Bool { linkType == .linuxMonitor }
        /// The number of nanoseconds in a unit of its time stamps; 0 if that is not an integer.
        var unit: Int64 = 1000
        /// The highest time stamp for which multiplying by the unit is sufficient.
        var stampMax: UInt64 = 0
        /// The byte if_tsresol: 10^-n seconds, or 2^-n if its high bit is set.
        var resolution: UInt8 = 6
        /// if_tsoffset: seconds to add.
        var offset: Int64 = 0
        /// Whether it was reported that its packets are not supported.
        var isReported = false
    }

    var isSwapped = false
    var interfaces: [Interface] = []
    /// The last link type that is not supported.
    var unsupportedType: UInt32?
    var hasSupportedInterface = false
    /// Whether a packet was rejected because of its time.
    var hasRefusedTime = false
    /// The time of the last packet, for packets without one.
    var lastTime: Instant?
}

extension CaptureReader {
    mutating func openPcapng() {
        layout = .pcapng
        format = .pcapng
    }

    @inline(__always) private mutating func number32(_ offset: Int) -> UInt32 {
        let number = load(offset, as: UInt32.self).littleEndian
        return pcapng.isSwapped ? number.byteSwapped : number
    }

    @inline(__always) private mutating func number16(_ offset: Int) -> UInt16 {
        let number = load(offset, as: UInt16.self).littleEndian
        return pcapng.isSwapped ? number.byteSwapped : number
    }

    mutating func nextPcapngRecord() throws(CaptureError) -> CaptureRecord? {
        while true {
            guard try has(12) else { return endOrCut(12) }
            let type = number32(head)
            if type == PcapngState.sectionHeader, !readByteOrder() {
                return end("a section header without its byte order magic")
            }
            let length = Int(number32(head + 4))
            guard length >= 12, length % 4 == 0 else {
                // The header of a section is not that of another file: it would be read again.
                if type == PcapngState.sectionHeader { return end("a section header claims \(length) bytes") }
                return try endOfFile(headerSize: 12, "a block claims \(length) bytes")
            }
            // Other blocks can have any length, because they need not fit in the window.
            let isRead = type == PcapngState.sectionHeader || 1...3 ~= type || type == 6
            if !isRead {
                if isHeader(head) { return try endOfFile(headerSize: 12, "") }
                guard try skip(length) else { return nil }
                continue
            }
            guard length <= Self.recordBytesMax else {
                return end("a block claims \(length) bytes; must be at most 1 MiB")
            }
            guard try has(length) else { return endOrCut(length) }
            guard Int(number32(head + length - 4)) == length else {
                return end("a block of \(length) bytes ends with the length \(number32(head + length - 4))")
            }
            let body = head + 8..<head + length - 4
            var record: CaptureRecord?
            switch type {
            case PcapngState.sectionHeader:
                guard body.count >= 16 else { return end("a section header of \(length) bytes") }
                pcapng.interfaces.removeAll(keepingCapacity: true)
                (pcapng.lastTime, pcapng.hasRefusedTime) = (nil, false)
                adapterTable.startFile()
            case 1:
                guard body.count >= 8 else { return end("an interface description of \(length) bytes") }
                describe(body)
            case 3:
                guard let packet = simplePacket(body) else { return end("a simple packet without an interface") }
                record = packet
            default:
                record = packetBlock(body, isObsolete: type == 2)
                if hasEnded { return nil }
            }
            head += length
            if let record { return record }
        }
    }

    /// Reads an Enhanced Packet Block, or an obsolete Packet Block. If it is invalid, the capture ends.
    private mutating func packetBlock(_ body: Range<Int>, isObsolete: Bool) -> CaptureRecord? {
        guard body.count >= 20 else { return end("a packet block of \(body.count + 12) bytes") }
        let included = Int(number32(body.lowerBound + 12))
        guard included <= body.count - 20 else {
            return end("a packet claims \(included) bytes; its block has \(body.count - 20)")
        }
        // The obsolete block has 16 bits of drops next to the interface.
        let id = isObsolete ? Int(number16(body.lowerBound)) : Int(number32(body.lowerBound))
        guard id < pcapng.interfaces.count else {
            return end("a packet of interface \(id), which is not described")
        }
        let stamp = UInt64(number32(body.lowerBound + 4)) << 32 | UInt64(number32(body.lowerBound + 8))
        return packet(id, stamp, body.lowerBound + 20..<body.lowerBound + 20 + included)
    }

    /// Reads the byte order of a section from the word after the length. The type of a section header is the same
    /// number in both byte orders.
    ///
    /// - Returns: whether the word is the byte order magic.
    private mutating func readByteOrder() -> Bool {
        let magic = load(head + 8, as: UInt32.self).littleEndian
        pcapng.isSwapped = magic != PcapngState.byteOrderMagic
        return PcapngState.isByteOrderMagic(magic)
    }

    /// Skips a block of any length.
    private mutating func skip(_ length: Int) throws(CaptureError) -> Bool {
        var rest = length
        while rest > 0 {
            if tail == head, !(try refill(1)) {
                _ = end("a block is truncated: \(rest) of its \(length) bytes are missing")
                return false
            }
            let step = min(rest, tail - head)
            head += step
            rest -= step
        }
        return true
    }

    private mutating func packet(_ id: Int, _ stamp: UInt64, _ packet: Range<Int>) -> CaptureRecord? {
        guard let linkType = pcapng.interfaces[id].linkType else {
            skipPacket(ofInterface: id)
            return nil
        }
        recordCount &+= 1
        var time: Instant?
        if hasTimes {
            guard let known = self.time(stamp, id) else {
                noteTimeOutOfRange(nanoseconds(stamp, id), at: head)
                pcapng.hasRefusedTime = true
                return nil
            }
            time = known
        }
        pcapng.lastTime = time
        let known = adapter(id)
        let record = record(linkType, time, adapter: known, packet)
        // The records of an interface for one adapter show which controller it is (rule L7).
        if known != nil, let adapter = record?.adapter { pcapng.interfaces[id].adapter = adapter }
        return record
    }

    /// Skips a packet of an interface whose link type is not supported. If the link type can be Bluetooth, the first one
    /// is damage.
    private mutating func skipPacket(ofInterface id: Int) {
        let type = pcapng.interfaces[id].type
        guard LinkType.isPrivate(type) else { return skippedPackets.add(linkType: type) }
        guard !pcapng.interfaces[id].isReported else { return }
        pcapng.interfaces[id].isReported = true
        damages.note(
            offset: base + head, record: recordCount + 1,
            "interface \(id) has the link type \(type), which is not supported; its packets are skipped")
    }

    private mutating func adapter(_ id: Int) -> Int? {
        let interface = pcapng.interfaces[id]
        if interface.adapter == nil, !interface.isMonitor { malformations.count(.adaptersTooMany) }
        return interface.adapter
    }

    private mutating func simplePacket(_ body: Range<Int>) -> CaptureRecord?? {
        guard body.count >= 4, let interface = pcapng.interfaces.first else { return nil }
        // It has the original length of the packet. The captured length is at most the limit of the interface.
        var included = min(Int(number32(body.lowerBound)), body.count - 4)
        if interface.snapLength > 0 { included = min(included, interface.snapLength) }
        guard let linkType = interface.linkType else {
            skipPacket(ofInterface: 0)
            return .some(nil)
        }
        recordCount &+= 1
        guard pcapng.lastTime != nil || !pcapng.hasRefusedTime && !(timesAreKnown && hasTimes) else {
            damages.note(
                offset: base + head, record: recordCount,
                pcapng.hasRefusedTime
                    ? "it has no time of its own, and the packet before it was rejected"
                    : "it has no time of its own, and no packet is before it")
            return .some(nil)
        }
        let start = body.lowerBound + 4
        return record(linkType, pcapng.lastTime, adapter: adapter(0), start..<start + included)
    }

    @inline(__always) private func time(_ stamp: UInt64, _ id: Int) -> Instant? {
        let unit = pcapng.interfaces[id].unit
        if unit > 0, stamp <= pcapng.interfaces[id].stampMax {
            return Instant(nanoseconds: Int64(stamp) &* unit)
        }
        return Self.instant(nanoseconds(stamp, id))
    }

    @inline(never) private func nanoseconds(_ stamp: UInt64, _ id: Int) -> Int128 {
        let interface = pcapng.interfaces[id]
        let exponent = Int(interface.resolution & 0x7F)
        // 2^64 units times 10^9 is below 2^94.
        var nanoseconds = UInt128(stamp) * 1_000_000_000
        if interface.resolution & 0x80 != 0 {
            nanoseconds >>= UInt128(exponent)
        } else {
            for _ in 0..<min(exponent, 39) { nanoseconds /= 10 }
        }
        return Int128(nanoseconds) + Int128(interface.offset) * 1_000_000_000
    }

    /// Handles an Interface Description Block.
    private mutating func describe(_ body: Range<Int>) {
        guard pcapng.interfaces.count < PcapngState.interfacesMax else { return }
        let type = UInt32(number16(body.lowerBound))
        var interface = PcapngState.Interface(
            type: type, linkType: LinkType(rawValue: type), snapLength: Int(number32(body.lowerBound + 4)))
        if interface.linkType == nil { pcapng.unsupportedType = type } else { pcapng.hasSupportedInterface = true }
        var name: Range<Int>?
        var isOneAdapter = false
        var place = body.lowerBound + 8
        // Options: code, length, value, padded to four bytes.
        while body.upperBound - place >= 4 {
            let code = number16(place)
            let length = Int(number16(place + 2))
            let value = place + 4..<place + 4 + length
            guard code != 0, value.upperBound <= body.upperBound else { break }
            switch code {
            case 2: name = value
            case 3: isOneAdapter = text(value) == PcapngState.adapterDescription
            case 9 where length == 1: interface.resolution = window[value.lowerBound]
            case 14 where length == 8:
                let first = UInt64(number32(value.lowerBound))
                let second = UInt64(number32(value.lowerBound + 4))
                interface.offset = Int64(bitPattern: pcapng.isSwapped ? first << 32 | second : second << 32 | first)
            default: break
            }
            place = value.upperBound + (4 - length % 4) % 4
        }
        let isDecimal = interface.resolution & 0x80 == 0
        interface.unit = 0
        if isDecimal, interface.resolution <= 9 {
            interface.unit = 1
            for _ in interface.resolution..<9 { interface.unit *= 10 }
            if interface.offset == 0 { interface.stampMax = UInt64((Self.timesEnd - 1) / interface.unit) }
        }
        // A monitor interface of Wireshark has the packets of all adapters.
        if !interface.isMonitor || isOneAdapter {
            // A name can end with a zero.
            if let range = name { name = range.lowerBound..<(window[range].firstIndex(of: 0) ?? range.upperBound) }
            if let name, !name.isEmpty {
                interface.adapter = adapterTable.place(of: window, name)
            } else {
                interface.adapter = adapterTable.place(named: "hci\(pcapng.interfaces.count)")
            }
        }
        pcapng.interfaces.append(interface)
    }

    private mutating func text(_ range: Range<Int>) -> String { String(decoding: window[range], as: UTF8.self) }
}
