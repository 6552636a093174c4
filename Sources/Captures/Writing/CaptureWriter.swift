public import BaseTypes
public import BluetoothLE
import JSON

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

        /// The format for the ending of a file name, or `nil` if the ending has no format that can be written.
        package init?(fileName name: String) {
            switch name.split(separator: ".", omittingEmptySubsequences: false).last?.lowercased() {
            case "btsnoop", "snoop", "cfa": self = .btsnoop
            case "pcapng": self = .pcapng
            case "jsonl", "json", "ndjson": self = .advertisementLog
            default: return nil
            }
        }
    }

    /// The longest packet that is written; a longer one is not one of HCI.
    public static let packetBytesMax = 1024 * 1024 - 64

    /// The format that is written.
    public let format: Format
    let sink: ByteSink
    // A line of the advertisement log while it is made.
    private var line = LineBuffer(capacity: 1024)
    // The adapters that were announced: in btsnoop their indexes, in pcapng their interfaces too.
    private var places: [String: Int] = [:]
    // The controllers' addresses, by their adapters' names (rule L7).
    private var addresses: [String: DeviceAddress] = [:]
    private var lastName = ""
    private var lastPlace = -1
    // What stands for their names in New Index, by place.
    private var shortNames: [String] = []
    // pcapng: each place's interface, and that of records that belong to no adapter.
    private var interfaces: [Int] = []
    private var commonInterface: Int?

    /// Makes the file at `path`, emptied where it exists; `-` is standard output.
    public init(path: String, format: Format) throws(CaptureError) {
        self.init(format, try ByteSink(path: path))
    }

    /// Writes into memory, whose owner takes it away in time (``drainBuffered()``): for who must not wait for a file.
    public init(format: Format) { self.init(format, ByteSink()) }

    private init(_ format: Format, _ sink: ByteSink) {
        self.format = format
        self.sink = sink
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
        _ kind: CaptureRecord.PacketKind, isReceived: Bool, _ packet: Span<UInt8>, adapter: String?, time: Instant
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

    /// Writes a record of the Linux monitor; the advertisement log takes none.
    ///
    /// The name in a New Index is replaced by `adapter`, or what stands for it. An absent adapter is the monitor's "none".
    public mutating func write(
        opcode: UInt16, _ payload: Span<UInt8>, adapter: String?, time: Instant
    ) throws(CaptureError) {
        guard format != .advertisementLog, payload.count <= Self.packetBytesMax else { return }
        guard let adapter else {
            append(opcode: opcode, common: payload, time: time)
            return try sink.flushIfFull()
        }
        noteAddress(in: payload, opcode, adapter)
        if let place = known(adapter) {
            if opcode == Btsnoop.Opcode.newIndex { return try writeNewIndex(payload, adapter, place, time) }
            append(opcode: opcode, place: place, payload, time: time)
        } else {
            let place = add(adapter)
            if opcode == Btsnoop.Opcode.newIndex { return try writeNewIndex(payload, adapter, place, time) }
            try writeNewIndex(Span(), adapter, place, time)
            if opcode != Btsnoop.Opcode.indexInfo { appendNoAddress(place, time) }
            // Nothing says better that it listens than what it hears, but for whoever looks on with btmon.
            let isAboutListening =
                opcode == Btsnoop.Opcode.openIndex || opcode == Btsnoop.Opcode.closeIndex
                || opcode == Btsnoop.Opcode.deleteIndex || opcode == Btsnoop.Opcode.indexInfo
            if !isAboutListening { append(opcode: Btsnoop.Opcode.openIndex, place: place, Span(), time: time) }
            append(opcode: opcode, place: place, payload, time: time)
        }
        try sink.flushIfFull()
    }

    /// Says which controller goes by that name from now on (rule L7); `nil`: its address is not known. To be said before the
    /// first record of each.
    ///
    /// The advertisement log tells it beside the name in each line that follows; in btsnoop and pcapng it is written now,
    /// where it is another than before: a New Index with the address, which is zero where it is not known.
    public mutating func identify(
        adapter: String, address: DeviceAddress?, time: Instant
    ) throws(CaptureError) {
        let address = address?.value == 0 ? nil : address
        guard addresses[adapter]?.value != address?.value else { return }
        guard format != .advertisementLog else {
            addresses[adapter] = address
            return
        }
        var payload = [UInt8](repeating: 0, count: 16)
        for octet in 0..<6 {
            payload[2 + octet] = UInt8(truncatingIfNeeded: (address?.value ?? 0) >> UInt64(8 * octet))
        }
        try write(opcode: Btsnoop.Opcode.newIndex, payload.span, adapter: adapter, time: time)
        if address == nil, let place = known(adapter) { appendNoAddress(place, time) }
    }

    /// The address that the writer has told of the adapter of that name.
    func address(of adapter: String) -> DeviceAddress? { addresses[adapter] }

    /// Whether a New Index, or an interface of pcapng, has the name of an adapter already.
    func hasAnnounced(_ adapter: String) -> Bool { places[adapter] != nil }

    private mutating func noteAddress(in payload: Span<UInt8>, _ opcode: UInt16, _ adapter: String) {
        let start = opcode == Btsnoop.Opcode.newIndex ? 2 : 0
        guard opcode == Btsnoop.Opcode.newIndex || opcode == Btsnoop.Opcode.indexInfo, payload.count >= start + 6 else {
            return
        }
        var value: UInt64 = 0
        for octet in (0..<6).reversed() { value = value << 8 | UInt64(payload[start + octet]) }
        if value != 0 {
            addresses[adapter] = DeviceAddress(value, kind: .unspecified)
        } else if opcode == Btsnoop.Opcode.newIndex {
            addresses[adapter] = nil
        }
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
        try writeLine(adapter, time) { line in
            Self.write(report, into: &line)
            line.key("data")
            line.quoted { line in
                for index in 0..<data.count { line.append(hexadecimal: data[index]) }
            }
        }
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
        try writeLine(adapter, time) { line in
            Self.write(report, into: &line)
            line.write(beacon.identity)
            line.write("measuredPower", beacon.measuredPower)
        }
    }

    /// Writes that `adapter` listens, or does not, from `time` on.
    ///
    /// - Parameters:
    ///   - listening: whether it listens.
    ///   - adapter: the adapter.
    ///   - time: from when on.
    ///   - since: where it does not, and that was learnt of late: when it had stopped (rules L1, L2). In btsnoop and pcapng
    ///     these are eight octets in Close Index, nanoseconds since 1970 in big endian; others pass them over.
    /// - Throws: ``CaptureError`` where the format can't hold the time.
    public mutating func write(
        listening: Bool, adapter: String, time: Instant, since: Instant? = nil
    ) throws(CaptureError) {
        let since = listening ? nil : since
        if format == .advertisementLog {
            return try writeLine(adapter, time) { line in
                line.write("listening", listening)
                if let since { line.write("since", dateOfNanoseconds: since.nanoseconds) }
            }
        } else {
            var payload: [UInt8] = []
            if let since {
                for shift in stride(from: 56, through: 0, by: -8) {
                    payload.append(UInt8(truncatingIfNeeded: since.nanoseconds >> Int64(shift)))
                }
            }
            try write(
                opcode: listening ? Btsnoop.Opcode.openIndex : Btsnoop.Opcode.closeIndex, payload.span,
                adapter: adapter, time: time)
        }
        try sink.flushIfFull()
    }

    /// Writes nothing but that `adapter` was there at `time`.
    ///
    /// In btsnoop and pcapng it is a System Note without text, which a reader takes for what it is.
    public mutating func write(timeOnly adapter: String, time: Instant) throws(CaptureError) {
        if format == .advertisementLog { return try writeLine(adapter, time) { _ in } }
        try write(opcode: Btsnoop.Opcode.systemNote, [UInt8(0)].span, adapter: adapter, time: time)
    }

    /// How many octets are buffered.
    public var bufferedCount: Int { sink.count }

    /// Takes away what is buffered: the capture's next octets.
    public mutating func drainBuffered() -> [UInt8] { sink.drain() }

    /// Writes nothing but that it was `time`, for no adapter; the advertisement log has no such line.
    public mutating func write(timeOnly time: Instant) throws(CaptureError) {
        try write(opcode: Btsnoop.Opcode.systemNote, [UInt8(0)].span, adapter: nil, time: time)
    }

    /// Hands what is buffered to the system.
    public mutating func flush() throws(CaptureError) { try sink.flush() }

    /// Writes what is buffered and closes the file.
    public consuming func close() throws(CaptureError) { try sink.close() }

    // MARK: btsnoop and pcapng

    private mutating func known(_ adapter: String) -> Int? {
        if lastPlace >= 0, lastName == adapter { return lastPlace }
        guard let place = places[adapter] else { return nil }
        (lastName, lastPlace) = (adapter, place)
        return place
    }

    private mutating func add(_ adapter: String) -> Int {
        let place = places.count
        places[adapter] = place
        if format == .pcapng {
            sink.appendInterface(name: adapter)
            interfaces.append(interfaces.count + (commonInterface == nil ? 0 : 1))
        }
        shortNames.append(shortName(adapter, place))
        return place
    }

    /// Whether New Index's 8 bytes hold `name`.
    static func fits(_ name: String) -> Bool { name.utf8.count <= 8 }

    /// What stands for a name in New Index: itself where it fits, else one that no other adapter has.
    private func shortName(_ name: String, _ place: Int) -> String {
        if Self.fits(name), !shortNames.contains(name) { return name }
        var number = place
        while shortNames.contains("adp\(number)") || places["adp\(number)"] != nil { number += 1 }
        return "adp\(number)"
    }

    /// New Index: type primary, bus virtual, no address where `payload` has none; the name with zeros behind it.
    private func writeNewIndex(
        _ payload: Span<UInt8>, _ adapter: String, _ place: Int, _ time: Instant
    ) throws(CaptureError) {
        var bytes: [UInt8] = []
        for index in 0..<8 { bytes.append(index < payload.count ? payload[index] : 0) }
        bytes += shortNames[place].utf8.prefix(8)
        while bytes.count < 16 { bytes.append(0) }
        for index in 16..<max(payload.count, 16) { bytes.append(payload[index]) }
        append(opcode: Btsnoop.Opcode.newIndex, place: place, bytes.span, time: time)
        try sink.flushIfFull()
    }

    /// An Index Info without an address: none is to come after a New Index that has none.
    private func appendNoAddress(_ place: Int, _ time: Instant) {
        let noAddress: [UInt8] = [0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
        append(opcode: Btsnoop.Opcode.indexInfo, place: place, noAddress.span, time: time)
    }

    private mutating func append(opcode: UInt16, common payload: Span<UInt8>, time: Instant) {
        if format == .pcapng, commonInterface == nil {
            commonInterface = interfaces.count
            sink.appendInterface(name: nil)
        }
        append(opcode: opcode, index: AdapterTable.noIndex, interface: commonInterface ?? 0, payload, time: time)
    }

    private func append(opcode: UInt16, place: Int, _ payload: Span<UInt8>, time: Instant) {
        append(
            opcode: opcode, index: UInt16(truncatingIfNeeded: place),
            interface: format == .pcapng ? interfaces[place] : 0,
            payload, time: time)
    }

    private func append(opcode: UInt16, index: UInt16, interface: Int, _ payload: Span<UInt8>, time: Instant) {
        if format == .btsnoop {
            sink.append(bigEndian: UInt32(payload.count))
            sink.append(bigEndian: UInt32(payload.count))
            sink.append(bigEndian: UInt32(index) << 16 | UInt32(opcode))
            sink.append(bigEndian: UInt32(0))
            sink.append(bigEndian: time.nanoseconds / 1000 + Btsnoop.epoch)
            sink.append(payload)
        } else {
            sink.appendPacket(
                interface: UInt32(truncatingIfNeeded: interface), index: index, opcode: opcode, payload, time: time)
        }
    }

    // MARK: the advertisement log

    /// Writes a line that tells of an adapter; `body` writes what.
    private mutating func writeLine(
        _ adapter: String, _ time: Instant, _ body: (inout LineBuffer) -> Void
    ) throws(CaptureError) {
        let address = addresses[adapter]
        line.removeAll()
        line.object { line in
            line.write("time", dateOfNanoseconds: time.nanoseconds)
            line.write("adapter", adapter)
            if let address { line.write("adapterAddress", address) }
            body(&line)
        }
        line.append(octet: 0x0A)
        sink.append(line)
        try sink.flushIfFull()
    }

    private static func write(_ report: AdvertisingReport, into line: inout LineBuffer) {
        if let address = report.address {
            line.write("address", address)
            if let word = address.kind.word { line.write("addressType", word: word) }
        }
        if let rssi = report.rssi { line.write("rssi", rssi.dBm) }
    }
}
