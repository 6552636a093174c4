import Captures
import Foundation
import Testing

/// Inputs of formats that are not read.
@Suite struct UnsupportedFormatTests {
    /// An input, its format, and the words of the error from the name of the format on.
    struct Sample: Sendable, CustomTestStringConvertible {
        var bytes: [UInt8]
        var format: UnsupportedFormat
        var words: String

        init(_ bytes: [UInt8], _ format: UnsupportedFormat, _ words: String) {
            (self.bytes, self.format, self.words) = (bytes, format, words)
        }

        init(_ text: String, _ format: UnsupportedFormat, _ words: String) {
            self.init(Array(text.utf8), format, words)
        }

        var testDescription: String { "\(format.name) of \(bytes.count) bytes" }
    }

    private static let zip =
        "a zip archive, which is not read. Unpack the capture; that of an Android bug report with: "
        + "unzip -p test '*/btsnoop_hci.log' > capture.btsnoop"
    private static let btmon =
        "the text of btmon, which is not read. It lacks the bytes of the advertisements. Record them with: "
        + "sudo btmon -w capture.btsnoop"
    private static let hcidump =
        "the text of hcidump without --raw, which is not read. It lacks the bytes of the advertisements. Record them "
        + "with: sudo hcidump -w capture.btsnoop"
    private static let bluetoothctl =
        "the text of bluetoothctl or btmgmt, which is not read. It lacks the bytes of most advertisements. Record them with: "
        + "sudo beacon-gateway record capture.btsnoop"
    private static let lescan =
        "the text of hcitool lescan, which is not read. It lacks the bytes of the advertisements. Record them with: "
        + "sudo beacon-gateway record capture.btsnoop"
    private static let events =
        "an event file of a gateway, which is not read. It has no advertisements. List its visits with: "
        + "beacon-gateway visits test"
    private static let messages =
        "a file of messages of a gateway, which is not read. They are events, not advertisements. Add the envelopes of "
        + "an event file, and list its visits, with: sed 's/^[^{]*//' test | jq -c '{topic: \"\", qos: 1, retain: false, "
        + "payload: .}' > events.jsonl && beacon-gateway visits events.jsonl"
    private static let received =
        "a file of messages of a gateway with topics, which is not read. They are events, not advertisements. Make an event "
        + "file, and list its visits, with: jq -c '{topic, qos, retain: false, payload: (.payload | fromjson? // .)}' test > "
        + "events.jsonl && beacon-gateway visits events.jsonl"
    private static let bugReport =
        "the text of an Android bug report, which is not read. Extract its Bluetooth log with the script of Android's "
        + "source code: btsnooz.py test > capture.btsnoop"

    private static let report =
        "a report of a gateway in CSV, which is not read. It has no advertisements. Record them with: sudo beacon-gateway "
        + "record capture.btsnoop"

    private static func utf16(_ name: String) -> String {
        "text in UTF-16, which is not read. Convert it with: iconv -f \(name) -t UTF-8 test > utf8.txt"
    }

    private static func encoded(_ text: String, _ encoding: String.Encoding) -> [UInt8] {
        [UInt8](text.data(using: encoding) ?? Data())
    }

    private static let log = "{\"time\":1763971200,\"rssi\":-60,\"data\":\"0201\"}\n"

    static let samples = [
        Sample([0x50, 0x4B, 0x03, 0x04, 0x14, 0, 0, 0, 0x08, 0], .zipArchive, zip),
        Sample([0x50, 0x4B, 0x05, 0x06] + [UInt8](repeating: 0, count: 18), .zipArchive, zip),
        Sample([0x50, 0x4B, 0x07, 0x08, 0x50, 0x4B, 0x03, 0x04], .zipArchive, zip),
        Sample(
            Array("btsnoop_hci.log".utf8) + [UInt8](repeating: 0, count: 242) + Array("ustar\u{0}00".utf8)
                + [UInt8](repeating: 0, count: 248), .tarArchive,
            "a tar archive, which is not read. Unpack the capture with: tar -xvf test"),
        Sample([0xFF, 0xFE] + encoded(log, .utf16LittleEndian), .utf16, utf16("UTF-16")),
        Sample([0xFE, 0xFF] + encoded(log, .utf16BigEndian), .utf16, utf16("UTF-16")),
        Sample(encoded(log, .utf16LittleEndian), .utf16LittleEndian, utf16("UTF-16LE")),
        Sample(encoded(log, .utf16BigEndian), .utf16BigEndian, utf16("UTF-16BE")),
        Sample(encoded("time;rssi", .utf16LittleEndian), .utf16LittleEndian, utf16("UTF-16LE")),
        Sample(encoded("\r\n \(log)", .utf16LittleEndian), .utf16LittleEndian, utf16("UTF-16LE")),
        Sample(encoded("größe;b", .utf16BigEndian), .utf16BigEndian, utf16("UTF-16BE")),
        Sample(
            """
            {"topic":"beacons/hall/condition/building","qos":1,"retain":false,"payload":{"version":2,"type":"condition",\
            "gateway":"hall","sequence":1,"monitor":"site","identifier":"building","change":"added"}}

            """, .eventLines, events),
        Sample(
            "{\"version\":2,\"type\":\"evidence\",\"gateway\":\"hall\",\"event\":10,\"monitor\":\"site\"}\n",
            .eventLines,
            events),
        Sample(
            "{\"topic\":\"a\\\"b\",\"qos\":0,\"retain\":true,\"payload\":{\"version\":2,\"type\":\"ranging\",\"gateway\":\"h\"}}",
            .eventLines, events),
        Sample(
            "{\"version\":2,\"type\":\"event\",\"gateway\":\"hall\",\"sequence\":10,\"monitor\":\"site\"}\n",
            .eventMessages,
            messages),
        Sample(
            "beacons/hall/event/a {\"version\":2,\"type\":\"event\",\"gateway\":\"hall\",\"sequence\":10}\n",
            .eventMessages,
            messages),
        Sample(
            """
            {"tst":"2026-11-30T11:20:53.406348Z+0100","topic":"beacons/hall/event/a","qos":0,"retain":0,"payloadlen":10,\
            "payload":"{\\"version\\":2,\\"type\\":\\"event\\",\\"gateway\\":\\"hall\\"}"}
            """, .receivedMessages, received),
        Sample(
            """
            {"tst":"2026-11-30T11:20:53.406348Z+0100","topic":"beacons/hall/event/a","qos":0,"retain":0,"payloadlen":10,\
            "payload":{"version":2,"type":"event","gateway":"hall"}}
            """, .receivedMessages, received),
        Sample(
            "monitor,identifier,uuid,major,minor,arrival,departure\r\nsite,a,F7826DA6-4FA2-4E98-8024-BC5B71E0893E,1,7,,\r\n",
            .reportTable, report),
        Sample("from,to,scope,name,most,mean,arrivals,departures\r\n", .reportTable, report),
        Sample(
            """
            ========================================================
            == dumpstate: 2021-02-01 03:30:00
            ========================================================

            """, .androidBugReport, bugReport),
        Sample("--- BEGIN:BTSNOOP_LOG_SUMMARY (1234 bytes in) ---\nAQI=\n", .androidBugReport, bugReport),
        Sample(
            """
            Bluetooth monitor ver 5.66
            > HCI Event: LE Meta Event (0x3e) plen 43                           #1 0.789053
                  LE Advertising Report (0x02)

            """, .btmonText, btmon),
        Sample(
            """
            > HCI Event: LE Meta Event (0x3e) plen 42                #1 [hci0] 2025-11-24 08:00:00.000000
                  LE Advertising Report (0x02)

            """, .btmonText, btmon),
        Sample("= Open Index: 00:AA:01:00:00:02                  [hci0] 0.517868\r\n", .btmonText, btmon),
        Sample("\u{1B}[0;35m> HCI Event: Command Complete (0x0e) plen 4\u{1B}[0m  [hci0] 1.5\n", .btmonText, btmon),
        Sample(
            """
            HCI sniffer - Bluetooth packet analyzer ver 5.66
            device: hci0 snap_len: 1500 filter: 0xffffffff
            > HCI Event: LE Meta Event (0x3e) plen 43
                LE Advertising Report

            """, .hcidumpText, hcidump),
        Sample("2021-02-01 03:27:59.789053 > HCI Event: LE Meta Event (0x3e) plen 43\n", .hcidumpText, hcidump),
        Sample("< HCI Command: LE Set Scan Enable (0x08|0x000c) plen 2\n", .hcidumpText, hcidump),
        Sample(
            """
            Discovery started
            [CHG] Controller 00:AA:01:00:00:02 Discovering: yes

            """, .bluetoothctlText, bluetoothctl),
        Sample(
            "[\u{1}\u{1B}[0;92m\u{2}NEW\u{1}\u{1B}[0m\u{2}] Device C0:98:E5:00:00:07 C0-98-E5-00-00-07\n",
            .bluetoothctlText, bluetoothctl),
        Sample("Device C0:98:E5:00:00:07 Badge 7\n", .bluetoothctlText, bluetoothctl),
        Sample(
            "Discovery started\nhci0 dev_found: C0:98:E5:00:00:07 type LE Random rssi -60 flags 0x0004\n",
            .bluetoothctlText, bluetoothctl),
        Sample("hci0 dev_found: C0:98:E5:00:00:07 type LE Random rssi -60\n", .bluetoothctlText, bluetoothctl),
        Sample("\u{1B}[0;94m[bluetooth]\u{1B}[0m# scan on\n", .bluetoothctlText, bluetoothctl),
        Sample("LE Scan ...\nC0:98:E5:00:00:07 (unknown)\n", .lescanText, lescan),
        Sample("LE Scan ...\nC0:98:E5:00:00:07 > 04 3E\n", .lescanText, lescan),
        Sample("C0:98:E5:00:00:07 Badge 7\nC0:98:E5:00:00:07 (unknown)\n", .lescanText, lescan),
    ]

    @Test(arguments: samples) func `an unsupported format is named, with the next command`(sample: Sample) {
        let error = #expect(throws: CaptureError.self) { try contents(sample.bytes) }
        #expect(error == .unsupported(path: "test", sample.format))
        #expect(error?.description == "test is \(sample.words)")
    }

    @Test(
        arguments: [
            ("btmon.txt", .btmonText), ("hcidump.txt", .hcidumpText), ("bluetoothctl.txt", .bluetoothctlText),
            ("lescan.txt", .lescanText),
        ] as [(String, UnsupportedFormat)])
    func `the text of another program is named, also with line ends of Windows`(
        file: String, format: UnsupportedFormat
    ) throws {
        let bytes = [UInt8](try Data(contentsOf: Fixtures.tests.appendingPathComponent("Fixtures/unsupported/\(file)")))
        #expect(throws: CaptureError.unsupported(path: "test", format)) { try contents(bytes) }
        let windows = bytes.flatMap { $0 == 0x0A ? [0x0D, 0x0A] : [$0] }
        #expect(throws: CaptureError.unsupported(path: "test", format)) { try contents(windows) }
    }

    @Test func `the manual has each unsupported format with its command`() throws {
        let page = Fixtures.tests.deletingLastPathComponent().appendingPathComponent("docs/replay.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        for format in UnsupportedFormat.all {
            let error = CaptureError.unsupported(path: "FILE", format).description
            let row = try #require(error.wholeMatch(of: /FILE is (.+), which is not read\. (.+?): (.+)/)).output
            #expect(text.contains("\n| \(row.1) | "))
            #expect(text.contains("`\(row.3.replacing("|", with: "\\|"))` |\n"))
        }
    }

    @Test func `each unsupported format has a sample`() {
        #expect(Set(Self.samples.map(\.format)) == Set(UnsupportedFormat.all))
    }

    @Test(arguments: [
        ("bug report's.zip", "'bug report'\\''s.zip'"), ("-x.zip", "./-x.zip"), ("a/b-1_c.2.zip", "a/b-1_c.2.zip"),
        ("$(reboot).zip", "'$(reboot).zip'"), ("12:30.tar", "./12:30.tar"), ("a/12:30.tar", "a/12:30.tar"),
        ("standard input", "FILE"),
    ])
    func `the command has the path as a word of a shell`(path: String, word: String) {
        let error = CaptureError.unsupported(path: path, .tarArchive)
        #expect(error.description.hasSuffix("with: tar -xvf \(word)"))
    }

    @Test(arguments: [
        ("id,rssi\n", "“id,rssi”"),
        ("Größe 0123456789 0123456789 0123456789 0123456789", "“Größe 0123456789 0123456789 0123456789…”"),
        ("a\tb\n", "“a_b”"), ("\u{7F}ELF\n", nil), ("a\u{0}b\n", nil), ("a\u{9B}31m\n", nil),
        ("\u{0}", nil), ("C0:98:E5:00:00:07 -60 020106\n", "“C0:98:E5:00:00:07 -60 020106”"),
    ])
    func `the error for another text has the start of its first line, and that for other data has none`(
        text: String, beginning: String?
    ) throws {
        let error = try #require(throws: CaptureError.self) { try contents(Array(text.utf8)) }
        #expect(error == .unrecognised(path: "test", beginning: beginning))
        #expect(
            error.description.contains(
                beginning.map { "test starts with \($0)" } ?? "The command file prints the format"))
    }

    @Test(arguments: [
        (UnsupportedFormat.eventLines, "zcat test > decompressed && beacon-gateway visits decompressed"),
        (.utf16, "zcat test > decompressed && iconv -f UTF-16 -t UTF-8 decompressed > utf8.txt"),
        (.tarArchive, "tar -xvf test"), (.btmonText, "sudo btmon -w capture.btsnoop"),
        (.hcidumpText, "sudo hcidump -w capture.btsnoop"),
    ])
    func `the command decompresses a file first if the next program cannot`(
        format: UnsupportedFormat, command: String
    ) throws {
        let sample = try #require(Self.samples.first { $0.format == format })
        let packed = try pipe(sample.bytes, through: "gzip")
        let error = try #require(throws: CaptureError.self) { try contents(packed) }
        #expect(error.description.hasPrefix("test is \(format.name), which is not read. "))
        #expect(error.description.hasSuffix(": \(command)"))
    }

    @Test func `an archive whose first file is the text of hcidump is an archive`() {
        let text = Array("LE Scan ...\nHCI sniffer - Bluetooth packet analyzer ver 5.50\n> 04 0E 00\n".utf8)
        let zip = [0x50, 0x4B, 0x03, 0x04, 0x0A] + [UInt8](repeating: 0, count: 25) + text
        #expect(throws: CaptureError.unsupported(path: "test", .zipArchive)) { try contents(zip) }
        var header = Array("scan.txt".utf8) + [UInt8](repeating: 0, count: 504)
        header.replaceSubrange(257..<263, with: Array("ustar ".utf8))
        #expect(throws: CaptureError.unsupported(path: "test", .tarArchive)) { try contents(header + text) }
        // As a length, a short name is possible in PacketLogger.
        header.replaceSubrange(0..<8, with: [0x2E, 0x2F, 0, 0, 0, 0, 0, 0])
        #expect(throws: CaptureError.unsupported(path: "test", .tarArchive)) { try contents(header + text) }
    }

    @Test(arguments: [
        "{\"topic\":\"gw\",\"payload\":{\"version\":1},\"time\":1,\"rssi\":-60,\"data\":\"0201\"}\n",
        "{\"topic\":\"gw\",\"qos\":0,\"retain\":false,\"payload\":{\"type\":1},\"time\":1,\"data\":\"0201\"}\n",
        "{\"version\":2,\"type\":\"evidence\",\"time\":1,\"rssi\":-60,\"data\":\"0201\"}",
        // hcitool lescan and hcidump write to the same terminal.
        "LE Scan ...\nC0:98:E5:00:00:07 (unknown)\nHCI sniffer - Bluetooth packet analyzer ver 5.50\n> 04 0E 00\n",
        "device: hci0\n= Note: [hci0]\n@ MGMT Event [hci0]\n> 04 0E 00\n", "10:15 > hcidump --raw\n> 04 0E 00\n",
    ])
    func `logs with similar keys, and texts of hcidump --raw with similar headings, are read`(text: String) throws {
        #expect(try contents(Array(text.utf8)).records.count == 1)
    }
}
