import Captures
import Foundation
import Testing

@Suite struct RealCaptureTests {
    static let captures = [
        "hcidump-gimbal.raw", "android-gym-bike.btsnoop", "android-multi-report.btsnoop", "nrf52-screenroom-90.pcapng",
        "ubertooth-anechoic-0.pcapng", "whad-pairing.pcap", "crackle-known-ltk.pcap", "packetlogger-macos.pklg",
        "packetlogger-ios.pklg",
    ]

    @Test(arguments: captures) func `B1: a real capture gives the expected sightings, in order`(
        name: String
    ) throws {
        let found = try contents(.path(Fixtures.path(name)))
        #expect(found.sightings == (try Fixtures.lines(name + ".expected.jsonl")))
        #expect(found.damages == [])
    }

    @Test(
        arguments: [
            ("hcidump-gimbal.raw", 242, 242), ("android-gym-bike.btsnoop", 412, 412),
            ("android-multi-report.btsnoop", 32, 59), ("nrf52-screenroom-90.pcapng", 6931, nil),
            ("ubertooth-anechoic-0.pcapng", 1907, nil), ("whad-pairing.pcap", 1604, 0),
            ("crackle-known-ltk.pcap", 303, 28), ("packetlogger-macos.pklg", 2, 2), ("packetlogger-ios.pklg", 2, 2),
        ] as [(String, Int, Int?)])
    func `all records and reports of a real capture are read`(name: String, records: Int, reports: Int?) throws {
        let found = try contents(.path(Fixtures.path(name)))
        #expect(found.records.count == records)
        if let reports { #expect(found.reports == reports) }
    }

    @Test func `each example of a format in the documentation has that format`() throws {
        let page = Fixtures.tests.deletingLastPathComponent().appendingPathComponent("docs/replay.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let table = try #require(text.components(separatedBy: "| format | example in ").last)
        let rows = table.prefix(upTo: try #require(table.range(of: "\n\n")).lowerBound).split(separator: "\n")
            .dropFirst(2).map { $0.components(separatedBy: " | ") }
        #expect(rows.count == 9)
        for row in rows where !row[0].contains("GPX") {
            let path = Fixtures.tests.appendingPathComponent("Fixtures/\(row[1].filter { $0 != "`" })").path
            let reader = try CaptureReader(.path(path))
            #expect("| \(reader.format)".hasPrefix(row[0]), "\(path)")
        }
    }

    @Test func `frames of an nRF sniffer have link type 272, or 157 in older programs`() throws {
        let bytes = try Fixtures.bytes("nrf52-screenroom-90.pcapng")
        // The link type of the only interface.
        try #require(bytes[0xC8..<0xCA] == [0x10, 0x01])
        var older = bytes
        older.replaceSubrange(0xC8..<0xCA, with: [157, 0])
        #expect(try contents(older) == contents(bytes))
        #expect(try contents(older).records.count == 6931)
    }

    @Test(arguments: [("nrf52-screenroom-90.pcapng", 630), ("ubertooth-anechoic-0.pcapng", 36)])
    func `B4: frames with a bad CRC are counted`(name: String, bad: Int) throws {
        let counts = try contents(.path(Fixtures.path(name))).malformations
        // In the second capture, tshark finds 24 frames with a bad CRC. In 12 more, the length is damaged, and tshark
        // stops before it reads the CRC. If such a length is larger than the frame, the PDU counts as truncated.
        #expect(counts[.badCRC, default: 0] + counts[.pduTruncated, default: 0] == bad)
    }

    @Test(arguments: [
        "rooms-2015-03-03.json.gz", "rooms-2015-03-07.json.gz", "rooms-2015-03-13-beacon5-run1.json.gz",
    ])
    func `logs of another program, with gzip and without separators, are read with --fields`(name: String) throws {
        let options = CaptureOptions(
            fields: try FieldMap("adapter=scannerID,measuredPower=calibratedPower|power"))
        let counts = try #require(
            try JSONSerialization.jsonObject(with: Data(try Fixtures.bytes(name + ".counts.json"))) as? [String: Any])
        var reader = try CaptureReader(.path(Fixtures.path(name)), options: options)
        var perScanner: [String: Int] = [:]
        var perBeacon: [String: Int] = [:]
        var times: [Int64] = []
        while let record = try reader.next() {
            guard case .beacon(let beacon, _) = record.content else {
                Issue.record("the record is not a beacon: \(record)")
                continue
            }
            #expect(beacon.measuredPower == -62)
            perScanner[reader.adapters[try #require(record.adapter)], default: 0] += 1
            perBeacon["\(beacon.identity.major)/\(beacon.identity.minor)", default: 0] += 1
            times.append(try #require(record.time).nanoseconds / 1_000_000)
        }
        #expect(reader.damages.isEmpty)
        #expect(times.count == counts["sightings"] as? Int)
        #expect(times.min().map(Int.init) == counts["first_ms"] as? Int)
        #expect(times.max().map(Int.init) == counts["last_ms"] as? Int)
        #expect(perScanner == counts["perScanner"] as? [String: Int])
        for beacon in counts["perBeacon"] as? [[String: Any]] ?? [] {
            let key = "\(beacon["major"] ?? "")/\(beacon["minor"] ?? "")"
            #expect(perBeacon[key] == beacon["sightings"] as? Int, "\(key)")
        }
    }
}
