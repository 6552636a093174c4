import Captures
import Testing

private func big<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    (0..<Number.bitWidth / 8).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
}

private func little<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] { big(number).reversed() }

/// The start of 1970 in microseconds since the year 0.
private let epoch: Int64 = 0x00DC_DDB3_0F2F_8000

private func btsnoop(datalink: UInt32 = 2001, _ records: [(flags: UInt32, time: Int64, payload: [UInt8])]) -> [UInt8] {
    records.reduce(Array("btsnoop\0".utf8) + big(UInt32(1)) + big(datalink)) {
        $0 + big(UInt32($1.payload.count)) + big(UInt32($1.payload.count)) + big($1.flags) + big(UInt32(0))
            + big($1.time) + $1.payload
    }
}

/// Returns a block of pcapng in either byte order.
private func block(_ type: UInt32, _ body: [UInt8], isBig: Bool) -> [UInt8] {
    let padded = body + [UInt8](repeating: 0, count: (4 - body.count % 4) % 4)
    let length = number(UInt32(padded.count + 12), isBig)
    return number(type, isBig) + length + padded + length
}

private func number<Number: FixedWidthInteger>(_ number: Number, _ isBig: Bool) -> [UInt8] {
    isBig ? big(number) : little(number)
}

private func section(isBig: Bool) -> [UInt8] {
    block(
        0x0A0D_0D0A,
        number(UInt32(0x1A2B_3C4D), isBig) + number(UInt16(1), isBig) + number(UInt16(0), isBig)
            + number(Int64(-1), isBig), isBig: isBig)
}

private func interface(_ linkType: UInt16, isBig: Bool, _ options: [(UInt16, [UInt8])] = []) -> [UInt8] {
    let body = options.reduce(number(linkType, isBig) + number(UInt16(0), isBig) + number(UInt32(0), isBig)) {
        $0 + number($1.0, isBig) + number(UInt16($1.1.count), isBig) + $1.1
            + [UInt8](repeating: 0, count: (4 - $1.1.count % 4) % 4)
    }
    return block(1, body, isBig: isBig)
}

private func packet(_ stamp: UInt64, interface: UInt32 = 0, isBig: Bool, _ data: [UInt8]) -> [UInt8] {
    block(
        6,
        number(interface, isBig) + number(UInt32(stamp >> 32), isBig) + number(UInt32(truncatingIfNeeded: stamp), isBig)
            + number(UInt32(data.count), isBig) + number(UInt32(data.count), isBig) + data, isBig: isBig)
}

@Suite struct FormatTests {
    @Test func `btsnoop 2001: names, indexes and scanning of adapters are those of the monitor`() throws {
        let newIndex: [UInt8] = [0, 1, 1, 2, 3, 4, 5, 6] + Array("lobby\0\0\0".utf8)
        let bytes = btsnoop([
            (0 << 16 | 0, epoch, newIndex), (0 << 16 | 8, epoch + 1, []), (0 << 16 | 3, epoch + 2, [0x0E, 0]),
            (5 << 16 | 2, epoch + 3, [1]), (5 << 16 | 5, epoch + 4, [2]), (0xFFFF << 16 | 12, epoch + 5, [3]),
            (0 << 16 | 9, epoch + 6, []), (300 << 16 | 1, epoch + 7, []), (300 << 16 | 3, epoch + 8, []),
        ])
        let found = try contents(bytes)
        #expect(found.adapters == ["lobby", "hci5", "hci300"])
        #expect(
            found.records.map(\.numbers) == [
                [0, 0, 5, 0], [1000, 0, 4, 1], [2000, 0, 0, 4, 1], [3000, 1, 0, 1, 0], [4000, 1, 0, 2, 1],
                [5000, -1, 5, 12],
                [6000, 0, 4, 0], [7000, 2, 4, 0], [8000, 2, 0, 4, 1],
            ])
    }

    @Test func `btsnoop 1001: the flags give the type and the direction of a packet`() throws {
        let found = try contents(
            btsnoop(datalink: 1001, [(0, epoch, [1]), (1, epoch, [2]), (2, epoch, [3]), (3, epoch, [4])]))
        #expect(
            found.records.map(\.numbers) == [[0, 0, 0, 2, 0], [0, 0, 0, 2, 1], [0, 0, 0, 1, 0], [0, 0, 0, 4, 1]])
    }

    @Test(
        arguments: [
            (epoch - 1, "1969-12-31T23:59:59Z"), (0, "-1-12-20T00:00:00Z"), (Int64.min, "-292278-12-10T19:59:05Z"),
            (epoch + 4_133_980_800_000_000, "2101-01-01T00:00:00Z"), (Int64.max, "292276-12-28T04:00:54Z"),
        ] as [(Int64, String)])
    func `btsnoop: a record outside 1970…2100 is refused, and the next is read`(stamp: Int64, date: String) throws {
        let found = try contents(
            btsnoop([(3, epoch, [1]), (3, stamp, [2]), (3, epoch + 4_133_980_799_999_999, [3])]))
        #expect(found.records.map(\.payload) == [[1], [3]])
        #expect(found.records.map { $0.numbers[0] } == [0, 4_133_980_799_999_999_000])
        #expect(
            found.damages.map(\.description) == [
                "record 2 at byte 41: its time is \(date); must be within 1970…2100"
            ])
    }

    @Test func `pcap and pcapng: a record outside 1970…2100 is refused, and the next is read`() throws {
        let header = little(UInt32(0xA1B2_C3D4)) + [UInt8](repeating: 0, count: 16) + little(UInt32(187))
        func record(_ seconds: UInt32, _ byte: UInt8) -> [UInt8] {
            little(seconds) + little(UInt32(0)) + little(UInt32(2)) + little(UInt32(2)) + [4, byte]
        }
        let pcap = try contents(
            header + record(4_133_980_799, 1) + record(4_133_980_800, 2) + record(.max, 3) + record(0, 4))
        #expect(pcap.records.map(\.payload) == [[1], [4]])
        #expect(
            pcap.damages.map(\.description) == [
                "record 2 at byte 42: its time is 2101-01-01T00:00:00Z; must be within 1970…2100",
                "record 3 at byte 60: its time is 2106-02-07T06:28:15Z; must be within 1970…2100",
            ])
        // The first interface has microseconds. The second has seconds with an offset of one day before 1970.
        var bytes = section(isBig: false) + interface(187, isBig: false)
        bytes += interface(187, isBig: false, [(9, [0]), (14, number(Int64(-86_400), false))])
        for (stamp, interface) in [(4_133_980_800_000_000, 0), (UInt64.max, 0), (86_399, 1), (86_400, 1)] {
            bytes += packet(stamp, interface: UInt32(interface), isBig: false, [4, UInt8(interface)])
        }
        let pcapng = try contents(bytes)
        #expect(pcapng.records.map { $0.numbers[0] } == [0])
        #expect(
            pcapng.damages.map(\.description) == [
                "record 1 at byte 88: its time is 2101-01-01T00:00:00Z; must be within 1970…2100",
                "record 2 at byte 124: its time is 586524-01-19T08:01:49Z; must be within 1970…2100",
                "record 3 at byte 160: its time is 1969-12-31T23:59:59Z; must be within 1970…2100",
            ])
        // A packet without a time has the time of the packet before it.
        let simple = block(3, number(UInt32(2), false) + [4, 9], isBig: false)
        bytes = section(isBig: false) + interface(187, isBig: false)
        bytes += packet(4_133_980_800_000_000, isBig: false, [4, 1]) + simple
        let mixed = try contents(bytes + packet(1_000_000, isBig: false, [4, 2]) + simple)
        #expect(mixed.records.map(\.payload) == [[2], [9]])
        #expect(mixed.records.map { $0.numbers[0] } == [1_000_000_000, 1_000_000_000])
        #expect(mixed.damages.map(\.record) == [1, 2])
    }

    @Test(arguments: [(0xA1B2_C3D4, 999_999, "microseconds"), (0xA1B2_3C4D, 999_999_999, "nanoseconds")])
    func `pcap: a record whose fraction of a second is a second or more is refused`(
        magic: UInt32, most: UInt32, unit: String
    ) throws {
        let header = little(magic) + [UInt8](repeating: 0, count: 16) + little(UInt32(187))
        func record(_ fraction: UInt32, _ byte: UInt8) -> [UInt8] {
            little(UInt32(5)) + little(fraction) + little(UInt32(2)) + little(UInt32(2)) + [4, byte]
        }
        let found = try contents(header + record(most, 1) + record(most + 1, 2) + record(.max, 3) + record(0, 4))
        #expect(found.records.map(\.payload) == [[1], [4]])
        #expect(
            found.damages.map(\.description) == [
                "record 2 at byte 42: its time has \(most + 1) \(unit) after the second; must be at most \(most)",
                "record 3 at byte 60: its time has 4294967295 \(unit) after the second; must be at most \(most)",
            ])
    }

    @Test func `btsnoop: a Close Index since a time outside 1970…2100 stops scanning at its own time`() throws {
        let since = [UInt8](repeating: 0xFF, count: 8)
        let found = try contents(btsnoop([(3, epoch, [1]), (9, epoch + 5, since), (9, epoch + 6, big(Int64(7)))]))
        #expect(found.records.map { Array($0.numbers.dropFirst(2)) } == [[0, 4, 1], [4, 0], [4, 0, 7]])
        #expect(found.damages.map(\.record) == [2])
    }

    @Test func `a record that declares more than 1 MiB is damage with its offset`() throws {
        var bytes = btsnoop([(3, epoch, [1, 2, 3])])
        bytes += big(UInt32(0)) + big(UInt32(1 << 20 + 100)) + [UInt8](repeating: 0, count: 2_000_000)
        let found = try contents(bytes)
        #expect(found.records.count == 1)
        #expect(found.damages.map(\.offset) == [43])
        #expect(found.damages.map(\.record) == [2])
    }

    @Test(arguments: [false, true], [(0xA1B2_C3D4, 1000), (0xA1B2_3C4D, 1)] as [(UInt32, Int64)])
    func `pcap is read in both byte orders and resolutions`(isBig: Bool, magic: (UInt32, Int64)) throws {
        var bytes = number(magic.0, isBig) + number(UInt16(2), isBig) + number(UInt16(4), isBig)
        bytes += number(UInt32(0), isBig) + number(UInt32(0), isBig) + number(UInt32(65535), isBig)
        bytes += number(UInt32(187), isBig)
        bytes += number(UInt32(1_700_000_000), isBig) + number(UInt32(123), isBig) + number(UInt32(3), isBig)
        bytes += number(UInt32(3), isBig) + [4, 0x0E, 0]
        let found = try contents(bytes)
        #expect(found.records.map(\.numbers) == [[1_700_000_000_000_000_000 + 123 * magic.1, 0, 0, 4, 1]])
        #expect(found.records.map(\.payload) == [[0x0E, 0]])
    }

    @Test(arguments: [false, true])
    func `pcapng: several sections and interfaces, each with its resolution, offset and name`(isBig: Bool) throws {
        let data: [UInt8] = [4, 0x0E, 0]
        var bytes = section(isBig: isBig) + interface(187, isBig: isBig)
        bytes += packet(1_500_000, isBig: isBig, data)
        bytes += block(0x0BAD, [1, 2, 3, 4, 5], isBig: isBig)
        bytes += interface(187, isBig: isBig, [(2, Array("lobby".utf8)), (9, [9])])
        bytes += packet(1_700_000_000_123_456_789, interface: 1, isBig: isBig, data)
        bytes += interface(187, isBig: isBig, [(9, [0x80 | 10]), (14, number(Int64(100), isBig)), (0, [])])
        bytes += packet(1536, interface: 2, isBig: isBig, data)
        bytes += section(isBig: !isBig) + interface(187, isBig: !isBig, [(9, [12]), (14, number(Int64(-1), !isBig))])
        bytes += packet(2_000_000_000_999, isBig: !isBig, data)
        bytes += block(3, number(UInt32(3), !isBig) + data, isBig: !isBig)
        let old =
            number(UInt16(0), !isBig) + number(UInt16(7), !isBig) + number(UInt32(465), !isBig)
            + number(UInt32(truncatingIfNeeded: 3_000_000_000_000 - 465 << 32), !isBig)
        bytes += block(2, old + number(UInt32(3), !isBig) + number(UInt32(3), !isBig) + data, isBig: !isBig)
        for size in [1, 13, 100_000] {
            let found = try contents(bytes, options: CaptureOptions(windowSize: size))
            #expect(found.damages == [])
            #expect(found.adapters == ["hci0", "lobby", "hci2"])
            #expect(found.records.map { $0.numbers[1] } == [0, 1, 2, 0, 0, 0])
            #expect(
                found.records.prefix(5).map { $0.numbers[0] } == [
                    1_500_000_000, 1_700_000_000_123_456_789, 101_500_000_000, 1_000_000_000, 1_000_000_000,
                ])
        }
    }

    @Test func `pcapng: packets of an unsupported link type are reported once, and others are read`() throws {
        let ethernet = section(isBig: false) + interface(1, isBig: false)
        let frames = packet(1, isBig: false, [1, 2]) + packet(2, isBig: false, [1, 2])
        let mixed =
            ethernet + interface(187, isBig: false) + frames + packet(3, interface: 1, isBig: false, [4, 0x0E, 0])
        let found = try contents(mixed)
        #expect(found.records.count == 1)
        #expect(found.damageTotal == 1)
        #expect(throws: CaptureError.linkTypeUnsupported(path: "test", 1)) { try contents(ethernet + frames) }
    }

    @Test func `hcidump text is read with times of both kinds, comments and packets of 20 bytes`() throws {
        let text = """
            HCI sniffer - Bluetooth packet analyzer ver 5.66
            device: hci3 snap_len: 1500 filter: 0xffffffff
            2023-11-14 22:13:20.123456 > 04 0E 11 01 02 03 04 05 06 07 08 09 0A 0B 0C 0D 0E 0F 10 11 
              2023-11-14 22:13:21.000000 < 01 03 0C 00 
            // someone's note
            1700000002.500000 > 04 0E 12 01 02 03 04 05 06 07 08 09 0A 0B 0C 0D 0E 0F 10 11 
              12 
            """
        let found = try contents(Array(text.utf8))
        #expect(found.damages == [])
        #expect(found.adapters == ["hci3"])
        #expect(
            found.records.map(\.numbers) == [
                [1_700_000_000_123_456_000, 0, 0, 4, 1], [1_700_000_001_000_000_000, 0, 0, 1, 0],
                [1_700_000_002_500_000_000, 0, 0, 4, 1],
            ])
        #expect(found.records.map(\.payload.count) == [19, 3, 20])
    }

    @Test(arguments: [
        "2025-09-31 09:00:00.000000", "2025-02-29 09:00:00.000000", "2025-10-01 24:00:00.000000",
        "2025-10-01 10:60:00.000000", "2025-10-01 10:00:60.000000", "2016-12-31 23:59:60.000000", "2025-10-01 10:00.5",
        "170000000000000000.5", "1700000000", "2025-09-31T09:00:00.5", "2025-10-01 09:00:00,5", "-5.5",
        "2025-10-01 09:00:00.5+02:00",
    ])
    func `hcidump text: a packet whose time does not exist is refused with its line, also as the first`(time: String)
        throws
    {
        let heading = "HCI sniffer - Bluetooth packet analyzer ver 5.66\ndevice: hci0 snap_len: 1500 filter: 0x0\n"
        let packet = "> 04 0E 03 01\n  02 03\n"
        let good = "2025-10-01 10:00:59.999999 \(packet)"
        var texts = [
            (heading + "\(time) \(packet)" + good, 1, 3), (heading + good + "\(time) \(packet)", 2, 5),
            (good + "  \(time) > 04 0E 00\n", 2, 3),
        ]
        // Without a heading, a file with other characters in its time is refused as an unknown format. It is left out
        // here.
        if time.allSatisfy({ $0.isNumber || "-:. ".contains($0) }) { texts.append(("\(time) \(packet)" + good, 1, 1)) }
        for (text, record, line) in texts {
            let found = try contents(Array(text.utf8))
            #expect(found.records.map(\.payload) == [[0x0E, 3, 1, 2, 3]])
            let offset = text.utf8.count - text[(text.range(of: time)?.lowerBound ?? text.endIndex)...].utf8.count
            let blanks = text.contains("  \(time)") ? 2 : 0
            #expect(
                found.damages.map(\.description) == [
                    "record \(record) at line \(line), byte \(offset - blanks): its time is \(time); must exist and have the form "
                        + "2026-11-21 07:46:27.123456"
                ])
        }
    }

    @Test func `hcidump text: a shell prompt before the first packet is not a packet`() throws {
        let found = try contents(Array("HCI sniffer\n10:15 > hcidump --raw\n11:20:30 >\n> 04 0E 00\n".utf8))
        #expect(found.records.map(\.payload) == [[0x0E, 0]] && found.damages == [])
    }

    @Test func `hcidump text: a date without a fraction of a second is read`() throws {
        let found = try contents(Array("2023-11-14 22:13:20 > 04 0E 00\n".utf8))
        #expect(found.records.map { $0.numbers[0] } == [1_700_000_000_000_000_000] && found.damages == [])
    }

    @Test func `hcidump text: a damaged packet is skipped with its lines, and reported once`() throws {
        let text = "> 04 0E 01 0\n  02 03\n> 04 0E 00\nwhat is this\nand this\n> 04 0F 00\n"
        let found = try contents(Array(text.utf8))
        #expect(found.records.map(\.payload) == [[0x0E, 0], [0x0F, 0]])
        #expect(found.damageTotal == 2)
    }

    @Test(
        arguments: [
            ([], CaptureError.empty(path: "test")), (Array(" \n".utf8), .empty(path: "test")),
            ([0x7F, 0x45, 0x4C, 0x46], .unrecognised(path: "test", beginning: nil)),
            (Array("btsnoop\0".utf8) + big(UInt32(1)) + big(UInt32(1003)), .datalinkUnsupported(path: "test", 1003)),
            (
                little(UInt32(0xA1B2_C3D4)) + [UInt8](repeating: 0, count: 16) + little(UInt32(1)),
                .linkTypeUnsupported(path: "test", 1)
            ),
        ] as [([UInt8], CaptureError)])
    func `an input that is not a supported capture is an error`(bytes: [UInt8], error: CaptureError) {
        #expect(throws: error) { try contents(bytes) }
    }

    @Test func `the error for a missing file has its path`() {
        #expect {
            _ = try CaptureReader(.path("/nonexistent/capture"))
        } throws: { error in
            if case CaptureError.openFailed("/nonexistent/capture", _) = error { true } else { false }
        }
    }

    @Test func `B4, LE link layer: coded frames are read without their coding indicator, nRF's without padding`() throws
    {
        // An ADV_NONCONN_IND of 8 bytes. Its CRC is valid if the flags of the pseudo-header say so.
        let pdu: [UInt8] = [0x02, 0x08, 1, 2, 3, 4, 5, 6, 0x01, 0x09]
        let access: [UInt8] = [0xD6, 0xBE, 0x89, 0x8E]
        let crc: [UInt8] = [0, 0, 0]
        func found(_ linkType: UInt32, _ data: [UInt8]) throws -> Contents {
            try contents(
                little(UInt32(0xA1B2_C3D4)) + [UInt8](repeating: 0, count: 16) + little(linkType) + little(UInt32(1))
                    + little(UInt32(0)) + little(UInt32(data.count)) + little(UInt32(data.count)) + data)
        }
        let plain: [UInt8] = [0, 0xC5, 0, 0, 0xD6, 0xBE, 0x89, 0x8E] + little(UInt16(0x0C03))
        #expect(try found(256, plain + access + pdu + crc).records.map(\.numbers) == [[1_000_000_000, 0, 1, -59, 0]])
        let coded = Array(plain.dropLast(2)) + little(UInt16(0x8C03))
        #expect(try found(256, coded + access + [1] + pdu + crc).records.map(\.payload) == [access + pdu + crc])
        let unknown = Array(plain.dropLast(2)) + little(UInt16(0x0001))
        #expect(try found(256, unknown + access + pdu + crc).records.map(\.numbers) == [[1_000_000_000, 0, 1, 127, 2]])
        func nordic(_ flags: UInt8, _ frame: [UInt8]) -> [UInt8] {
            [0, UInt8(frame.count + 10), 0, 3, 0, 0, 2, 10, flags, 37, 59, 0, 0, 0, 0, 0, 0] + frame
        }
        #expect(try found(272, nordic(1, access + pdu + crc)).reports == 1)
        #expect(try found(272, nordic(0, access + pdu + crc)).malformations == [.badCRC: 1])
        let padded = access + pdu.prefix(2) + [0xAA] + pdu.dropFirst(2) + crc
        #expect(try found(272, nordic(1, padded)).records.map(\.payload) == [access + pdu + crc])
        #expect(try found(272, nordic(0x21, access + [0] + pdu + crc)).records.map(\.payload) == [access + pdu + crc])
        let legacy: [UInt8] = [0xBE, 0xEF, 6, 0, 0, 0, 0, 25, 1, 37, 59, 0, 0, 0, 0, 0, 0]
        #expect(try found(272, legacy + access + pdu + crc).reports == 1)
        #expect(try found(256, [1, 2, 3]).damageTotal == 1)
    }
}
