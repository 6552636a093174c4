import Foundation
import ProgramSupport
import Testing

/// `replay --sightings`, compared with expected results that were not made by this project's code.
@Suite struct SightingTests {
    @Test(arguments: Fixtures.captures)
    func `B1, B2, B4: replay gives exactly the iBeacons of a capture, in order`(name: String) throws {
        let found = try Gateway.replay(["--sightings", Fixtures.path(name)])
        let expected = try Ending(
            output: Fixtures.bytes(name + ".expected.jsonl"), errors: "", status: 0, wasKilled: false
        ).lines.map(ExpectedSighting.init(expected:))
        #expect(difference(try found.lines.map(ExpectedSighting.init(line:)), expected) == nil)
        let malformed = [
            "nrf52-screenroom-90.pcapng": "badCRC: 630", "ubertooth-anechoic-0.pcapng": "badCRC: 31, pduTruncated: 5",
        ][name]
        let report = malformed.map {
            "warning: \(Fixtures.path(name)) has no iBeacons, but malformed reports (\($0))\n"
        }
        let records = ["android-multi-report.btsnoop": 32, "whad-pairing.pcap": 1604][name]
        let none = records.map { "warning: \(Fixtures.path(name)) has no iBeacons in \($0) records\n" }
        #expect(found.errors == report ?? none ?? "")
    }

    @Test func `the silence that led to an exit is not in its evidence, also if two reports of one record ended it`()
        throws
    {
        let report =
            "00 00 01 00 00 00 00 C0 1E 02 01 06 1A FF 4C 00 02 15 F7 82 6D A6 4F A2 4E 98 80 24 BC 5B 71 E0 89 3E 00 01 00 02 C5 C0 "
        let before = (0..<10).map { "170000000\($0).0 > 04 3E 2A 02 01 \(report)\n" }.joined()
        for ending in ["> 04 3E 2A 02 01 \(report)", "> 04 3E 52 02 02 \(report)\(report)"] {
            // The exit is due at 39 s. The silence ends at that time, or later.
            for second in ["39", "99"] {
                let text = before + "17000000\(second).0 \(ending)\n"
                let lines = try Gateway.replay(["--evidence", "-"], input: Array(text.utf8)).lines
                let evidence = try #require(lines.first { $0.contains(#""type":"evidence""#) })
                #expect(
                    evidence.contains(#""gaps":{"count":9,"#) && evidence.contains(#"{"count":0,"total":9}"#),
                    "\(evidence)")
            }
        }
    }

    @Test(arguments: [
        ("android-multi-report.btsnoop", 32, 59, 0), ("android-gym-bike.btsnoop", 412, 412, 11),
        ("hcidump-gimbal.raw", 242, 242, 113),
    ])
    func `B3: every report of an event is counted`(name: String, records: Int, reports: Int, sightings: Int) throws {
        let counts = try object(try Gateway.replay(["--sightings", "--stats", Fixtures.path(name)]).errors)
        #expect(counts["records"] as? Int == records)
        #expect(counts["reports"] as? Int == reports)
        #expect(counts["sightings"] as? Int == sightings)
    }

    @Test(arguments: [("nrf52-screenroom-90.pcapng", 630), ("ubertooth-anechoic-0.pcapng", 36)])
    func `B4: frames with a bad CRC are counted and give no event`(name: String, bad: Int) throws {
        let ending = try Gateway.replay(["--stats", Fixtures.path(name)])
        let malformed = try #require(try object(ending.errors)["malformed"] as? [String: Int])
        // In the second capture, tshark finds 24 bad CRCs. It stops at 12 more frames before their CRC, because their
        // lengths are damaged. If such a length exceeds the frame, the frame counts as a truncated PDU.
        #expect((malformed["badCRC"] ?? 0) + (malformed["pduTruncated"] ?? 0) == bad)
        #expect(try payloads(ending.lines, type: "event").isEmpty)
    }

    @Test func `comments in the text of hcidump are not damage`() throws {
        let packet =
            "04 3E 27 02 01 00 00 58 C1 C9 72 39 D0 1B 1A FF 4C 00 02 15 \n"
            + "  A4 95 DE AD C5 B1 4B 44 B5 12 13 70 F0 2D 74 DE 30 39 FF FF \n  C5 BC \n"
        let text =
            "HCI sniffer - Bluetooth packet analyzer ver 5.66\n# room 1\n> \(packet)// Gimbal\n> \(packet)  # end\n"
        let ending = try Gateway.run("replay", "--sightings", "-", input: Array(text.utf8))
        #expect(ending.status == 0)
        #expect(ending.errors == "")
        #expect(ending.lines.count == 2)
        let damaged = try Gateway.run("replay", "--sightings", "-", input: Array((text + "; no comment\n").utf8))
        #expect(damaged.status == 65)
        #expect(damaged.lines == ending.lines)
    }

    @Test func `sightings are a log: a replay of them gives the same sightings and visits`() throws {
        let capture = Fixtures.path("android-gym-bike.btsnoop")
        let sightings = try Gateway.replay(["--sightings", capture]).output
        #expect(try Gateway.replay(["--sightings", "-"], input: sightings).output == sightings)
        let config = try Scratch()
        let path = try config.write(
            "c.yaml",
            """
            monitor:
              exit_timeout: 2s
            conditions:
              - identifier: thermometers
                uuid: 494E5445-4C4C-495F-524F-434B535F4857
            """)
        let visits = try [
            Gateway.replay(["--config", path, capture]), Gateway.replay(["--config", path, "-"], input: sightings),
        ].map { try payloads($0.lines, type: "visit").map { "\($0["arrival"] ?? "") \($0["departure"] ?? "")" } }
        #expect(visits[0] == visits[1])
        #expect(visits[0].count == 2)
    }

    @Test func `a log without measured power gives the same lines as one with it, except for this key`() throws {
        let scratch = try Scratch()
        let config = try scratch.write("c.yaml", Log.configuration)
        let log = ["10", "11.5", "12", "60", "90"].map { Log.sighting($0) + "\n" }.joined()
        let unknown = Array(log.replacing(#","measuredPower":-59"#, with: "").utf8)
        let sightings = try Gateway.replay(["--sightings", "-"], input: unknown)
        #expect(sightings.lines.count == 5 && !sightings.text.contains("measuredPower"))
        #expect(try Gateway.replay(["--sightings", "-"], input: sightings.output).output == sightings.output)
        try Schema.expectValid(sightings.output, "--kind", "sighting")
        let expected = try Gateway.replay(["--config", config, "--settle", "-"], input: Array(log.utf8)).text
        let found = try Gateway.replay(["--config", config, "--settle", "-"], input: unknown)
        #expect(found.text == expected.replacing(#""measuredPower":-59,"#, with: ""))
        #expect(found.text != expected)
        try Schema.expectValid(found.output, "--first", "1")
        #expect(try Gateway.replay(["--config", config, "--settle", "-"], input: sightings.output).text == found.text)
    }
}
