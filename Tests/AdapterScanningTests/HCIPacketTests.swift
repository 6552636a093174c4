import TestSupport
import Testing

@testable import AdapterScanning

@Suite struct HCIPacketTests {
    // Written out from Core Vol 4 Part E §7.8.10, §7.8.11, §7.8.64, §7.8.65, §7.4.2.
    @Test(
        arguments: [
            (.readSupportedCommands, "01 0210 00"),
            (
                .setScanParameters(
                    ScanParameters(isActive: false, interval: 0x60, window: 0x60, acceptsAll: true), isExtended: false),
                "01 0b20 07 00 6000 6000 00 00"
            ),
            (
                .setScanParameters(
                    ScanParameters(isActive: true, interval: 0x12, window: 0x11, acceptsAll: false), isExtended: false),
                "01 0b20 07 01 1200 1100 00 01"
            ),
            (
                .setScanParameters(
                    ScanParameters(isActive: true, interval: 0x60, window: 0x30, acceptsAll: false), isExtended: true),
                "01 4120 08 00 01 01 01 6000 3000"
            ),
            (.setScanEnable(true, filtersDuplicates: false, isExtended: false), "01 0c20 02 01 00"),
            (.setScanEnable(false, filtersDuplicates: true, isExtended: false), "01 0c20 02 00 01"),
            (.setScanEnable(true, filtersDuplicates: false, isExtended: true), "01 4220 06 01 00 0000 0000"),
            (.reset, "01 030c 00"),
        ] as [(HCICommand, String)])
    func `a command has the specified bytes, and they decode to the command`(command: HCICommand, expected: String) {
        let bytes = HCITest.bytes(expected)
        #expect(command.packet == bytes)
        #expect(HCIPacket(bytes.span) == .command(command))
    }

    @Test(
        arguments: [
            ("04 0e 04 01 0b20 00", .complete(opcode: 0x200B, status: 0, supportsExtendedScanning: nil)),
            ("04 0e 04 01 0b20 0c", .complete(opcode: 0x200B, status: 0x0C, supportsExtendedScanning: nil)),
            ("04 0f 04 0c 01 0c20", .complete(opcode: 0x200C, status: 0x0C, supportsExtendedScanning: nil)),
            ("04 0f 04 00 01 0c20", .other), ("04 3e 03 02 01 00", .reports), ("04 3e 03 0d 01 00", .reports),
            ("04 3e 03 01 00 00", .other), ("04 10 01 42", .other), ("02 0000", .other), ("", .other), ("04", .other),
            ("04 0e", .other), ("04 0e 04 01 0b20", .other), ("01 0b20", .other),
            ("01 0b20 06 00 6000 6000 00", .command(.other(0x200B))), ("01 0c20 01 01", .command(.other(0x200C))),
            ("01 4120 04 00 01 01 01", .command(.other(0x2041))), ("01 0920 00", .command(.other(0x2009))),
        ] as [(String, HCIPacket)])
    func `a packet decodes to its kind, incomplete ones to other or other(opcode)`(hex: String, expected: HCIPacket) {
        #expect(HCIPacket(HCITest.bytes(hex).span) == expected)
    }

    @Test(arguments: [(0x60, true), (0x20, false), (0x40, false), (0x00, false), (0xFF, true)] as [(UInt8, Bool)])
    func `extended scanning needs bits 5 and 6 of byte 37 of the supported commands`(byte: UInt8, isThere: Bool) {
        var packet = HCITest.bytes("04 0e 44 01 0210 00") + [UInt8](repeating: 0, count: 64)
        packet[7 + 37] = byte
        #expect(
            HCIPacket(packet.span) == .complete(opcode: 0x1002, status: 0, supportsExtendedScanning: isThere))
        #expect(
            HCIPacket(Array(packet[..<44]).span)
                == .complete(opcode: 0x1002, status: 0, supportsExtendedScanning: nil))
    }

    @Test func `mutated packets decode as before or to something else, and never trap`() {
        var generator = SeededGenerator(state: SeededGenerator.seed)
        let originals = [
            "04 0e 44 01 0210 00" + String(repeating: "ff", count: 64), "01 4120 08 00 01 01 01 6000 3000",
            "01 0b20 07 01 1200 1100 00 01", "04 3e 03 02 01 00", "04 0f 04 0c 01 0c20",
        ].map { HCITest.bytes($0) }
        let known = Set(originals.map { HCIPacket($0.span) })
        #expect(known.count == originals.count && !known.contains(.other))
        var (same, other) = (0, 0)
        for round in 0..<20_000 {
            let packet = HCIPacket(HCITest.mutate(originals[round % originals.count], &generator).span)
            if known.contains(packet) { same += 1 }
            if packet == .other { other += 1 }
        }
        // Some mutations change bytes that are not read, others change the bytes that decide the kind of the packet.
        #expect(same > 100 && other > 100, "\(same) decode as before, \(other) to something else")
    }
}
