import BaseTypes
import BluetoothLE

// btsnoop: the file format of RFC 1761 with Bluetooth datalinks. A 16-byte file header, then records: a 24-byte header
// (original length, included length, flags, drops, all u32, and time, i64; big endian) and the included bytes. The
// Linux monitor's flags are (adapter index << 16) | opcode; the opcodes are in BlueZ's src/shared/btsnoop.h.
enum Btsnoop {
    static let magic: [UInt8] = Array("btsnoop\0".utf8)
    /// The same eight bytes as a number in the byte order of the machine.
    static let magicNumber = UInt64(bigEndian: 0x6274_736E_6F6F_7000)
    static let headerSize = 24
    /// 1970-01-01 in the time of btsnoop: microseconds since the year 0.
    static let epoch: Int64 = 0x00DC_DDB3_0F2F_8000

    /// The opcodes of the Linux monitor.
    enum Opcode {
        static let newIndex: UInt16 = 0
        static let deleteIndex: UInt16 = 1
        static let command: UInt16 = 2
        static let event: UInt16 = 3
        static let aclSent: UInt16 = 4
        static let aclReceived: UInt16 = 5
        static let scoSent: UInt16 = 6
        static let scoReceived: UInt16 = 7
        static let openIndex: UInt16 = 8
        static let closeIndex: UInt16 = 9
        static let indexInfo: UInt16 = 10
        static let systemNote: UInt16 = 12
        static let isoSent: UInt16 = 18
        static let isoReceived: UInt16 = 19
    }
}

extension CaptureReader {
    mutating func openBtsnoop() throws(CaptureError) {
        guard try has(16) else { throw .headerInvalid(path: name, "it is truncated") }
        let version = UInt32(bigEndian: load(head + 8, as: UInt32.self))
        guard version == 1 else { throw .headerInvalid(path: name, "btsnoop of version \(version); must be 1") }
        let datalink = UInt32(bigEndian: load(head + 12, as: UInt32.self))
        switch datalink {
        case 1001: layout = .btsnoopH1
        case 1002: layout = .btsnoopH4
        case 2001: layout = .btsnoopMonitor
        default: throw .datalinkUnsupported(path: name, datalink)
        }
        format = .btsnoop(datalink: datalink)
        head += 16
    }

    /// Reads the next record with a time within 1970…2100, and skips others as damage. Returns its parts; `nil` if no
    /// complete record follows.
    @inline(__always) private mutating func btsnoopRecord() throws(CaptureError) -> (
        flags: UInt32, time: Instant, payload: Range<Int>
    )? {
        while true {
            guard try has(Btsnoop.headerSize) else {
                // The header of another file is shorter.
                if tail - head >= 12, isHeader(head) {
                    _ = try endOfFile(headerSize: 12, "")
                } else {
                    _ = endOrCut(Btsnoop.headerSize)
                }
                return nil
            }
            let included = Int(UInt32(bigEndian: load(head + 4, as: UInt32.self)))
            // The original length has the magic number if another file starts here.
            if UInt32(bigEndian: load(head, as: UInt32.self)) > Self.recordBytesMax, isHeader(head) {
                _ = try endOfFile(headerSize: Btsnoop.headerSize, "")
                return nil
            }
            if tail - head < Btsnoop.headerSize + included {
                guard included <= Self.recordBytesMax - Btsnoop.headerSize else {
                    _ = try endOfFile(
                        headerSize: Btsnoop.headerSize, "it claims \(included) bytes; a record has at most 1 MiB")
                    return nil
                }
                guard try refill(Btsnoop.headerSize + included) else {
                    _ = endOrCut(Btsnoop.headerSize + included)
                    return nil
                }
            }
            let flags = UInt32(bigEndian: load(head + 8, as: UInt32.self))
            let stamp = Int64(bigEndian: load(head + 16, as: Int64.self))
            let start = head + Btsnoop.headerSize
            let (since1970, overflow) = stamp.subtractingReportingOverflow(Btsnoop.epoch)
            if !overflow, since1970 >= 0, since1970 < Self.timesEnd / 1000 {
                head = start + included
                recordCount &+= 1
                return (flags, Instant(nanoseconds: since1970 &* 1000), start..<start + included)
            }
            if isZero(head..<start) {
                _ = try endOfFile(headerSize: Btsnoop.headerSize, "")
                return nil
            }
            head = start + included
            recordCount &+= 1
            noteTimeOutOfRange(
                (Int128(stamp) - Int128(Btsnoop.epoch)) * 1000, at: start - Btsnoop.headerSize)
        }
    }

    @inline(__always) mutating func nextMonitorRecord() throws(CaptureError) -> CaptureRecord? {
        guard let (flags, time, payload) = try btsnoopRecord() else { return nil }
        return monitorRecord(
            opcode: UInt16(truncatingIfNeeded: flags), index: UInt16(truncatingIfNeeded: flags >> 16), time, payload)
    }

    /// Returns a record of the Linux monitor's stream, which is used in btsnoop 2001 and after the pseudo-header of
    /// link type 254.
    @inline(__always) mutating func monitorRecord(
        opcode: UInt16, index: UInt16, _ time: Instant?, _ payload: Range<Int>, adapter named: Int? = nil
    ) -> CaptureRecord {
        if opcode == Btsnoop.Opcode.event {
            var record = CaptureRecord(
                time: time, adapter: named ?? monitorAdapter(index), content: .hci(.event, isReceived: true),
                payload: payload)
            if !adapterTable.awaitingAddress.isEmpty { look(at: &record) }
            return record
        }
        return rareMonitorRecord(opcode: opcode, index: index, time, payload, adapter: named)
    }

    @inline(__always) private mutating func monitorAdapter(_ index: UInt16) -> Int? {
        if let place = adapterTable.place(ofIndex: index) { return place }
        if index != AdapterTable.noIndex { malformations.count(.adaptersTooMany) }
        return nil
    }

    @inline(never) private mutating func rareMonitorRecord(
        opcode: UInt16, index: UInt16, _ time: Instant?, _ payload: Range<Int>, adapter named: Int?
    ) -> CaptureRecord {
        var named = named
        var endsWait = false
        // New Index: type (1), bus (1), address (6), name (8, filled with zeros). Index Info: address (6), manufacturer
        // (2).
        if opcode == Btsnoop.Opcode.newIndex, payload.count >= 8 {
            named = newController(index, payload, named)
        } else if opcode == Btsnoop.Opcode.indexInfo, payload.count >= 6, let place = named ?? monitorAdapter(index) {
            endsWait = adapterTable.expectNoAddress(of: place)
            if let address = controllerAddress(payload.lowerBound) {
                let addressed = adapterTable.place(named: adapterTable.names[place], address: address)
                if named == nil { adapterTable.move(index, to: addressed) } else { named = addressed }
            }
        }
        let content: CaptureRecord.Content =
            switch opcode {
            case Btsnoop.Opcode.command: .hci(.command, isReceived: false)
            case Btsnoop.Opcode.aclSent: .hci(.acl, isReceived: false)
            case Btsnoop.Opcode.aclReceived: .hci(.acl, isReceived: true)
            case Btsnoop.Opcode.scoSent: .hci(.sco, isReceived: false)
            case Btsnoop.Opcode.scoReceived: .hci(.sco, isReceived: true)
            case Btsnoop.Opcode.isoSent: .hci(.iso, isReceived: false)
            case Btsnoop.Opcode.isoReceived: .hci(.iso, isReceived: true)
            case Btsnoop.Opcode.openIndex: .listening(true)
            // The kernel's record has no payload. This project's has the earlier time at which scanning stopped
            // (``CaptureWriter``).
            case Btsnoop.Opcode.closeIndex where payload.count == 8: stopped(payload)
            case Btsnoop.Opcode.closeIndex, Btsnoop.Opcode.deleteIndex: .listening(false)
            // An empty note is from this project's writer.
            case Btsnoop.Opcode.systemNote where payload.count == 1 && window[payload.lowerBound] == 0: .timeOnly
            default: .monitor(opcode: opcode)
            }
        var record = CaptureRecord(
            time: time, adapter: named ?? monitorAdapter(index), content: content, payload: payload)
        record.endsWait = endsWait
        if !adapterTable.awaitingAddress.isEmpty { look(at: &record) }
        return record
    }

    /// Returns the content of a Close Index with the time at which scanning had stopped.
    private mutating func stopped(_ payload: Range<Int>) -> CaptureRecord.Content {
        let since = Int128(Int64(bigEndian: load(payload.lowerBound, as: Int64.self)))
        guard let time = Self.instant(since) else {
            noteTimeOutOfRange(since, at: payload.lowerBound)
            return .listening(false)
        }
        return .stopped(since: time)
    }

    /// Handles a new controller. The record has its address, or a later record will have it.
    private mutating func newController(_ index: UInt16, _ payload: Range<Int>, _ named: Int?) -> Int? {
        let address = controllerAddress(payload.lowerBound + 2)
        var place = named
        if let named {
            place = adapterTable.place(named: adapterTable.names[named], address: address)
        } else {
            let start = payload.lowerBound + 8
            var end = start
            while end < min(start + 8, payload.upperBound), window[end] != 0 { end += 1 }
            if payload.count >= 16, end > start {
                adapterTable.name(index, window, start..<end, address)
            } else if let present = monitorAdapter(index) {
                let name = adapterTable.names[present]
                adapterTable.move(index, to: adapterTable.place(named: name, address: address))
            }
        }
        if let place = place ?? monitorAdapter(index) {
            if address == nil { adapterTable.expectAddress(of: place) } else { adapterTable.expectNoAddress(of: place) }
        }
        return place
    }

    /// Returns the address at `offset`, least significant byte first; `nil` if it is zero, which means none.
    private mutating func controllerAddress(_ offset: Int) -> DeviceAddress? {
        var value: UInt64 = 0
        for index in (0..<6).reversed() { value = value << 8 | UInt64(window[offset + index]) }
        return value == 0 ? nil : DeviceAddress(value, kind: .unspecified)
    }

    // A report ends the wait for an address: the kernel reports the address before the first report, so none will
    // follow.
    @inline(never) private mutating func look(at record: inout CaptureRecord) {
        guard let place = record.adapter, adapterTable.awaitingAddress.contains(place) else { return }
        let start = record.payload.lowerBound
        if case .hci(.event, _) = record.content, record.payload.count > 2, window[start] == 0x3E,
            window[start + 2] == 0x02 || window[start + 2] == 0x0D
        {
            record.endsWait = adapterTable.expectNoAddress(of: place)
            return
        }
        record.awaitsAddress = true
    }

    @inline(__always) mutating func nextPacket(isH4: Bool) throws(CaptureError) -> CaptureRecord? {
        guard let (flags, time, payload) = try btsnoopRecord() else { return nil }
        let adapter = defaultAdapter()
        // Bit 0: received; bit 1: a command or an event.
        let isReceived = flags & 1 != 0
        if isH4 { return h4Record(time, adapter, payload, isReceived: isReceived) }
        let kind: CaptureRecord.PacketKind = flags & 2 == 0 ? .acl : isReceived ? .event : .command
        return CaptureRecord(
            time: time, adapter: adapter, content: .hci(kind, isReceived: isReceived), payload: payload)
    }

    /// Returns the record of an HCI packet after its H4 byte. A packet of an unknown kind only shows that time passed.
    @inline(__always) mutating func h4Record(
        _ time: Instant?, _ adapter: Int?, _ payload: Range<Int>, isReceived: Bool?
    ) -> CaptureRecord {
        guard !payload.isEmpty, let kind = CaptureRecord.PacketKind(rawValue: window[payload.lowerBound]) else {
            return CaptureRecord(time: time, adapter: adapter, content: .timeOnly, payload: payload)
        }
        return CaptureRecord(
            time: time, adapter: adapter, content: .hci(kind, isReceived: isReceived ?? (kind == .event)),
            payload: payload.lowerBound + 1..<payload.upperBound)
    }

    /// Returns the index of `hci0`, the name of an adapter in a capture without names (rule L4).
    @inline(__always) mutating func defaultAdapter() -> Int? {
        if let place = adapterTable.defaultPlace { return place }
        adapterTable.defaultPlace = adapterTable.place(named: "hci0")
        return adapterTable.defaultPlace
    }
}
