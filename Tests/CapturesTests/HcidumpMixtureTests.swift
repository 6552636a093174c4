import Captures
import Foundation
import Testing

/// Texts of `hcidump --raw` together with the output of other programs.
@Suite struct HcidumpMixtureTests {
    private static let heading = "HCI sniffer - Bluetooth packet analyzer ver 5.50\ndevice: hci0 snap_len: 1500\n"
    private static let lines = [
        "> 04 3E 2A 02 01 03 01 07 00 00 E5 98 C0 1E 02 01 06 1A FF 4C ",
        "  00 02 15 F7 82 6D A6 4F A2 4E 98 80 24 BC 5B 71 E0 89 3E 00 ", "  64 00 07 C5 C4 ",
    ]
    private static let packet = lines.joined(separator: "\n") + "\n"
    private static let beacon =
        """
        {"uuid":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E","major":100,"minor":7,"measuredPower":-59,"rssi":-60,\
        "address":"C0:98:E5:00:00:07"}
        """

    /// Checks that a text has `count` beacons and no damage.
    private func check(_ text: String, beacons count: Int, location: SourceLocation = #_sourceLocation) throws {
        let found = try contents(Array(text.utf8))
        #expect(found.sightings == Array(repeating: Self.beacon, count: count), sourceLocation: location)
        #expect(found.damages == [], sourceLocation: location)
    }

    @Test(arguments: ["lescan-first.txt", "lescan-inside.txt", "grep.txt"])
    func `a text in the form of a public report gives its three beacons`(name: String) throws {
        let file = Fixtures.tests.appendingPathComponent("Fixtures/hcidump/\(name)")
        try check(String(contentsOf: file, encoding: .utf8), beacons: 3)
    }

    @Test(arguments: [
        "C0:98:E5:00:00:07 (unknown)\n", "C0:98:E5:00:00:07 Badge 7\n", "C0:98:E5:00:00:07 AB\n", "LE Scan ...\n",
        "C0:98:E5:00:00:07 \n", "C0:98:E5:00:00:07\n", "C0:98:E5:00:00:07 > 04 3E\n", "20:25:11:24:08:00 > 04\n",
        "C0:98:E5:00:00:07 (unknown)\r\nc0:98:e5:00:00:08 B\n",
    ])
    func `lines of hcitool lescan before, between and inside packets are skipped`(other: String) throws {
        for place in 0...3 {
            var lines = Self.lines.map { $0 + "\n" }
            lines.insert(other, at: place)
            let mixed = lines.joined()
            try check(Self.heading + mixed + Self.packet + mixed, beacons: 3)
            try check(other + Self.heading + mixed, beacons: 1)
            // Without the heading, the first lines can be those of hcitool.
            try check(other + mixed + other, beacons: 1)
        }
    }

    @Test func `a line of hcitool lescan longer than the lookahead does not hide the packets after it`() throws {
        let names = String(repeating: "C0:98:E5:00:00:07 (unknown)\n", count: 1000)
        try check("LE Scan ...\n" + names + Self.packet, beacons: 1)
    }

    @Test func `a line of hcitool lescan ends a packet that is complete`() throws {
        // The bytes after the line belong to no packet.
        let found = try contents(Array((Self.packet + "C0:98:E5:00:00:07 A\n  00 01\n" + Self.packet).utf8))
        #expect(found.sightings.count == 2)
        #expect(
            found.damages.map(\.description) == [
                "record 2 at line 5, byte 164: a line that is not a packet of hcidump --raw"
            ])
    }

    @Test func `separators of grep are skipped between packets`() throws {
        try check(Self.packet + "--\n" + Self.packet + "--\n" + Self.packet, beacons: 3)
        try check("--\n" + Self.packet + "--\r\n", beacons: 1)
    }

    @Test(arguments: [
        ("Nov 24 08:00:00 pi hcidump[123]: ", "Nov 24 08:00:01 pi hcidump[123]: "),
        ("Jan  9 23:59:59 pi hcidump[123]: ", "Jan 10 00:00:00 pi hcidump[123]: "),
        ("Sat Jan 31 23:59:59 pi ble: ", "Sun Feb  1 00:00:00 pi ble: "),
        ("2025-11-24T08:00:00.123456+00:00 pi hcidump: ", "2025-11-24T08:00:01+00:00 pi hcidump: "),
        ("[2025/11/24 08:00:00] ", "[2025/11/24 08:00:01] "), ("scan-1  | ", "scan-1  | "), ("[hci0] ", "[hci0] "),
        ("\tpi: ", "\tpi: "), ("Nov 24 08:00:00 ", "Nov 24 08:00:01 "),
    ])
    func `packets of a system log are read, with lines of other programs between and inside them`(
        first: String, second: String
    ) throws {
        let lines = Self.lines
        let others = [
            "", "Nov 24 08:00:02 pi kernel: usb 1-1: reset\n", "\(second)C0:98:E5:00:00:07 (unknown)\n", "\(second)\n",
        ]
        for other in others {
            let packet = "\(first)\(lines[0])\n\(other)\(first)\(lines[1])\n\(second)\(lines[2])\n"
            try check(packet + other + packet, beacons: 2)
            try check(other + "\(first)HCI sniffer - Bluetooth packet analyzer ver 5.50\n" + packet, beacons: 1)
            try check(other + packet + packet + other, beacons: 2)
        }
    }

    @Test(arguments: [
        ("Nov 24 08:00:00 pi hcidump[123]: ", "Nov 24 08:00:00 pi hcidump[124]: "), ("scan-1  | ", "scan-2  | "),
        ("[hci0] ", "[hci1] "), ("pi 192.0.2.1 ", "pi 192.0.2.2 "), ("pi 123 ", "pi 124 "), ("node 1 | ", "node 2 | "),

        ("port 8001 ", "port 8002 "), ("x 00:11:22:33:44:55 ", "x 00:11:22:33:44:56 "),
    ])
    func `packets of two sources that interrupt each other are damaged, and not mixed`(one: String, other: String)
        throws
    {
        let lines = Self.lines
        let text = [
            one + lines[0], other + lines[0], one + lines[1], one + lines[2], other + lines[1], other + lines[2],
        ]
        let found = try contents(Array((text.joined(separator: "\n") + "\n").utf8))
        // The lines of the second packet are complete.
        #expect(found.sightings == [Self.beacon])
        #expect(found.damages.map(\.description) == ["record 1 at line 1, byte 0: it is truncated"])
    }

    @Test(arguments: [
        (1, "07 00", "07 0G", "a line that is not a packet of hcidump --raw", 4),
        (1, "> 04", "> 0G", "a line that is not a packet of hcidump --raw", 4),
        (1, "> 04 3E", "> 04 G3", "a line that is not a packet of hcidump --raw", 4),
        (1, "4C", "4G", "a line that is not a packet of hcidump --raw", 4),
        (2, "F7", "G7", "it is truncated", 4), (3, "64", "6", "it is truncated", 4),
    ])
    func `a damaged line of a packet in a system log is reported`(
        line: Int, old: String, new: String, reason: String, place: Int
    ) throws {
        let prefix = "Nov 24 08:00:00 pi hcidump[123]: "
        let lines = Self.lines.map { "\(prefix)\($0)\n" }
        var damaged = lines
        damaged[line - 1].replace(old, with: new)
        let found = try contents(Array((lines + damaged + lines).joined().utf8))
        #expect(found.sightings.count == 2)
        #expect(found.damages.map(\.reason) == [reason])
        #expect(found.damages.map(\.line) == [place])
    }

    @Test(arguments: ["--\n", "C0:98:E5:00:00:07 (unknown)\n"])
    func `a packet that another line interrupts and that does not continue is damaged`(other: String) throws {
        let found = try contents(Array((Self.packet + Self.lines[0] + "\n" + other + Self.packet).utf8))
        #expect(found.sightings.count == 2)
        #expect(found.damages.map(\.description) == ["record 2 at line 4, byte 144: it is truncated"])
        let small = "> 04 0E 00\n\(other)> 04 0F 00\n\(other)"
        #expect(try contents(Array(small.utf8)).damages == [])
    }

    @Test func `bytes of another line with the same prefix are damage if the length of the packet is wrong`() throws {
        let prefix = "Nov 24 08:00:00 pi hcidump[123]: "
        var lines = Self.lines.map { "\(prefix)\($0)\n" }
        lines.insert("\(prefix)65 00 08 C5 A0\n", at: 2)
        let found = try contents(Array(lines.joined().utf8))
        #expect(found.sightings == [])
        #expect(
            found.damages.map(\.description) == ["record 1 at line 1, byte 0: it has more bytes than its header says"])
    }

    @Test(arguments: [
        "Nov 24 08:00:00 pi app[3]: temperature > 85\n", "Nov 24 08:00:00 pi app[3]: 04 > 04 and < 01\n",
        "Nov 24 08:00:00 pi hcitool[3]: C0:98:E5:00:00:07 > 04 3E\n",
    ])
    func `a line of another program with an arrow is not a packet`(other: String) throws {
        let prefix = "Nov 24 08:00:00 pi hcidump[123]: "
        let lines = Self.lines.map { "\(prefix)\($0)\n" }
        try check(other + lines[0] + other + lines[1] + other + lines[2] + other, beacons: 1)
    }

    @Test func `the heading of hcidump has the adapter also with a prefix`() throws {
        let prefix = "Nov 24 08:00:00 pi hcidump[123]: "
        let text = "\(prefix)device: hci1 snap_len: 1500 filter: 0xffffffff\n\(prefix)> 04 0E 00\n"
        #expect(try contents(Array(text.utf8)).adapters == ["hci1"])
    }

    @Test func `the time of hcidump after the prefix of a system log is the time of the packet`() throws {
        let prefix = "Nov 24 09:00:00 pi hcidump[123]: "
        func packet(_ time: String) -> String { "\(prefix)\(time) > 04 0E 01\n\(prefix)  02\n" }
        let text = packet("2023-11-14 22:13:20.5") + packet("1700000001.25")
        let found = try contents(Array(text.utf8))
        #expect(found.records.map { $0.numbers[0] } == [1_700_000_000_500_000_000, 1_700_000_001_250_000_000])
        #expect(found.records.map(\.payload) == [[0x0E, 1, 2], [0x0E, 1, 2]])
        #expect(found.damages == [])
    }

    @Test func `a further line with another prefix is not part of the packet`() throws {
        let text = "pi a[1]: > 04 0E 01\npi b[1]:   05\npi a[1]:   06\n"
        let found = try contents(Array(text.utf8))
        #expect(found.records.map(\.payload) == [[0x0E, 1, 6]])
        #expect(found.damages == [])
    }

    @Test func `a recording of script is read`() throws {
        let text =
            "Script started on 2025-11-24 08:00:00+00:00 [TERM=\"xterm\"]\r\n# hcidump --raw\r\n" + Self.heading
            + Self.packet.replacing("\n", with: "\r\n") + "^C# exit\r\nScript done on 2025-11-24 08:00:09+00:00\r\n"
        try check(text, beacons: 1)
    }

    @Test(arguments: 1..<140) func `a text can start at any byte of a packet`(cut: Int) throws {
        let text = Self.packet.dropFirst(cut) + Self.packet + Self.packet
        let found = try contents(Array(text.utf8))
        #expect(found.sightings == [Self.beacon, Self.beacon])
        #expect(found.damages == [])
    }

    @Test(arguments: ["HCI sniffer\n", "LE Scan ...\nC0:98:E5:00:00:07 (unknown)\n"])
    func `bytes without the first line of any packet are damage`(first: String) throws {
        let text = first + Self.lines[1] + "\n" + Self.lines[2] + "\n"
        let found = try contents(Array(text.utf8))
        #expect(found.records == [])
        let line = first.split(separator: "\n").count + 1
        #expect(
            found.damages.map(\.description) == [
                "record 1 at line \(line), byte \(first.utf8.count): these bytes have no first line of a packet"
            ])
    }

    @Test func `a text with the heading of hcidump after other text and without packets is an unknown format`() {
        let text = "notes\nHCI sniffer - Bluetooth packet analyzer ver 5.50\n"
        #expect(throws: CaptureError.unrecognised(path: "test", beginning: "“notes”")) {
            try contents(Array(text.utf8))
        }
    }
}
