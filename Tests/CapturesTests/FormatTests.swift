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

/// Returns a header of pcap in either byte order, with microseconds.
private func pcapHeader(_ linkType: UInt32, isBig: Bool = false) -> [UInt8] {
    number(UInt32(0xA1B2_C3D4), isBig) + number(UInt16(2), isBig) + number(UInt16(4), isBig)
        + [UInt8](repeating: 0, count: 8) + number(UInt32(65535), isBig) + number(linkType, isBig)
}

private func pcapRecord(_ seconds: UInt32, isBig: Bool = false, _ data: [UInt8]) -> [UInt8] {
    number(seconds, isBig) + number(UInt32(0), isBig) + number(UInt32(data.count), isBig)
        + number(UInt32(data.count), isBig) + data
}

private func packetLogger(
    _ seconds: UInt32, _ microseconds: UInt32 = 0, isBig: Bool, _ data: [UInt8]
) -> [UInt8] {
    number(UInt32(8 + data.count), isBig) + number(seconds, isBig) + number(microseconds, isBig) + data
}

/// Returns a packet of Per-Packet Information.
private func wrapped(_ linkType: UInt32, fields: [UInt8] = [], _ data: [UInt8]) -> [UInt8] {
    [0, 0] + little(UInt16(8 + fields.count)) + little(linkType) + fields + data
}

/// Ubertooth's field of Per-Packet Information.
private let ubertoothField = little(UInt16(30006)) + little(UInt16(12)) + [UInt8](repeating: 7, count: 12)

/// Returns the same contents with windows of several sizes.
private func contentsOfAnyWindow(_ bytes: [UInt8]) throws -> Contents {
    let whole = try contents(bytes)
    for size in [1, 11, 100] { #expect(try contents(bytes, options: CaptureOptions(windowSize: size)) == whole) }
    return whole
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

    @Test func `pcapng: packets of other link types are skipped, and others are read`() throws {
        let ethernet = section(isBig: false) + interface(1, isBig: false)
        let frames = packet(1, isBig: false, [1, 2]) + packet(2, isBig: false, [1, 2])
        let simple = block(3, number(UInt32(2), false) + [4, 9], isBig: false)
        let mixed =
            ethernet + interface(187, isBig: false) + frames + simple
            + packet(3, interface: 1, isBig: false, [4, 0x0E, 0])
        let found = try contentsOfAnyWindow(mixed)
        #expect(found.records.map(\.payload) == [[0x0E, 0]])
        #expect(found.damages == [])
        #expect(found.skipped?.description == "3 packets have link types that are not read (1), and were skipped")
        // One of six other link types each; at most four are listed.
        var several = section(isBig: false) + interface(187, isBig: false) + packet(1, isBig: false, [4, 0x0E, 0])
        for (index, type) in [105, 105, 113, 127, 195, 1].enumerated() {
            several += interface(UInt16(type), isBig: false)
            several += packet(1, interface: UInt32(index + 1), isBig: false, [1])
        }
        #expect(
            try contents(several).skipped?.description
                == "6 packets have link types that are not read (105, 113, 127, 195, …), and were skipped")
    }

    @Test func `pcapng: packets of a private link type, which can be Bluetooth, are damage`() throws {
        let frames = packet(1, isBig: false, [1, 2]) + packet(2, isBig: false, [1, 2])
        for type in [147, 162] as [UInt16] {
            let found = try contentsOfAnyWindow(
                section(isBig: false) + interface(type, isBig: false) + interface(187, isBig: false) + frames
                    + packet(3, interface: 1, isBig: false, [4, 0x0E, 0]))
            #expect(found.records.map(\.payload) == [[0x0E, 0]])
            #expect(
                found.damages.map(\.description) == [
                    "record 1 at byte 68: interface 0 has the link type \(type), which is not supported; its packets are skipped"
                ])
            #expect(found.skipped?.count == 0)
        }
    }

    @Test func `a capture that has only packets of other link types is refused, whatever follows them`() throws {
        let ethernet = section(isBig: false) + interface(1, isBig: false)
        let frames = packet(1, isBig: false, [1, 2])
        let zeros = [UInt8](repeating: 0, count: 64)
        let wireless = pcapHeader(192) + pcapRecord(1, wrapped(1, [1])) + pcapRecord(2, wrapped(127, [1]))
        for bytes in [
            ethernet, ethernet + frames, ethernet + interface(187, isBig: false) + frames, ethernet + frames + zeros,
            section(isBig: false) + interface(187, isBig: false) + ethernet + frames, wireless, wireless + zeros,
            wireless + btsnoop([]),
            section(isBig: false) + interface(192, isBig: false)
                + packet(1, isBig: false, wrapped(1, [1])),
        ] {
            #expect(throws: CaptureError.linkTypeUnsupported(path: "test", 1)) { try contents(bytes) }
        }
    }

    @Test func `PPI: the packet after the header is read by its own link type`() throws {
        let pdu: [UInt8] = [0xD6, 0xBE, 0x89, 0x8E, 0x02, 0x06, 1, 2, 3, 4, 5, 6]
        let rssi: [UInt8] = [0, 0xC5, 0, 0, 0xD6, 0xBE, 0x89, 0x8E] + little(UInt16(0x0C03))
        let gps = little(UInt16(30002)) + little(UInt16(4)) + [1, 2, 3, 4]
        var bytes = pcapHeader(192)
        let packets = [
            wrapped(251, pdu), wrapped(147, fields: ubertoothField, pdu), wrapped(256, fields: gps, rssi + pdu),
            wrapped(187, [4, 0x0E, 0]), wrapped(201, fields: gps, [0, 0, 0, 1, 4, 0x0E, 0]), wrapped(105, [1, 2]),
            wrapped(254, [0, 7, 0, 3, 0x0E, 0]),
        ]
        for (index, packet) in packets.enumerated() { bytes += pcapRecord(UInt32(index), packet) }
        let found = try contentsOfAnyWindow(bytes)
        #expect(
            found.records.map { Array($0.numbers.dropFirst(2)) } == [
                [1, 127, 2], [1, 127, 2], [1, -59, 0], [0, 4, 1], [0, 4, 1], [0, 4, 1],
            ])
        #expect(found.records.map(\.payload) == [pdu, pdu, pdu, [0x0E, 0], [0x0E, 0], [0x0E, 0]])
        #expect(found.adapters == ["hci0", "hci7"] && found.records.last?.numbers[1] == 1)
        #expect(found.damages == [])
        #expect(found.skipped?.description == "1 packet has a link type that is not read (105), and was skipped")
        let pcapng = try contents(
            section(isBig: false) + interface(192, isBig: false) + packet(1, isBig: false, packets[1])
                + packet(2, isBig: false, packets[5]))
        #expect(pcapng.records.map(\.payload) == [pdu])
        #expect(pcapng.skipped?.count == 1)
    }

    @Test func `PPI: a header with an impossible length or a private link type is damage`() throws {
        let packets = [
            wrapped(147, [1]), wrapped(147, fields: [1, 2, 3, 4, 5], [1]), wrapped(192, wrapped(251, [1])),
            [0, 0, 8, 0],
            [0, 0, 7, 0, 251, 0, 0, 0, 1], [0, 0, 10, 0, 251, 0, 0, 0, 1],
        ]
        let found = try contentsOfAnyWindow(
            pcapHeader(192) + packets.flatMap { pcapRecord(5, $0) } + pcapRecord(5, wrapped(187, [4, 0x0E, 0])))
        #expect(
            found.damages.map(\.reason) == [
                "its PPI header has the link type 147, which is not supported",
                "its PPI header has the link type 147, which is not supported",
                "its length of 4 is too small for link type 192", "its PPI header claims 7 bytes; must be from 8 to 9",
                "its PPI header claims 10 bytes; must be from 8 to 9",
            ])
        #expect(found.damages.map(\.record) == [1, 2, 3, 4, 5])
        #expect(found.skipped?.linkTypes == [192])
        #expect(found.records.last?.payload == [0x0E, 0])
    }

    @Test func `a packet of link type 157 without the header of an nRF sniffer is damage`() throws {
        let frame: [UInt8] = [0xD6, 0xBE, 0x89, 0x8E, 0x02, 0x06, 1, 2, 3, 4, 5, 6, 0, 0, 0]
        let payload: [UInt8] = [10, 1, 37, 59, 0, 0, 0, 0, 0, 0] + frame
        let count = UInt8(payload.count)
        let legacy: [UInt8] = [0xBE, 0xEF, 6, 0, 0, 0, 0, count, 1, 37, 59, 0, 0, 0, 0, 0, 0] + frame
        var bytes = pcapHeader(157)
        for packet in [
            [0, 6, count, 1, 0, 0, 6] + payload, [0, count, 0, 2, 0, 0, 6] + payload,
            [9, count, 0, 3, 0, 0, 2] + payload,
            legacy, [0, 6, count, 1, 0, 0, 6] + payload + [0], [0, 7, count, 1, 0, 0, 6] + payload,
            [0, count, 1, 3, 0, 0, 2] + payload, [0, count, 0, 4, 0, 0, 2] + payload, frame, [1, 2, 3],
        ] { bytes += pcapRecord(1, packet) }
        let found = try contentsOfAnyWindow(bytes)
        #expect(found.records.prefix(4).map(\.payload) == [frame, frame, frame, frame])
        #expect(found.records.dropFirst(4).allSatisfy { $0.numbers.dropFirst(2) == [6] })
        #expect(
            found.damages.map(\.reason)
                == [String](repeating: "it has link type 157, but not the header of an nRF sniffer", count: 6))
    }

    @Test(arguments: [false, true])
    func `PacketLogger: HCI packets are read, and other records only show that time passed`(isBig: Bool) throws {
        var bytes = packetLogger(5, 7, isBig: isBig, [1, 0x0E, 0])
        for type in [1, 0, 2, 3, 8, 9, 10, 11, 0xF7, 0xFE, 0x42] as [UInt8] {
            bytes += packetLogger(5, 7, isBig: isBig, [type, 0xAA])
        }
        bytes += packetLogger(.max, isBig: isBig, [1]) + packetLogger(6, 1_000_000, isBig: isBig, [1])
        bytes += packetLogger(4_133_980_799, 999_999, isBig: isBig, [])
        let found = try contentsOfAnyWindow(bytes)
        #expect(found.adapters == ["hci0"])
        #expect(
            found.records.map { Array($0.numbers.dropFirst(2)) } == [
                [0, 4, 1], [0, 4, 1], [0, 1, 0], [0, 2, 0], [0, 2, 1], [0, 3, 0], [0, 3, 1], [6], [6], [6], [6], [6],
                [6],
            ])
        #expect(found.records.map(\.payload) == [[0x0E, 0]] + [[UInt8]](repeating: [0xAA], count: 11) + [[]])
        #expect(found.records.first?.numbers[0] == 5_000_007_000)
        #expect(found.records.last?.numbers[0] == 4_133_980_799_999_999_000)
        #expect(
            found.damages.map(\.description) == [
                "record 13 at byte 169: its time is 2106-02-07T06:28:15Z; must be within 1970…2100",
                "record 14 at byte 182: its time has 1000000 microseconds after the second; must be at most 999999",
            ])
        let long = try contentsOfAnyWindow(
            packetLogger(5, isBig: isBig, [1, 2, 1, 0]) + number(UInt32(1 << 21), isBig)
                + [UInt8](repeating: 1, count: 20))
        #expect(long.damages.map(\.reason) == ["it claims 2097152 bytes; must be from 8 bytes to 1 MiB"])
        #expect(try contents(bytes.dropLast(3)).damages.last?.reason.hasPrefix("it is truncated: 9 of its 12") == true)
    }

    @Test(arguments: [
        packetLogger(978_307_200, isBig: true, [0xFC, 0x61]), packetLogger(978_307_200, isBig: false, [11, 1, 2]),
        packetLogger(0, isBig: true, [0, 3, 0x0C, 0]), packetLogger(0, isBig: false, [2, 1, 0, 1, 0, 9]),
        packetLogger(0, isBig: true, [9, 1, 0, 2, 9, 9]), packetLogger(0, 999_999, isBig: false, [1, 0x0E, 1, 9]),
    ])
    func `PacketLogger: a file whose first record is possible is recognised`(record: [UInt8]) throws {
        let reader = try CaptureReader(.bytes(record + [UInt8](repeating: 0, count: 12), name: "test"))
        #expect(reader.format == .packetLogger && reader.damages.isEmpty)
    }

    @Test(arguments: [
        packetLogger(978_307_200, isBig: true, [4, 0x0E, 0]), packetLogger(5, isBig: true, []),
        packetLogger(978_307_199, isBig: true, [0xFC, 0x61]), packetLogger(5, 1_000_000, isBig: false, [1, 0x0E, 0]),
        packetLogger(5, isBig: false, [1, 0x0E, 1]), packetLogger(5, isBig: true, [0, 3, 0x0C, 1]),
        packetLogger(5, isBig: true, [3, 1, 0, 1, 0]), packetLogger(5, isBig: true, [8, 1, 0, 1]),
        packetLogger(978_307_200, isBig: false, [0xFC] + [UInt8](repeating: 1, count: 0x1_0000)), [0, 0, 0, 9],
        [UInt8](repeating: 0, count: 100),
        [100, 0, 0, 0, 5, 0, 0, 0, 9, 0, 0, 0, 1] + [UInt8](repeating: 0, count: 99),
    ])
    func `PacketLogger: a file whose first record is impossible has an unknown format`(record: [UInt8]) {
        #expect(throws: CaptureError.unrecognised(path: "test", beginning: nil)) {
            try contents(record + [UInt8](repeating: 0, count: 12))
        }
    }

    @Test func `files one after another are read as one capture`() throws {
        let newIndex: [UInt8] = [0, 1, 1, 2, 3, 4, 5, 6] + Array("lobby\0\0\0".utf8)
        let event: UInt32 = 3
        let monitor = btsnoop([(0, epoch, newIndex), (event, epoch + 1, [0x0E, 0])])
        let h4 = btsnoop(datalink: 1002, [(event, epoch + 2, [4, 0x0E, 1])])
        let empty = btsnoop([])
        let little = pcapHeader(187) + pcapRecord(1, [4, 0x0E, 2])
        let big = pcapHeader(201, isBig: true) + pcapRecord(2, isBig: true, [0, 0, 0, 1, 4, 0x0E, 3])
        let next = section(isBig: true) + interface(187, isBig: true) + packet(3, isBig: true, [4, 0x0E, 4])
        let found = try contentsOfAnyWindow(
            empty + monitor + h4 + empty + empty + btsnoop([(event, epoch, [0x0E, 5])]) + little + big + next + little)
        #expect(found.damages == [])
        #expect(found.records.dropFirst().map(\.payload) == [0, 1, 5, 2, 3, 4, 2].map { [0x0E, $0] })
        // An index of the second file is not the controller that the first file named.
        #expect(found.adapters == ["lobby", "hci0"])
        #expect(found.records.map { $0.numbers[1] } == [0, 0, 1, 1, 1, 1, 1, 1])
        #expect(try contentsOfAnyWindow(monitor + empty).records.count == 2)
        // In either byte order.
        for second in [little, big, next, h4] {
            for first in [monitor, little, big, next] {
                let found = try contentsOfAnyWindow(first + second)
                #expect(found.damages == [] && found.records.count == (first == monitor ? 3 : 2))
            }
        }
        // A header inside a record is that of a sender.
        let sent = btsnoop([(event, epoch, [0x0E, 20] + empty), (event, epoch, [0x0E, 0])])
        #expect(try contentsOfAnyWindow(sent).records.map(\.payload) == [[0x0E, 20] + empty, [0x0E, 0]])
        let many = (0..<20_000).reduce(into: monitor) { bytes, _ in bytes += empty }
        #expect(try contents(many).records.count == 2)
    }

    @Test func `pcapng: packets without a time, in a capture with times, are damage, also in another section`() throws {
        let simple = block(3, number(UInt32(3), false) + [4, 0x0E, 0], isBig: false)
        let first = section(isBig: false) + interface(187, isBig: false)
        let timed = first + packet(5, isBig: false, [4, 0x0E, 1])
        for bytes in [btsnoop([(3, epoch, [0x0E, 1])]) + first + simple, timed + first + simple] {
            let found = try contentsOfAnyWindow(bytes)
            #expect(found.records.map(\.payload) == [[0x0E, 1]])
            #expect(found.damages.map(\.reason) == ["it has no time of its own, and no packet is before it"])
        }
        let found = try contentsOfAnyWindow(first + simple + btsnoop([(3, epoch, [0x0E, 1])]))
        #expect(found.records.map(\.payload) == [[0x0E, 0]])
        #expect(found.damages.map(\.reason) == ["another file starts, but the records before have no times"])
    }

    @Test(arguments: [0, 8, 13] as [UInt8])
    func `pcapng: a section header with an impossible length is damage`(length: UInt8) throws {
        let header: [UInt8] =
            [0x0A, 0x0D, 0x0D, 0x0A, length, 0, 0, 0, 0x4D, 0x3C, 0x2B, 0x1A]
            + [UInt8](repeating: 0, count: 16)
        for before in [[], section(isBig: false) + interface(187, isBig: false)] {
            let found = try contentsOfAnyWindow(before + header)
            #expect(found.damages.map(\.offset) == [before.count])
            #expect(found.damages.map(\.reason) == ["a section header claims \(length) bytes"])
        }
    }

    @Test func `the header of a file that is not read, after another file, is damage with its reason`() throws {
        let first = btsnoop([(3, epoch, [0x0E, 0])])
        let version = Array("btsnoop\0".utf8) + big(UInt32(2)) + big(UInt32(2001)) + big(UInt64(0))
        for (bytes, reason) in [
            (btsnoop(datalink: 1003, []), "test is btsnoop of datalink 1003; supported are"),
            (version, "test has an invalid header: btsnoop of version 2; must be 1"),
            (Array(version.prefix(9)), "it is truncated: 9 of its 24 bytes are present"),
            (pcapHeader(1) + pcapRecord(1, [1]), "test has packets of link type 1; supported are"),
        ] {
            let found = try contentsOfAnyWindow(first + bytes)
            #expect(found.records.count == 1)
            #expect(found.damages.map(\.offset) == [42] && found.damages.map(\.record) == [2])
            #expect(found.damages[0].reason.contains(reason), "\(found.damages)")
        }
    }

    @Test(
        arguments: [
            btsnoop([(3, epoch, [0x0E, 0])]), pcapHeader(187) + pcapRecord(1, [4, 0x0E, 0]),
            section(isBig: false) + interface(187, isBig: false) + packet(1, isBig: false, [4, 0x0E, 0]),
            packetLogger(1, isBig: true, [1, 0x0E, 0]),
        ])
    func `zeros after the records of a file are counted and skipped`(file: [UInt8]) throws {
        for count in [24, 1000, 100_003] {
            let zeros = [UInt8](repeating: 0, count: count)
            let found = try contentsOfAnyWindow(file + zeros)
            #expect(found.damages == [] && found.zeroBytes == count)
            #expect(found.records.map(\.payload) == [[0x0E, 0]])
            let another = try contents(file + zeros + btsnoop([(3, epoch, [0x0E, 1])]) + zeros)
            #expect(another.damages == [] && another.zeroBytes == 2 * count)
            #expect(another.records.map(\.payload) == [[0x0E, 0], [0x0E, 1]])
            let other = try contentsOfAnyWindow(file + zeros + [1, 2, 3])
            #expect(other.damageTotal == 2 && other.records.count == 1 && other.zeroBytes == 0)
        }
        // Records can follow zeros. Then others can be lost.
        for size in [16, 24] where file.starts(with: size == 24 ? Array("btsnoop".utf8) : pcapHeader(187)) {
            let record = file.dropFirst(size == 24 ? 16 : 24)
            let found = try contentsOfAnyWindow(file + [UInt8](repeating: 0, count: 2 * size) + record)
            #expect(
                found.damages.map(\.description) == [
                    "record 2 at byte \(file.count + 2 * size): \(2 * size) bytes before it are zeros"
                ])
            #expect(found.records.map(\.payload) == [[0x0E, 0], [0x0E, 0]])
        }
        // A few zeros can be the start of a record.
        let few = try contents(file + [0, 0, 0])
        #expect(few.damages.map(\.offset) == [file.count] && few.zeroBytes == 0)
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
