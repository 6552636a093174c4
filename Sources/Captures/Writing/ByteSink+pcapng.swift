import BaseTypes

// The blocks of pcapng (draft-ietf-opsawg-pcapng), little endian: type, length, body padded to 4 bytes, length.
extension ByteSink {
    /// A Section Header Block: version 1.0, of unknown length.
    func appendSectionHeader() {
        append(littleEndian: PcapngState.sectionHeader)
        append(littleEndian: UInt32(28))
        append(littleEndian: PcapngState.byteOrderMagic)
        append(littleEndian: UInt16(1))
        append(littleEndian: UInt16(0))
        append(littleEndian: Int64(-1))
        append(littleEndian: UInt32(28))
    }

    /// An Interface Description Block of link type 254 with stamps in nanoseconds: for the adapter with `name`, or for
    /// records that belong to none.
    func appendInterface(name: String?) {
        let description = name == nil ? [] : Array(PcapngState.adapterDescription.utf8)
        let name = name.map { Array($0.utf8.prefix(AdapterTable.nameBytesMax)) } ?? Array("bluetooth-monitor".utf8)
        let options = 4 + Self.padded(name.count) + 4 + Self.padded(description.count) + 8 + 4
        let length = UInt32(20 + options)
        append(littleEndian: UInt32(1))
        append(littleEndian: length)
        append(littleEndian: UInt16(LinkType.linuxMonitor.rawValue))
        append(littleEndian: UInt16(0))
        append(littleEndian: UInt32(0))
        appendOption(2, name)
        appendOption(3, description)
        // if_tsresol: 10^-9 seconds.
        appendOption(9, [9])
        appendOption(0, [])
        append(littleEndian: length)
    }

    private static func padded(_ count: Int) -> Int { (count + 3) / 4 * 4 }

    private func appendOption(_ code: UInt16, _ value: [UInt8]) {
        append(littleEndian: code)
        append(littleEndian: UInt16(truncatingIfNeeded: value.count))
        append(value)
        for _ in value.count..<Self.padded(value.count) { append(0) }
    }

    /// An Enhanced Packet Block with link type 254's pseudo-header: adapter and opcode, big endian.
    func appendPacket(interface: UInt32, index: UInt16, opcode: UInt16, _ payload: Span<UInt8>, time: Instant) {
        let count = payload.count + 4
        let length = UInt32(32 + Self.padded(count))
        append(littleEndian: UInt32(6))
        append(littleEndian: length)
        append(littleEndian: interface)
        append(littleEndian: UInt32(truncatingIfNeeded: time.nanoseconds >> 32))
        append(littleEndian: UInt32(truncatingIfNeeded: time.nanoseconds))
        append(littleEndian: UInt32(count))
        append(littleEndian: UInt32(count))
        append(bigEndian: index)
        append(bigEndian: opcode)
        append(payload)
        for _ in count..<Self.padded(count) { append(0) }
        append(littleEndian: length)
    }
}
