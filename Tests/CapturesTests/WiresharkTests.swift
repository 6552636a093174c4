import BluetoothLE
import Foundation
import Testing

@testable import Captures

/// The JSON of Wireshark.
@Suite struct WiresharkTests {
    private static let uuid = "F7826DA6-4FA2-4E98-8024-BC5B71E0893E"
    /// The AD structure of an iBeacon.
    private static let beacon: [UInt8] =
        [26, 0xFF, 0x4C, 0, 2, 0x15]
        + [0xF7, 0x82, 0x6D, 0xA6, 0x4F, 0xA2, 0x4E, 0x98, 0x80, 0x24, 0xBC, 0x5B, 0x71, 0xE0, 0x89, 0x3E]
        + [0, 100, 0, 7, 0xC5]
    /// The AD structure of a name with 29 bytes.
    private static let name: [UInt8] = [30, 9] + [UInt8](repeating: 0x41, count: 29)
    private static let address: [UInt8] = [7, 0, 0, 0xE5, 0x98, 0xC0]
    private static let hint = ". Use the option -x of tshark, which also writes the bytes"

    /// Returns a capture as JSON.
    private static func json(_ capture: [UInt8], _ options: String = "") throws -> [UInt8] {
        let (file, json) = (Scratch(), Scratch())
        try Data(capture).write(to: URL(fileURLWithPath: file.path))
        // As root, it prints a warning.
        try execute("/bin/sh", ["-c", "tshark -r '\(file.path)' -T json \(options) > '\(json.path)' 2> /dev/null"])
        return try json.bytes
    }

    /// Returns a pcap file with a packet in each second from 1763971200 on.
    private static func pcap(_ linkType: Int, _ packets: [[UInt8]]) -> [UInt8] {
        func word(_ number: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) } }
        return [0xD4, 0xC3, 0xB2, 0xA1, 2, 0, 4, 0] + word(0) + word(0) + word(65535) + word(linkType)
            + packets.enumerated().flatMap {
                word(1_763_971_200 + $0.offset) + word(0) + word($0.element.count) + word($0.element.count) + $0.element
            }
    }

    // MARK: captures

    private static func original(_ name: String) throws -> [UInt8] {
        guard !Generated.formats.contains(name) else {
            return try Generated(name, reports: 150, seed: 20_261_130, "--per-event", "3", "--beacons", "20").bytes
        }
        return try Fixtures.bytes(name)
    }

    @Test(arguments: [
        "android-gym-bike.btsnoop", "android-multi-report.btsnoop", "packetlogger-macos.pklg",
        "btsnoop-monitor", "pcap-187", "pcapng-201", "pcap-251", "pcap-256", "pklg",
    ])
    func `with the bytes of the packets, it gives the same as its capture`(name: String) throws {
        let capture = try Self.original(name)
        let expected = try contents(capture)
        let found = try contents(try Self.json(capture, "-x"))
        #expect(found.sightings == expected.sightings)
        #expect(found.records.count == expected.records.count)
        #expect(found.records.map { $0.numbers[0...1] } == expected.records.map { $0.numbers[0...1] })
        #expect(found.reports == expected.reports)
        #expect(found.adapters == expected.adapters)
        #expect(found.malformations == expected.malformations)
        #expect(found.damages == [])
    }

    @Test(arguments: [
        ("android-gym-bike.btsnoop", 412, 0), ("android-multi-report.btsnoop", 53, 3), ("whad-pairing.pcap", 0, 0),
        ("packetlogger-ios.pklg", 2, 0),
    ])
    func `without the bytes, it gives the same sightings, and each packet that is not complete is reported`(
        name: String, reports: Int, damaged: Int
    ) throws {
        let capture = try Fixtures.bytes(name)
        let expected = try contents(capture)
        for options in ["", "--no-duplicate-keys"] {
            let found = try contents(try Self.json(capture, options))
            #expect(found.sightings == expected.sightings)
            #expect(found.records.map { $0.numbers[0...1] } == expected.records.map { $0.numbers[0...1] })
            #expect(found.reports == reports)
            #expect(found.adapters == expected.adapters)
            #expect(found.damages.map(\.reason) == Array(repeating: Self.incomplete, count: damaged))
        }
    }

    private static let incomplete = "Wireshark has not written all of its fields" + hint
    private static let part = "it has a part of an advertisement, whose data are incomplete" + hint

    /// Returns the signal strengths of the iBeacons in each second from 1763971200 on.
    private static func strengths(_ found: Contents, count: Int) throws -> [[String]] {
        var strengths = [[String]](repeating: [], count: count)
        for line in try shortSightings(found, ["rssi"]) {
            let words = line.split(separator: " ")
            let second = try #require(Double(words[0])) - 1_763_971_200
            strengths[Int(second)].append(String(words[1]))
        }
        return strengths
    }

    /// A packet with the signal strengths of its iBeacons: those of the capture, and those of the JSON without the bytes of
    /// the packets, with the reason why they are not complete.
    private typealias Packet = (bytes: [UInt8], exact: [String], fields: [String], reason: String?)

    /// Checks that the JSON of a capture with these packets gives the expected iBeacons.
    private static func check(_ packets: [Packet], linkType: Int) throws {
        let capture = pcap(linkType, packets.map(\.bytes))
        let expected = try contents(capture)
        #expect(try strengths(expected, count: packets.count) == packets.map(\.exact))
        let exact = try contents(try json(capture, "-x"))
        #expect(exact.sightings == expected.sightings)
        #expect(exact.reports == expected.reports)
        #expect(exact.malformations == expected.malformations)
        #expect(exact.damages == [])
        for options in ["", "--no-duplicate-keys"] {
            let found = try contents(try json(capture, options))
            #expect(Set(found.sightings).isSubset(of: expected.sightings))
            #expect(try strengths(found, count: packets.count) == packets.map(\.fields))
            #expect(found.damages.map(\.reason) == packets.compactMap(\.reason))
            #expect(found.records.count == packets.count)
        }
    }

    // MARK: HCI events

    /// Returns an H4 packet with reports of the same kind.
    private static func event(_ subevent: UInt8, _ reports: [UInt8]...) -> [UInt8] {
        let parameters = [subevent, UInt8(reports.count)] + reports.joined()
        return [0x04, 0x3E, UInt8(parameters.count)] + parameters
    }

    private static func legacy(_ data: [UInt8], type: UInt8 = 0) -> [UInt8] {
        [type, 1] + address + [UInt8(data.count)] + data + [0xC4]
    }

    private static func extended(_ data: [UInt8], status: UInt8 = 0, addressType: UInt8 = 1) -> [UInt8] {
        [status << 5, 0, addressType] + address + [1, 1, 3, 0x7F, 0xC4, 0, 0] + [UInt8](repeating: 0, count: 7)
            + [UInt8(data.count)] + data
    }

    private static var events: [Packet] {
        let long = (0..<8).flatMap { _ in name } + beacon + name
        return [
            (event(0x0D, extended(beacon)), ["-60"], ["-60"], nil),
            (event(0x0D, extended(beacon, addressType: 0xFF)), ["-60"], ["-60"], nil),
            (event(0x0D, extended([]), extended(beacon)), ["-60"], ["-60"], nil),
            (event(0x02, legacy([]), legacy(beacon)), ["-60"], ["-60"], nil),
            (event(0x02, legacy(beacon, type: 4), legacy(beacon, type: 2)), ["-60", "-60"], ["-60", "-60"], nil),
            (event(0x02, legacy(beacon + [0, 0, 0, 0])), ["-60"], ["-60"], nil),
            (event(0x02, legacy([3, 0xFF, 0x4C, 0])), [], [], nil),
            // A structure is longer than the data: Wireshark stops.
            (event(0x02, legacy([2, 1, 6, 11, 0xFF, 0x4C])), [], [], incomplete),
            (event(0x02, legacy([11, 0xFF, 0x4C]), legacy(beacon)), ["-60"], [], incomplete),
            (event(0x02, legacy(beacon + [11, 0xFF, 0x4C])), ["-60"], [], incomplete),
            (event(0x02, legacy([2, 1, 6] + beacon + [0])), ["-60"], ["-60"], nil),
            // Wireshark reads a fixed number of bytes, and then a zero as the end: an appearance of one byte, and
            // transport discovery data.
            (event(0x02, legacy([2, 0x19, 1] + beacon)), ["-60"], [], incomplete),
            (event(0x0D, extended([5, 0x26, 1, 2, 1, 0xAA] + beacon)), ["-60"], [], incomplete),
            (event(0x02, legacy([2, 4, 1] + beacon + [0, 0x77])), ["-60"], [], incomplete),
            // Wireshark stops at Bluetooth mesh without content.
            (event(0x02, legacy([1, 0x29] + beacon)), ["-60"], [], incomplete),
            (event(0x0D, extended(Array(long[..<229]), status: 1)), [], [], part),
            (event(0x0D, extended(Array(long[229..<240]), status: 1)), [], [], part),
            (event(0x0D, extended(Array(long[240...]))), ["-60"], [], nil),
            // Other events, and a command.
            ([0x04, 0x0E, 4, 1, 0x0C, 0x20, 0], [], [], nil), ([0x01, 0x0C, 0x20, 2, 1, 0], [], [], nil),
        ]
    }

    @Test func `reports of HCI events are read, and those that are not complete are reported`() throws {
        try Self.check(Self.events, linkType: 187)
    }

    // MARK: frames of the link layer

    /// Returns a packet with a pseudo-header whose check of the CRC has a result, or none.
    private static func frame(
        _ pdu: [UInt8], channel: UInt8 = 0, type: UInt16 = 0, check: Bool? = true, crc: [UInt8] = [0, 0, 0]
    ) -> [UInt8] {
        let flags = 0x0003 | type << 7 | (check == nil ? 0 : check == true ? 0x0C00 : 0x0400)
        return [channel, 0xC4, 0x80, 0, 0xD6, 0xBE, 0x89, 0x8E, UInt8(flags & 0xFF), UInt8(flags >> 8)]
            + [0xD6, 0xBE, 0x89, 0x8E] + pdu + crc
    }

    private static func pdu(_ type: UInt8, _ payload: [UInt8]) -> [UInt8] {
        [type | 0x40, UInt8(payload.count)] + payload
    }

    /// Returns a PDU of extended advertising. Its header has the address if it is the first with data, and a pointer if
    /// others follow.
    private static func extendedPDU(_ set: UInt8, hasAddress: Bool, pointer: Bool, _ data: [UInt8]) -> [UInt8] {
        let flags: UInt8 = (hasAddress ? 1 : 0) | 8 | (pointer ? 0x10 : 0)
        let header = [flags] + (hasAddress ? address : []) + [set, 0x31] + (pointer ? [12, 20, 0] : [])
        return pdu(7, [UInt8(header.count)] + header + data)
    }

    @Test func `frames of the link layer are read, and those that are not complete are reported`() throws {
        let fragments = Self.name + Self.beacon
        let frames: [Packet] = [
            (Self.frame(Self.pdu(0, Self.address + Self.beacon)), ["-60"], ["-60"], nil),
            (Self.frame(Self.pdu(1, Self.address + Self.address)), [], [], nil),
            (Self.frame(Self.pdu(2, Self.address + Self.beacon)), ["-60"], ["-60"], nil),
            (Self.frame(Self.pdu(3, Self.address + Self.address)), [], [], nil),
            (Self.frame(Self.pdu(4, Self.address + Self.beacon)), ["-60"], ["-60"], nil),
            (Self.frame(Self.pdu(6, Self.address + Self.beacon)), ["-60"], ["-60"], nil),
            (Self.frame(Self.pdu(0, Self.address + Self.beacon), check: false), [], [], nil),
            (Self.frame(Self.pdu(0, Self.address + Self.beacon), check: nil), [], [], nil),
            (Self.frame(Self.pdu(0, Self.address + [1, 0x29]), check: nil), [], [], Self.incomplete),
            (Self.frame(Self.pdu(0, Self.address + [1, 0x29] + Self.beacon)), ["-60"], [], Self.incomplete),
            // A pointer, its advertisement, and an advertisement in two parts.
            (Self.frame(Self.extendedPDU(1, hasAddress: false, pointer: true, [])), [], [], nil),
            (
                Self.frame(Self.extendedPDU(1, hasAddress: true, pointer: false, Self.beacon), channel: 12, type: 1),
                ["-60"], ["-60"], nil
            ),
            (
                Self.frame(
                    Self.extendedPDU(2, hasAddress: true, pointer: true, Array(fragments[..<40])), channel: 12, type: 1),
                [], [], Self.part
            ),
            (
                Self.frame(
                    Self.extendedPDU(2, hasAddress: false, pointer: false, Array(fragments[40...])), channel: 12,
                    type: 1),
                ["-60"], [], Self.incomplete
            ),
        ]
        try Self.check(frames, linkType: 256)
    }

    // MARK: other versions and options

    /// Returns a packet with the fields of a report and the members of its AD structure.
    private static func packet(
        time: String = "1763971200.5", _ entry: String, layers: String = "", frame: String = ""
    ) -> String {
        """
        {"_source":{"layers":{"frame":{"frame.time_epoch":"\(time)","frame.protocols":"bluetooth"\(frame)},\(layers)
        "bthci_evt":{"bthci_evt.code":"0x3e","bthci_evt.le_meta_subevent":"0x02","bthci_evt.le_num_reports":"1","bthci_evt.param_length":"39",
        "bthci_evt.le_advts_event_type":"0x00","bthci_evt.le_peer_address_type":"0x01","bthci_evt.bd_addr":"c0:98:e5:00:00:07",
        "bthci_evt.data_length":"27","btcommon.eir_ad.advertising_data":{"btcommon.eir_ad.entry":{
        "btcommon.eir_ad.entry.length":"26","btcommon.eir_ad.entry.type":"0xff","btcommon.eir_ad.entry.company_id":"0x004c"
        \(entry)}},"bthci_evt.rssi":"-60"}}}}
        """
    }

    private static let data = #","btcommon.eir_ad.entry.data":"0215F7826DA64FA24E988024BC5B71E0893E00640007C5""#

    private static func fields(
        uuid: String = "f7826da6-4fa2-4e98-8024-bc5b71e0893e", major: String = "100", power: String? = "-59"
    ) -> String {
        #","apple_continuity":{"bluetooth.apple.type":"0x02","bluetooth.apple.length":"21","#
            + #""bluetooth.apple.ibeacon.uuid128":"\#(uuid)","bluetooth.apple.ibeacon.major":"\#(major)","#
            + #""bluetooth.apple.ibeacon.minor":"7""#
            + (power.map { #","bluetooth.apple.ibeacon.measured_power":"\#($0)""# } ?? "") + "}"
    }

    @Test(arguments: [
        packet(data), packet(time: "2025-11-24T08:00:00.500000000Z", data), packet(fields()),
        packet(data).replacing("_source", with: "_index\":\"x\",\"_source"),
        packet(data, frame: #","frame.interface_id":"0","frame.interface_name":"hci0""#),
        packet(data, frame: #","frame.interface_id":"0","frame.interface_id_tree":{"frame.interface_name":"unknown"}"#),
        packet(data, layers: #""hci_mon":{"hci_mon.adapter_id":"0","hci_mon.opcode":"3"},"#),
    ])
    func `the forms of several versions are read`(packet: String) throws {
        for windowSize in [1, 13, 65_536] {
            let found = try logContents("[\(packet)]", windowSize: windowSize)
            let expected = #"""
                {"t":1763971200.500000,"uuid":"\#(Self.uuid)","major":100,"minor":7,"measuredPower":-59,"rssi":-60,\#
                "address":"C0:98:E5:00:00:07"}
                """#
            #expect(found.sightings == [expected])
            #expect(found.adapters == ["hci0"])
            #expect(found.damages == [])
        }
    }

    @Test(arguments: [("-60", "-60"), ("0", "0"), ("-127", "-127"), ("-128", "-127"), ("127", "-127")])
    func `the signal strength of an nRF sniffer is at most 127 below 0`(number: String, strength: String) throws {
        let packet = """
            {"layers":{"frame":{"frame.time_epoch":"1763971200.5","frame.protocols":"nordic_ble:btle"},
            "nordic_ble":{"nordic_ble.flags":"0x01","nordic_ble.rssi":"\(number)"},
            "btle":{"btle.access_address":"0x8e89bed6","btle.advertising_header":"0x2142","btle.length":"33",
            "btle.advertising_address":"c0:98:e5:00:00:07","btcommon.eir_ad.advertising_data":{"btcommon.eir_ad.entry":{
            "btcommon.eir_ad.entry.length":"26","btcommon.eir_ad.entry.type":"0xff",
            "btcommon.eir_ad.entry.company_id":"0x004c"\(Self.data)}}}}}
            """
        let found = try logContents(packet)
        #expect(try shortSightings(found, ["minor", "rssi"]) == ["1763971200.5 7/\(strength)"])
        #expect(found.damages == [])
    }

    @Test func `the name of an interface can have escapes`() throws {
        let found = try logContents(
            Self.packet(
                Self.data,
                frame: #","frame.interface_id":"3","frame.interface_id_tree":{"frame.interface_name":"a\"b\\é\t"}"#))
        #expect(found.adapters == ["a\"b\\é_"])
        #expect(found.sightings.count == 1)
    }

    @Test(arguments: [1, 13, 65_536])
    func `the example is read, whatever the size of the window`(windowSize: Int) throws {
        let found = try contents(
            .path(Fixtures.tests.appendingPathComponent("Fixtures/logs/tshark.json").path),
            options: CaptureOptions(windowSize: windowSize))
        let capture = try contents(.path(Fixtures.path("android-gym-bike.btsnoop")))
        #expect(found.sightings == Array(capture.sightings.prefix(2)))
        #expect(found.reports == 3)
        #expect(found.damages == [])
    }

    private static let lacksFields = """
        it is a packet of tshark without the fields of the option -T json. Use this option, without -e, -j and -J; or \
        write a table with -T fields -E header=y
        """
    private static let isNotBluetooth = """
        Wireshark has not found Bluetooth in it. If it is a Bluetooth packet, read the original capture; otherwise leave \
        it out with the option -Y 'bluetooth or btle' of tshark
        """
    @Test(
        arguments: [
            (packet(data).replacing("frame.protocols", with: "frame_protocols"), lacksFields),
            (packet(data).replacing("frame\":{", with: "frames\":{"), lacksFields),
            (#"{"timestamp":"1763971200500","layers":{"frame":{"frame_frame_number":"1"}}}"#, lacksFields),
            (
                packet(data, frame: #","frame.section_number":"2""#),
                "it is in the second or a later section of a pcapng file; read the original file"
            ),
            (packet(data).replacing(#""-60""#, with: #""300""#), "its bthci_evt.rssi is not a number from -128 to 127"),
            (
                packet(data).replacing(#""27""#, with: #""-27""#),
                "its bthci_evt.data_length is not a number from 0 to 255"
            ),
            (#"{"_source":{"layers":{"frame.time_epoch":["1763971200.5"]}}}"#, lacksFields),
            (packet(data).replacing("bthci_evt\"", with: "eth\""), isNotBluetooth),
            (
                packet(data, layers: #""hci_mon":{"filtered":"hci_mon"},"#),
                "Wireshark has not written its adapter. Use tshark without the option -j"
            ),
            (
                packet(data).replacing(#""-60""#, with: #""-60 dBm""#),
                "its bthci_evt.rssi is not a number from -128 to 127"
            ),
            (packet(data).replacing("c0:98:e5:00:00:07", with: "badge"), "its bthci_evt.bd_addr is not an address"),
            (packet(time: "x", data), #"time is "x"; must be a time such as 2026-11-21T07:46:27.123456Z (RFC 3339)"#),
        ])
    func `a packet without the necessary fields is refused`(packet: String, reason: String) throws {
        let found = try logContents(Self.packet(Self.data) + packet)
        #expect(found.sightings.count == 1)
        #expect(found.records.count == 1)
        #expect(found.damages.map(\.reason) == [reason])
    }

    @Test(arguments: [
        packet(fields(power: nil)), packet(fields(major: "65536")),
        packet(fields(uuid: "02:15:f7:82:6d:a6:4f:a2:4e:98:80:24:bc:5b:71:e0")),
        // A protocol of a plugin, and protocols that were left out.
        packet(fields().replacing("apple_continuity", with: "offlinefinding")), packet(""),
        packet(data).replacing("btcommon.eir_ad.entry\":{", with: "filtered\":{"),
        packet(data).replacing("btcommon.eir_ad.advertising_data", with: "filtered"),
        packet(data.replacing("0215", with: "021x")), packet(data.replacing("0215", with: "00021500")),
        packet(data).replacing("eir_ad.entry.length\":\"26", with: "eir_ad.entry.length\":\"255"),
        packet(data).replacing("btcommon.eir_ad.entry.type", with: "filtered"),
        packet(data).replacing("btcommon.eir_ad.entry.company_id", with: "filtered"),
        packet(data).replacing("0x004c", with: "0x1004c"),
        packet(data).replacing("bthci_evt.param_length\":\"39", with: "bthci_evt.param_length\":\"38"),
        packet(data).replacing(#","bthci_evt.rssi":"-60""#, with: #","bthci_evt.rssi":["-60","-61"]"#),
        packet(data, layers: #""_ws.malformed":"","#),
        packet(data, layers: #""hci_h4":{"hci_h4.type":"0x04"},"#).replacing("bthci_evt\"", with: "x\""),
        packet(data, layers: #""packetlogger":{"packetlogger.type":"0x01"},"#).replacing("bthci_evt\"", with: "x\""),
        packet(data, layers: #""nordic_ble":{"nordic_ble.header":{"nordic_ble.packet_id":"6"}},"#)
            .replacing("bthci_evt\"", with: "x\""),
        packet(data, layers: #""nordic_ble":{"nordic_ble.length.bad":""},"#).replacing("bthci_evt\"", with: "x\""),
        packet(data, layers: #""bluetooth":"","#).replacing("bthci_evt\"", with: "x\""),
        packet(data).replacing("bthci_evt.code", with: "filtered"),
        packet(data).replacing("bthci_evt.le_meta_subevent", with: "filtered"),
        packet(data).replacing("bthci_evt.le_num_reports", with: "filtered"),
        packet(data).replacing("bthci_evt.le_advts_event_type", with: "bthci_evt.event_type"),
        packet(data).replacing("bthci_evt.data_length\":\"27", with: "bthci_evt.data_length\":\"28"),
        packet(data).replacing(#","bthci_evt.rssi":"-60""#, with: ""),
        packet(data).replacing(#","bthci_evt.rssi":"-60"}"#, with: #"},"_ws.malformed":"""#),
        packet(data, layers: #""bthci_evt":{"bthci_evt.code":"0x0e"},"#),
        packet(data).replacing("bthci_evt\"", with: "btle\""),
        packet("", layers: #""btle":{"btle.access_address":"0x8e89bed6","btle.crc":"0x000000"},"#)
            .replacing("bthci_evt\"", with: "bluetooth\""),
    ])
    func `a packet whose fields are not complete is reported`(packet: String) throws {
        let found = try logContents(Self.packet(Self.data) + packet)
        #expect(found.records.count == 2)
        #expect(found.damages.map(\.reason) == [Self.incomplete])
    }

    @Test(arguments: [
        fields().replacing(#"type":"0x02"#, with: #"type":"0x10"#), fields().replacing("\"21\"", with: "\"20\""),
        #","btcommon.eir_ad.entry.data":"1015F7826DA64FA24E988024BC5B71E0893E00640007C5""#,
    ])
    func `other messages of Apple are not iBeacons`(entry: String) throws {
        let found = try logContents(Self.packet(entry))
        #expect(found.sightings == [])
        #expect(found.reports == 1)
        #expect(found.damages == [])
    }

    @Test(arguments: [
        #""hci_h4":{"hci_h4.type":"0x02"},"bluetooth":"","#, #""packetlogger":{"packetlogger.type":"0xfc"},"#,
        #""nordic_ble":{"nordic_ble.header":{"nordic_ble.packet_id":"13"}},"#, #""bthci_cmd":{},"bluetooth":"","#,
    ])
    func `a packet that cannot have reports has only a time`(layers: String) throws {
        let found = try logContents(Self.packet(Self.data, layers: layers).replacing("bthci_evt\"", with: "x\""))
        #expect(found.records.map(\.numbers) == [[1_763_971_200_500_000_000, 0, 6]])
        #expect(found.damages == [])
    }

    @Test func `objects in a message are not packets`() throws {
        let layers = Self.packet(Self.data).dropFirst(#"{"_source":{"#.count).dropLast(2)
        let found = try logContents(#"{"time":1763971200,"payload":[{"x":1},{"data":"07"}],\#(layers)}"#)
        #expect(found.sightings == [])
        #expect(found.records.map(\.payload) == [[7]])
        #expect(found.damages.count == 1)
        #expect(found.damages.first?.reason.contains("its payload has x") == true)
    }

    @Test func `a capture that Wireshark does not decode is refused`() throws {
        let found = try contents(try Self.json(try Fixtures.bytes("crackle-known-ltk.pcap")))
        #expect(found.records == [])
        #expect(found.damageTotal == 303)
        #expect(found.damages[0].reason == Self.isNotBluetooth)
    }

    @Test func `values of any size and kind are accepted`() throws {
        let numbers = ["4294967295", "-4294967295", "99999999999999999999", "0xffffffffffffffff", "x", ""]
        let keys = [
            "bthci_evt.le_num_reports", "bthci_evt.le_advts_event_type", "bthci_evt.le_peer_address_type",
            "bthci_evt.data_length", "bthci_evt.rssi", "btcommon.eir_ad.entry.length",
            "btcommon.eir_ad.entry.company_id", "bthci_evt.bd_addr", "hci_mon.adapter_id", "hci_mon.opcode",
        ]
        let whole = Self.packet(
            Self.data, layers: #""_ws.malformed":"","hci_mon":{"hci_mon.adapter_id":"0","hci_mon.opcode":"3"},"#)
        for key in keys {
            for value in numbers.map({ "\"\($0)\"" }) + ["1", "null", "[]", "{}", "[[\"1\"],{}]"] {
                let start = try #require(whole.range(of: "\"\(key)\":"))
                let end = try #require(whole[start.upperBound...].dropFirst().range(of: "\"")).upperBound
                let text = whole.replacingCharacters(in: start.upperBound..<end, with: value)
                let found = try logContents(text + Self.packet(Self.data))
                // The packet after it is read.
                #expect(found.sightings.last?.contains(Self.uuid) == true)
                #expect((1...2).contains(found.records.count))
            }
        }
    }

    private static func addresses(_ capture: [UInt8]) throws -> [UInt64?] {
        var reader = try CaptureReader(.bytes(capture, name: "test"))
        while try reader.next() != nil {}
        return reader.adapterAddresses.map { $0?.value }
    }

    @Test func `an adapter that stopped, and its address, are those of the records of the monitor`() throws {
        let log = """
            {"time":1763971200,"adapter":"hci0","adapterAddress":"00:11:22:33:44:55","rssi":-60,"data":""}
            {"time":1763971210,"adapter":"hci0","adapterAddress":"00:11:22:33:44:55","listening":false}
            {"time":1763971220,"adapter":"hci0","adapterAddress":"00:11:22:33:44:55","listening":true}

            """
        let since = log.replacing(#""listening":false"#, with: #""listening":false,"since":1763971205"#)
        for (log, damages) in [
            (log, []),
            (
                since,
                [
                    "it has the time at which the adapter had stopped scanning, which is not one of its fields"
                        + Self.hint
                ]
            ),
        ] {
            let capture = try convert(Array(log.utf8), to: .btsnoop).bytes
            let expected = try contents(capture)
            #expect(expected.records.contains { $0.numbers.dropFirst(2).first == 4 })
            let exact = try contents(try Self.json(capture, "-x"))
            #expect(exact.records == expected.records)
            #expect(exact.damages == [])
            let json = try Self.json(capture)
            #expect(try contents(json).damages.map(\.reason) == damages)
            #expect(try Self.addresses(json) == [0x0011_2233_4455])
        }
    }
}
