public import BluetoothLE

/// Writes a capture that this library, btmon and Wireshark read.
///
/// Records are buffered; nothing is sure to be in the file before ``close()``, or ``flush()``.
public struct CaptureWriter: ~Copyable {
    /// What can be written.
    public enum Format: Sendable, Hashable, CaseIterable {
        /// btsnoop with datalink 2001, what `btmon -w` writes. Its times are whole microseconds, its adapters' names at
        /// most 8 bytes.
        case btsnoop
        /// pcapng with link type 254, an interface for each adapter.
        case pcapng
        /// The project's own advertisement log: JSON lines.
        case advertisementLog
    }

    /// The longest packet that is written; a longer one is not one of HCI.
    public static let packetBytesMax = 65_535

    /// What is written.
    public let format: Format
    let sink: ByteSink
    // The adapters that were announced, each by the place of its name.
    private var announced: [AnnouncedAdapter] = []
    private var places: [String: Int] = [:]

    private struct AnnouncedAdapter {
        var name: String
        var isListening: Bool
    }

    /// Makes the file at `path`, emptied where it exists; `-` is standard output.
    public init(path: String, format: Format) throws(CaptureError) {
        self.format = format
        sink = try ByteSink(path: path)
        switch format {
        case .btsnoop:
            sink.append(Btsnoop.magic)
            sink.append(bigEndian: UInt32(1))
            sink.append(bigEndian: UInt32(2001))
        case .pcapng: sink.appendSectionHeader()
        case .advertisementLog: break
        }
    }

    /// Writes an HCI packet of `adapter` without its H4 octet.
    ///
    /// The advertisement log takes none; there it does nothing. So it does with more than ``packetBytesMax`` bytes.
    public mutating func write(
        _ kind: CaptureRecord.PacketKind, isReceived: Bool, _ packet: Span<UInt8>, adapter: String, time: Instant
    ) throws(CaptureError) {
        guard format != .advertisementLog, packet.count <= Self.packetBytesMax else { return }
        let opcode =
            switch kind {
            case .command: Btsnoop.Opcode.command
            case .event: Btsnoop.Opcode.event
            case .acl: isReceived ? Btsnoop.Opcode.aclReceived : Btsnoop.Opcode.aclSent
            case .sco: isReceived ? Btsnoop.Opcode.scoReceived : Btsnoop.Opcode.scoSent
            case .iso: isReceived ? Btsnoop.Opcode.isoReceived : Btsnoop.Opcode.isoSent
            }
        try write(opcode: opcode, packet, adapter: adapter, time: time)
    }

    /// Writes a record of the Linux monitor that is no packet; the advertisement log takes none.
    public mutating func write(
        opcode: UInt16, _ payload: Span<UInt8>, adapter: String, time: Instant
    ) throws(CaptureError) {
        guard format != .advertisementLog, payload.count <= Self.packetBytesMax else { return }
        let place = try announce(adapter, time: time)
        append(opcode: opcode, index: UInt16(truncatingIfNeeded: place), place: place, payload, time: time)
        try sink.flushIfFull()
    }

    /// Writes one advertising report with its AD structures: a line of the advertisement log, else an event.
    public mutating func write(
        _ report: AdvertisingReport, data: Span<UInt8>, adapter: String, time: Instant
    ) throws(CaptureError) {
        guard format == .advertisementLog else {
            var events = AdvertisingEvents(report, dataCount: data.count)
            var bytes: [UInt8] = []
            while events.next(data, into: &bytes) {
                try write(.event, isReceived: true, bytes.span, adapter: adapter, time: time)
            }
            return
        }
        beginLine(adapter, time)
        appendReport(report)
        sink.append(",\"data\":\"")
        for index in 0..<data.count { sink.append(hexadecimal: data[index]) }
        sink.append("\"}\n")
        try sink.flushIfFull()
    }

    /// Writes an iBeacon that came without its bytes, with the report that it came in.
    public mutating func write(
        _ beacon: IBeacon, report: AdvertisingReport, adapter: String, time: Instant
    ) throws(CaptureError) {
        guard format == .advertisementLog else {
            var data: [UInt8] = [UInt8(IBeacon.manufacturerDataLength + 1), ADStructure.manufacturerSpecificData]
            data += beacon.manufacturerData
            return try write(report, data: data.span, adapter: adapter, time: time)
        }
        beginLine(adapter, time)
        appendReport(report)
        sink.append(",\"uuid\":\"")
        sink.append(beacon.identity.uuid.description.utf8)
        sink.append("\",\"major\":")
        sink.append(decimal: Int(beacon.identity.major))
        sink.append(",\"minor\":")
        sink.append(decimal: Int(beacon.identity.minor))
        sink.append(",\"measuredPower\":")
        sink.append(decimal: Int(beacon.measuredPower))
        sink.append("}\n")
        try sink.flushIfFull()
    }

    /// Writes that `adapter` listens, or does not, from `time` on.
    public mutating func write(listening: Bool, adapter: String, time: Instant) throws(CaptureError) {
        if format == .advertisementLog {
            beginLine(adapter, time)
            sink.append(listening ? ",\"listening\":true}\n" : ",\"listening\":false}\n")
        } else {
            let count = announced.count
            let place = try announce(adapter, time: time)
            // Announcing says that it listens already.
            if listening, announced.count > count { return try sink.flushIfFull() }
            append(
                opcode: listening ? Btsnoop.Opcode.openIndex : Btsnoop.Opcode.closeIndex,
                index: UInt16(truncatingIfNeeded: place), place: place, Span(), time: time)
        }
        try sink.flushIfFull()
    }

    /// Writes nothing but that `adapter` was there at `time`.
    ///
    /// In btsnoop and pcapng it is a System Note without text.
    public mutating func write(timeOnly adapter: String, time: Instant) throws(CaptureError) {
        if format == .advertisementLog {
            beginLine(adapter, time)
            sink.append("}\n")
            return try sink.flushIfFull()
        }
        try write(opcode: Btsnoop.Opcode.systemNote, [UInt8(0)].span, adapter: adapter, time: time)
    }

    /// Hands what is buffered to the system.
    public mutating func flush() throws(CaptureError) { try sink.flush() }

    /// Writes what is buffered and closes the file.
    public consuming func close() throws(CaptureError) { try sink.close() }

    // MARK: btsnoop and pcapng

    /// Announces an adapter when it first appears: New Index with its name, Open Index.
    private mutating func announce(_ adapter: String, time: Instant) throws(CaptureError) -> Int {
        if let place = places[adapter] { return place }
        let place = announced.count
        announced.append(AnnouncedAdapter(name: adapter, isListening: true))
        places[adapter] = place
        if format == .pcapng { sink.appendInterface(name: adapter) }
        // Type primary, bus virtual, no address; the name with zeros behind it.
        var payload: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0]
        payload += Self.shortName(adapter, place)
        append(
            opcode: Btsnoop.Opcode.newIndex, index: UInt16(truncatingIfNeeded: place), place: place, payload.span,
            time: time)
        append(
            opcode: Btsnoop.Opcode.openIndex, index: UInt16(truncatingIfNeeded: place), place: place, Span(), time: time
        )
        try sink.flushIfFull()
        return place
    }

    /// Whether New Index's 8 bytes hold `name`.
    static func fits(_ name: String) -> Bool { name.utf8.count <= 8 }

    /// A name in New Index's 8 bytes; one that does not fit is numbered, so that no two clash.
    private static func shortName(_ name: String, _ place: Int) -> [UInt8] {
        var bytes = Array((fits(name) ? name : "hci#\(place)").utf8.prefix(8))
        while bytes.count < 8 { bytes.append(0) }
        return bytes
    }

    private func append(opcode: UInt16, index: UInt16, place: Int, _ payload: Span<UInt8>, time: Instant) {
        if format == .btsnoop {
            sink.append(bigEndian: UInt32(payload.count))
            sink.append(bigEndian: UInt32(payload.count))
            sink.append(bigEndian: UInt32(index) << 16 | UInt32(opcode))
            sink.append(bigEndian: UInt32(0))
            sink.append(bigEndian: time.nanoseconds / 1000 + Btsnoop.epoch)
            sink.append(payload)
        } else {
            sink.appendPacket(interface: UInt32(place), index: index, opcode: opcode, payload, time: time)
        }
    }

    // MARK: the advertisement log

    private func beginLine(_ adapter: String, _ time: Instant) {
        sink.append("{\"time\":\"")
        sink.append(time: time)
        sink.append("\",\"adapter\":")
        sink.append(quoted: adapter)
    }

    private func appendReport(_ report: AdvertisingReport) {
        if let address = report.address {
            sink.append(",\"address\":\"")
            sink.append(address.description.utf8)
            sink.append("\"")
            if address.kind != .unspecified {
                sink.append(",\"addressType\":\"")
                sink.append(LogWords.word(address.kind))
                sink.append("\"")
            }
        }
        if let rssi = report.rssi {
            sink.append(",\"rssi\":")
            sink.append(decimal: Int(rssi.dBm))
        }
    }
}
