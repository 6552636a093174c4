public import BaseTypes
public import BluetoothLE
import JSON

/// Writes a capture that this library, btmon and Wireshark can read.
///
/// Records are buffered. They are in the file after ``flush()`` or ``close()``.
///
///     var writer = try CaptureWriter(path: path, format: .advertisementLog)
///     try writer.write(report, data: data.span, adapter: "hci0", time: time)
///     try writer.close()
public struct CaptureWriter: ~Copyable {
    /// The formats that can be written.
    public enum Format: Sendable, Hashable, CaseIterable {
        /// btsnoop with datalink 2001, as written by `btmon -w`. Its times are whole microseconds, and the names of
        /// adapters have at most 8 bytes.
        case btsnoop
        /// pcapng with link type 254 and one interface per adapter.
        case pcapng
        /// The advertisement log of this project: JSON Lines.
        case advertisementLog

        /// Creates the format for the extension of a file name; `nil` if the extension is not one of a format that can
        /// be written.
        package init?(fileName name: String) {
            switch name.split(separator: ".", omittingEmptySubsequences: false).last?.lowercased() {
            case "btsnoop", "snoop", "cfa": self = .btsnoop
            case "pcapng": self = .pcapng
            case "jsonl", "json", "ndjson": self = .advertisementLog
            default: return nil
            }
        }
    }

    /// The maximum length of a packet in bytes. HCI packets are never longer.
    public static let packetBytesMax = 1024 * 1024 - 64

    /// The format of the capture.
    public let format: Format
    let sink: ByteSink
    // A buffer for the current line of the advertisement log.
    private var line = LineBuffer(capacity: 1024)
    // The adapters that were announced: in btsnoop their indices, in pcapng also their interfaces.
    private var places: [String: Int] = [:]
    // The addresses of the controllers, by the names of their adapters (rule L7).
    private var addresses: [String: DeviceAddress] = [:]
    private var lastName = ""
    private var lastPlace = -1
    // The names in New Index records, by index.
    private var shortNames: [String] = []
    // pcapng: the interface of each index, and that of records without an adapter.
    private var interfaces: [Int] = []
    private var commonInterface: Int?

    /// Creates the file at `path`, or truncates it if it exists; `-` is standard output.
    ///
    /// - Throws: ``CaptureError/createFailed(path:_:)``.
    public init(path: String, format: Format) throws(CaptureError) {
        self.init(format, try ByteSink(path: path))
    }

    /// Creates a writer in memory, for programs that must not wait for a file. Its owner must take the bytes regularly
    /// with ``drainBuffered()``.
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

    /// Writes an HCI packet of `adapter` without its H4 byte.
    ///
    /// It does nothing in the advertisement log, which has no packets, and for more than ``packetBytesMax`` bytes.
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

    /// Writes a record of the Linux monitor. It does nothing in the advertisement log.
    ///
    /// The name in a New Index is replaced by `adapter`, or by a short name. `nil` is the monitor's "no adapter".
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
            // A report already shows that the adapter scans, but people who read the capture with btmon expect this
            // record.
            let isAboutListening =
                opcode == Btsnoop.Opcode.openIndex || opcode == Btsnoop.Opcode.closeIndex
                || opcode == Btsnoop.Opcode.deleteIndex || opcode == Btsnoop.Opcode.indexInfo
            if !isAboutListening { append(opcode: Btsnoop.Opcode.openIndex, place: place, Span(), time: time) }
            append(opcode: opcode, place: place, payload, time: time)
        }
        try sink.flushIfFull()
    }

    /// Sets the controller that has this name from now on (rule L7); `nil` means that its address is unknown. Call it
    /// before the first record of each controller.
    ///
    /// In the advertisement log, each later line has the address. In btsnoop and pcapng, a New Index with the address
    /// is written now if the address has changed; it is zero if the address is unknown.
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
        for index in 0..<6 {
            payload[2 + index] = UInt8(truncatingIfNeeded: (address?.value ?? 0) >> UInt64(8 * index))
        }
        try write(opcode: Btsnoop.Opcode.newIndex, payload.span, adapter: adapter, time: time)
        if address == nil, let place = known(adapter) { appendNoAddress(place, time) }
    }

    /// Returns the address that the writer has written for an adapter.
    func address(of adapter: String) -> DeviceAddress? { addresses[adapter] }

    /// Returns whether a New Index, or an interface of pcapng, has the name of an adapter already.
    func hasAnnounced(_ adapter: String) -> Bool { places[adapter] != nil }

    private mutating func noteAddress(in payload: Span<UInt8>, _ opcode: UInt16, _ adapter: String) {
        let start = opcode == Btsnoop.Opcode.newIndex ? 2 : 0
        guard opcode == Btsnoop.Opcode.newIndex || opcode == Btsnoop.Opcode.indexInfo, payload.count >= start + 6 else {
            return
        }
        var value: UInt64 = 0
        for index in (0..<6).reversed() { value = value << 8 | UInt64(payload[start + index]) }
        if value != 0 {
            addresses[adapter] = DeviceAddress(value, kind: .unspecified)
        } else if opcode == Btsnoop.Opcode.newIndex {
            addresses[adapter] = nil
        }
    }

    /// Writes one advertising report with its AD structures: a line of the advertisement log, or an event.
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

    /// Writes an iBeacon without bytes, with its report.
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
            if let power = beacon.measuredPower { line.write("measuredPower", power) }
        }
    }

    /// Writes that `adapter` starts or stops scanning at `time`.
    ///
    /// - Parameters:
    ///   - listening: whether it scans from now on.
    ///   - adapter: the adapter.
    ///   - time: the time of the record.
    ///   - since: the time at which it had stopped, if that was noticed later (rules L1, L2). In btsnoop and pcapng,
    ///     these are eight bytes in Close Index, nanoseconds since 1970 in big endian, which other programs ignore.
    /// - Throws: ``CaptureError`` if the record cannot be written.
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

    /// Writes a record that only shows that `adapter` existed at `time`.
    ///
    /// In btsnoop and pcapng, it is a System Note without text, which this library recognizes.
    public mutating func write(timeOnly adapter: String, time: Instant) throws(CaptureError) {
        if format == .advertisementLog { return try writeLine(adapter, time) { _ in } }
        try write(opcode: Btsnoop.Opcode.systemNote, [UInt8(0)].span, adapter: adapter, time: time)
    }

    /// The number of bytes in the buffer.
    public var bufferedCount: Int { sink.count }

    /// Returns the bytes in the buffer, which are the next bytes of the capture, and removes them.
    public mutating func drainBuffered() -> [UInt8] { sink.drain() }

    /// Writes a record that only shows the time, without an adapter. The advertisement log has no such line.
    public mutating func write(timeOnly time: Instant) throws(CaptureError) {
        try write(opcode: Btsnoop.Opcode.systemNote, [UInt8(0)].span, adapter: nil, time: time)
    }

    /// Writes the buffer to the file, without fsync(2). Without a file, it does nothing.
    public mutating func flush() throws(CaptureError) { try sink.flush() }

    /// Writes the buffer and closes the file.
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

    /// Returns whether a name fits in the 8 bytes of New Index.
    static func fits(_ name: String) -> Bool { name.utf8.count <= 8 }

    /// Returns the name for New Index: the name itself if it fits, otherwise one that no other adapter has.
    private func shortName(_ name: String, _ place: Int) -> String {
        if Self.fits(name), !shortNames.contains(name) { return name }
        var number = place
        while shortNames.contains("adp\(number)") || places["adp\(number)"] != nil { number += 1 }
        return "adp\(number)"
    }

    /// Writes a New Index: type primary, bus virtual, no address unless `payload` has one, and the name filled with
    /// zeros.
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

    /// Writes an Index Info without an address: after a New Index without an address, none will follow.
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

    // MARK: The advertisement log

    /// Writes a line of an adapter; `body` writes its content.
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
        line.append(byte: 0x0A)
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
