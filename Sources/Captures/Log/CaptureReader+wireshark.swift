import BaseTypes
import BluetoothLE
import JSON

// The JSON of Wireshark: an array of packets, each as an object with the fields of its protocols.
//
// With `tshark -x`, the packets also have their bytes. Otherwise an HCI event or a frame of the link layer is made of its
// fields. Of the AD structures, it has only the manufacturer data, because the fields of the others are not their bytes.
//
// Source: `tshark -T json` of Wireshark 4.0.17; for the iBeacons of newer versions, Wireshark's packet-bluetooth.c.
extension CaptureReader {
    /// Returns the record of a packet, whose protocols are the members of the object at `layers`.
    @inline(never) mutating func packet(_ layers: Int) throws(LogProblem) -> CaptureRecord {
        guard let frame = object("frame", layers), has("frame.protocols", frame) else {
            throw LogProblem(
                """
                it is a packet of tshark without the fields of the option -T json. Use this option, without -e, -j and -J; \
                or write a table with -T fields -E header=y
                """)
        }
        let time = try self.time(values("frame.time_epoch", frame).first, log.line)
        guard number("frame.section_number", frame) ?? 1 == 1 else {
            throw LogProblem("it is in the second or a later section of a pcapng file; read the original file")
        }
        let monitor = object("hci_mon", layers)
        let adapter = interface(frame, isMonitor: monitor != nil)
        if let monitor {
            guard let opcode = number("hci_mon.opcode", monitor).flatMap(UInt16.init(exactly:)),
                let index = number("hci_mon.adapter_id", monitor).flatMap(UInt16.init(exactly:))
            else { throw LogProblem("Wireshark has not written its adapter. Use tshark without the option -j") }
            var payload = raw("hci_mon_raw", layers) ?? []
            if payload.isEmpty {
                payload =
                    try opcode == Btsnoop.Opcode.event
                    ? content(layers).bytes : controller(monitor, opcode: opcode)
            }
            var record = monitorRecord(
                opcode: opcode, index: index, time, try placed(payload), adapter: adapter)
            // Of HCI packets, only the reports were read.
            if payload.isEmpty, case .hci = record.content { record.content = .timeOnly }
            return record
        }
        let place = counted(adapter ?? defaultAdapter())
        let (content, bytes) = try content(layers)
        return CaptureRecord(time: time, adapter: place, content: content, payload: try placed(bytes))
    }

    /// Returns the content of a packet, and its bytes.
    private mutating func content(
        _ layers: Int
    ) throws(LogProblem) -> (content: CaptureRecord.Content, bytes: [UInt8]) {
        if has("bthci_evt", layers) {
            let event = try event(layers)
            return (event.isEmpty ? .timeOnly : .hci(.event, isReceived: true), event)
        }
        if let frame = object("btle", layers) { return try linkLayer(frame, layers) }
        switch canHaveReports(layers) {
        case false: break
        case true: noteIncomplete()
        default:
            throw LogProblem(
                """
                Wireshark has not found Bluetooth in it. If it is a Bluetooth packet, read the original capture; otherwise \
                leave it out with the option -Y 'bluetooth or btle' of tshark
                """)
        }
        return (.timeOnly, [])
    }

    /// Returns whether a packet can have advertising reports, although Wireshark has decoded neither an HCI event nor a
    /// frame; `nil` if it is not a Bluetooth packet.
    private func canHaveReports(_ layers: Int) -> Bool? {
        if let type = object("hci_h4", layers).flatMap({ number("hci_h4.type", $0) }) {
            return type == Int(CaptureRecord.PacketKind.event.rawValue)
        }
        if let type = object("packetlogger", layers).flatMap({ number("packetlogger.type", $0) }) { return type == 1 }
        if let sniffer = object("nordic_ble", layers) {
            let id = object("nordic_ble.header", sniffer).flatMap { number("nordic_ble.packet_id", $0) }
            // Packets with other numbers are not frames.
            return id == nil || id == 0x02 || id == 0x06
        }
        for others: StaticString in ["bthci_cmd", "bthci_acl", "bthci_sco", "bthci_iso"] where has(others, layers) {
            return false
        }
        return has("bluetooth", layers) ? true : nil
    }

    /// Returns the adapter of a pcapng file's interface; `nil` in other files, and for a monitor interface of all adapters.
    private mutating func interface(_ frame: Int, isMonitor: Bool) -> Int? {
        guard let id = number("frame.interface_id", frame) else { return nil }
        let tree = object("frame.interface_id_tree", frame) ?? frame
        let description = values("frame.interface_description", tree).first.map { bytes($0) } ?? []
        guard !isMonitor || description.elementsEqual(PcapngState.adapterDescription.utf8) else { return nil }
        // Wireshark's name for an interface without one.
        guard let name = values("frame.interface_name", tree).first, !bytes(name).elementsEqual("unknown".utf8),
            !bytes(name).isEmpty
        else { return adapterTable.place(named: "hci\(id)") }
        let end = text(name)
        return adapterTable.place(of: window, name.start..<end)
    }

    /// Returns the payload of a New Index or an Index Info (btmon); empty for another record.
    private mutating func controller(_ monitor: Int, opcode: UInt16) -> [UInt8] {
        if opcode == Btsnoop.Opcode.closeIndex, has("Unknown data", monitor) {
            noteUnread("it has the time at which the adapter had stopped scanning, which is not one of its fields")
        }
        guard let address = address("hci_mon.bd_addr", monitor) else { return [] }
        switch opcode {
        case Btsnoop.Opcode.newIndex:
            let name = values("hci_mon.adapter_name", monitor).first.map { Array(bytes($0).prefix(8)) } ?? []
            return [UInt8(clamping: number("hci_mon.type", monitor) ?? 0), 0] + address + name
                + [UInt8](repeating: 0, count: 8 - name.count)
        case Btsnoop.Opcode.indexInfo: return address + [0, 0]
        default: return []
        }
    }

    // MARK: HCI events

    /// Returns the HCI event of a packet; empty if it has no advertising reports.
    private mutating func event(_ layers: Int) throws(LogProblem) -> [UInt8] {
        if let raw = raw("bthci_evt_raw", layers) { return raw }
        let events = values("bthci_evt", layers)
        guard events.count == 1, events[0].kind == .object, let code = number("bthci_evt.code", events[0].place),
            let subevent = code == 0x3E ? number("bthci_evt.le_meta_subevent", events[0].place) : 0
        else {
            noteIncomplete()
            return []
        }
        guard code == 0x3E, subevent == 0x02 || subevent == 0x0D else { return [] }
        let isMalformed = has("_ws.malformed", layers)
        guard let bytes = try reports(events[0].place, isExtended: subevent == 0x0D, isMalformed), bytes.count <= 257
        else {
            noteIncomplete()
            return []
        }
        return [0x3E, UInt8(bytes.count - 2)] + bytes[2...]
    }

    /// Returns the HCI event of reports, with 0 as its length; `nil` if the numbers of its fields are contradictory.
    ///
    /// The n-th value of each field belongs to the n-th report. If Wireshark finds an error, it stops, so a malformed
    /// packet lacks the fields after it. The last report before it can be wrong too.
    private mutating func reports(
        _ event: Int, isExtended: Bool, _ isMalformed: Bool
    ) throws(LogProblem) -> [UInt8]? {
        let types = try numbers(
            isExtended ? "bthci_evt.le_ext_advts_event_type" : "bthci_evt.le_advts_event_type", event, 0...0xFFFF)
        let addressTypes = try numbers("bthci_evt.le_peer_address_type", event, 0...0xFF)
        let addresses = values("bthci_evt.bd_addr", event)
        let sets = isExtended ? try numbers("bthci_evt.advertising_sid", event, 0...0xFF) : types
        let strengths = try numbers("bthci_evt.rssi", event, -128...127)
        let lengths = try numbers("bthci_evt.data_length", event, 0...0xFF)
        var data = values("btcommon.eir_ad.advertising_data", event)[...]
        let counts = [types, addressTypes, sets, strengths, lengths].map(\.count) + [addresses.count]
        let count = counts.min() ?? 0
        let size = lengths.prefix(count).reduce(2) { $0 + $1 + (isExtended ? 24 : 10) }
        guard let declared = number("bthci_evt.le_num_reports", event), counts.allSatisfy({ $0 <= declared }),
            let available = number("bthci_evt.param_length", event), available >= size
        else { return nil }
        // The signal strength of a legacy report is after its data.
        let suspect = isExtended ? count - 1 : declared - 1
        var isComplete = count == declared && !isMalformed
        var isPart = false
        var bytes: [UInt8] = [0x3E, 0, isExtended ? 0x0D : 0x02, UInt8(clamping: count)]
        for report in 0..<count {
            guard let address = address(addresses[report]) else {
                throw LogProblem("its bthci_evt.bd_addr is not an address")
            }
            var structures = structures(lengths[report] > 0 ? data.popFirst() : nil, length: lengths[report])
            if isExtended, types[report] >> 5 & 3 == 1 {
                isPart = true
                structures = []
            }
            if structures == nil { isComplete = false }
            let content = isMalformed && report == suspect ? [] : structures ?? []
            bytes.append(UInt8(truncatingIfNeeded: types[report]))
            if isExtended { bytes.append(UInt8(truncatingIfNeeded: types[report] >> 8)) }
            bytes.append(UInt8(truncatingIfNeeded: addressTypes[report]))
            bytes += address
            let rssi = UInt8(truncatingIfNeeded: strengths[report])
            if isExtended {
                // The PHYs, the SID, the transmit power, the RSSI, the interval, and the address of the target.
                bytes += [1, 0, UInt8(truncatingIfNeeded: sets[report]), 127, rssi] + [UInt8](repeating: 0, count: 9)
            }
            bytes.append(UInt8(content.count))
            bytes += content
            if !isExtended { bytes.append(rssi) }
        }
        if isPart {
            notePart()
        } else if !isComplete || !data.isEmpty {
            noteIncomplete()
        }
        return bytes
    }

    // MARK: Frames of the link layer

    /// Returns the content of a frame of the link layer, and its bytes.
    private mutating func linkLayer(
        _ frame: Int, _ layers: Int
    ) throws(LogProblem) -> (content: CaptureRecord.Content, bytes: [UInt8]) {
        guard let access = number("btle.access_address", frame) else {
            noteIncomplete()
            return (.timeOnly, [])
        }
        guard access == Int(LinkLayerPDU.advertisingAccessAddress) else { return (.timeOnly, []) }
        let isValid = isCRCValid(frame, layers)
        guard isValid != false else {
            malformations.count(.badCRC)
            return (.timeOnly, [])
        }
        let rssi = strength(layers)
        // With the Coded PHY, the bytes have the coding indicator.
        if !has("btle.coding_indicator", frame), let raw = raw("btle_raw", layers) {
            return (.linkLayer(rssi: rssi, check: isValid == nil ? .unchecked : .valid), raw)
        }
        guard isValid != nil, let header = number("btle.advertising_header", frame) else {
            noteIncomplete()
            return (.timeOnly, [])
        }
        guard let pdu = try pdu(header & 0x0F, frame, isMalformed: has("_ws.malformed", layers)) else {
            return (.timeOnly, [])
        }
        guard pdu.count <= 0xFF else { throw LogProblem("it is longer than a frame of the link layer") }
        let bytes =
            (0..<4).map { UInt8(truncatingIfNeeded: access >> (8 * $0)) }
            + [UInt8(truncatingIfNeeded: header), UInt8(pdu.count)] + pdu
        return (.linkLayer(rssi: rssi, check: .valid), bytes)
    }

    /// Returns whether the CRC of a frame is valid; `nil` if it is unknown, because Wireshark stopped before it.
    private func isCRCValid(_ frame: Int, _ layers: Int) -> Bool? {
        if let tree = object("btle.crc_tree", frame),
            values("_ws.expert", tree).contains(where: { $0.kind == .object && has("btle.crc.incorrect", $0.place) })
        {
            return false
        }
        if let flags = object("btle_rf", layers).flatMap({ number("btle_rf.flags", $0) }), flags & 0x0400 != 0 {
            return flags & 0x0800 != 0
        }
        if let flags = object("nordic_ble", layers).flatMap({ number("nordic_ble.flags", $0) }) {
            return flags & 1 != 0
        }
        // If the sniffer has not checked it, Wireshark computes it.
        return has("btle.crc", frame) ? true : nil
    }

    /// Returns the signal strength of a sniffer.
    private func strength(_ layers: Int) -> RSSI? {
        var number: Int?
        if let radio = object("btle_rf", layers) {
            let isKnown = self.number("btle_rf.flags", radio).map { $0 & 0x0002 != 0 }
            if isKnown == true { number = self.number("btle_rf.signal_dbm", radio) }
        } else if let sniffer = object("nordic_ble", layers) {
            // The byte is the signal strength without its sign, at most 127.
            number = self.number("nordic_ble.rssi", sniffer).map { -127...0 ~= $0 ? $0 : -127 }
        }
        return number.flatMap(Int8.init(exactly:)).flatMap(RSSI.init)
    }

    /// Returns the payload of an advertising PDU; `nil` if it has no report.
    private mutating func pdu(_ type: Int, _ frame: Int, isMalformed: Bool) throws(LogProblem) -> [UInt8]? {
        guard [0, 1, 2, 4, 6, 7].contains(type) else { return nil }
        let extended = object("btle.extended_advertising_header", frame)
        let advertiser = address("btle.advertising_address", extended ?? frame)
        guard let length = try numbers("btle.length", frame, 0...0xFF).first,
            type == 7 ? extended != nil : advertiser != nil
        else {
            noteIncomplete()
            return nil
        }
        var header = (bytes: advertiser ?? [], length: 6)
        if type == 1 { return header.bytes + [UInt8](repeating: 0, count: 6) }
        if let extended {
            header = extendedHeader(extended, advertiser)
            if length > header.length, has("btle.extended_advertising.aux_pointer", extended) {
                notePart()
                return header.bytes
            }
        }
        let response = object("btle.scan_responce_data_tree", frame)
        let data = values("btcommon.eir_ad.advertising_data", response ?? frame).first
        guard !isMalformed, let structures = structures(data, length: length - header.length) else {
            noteIncomplete()
            return header.bytes
        }
        return header.bytes + structures
    }

    /// Returns the extended header of a PDU with the parts that are used, and the length of the whole header in the PDU.
    private func extendedHeader(_ header: Int, _ advertiser: [UInt8]?) -> (bytes: [UInt8], length: Int) {
        var flags: UInt8 = 0
        var fields: [UInt8] = []
        if let advertiser {
            flags |= 0x01
            fields += advertiser
        }
        if let information = number("btle.extended_advertising.advertising_data_info", header) {
            flags |= 0x08
            fields += [UInt8(truncatingIfNeeded: information), UInt8(truncatingIfNeeded: information >> 8)]
        }
        if let pointer = object("btle.extended_advertising.aux_pointer", header) {
            flags |= 0x10
            let offset = number("btle.extended_advertising_header.aux_pointer.aux_offset", pointer) ?? 0
            fields += [0, UInt8(truncatingIfNeeded: offset), UInt8(truncatingIfNeeded: offset >> 8 & 0x1F)]
        }
        let mode = UInt8(truncatingIfNeeded: number("btle.extended_advertising_header.mode", header) ?? 0)
        return (
            [UInt8(fields.count + 1) | mode << 6, flags] + fields,
            1 + (number("btle.extended_advertising_header.length", header) ?? 0)
        )
    }

    // MARK: AD structures

    /// Returns the AD structures of the manufacturer data in an advertisement with `length` bytes; `nil` if its AD structures
    /// are not complete, or do not have this length together. Then Wireshark has probably read the bytes of one as those
    /// of another.
    private func structures(_ data: LogValue?, length: Int) -> [UInt8]? {
        guard length > 0 else { return length == 0 ? [] : nil }
        guard let data, data.kind == .object else { return nil }
        var bytes: [UInt8] = []
        var covered = 0
        var isInStep = true
        for entry in values("btcommon.eir_ad.entry", data.place) {
            guard entry.kind == .object, let size = number("btcommon.eir_ad.entry.length", entry.place), size > 0,
                let type = number("btcommon.eir_ad.entry.type", entry.place)
            else { return nil }
            covered += 1 + size
            guard type == Int(ADStructure.manufacturerSpecificData) else {
                isInStep = isInStep && Self.isReadExactly(type, size)
                continue
            }
            guard let company = number("btcommon.eir_ad.entry.company_id", entry.place).flatMap(UInt16.init(exactly:))
            else { return nil }
            var content: [UInt8]?
            if let text = values("btcommon.eir_ad.entry.data", entry.place).first {
                content = hexadecimal(text)
                guard content?.count == size - 3 else { return nil }
            } else if company == ManufacturerData.apple, size > IBeacon.manufacturerDataLength {
                guard let message = beacon(entry.place) else { return nil }
                content = message
            }
            guard let content else {
                isInStep = false
                continue
            }
            bytes += [UInt8(truncatingIfNeeded: content.count + 3), ADStructure.manufacturerSpecificData]
            bytes += [UInt8(truncatingIfNeeded: company), UInt8(truncatingIfNeeded: company >> 8)] + content
        }
        if covered == length { return bytes }
        // A zero ends the AD structures. If Wireshark has lost the step, it can be any byte.
        return covered < length && isInStep && has("btcommon.eir_ad.unused", data.place) ? bytes : nil
    }

    /// Returns whether Wireshark reads an AD structure exactly up to its end. For most types, it reads a fixed number of
    /// bytes, whatever the length is. The types are flags, names and the transmit power (Assigned Numbers §2.3).
    private static func isReadExactly(_ type: Int, _ size: Int) -> Bool {
        switch type {
        case 0x01, 0x0A: size == 2
        case 0x08, 0x09: true
        default: false
        }
    }

    /// Returns the iBeacon of an AD structure of Apple whose data are in the fields of another protocol, without the company
    /// identifier; empty if it is another message of Apple; `nil` if the protocol is unknown, or lacks fields.
    private func beacon(_ entry: Int) -> [UInt8]? {
        guard let fields = object("apple_continuity", entry) ?? object("ibeacon", entry) else { return nil }
        let types = [
            number("bluetooth.apple.type", fields), number("bluetooth.apple.ibeacon.type", fields),
        ].compactMap(\.self)
        let lengths = [
            number("bluetooth.apple.length", fields), number("bluetooth.apple.ibeacon.length", fields),
        ].compactMap(\.self)
        guard types.allSatisfy({ $0 == 0x02 }), lengths.allSatisfy({ $0 == 0x15 }) else { return [] }
        guard let uuid = values("bluetooth.apple.ibeacon.uuid128", fields).first, uuid.isString,
            let identity = ProximityUUID(utf8: window.span.extracting(uuid.start..<uuid.end)),
            let major = number("bluetooth.apple.ibeacon.major", fields).flatMap(UInt16.init(exactly:)),
            let minor = number("bluetooth.apple.ibeacon.minor", fields).flatMap(UInt16.init(exactly:)),
            let power = number("bluetooth.apple.ibeacon.measured_power", fields).flatMap(Int8.init(exactly:))
        else { return nil }
        let beacon = IBeacon(
            identity: BeaconIdentity(uuid: identity, major: major, minor: minor), measuredPower: power)
        return Array(beacon.manufacturerData.dropFirst(2))
    }

    // MARK: Fields

    private mutating func noteIncomplete() { noteUnread("Wireshark has not written all of its fields") }

    private mutating func notePart() { noteUnread("it has a part of an advertisement, whose data are incomplete") }

    /// Notes that the packet, or a part of it, is not read.
    private mutating func noteUnread(_ reason: String) {
        damages.note(
            offset: base + log.start, record: recordCount, line: log.line,
            "\(reason). Use the option -x of tshark, which also writes the bytes")
    }

    private func values(_ key: StaticString, _ object: Int) -> [LogValue] {
        log.scanner.values(of: key, in: object, window.span)
    }

    private func has(_ key: StaticString, _ object: Int) -> Bool { !values(key, object).isEmpty }

    private func object(_ key: StaticString, _ object: Int) -> Int? {
        values(key, object).first.flatMap { $0.kind == .object ? $0.place : nil }
    }

    private func number(_ key: StaticString, _ object: Int) -> Int? {
        values(key, object).first.flatMap { number($0) }
    }

    private func numbers(
        _ key: StaticString, _ object: Int, _ range: ClosedRange<Int>
    ) throws(LogProblem) -> [Int] {
        let values = values(key, object)
        let numbers = values.compactMap { number($0) }.filter(range.contains)
        guard numbers.count == values.count else {
            throw LogProblem("its \(key) is not a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return numbers
    }

    /// Returns the number of a text in decimal or hexadecimal digits, with at most 32 bits; `nil` for another value.
    private func number(_ value: LogValue) -> Int? {
        let text = String(decoding: bytes(value), as: UTF8.self)
        if text.hasPrefix("0x") { return UInt32(text.dropFirst(2), radix: 16).map { Int($0) } }
        return Int(text).flatMap { $0.magnitude <= UInt32.max ? $0 : nil }
    }

    private func bytes(_ value: LogValue) -> ArraySlice<UInt8> {
        value.isString ? window[value.start..<value.end] : []
    }

    private func address(_ key: StaticString, _ object: Int) -> [UInt8]? {
        values(key, object).first.flatMap { address($0) }
    }

    /// Returns the bytes of an address, the least significant one first; `nil` for another value.
    private func address(_ value: LogValue) -> [UInt8]? {
        guard let bytes = hexadecimal(value), bytes.count == 6 else { return nil }
        return bytes.reversed()
    }

    private func hexadecimal(_ value: LogValue) -> [UInt8]? {
        var bytes = Array(bytes(value))
        guard value.isString, let end = LogText.decodeSeparatedHexadecimal(&bytes, 0, bytes.count, decoded: 0) else {
            return nil
        }
        return Array(bytes[..<end])
    }

    /// Returns the bytes of a protocol, which are the first element of an array; `nil` if they are absent.
    private func raw(_ key: StaticString, _ layers: Int) -> [UInt8]? {
        values(key, layers).first.flatMap { hexadecimal($0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Writes bytes to the place of the object that they were read from.
    private mutating func placed(_ bytes: [UInt8]) throws(LogProblem) -> Range<Int> {
        guard bytes.count <= head - log.start else { throw LogProblem("its bytes are longer than its text") }
        for index in bytes.indices { window[log.start + index] = bytes[index] }
        return log.start..<log.start + bytes.count
    }
}
