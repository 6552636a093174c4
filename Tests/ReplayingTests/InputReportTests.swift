import Foundation
import ProgramSupport
import Testing

/// Inputs that once gave wrong or empty results without a message.
@Suite struct InputReportTests {
    let scratch: Scratch
    init() throws { scratch = try Scratch() }

    // MARK: times

    /// Two visits: 20 sightings from 08:00:00 on and 20 from 09:00:00 on, 10 s apart, with times in units of `unit`.
    private static func twoVisits(unit: String) -> [String] {
        [1_763_971_200, 1_763_974_800].flatMap { start in
            (0..<20).map { Log.sighting("\(start + 10 * $0)\(unit)", minor: 7) }
        }
    }

    /// The visits of a replay in short: arrival, departure, sightings.
    private func visits(_ lines: [String]) throws -> [String] {
        try payloads(lines, type: "visit").filter { $0["scope"] as? String == "beacon" }.map {
            "\($0["arrival"] as? String ?? "") \($0["departure"] as? String ?? "") \($0["sightings"] as? Int ?? -1)"
        }
    }

    @Test(arguments: ["", "000", "000000", "000000000"])
    func `log times in seconds, milliseconds, microseconds and nanoseconds give the same lines`(unit: String) throws {
        let ending = try Gateway.replay(["--settle", "-"], input: Array(Self.twoVisits(unit: unit).joined().utf8))
        #expect(ending.errors == "")
        #expect(
            try visits(ending.lines) == [
                "2025-11-24T08:00:00.000000Z 2025-11-24T08:03:10.000000Z 20",
                "2025-11-24T09:00:00.000000Z 2025-11-24T09:03:10.000000Z 20",
            ])
        let inSeconds = try Gateway.replay(["--settle", "-"], input: Array(Self.twoVisits(unit: "").joined().utf8))
        #expect(ending.output == inSeconds.output)
    }

    @Test func `a log time outside 1970…2100 ends with 65, its line and its value, and with 0 if lenient`() throws {
        let path = try scratch.log("a", [Log.sighting("1763971200"), Log.sighting("99999999999")])
        let ending = try Gateway.run("replay", "--sightings", path)
        #expect(ending.status == 65)
        #expect(
            ending.errors
                == "\(path): record 2 at line 2, byte 117: time is 99999999999, in seconds the year 5138; must be within "
                + "1970…2100\n")
        #expect(ending.lines.count == 1)
        let lenient = try Gateway.replay(["--lenient", "--sightings", path])
        #expect(lenient.errors == ending.errors && lenient.output == ending.output)
    }

    @Test func `a capture's time outside 1970…2100 ends with 65 and the record's number`() throws {
        var capture = MonitorCapture()
        capture.record(3, at: 10, MonitorCapture.event(minor: 1))
        capture.record(3, at: 4_133_980_800, MonitorCapture.event(minor: 2))
        capture.record(3, at: -1, MonitorCapture.event(minor: 3))
        capture.record(3, at: 11, MonitorCapture.event(minor: 4))
        let path = try scratch.write("a", capture.bytes)
        let ending = try Gateway.run("replay", path)
        #expect(ending.status == 65)
        #expect(
            ending.errors == """
                \(path): record 2 at byte 81: its time is in the year 2101; must be within 1970…2100
                \(path): record 3 at byte 146: its time is in the year 1969; must be within 1970…2100

                """)
        #expect(ending.text.contains(#""minor":4"#) && !ending.text.contains(#""minor":2"#))
    }

    // MARK: records without content

    private static let batch =
        #"{"v":1,"mid":1,"time":1763971200,"ip":"192.168.1.2","mac":"AC233F000001","devices":[{"rssi":-60}]}"#
    private static let message =
        #"{"tst":"2025-11-24T09:00:00.123456+01:00","topic":"home/g","qos":0,"payload":{"rssi":-67,"major":100}}"#

    @Test(arguments: [
        (batch, [], "v, mid, time, ip, mac, devices"),
        (batch, ["--fields", "adapter=mac"], "v, mid, time, ip, mac, devices"),
        (message, ["--fields", "time=tst"], "tst, topic, qos, payload"),
        (#"{"time":1763971200}"#, [], "time"),
        (#"{"time":1,"adapter":"hci0","data":null}"#, [], "time, adapter, data"),
        (#"{"time":1,"adapter":null}"#, [], "time, adapter"),
        (#"{"time":1,"adapter":"hci0","major":1,"minor":2}"#, [], "time, adapter, major, minor"),
        (#"{"adapter":"hci0"}"#, [], "adapter"),
        (
            #"{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":0,"k":1,"l":2,"m":3,"n":4,"o":5,"p":6,"q":7}"#,
            [], "a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, …"
        ),
    ])
    func `an object without an advertisement is refused with its keys`(
        object: String, arguments: [String], keys: String
    ) throws {
        let ending = try Gateway.run(["replay", "--sightings"] + arguments + ["-"], input: Array(object.utf8))
        #expect(ending.status == 65)
        #expect(ending.text == "")
        #expect(
            ending.errors == """
                standard input: record 1 at line 1, byte 0: it has none of data, manufacturerData, uuid and listening, but \
                \(keys); if one of these has the advertisement, name it with --fields, such as --fields data=payload

                """)
    }

    @Test func `a line with no more than a time and an adapter says that time went on for it`() throws {
        let lines = [
            Log.sighting("1"), #"{"time":200,"adapter":"hci0","adapterAddress":"00:AA:01:00:00:01"}"#,
            #"{"adapter":"hci0","time":300}"#,
        ]
        let ending = try Gateway.replay(["--summary", "-"], input: Array(lines.joined().utf8))
        #expect(ending.errors == "3 records, 1 reports, 1 iBeacons: 4 events\n")
    }

    // MARK: manufacturer data

    private static let beacon = "0215F7826DA64FA24E988024BC5B71E0893E00640007C5"
    private static let sighting =
        #"{"time":"2025-11-24T08:00:00.000000Z","adapter":"hci0","rssi":-60,"uuid":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E","#
        + #""major":100,"minor":7,"measuredPower":-59}"# + "\n"

    @Test(arguments: [
        #""4C00\#(beacon)""#, #""\#(beacon.lowercased())""#, #"{"76":"\#(beacon)"}"#, #"{ "0x004c" : "\#(beacon)" }"#,
        #"{"89":"01","76":"\#(beacon)"}"#, #""4C00\#(beacon)64""#, #""\#(beacon)64""#, #""\u0034C00\#(beacon)""#,
    ])
    func `manufacturer data are read with and without the company identifier`(value: String) throws {
        for (key, arguments) in [
            ("manufacturerData", []), ("data", ["--fields", "manufacturerData=data"]),
            ("mfg", ["--fields", "manufacturerData=mfg"]),
        ] {
            let log = #"{"time":1763971200,"rssi":-60,"\#(key)":\#(value)}"#
            let ending = try Gateway.replay(["--sightings"] + arguments + ["-"], input: Array(log.utf8))
            #expect(ending.text == Self.sighting)
            #expect(ending.errors == "")
        }
    }

    @Test(
        arguments: [
            (#""""#, nil), (#"{}"#, nil), (#""59000215""#, nil), (#""7F""#, nil), (#"{"0":""}"#, nil),
            (#""4C0""#, "has half an octet"), (#""4C00XY""#, "has what is no hexadecimal digit"),
            ("[76]", "is no text"),
            (#"{"apple":"00"}"#, "has a key that is not a company identifier such as 76 or 0x004C"),
            (#"{"65536":"00"}"#, "has a key that is not a company identifier such as 76 or 0x004C"),
            (#"{"76":[2]}"#, "is no text"),
            (#""\#(String(repeating: "00", count: 255))""#, "has 255 bytes; must be at most 254"),
            (#"{"76":"\#(String(repeating: "00", count: 253))"}"#, "has 253 bytes; must be at most 252"),
        ] as [(String, String?)])
    func `manufacturer data of others are reports without an iBeacon, and invalid ones are refused`(
        value: String, reason: String?
    ) throws {
        let log = #"{"time":1,"manufacturerData":\#(value)}"# + Self.sighting
        let ending = try Gateway.run("replay", "--sightings", "--summary", "-", input: Array(log.utf8))
        #expect(ending.text == Self.sighting)
        #expect(ending.status == (reason == nil ? 0 : 65))
        let summary = "\(reason == nil ? 2 : 1) records, \(reason == nil ? 2 : 1) reports, 1 iBeacons\n"
        #expect(
            ending.errors == summary
                + (reason.map { "standard input: record 1 at line 1, byte 0: manufacturerData \($0)\n" } ?? ""))
    }

    @Test(arguments: ["4c00\(beacon)", "4C00\(beacon)64", beacon])
    func `data that are an iBeacon's manufacturer data are refused with the option that reads them`(data: String) throws
    {
        let log = #"{"time":1763971200,"rssi":-60,"data":"\#(data)"}"#
        let ending = try Gateway.run("replay", "--sightings", "-", input: Array(log.utf8))
        #expect(ending.status == 65)
        #expect(ending.text == "")
        #expect(
            ending.errors
                == "standard input: record 1 at line 1, byte 0: data is manufacturer data without length and type; read it "
                + "with --fields manufacturerData=data\n")
    }

    @Test func `a file without iBeacons is named with its malformed reports, and one with iBeacons is not`() throws {
        let malformed = #"{"time":1,"data":"1AFF4C00"}"# + "\n"
        let one = try scratch.write("one", malformed + malformed)
        let both = try scratch.write("both", malformed + Self.sighting)
        for arguments in [["--sightings", one, both], [both, one]] {
            let ending = try Gateway.replay(arguments)
            #expect(
                ending.errors.hasPrefix("\(one): it has no iBeacons, but malformed reports (adStructureTruncated: 2)\n")
            )
        }
        #expect(try Gateway.replay([both]).errors == "")
    }

    // MARK: times without a zone

    /// A beacon's report as `hcidump --raw` writes it.
    private static func dump(_ time: String) -> String {
        """
        \(time) > 04 3E 2A 02 01 03 01 07 00 00 E5 98 C0 1E 02 01 06 1A FF 4C\u{20}
          00 02 15 F7 82 6D A6 4F A2 4E 98 80 24 BC 5B 71 E0 89 3E 00\u{20}
          64 00 07 C5 C4\u{20}

        """
    }

    private static let heading = """
        HCI sniffer - Bluetooth packet analyzer ver 5.66
        btsnoop version: 1 datalink type: 1002

        """

    /// Every 10 s from 02:40:00 of summer time to 02:20:00 of winter time.
    private static let night =
        heading
        + (0...240).map { step in
            let seconds = 2 * 3600 + 40 * 60 + 10 * step - (step >= 120 ? 3600 : 0)
            func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
            return dump("2025-10-26 \(two(seconds / 3600)):\(two(seconds / 60 % 60)):\(two(seconds % 60)).000000")
        }.joined()

    @Test func `times of hcidump -t are read in the zone that --zone names`() throws {
        let dump = Self.heading + ["00", "01", "02"].map { Self.dump("2025-11-24 09:00:\($0).000000") }.joined()
        let path = try scratch.write("dump", dump)
        func times(_ ending: Ending) throws -> [String?] { try ending.lines.map { try object($0)["time"] as? String } }
        let there = try Gateway.replay(["--sightings", "--zone", "Europe/Vienna", path])
        #expect(
            try times(there) == [
                "2025-11-24T08:00:00.000000Z", "2025-11-24T08:00:01.000000Z", "2025-11-24T08:00:02.000000Z",
            ])
        #expect(there.errors == "")
        let assumed = try Gateway.replay(["--sightings", path])
        #expect(try times(assumed).first == "2025-11-24T09:00:00.000000Z")
        #expect(
            assumed.errors == """
                \(path): its times name no zone, and UTC was assumed; if they are local times, give their zone with --zone, \
                such as --zone Europe/Vienna

                """)
        let utc = try Gateway.replay(["--sightings", "--zone", "UTC", path])
        #expect(utc.errors == "" && utc.output == assumed.output)
        // A conversion keeps the times that a replay would have.
        let log = try scratch.write("log.jsonl", "")
        let loss =
            "not held by the result: 3 reports lost what kind of advertising, or which advertising set, they were of\n"
        #expect(try Gateway.run("convert", "--zone", "Europe/Vienna", path, log).errors == loss)
        #expect(try Gateway.replay(["--sightings", log]).output == there.output)
        #expect(try Gateway.run("convert", path, log).errors == loss + assumed.errors)
        let unknown = try Gateway.run("replay", "--zone", "Europe/Wien", path)
        #expect(unknown.status == 64 && unknown.errors.contains("--zone is Europe/Wien, which is no time zone"))
    }

    @Test func `a night in which the clocks go back is one visit with --zone, and is reported without it`() throws {
        let path = try scratch.write("night", Self.night)
        let placed = try Gateway.replay(["--settle", "--zone", "Europe/Vienna", path])
        #expect(placed.errors == "")
        #expect(try visits(placed.lines) == ["2025-10-26T00:40:00.000000Z 2025-10-26T01:20:00.000000Z 241"])
        let late = "121 records are dated earlier than a record before, by up to 3590 s, and"
        let merged = "if a file was merged out of order, use --reorder"
        let change = "\(path): at line 363 the time goes back by 3590 s, as at a change of the clock;"
        let assumed = try Gateway.replay(["--settle", path])
        #expect(
            assumed.errors == """
                warning: \(late) handled at the time before them (rule T2); \(merged)
                \(path): its times name no zone, and UTC was assumed; if they are local times, give their zone with --zone, \
                such as --zone Europe/Vienna
                \(change) with --zone these times are right

                """)
        #expect(try visits(assumed.lines) == ["2025-10-26T02:40:00.000000Z 2025-10-26T02:59:50.000000Z 241"])
        #expect(
            try Gateway.replay(["--sightings", "--zone", "America/New_York", path]).errors == """
                warning: \(late) written with their own times; \(merged)
                \(change) is America/New_York the right zone?

                """)
    }

    @Test func `a local time that the clocks skip is refused`() throws {
        let path = try scratch.write(
            "spring", Self.dump("2025-03-30 01:59:59.000000") + Self.dump("2025-03-30 02:30:00.000000"))
        let ending = try Gateway.run("replay", "--sightings", "--zone", "Europe/Vienna", path)
        #expect(ending.status == 65)
        #expect(ending.lines.count == 1)
        #expect(
            ending.errors
                == "\(path): record 2 at line 4, byte 171: its time does not exist in Europe/Vienna: the clocks went forward "
                + "over it\n")
    }

    @Test func `a log's times without an offset are read with --zone and refused without it`() throws {
        let log = Log.sighting(#""2025-11-24 09:00:00.5""#)
        let ending = try Gateway.run("replay", "--sightings", "-", input: Array(log.utf8))
        #expect(ending.status == 65)
        #expect(
            ending.errors == """
                standard input: record 1 at line 1, byte 0: time is "2025-11-24 09:00:00.5", without an offset; name its \
                zone with --zone, or append Z

                """)
        let placed = try Gateway.replay(["--sightings", "--zone", "Europe/Vienna", "-"], input: Array(log.utf8))
        #expect(placed.text.hasPrefix(#"{"time":"2025-11-24T08:00:00.500000Z","#))
        #expect(placed.errors == "")
    }

    // MARK: clock steps

    @Test func `records whose time goes back are counted in the summary, or in a warning without it`() throws {
        let path = try scratch.log(
            "back", ["0", "5", "2", "4", "6", "5.0", "7", "5.999999", "20"].map { Log.sighting($0) })
        let effect = "and handled at the time before them (rule T2); if a file was merged out of order, use"
        let warning = "warning: 4 records are dated earlier than a record before, by up to 3 s, \(effect) --reorder\n"
        #expect(try Gateway.replay([path]).errors == warning)
        #expect(
            try Gateway.replay(["--summary", path]).errors
                == "9 records, 9 reports, 9 iBeacons, 4 out of order by up to 3 s: 2 events\n")
        // The statistics have them in numbers.
        #expect(try object(try Gateway.replay(["--stats", path]).errors)["reordered"] as? Int == 4)
        // In order after all: nothing is handled at another time than its own.
        #expect(try Gateway.replay(["--reorder", "3s", path]).errors == "")
        #expect(
            try Gateway.replay(["--reorder", "1ms", path]).errors
                == "warning: 1 record is dated earlier than a record before, by up to 0.001 s, \(effect) a longer "
                + "--reorder\n")
        let several = try Gateway.replay([path, try scratch.log("in order", [Log.sighting("1")])])
        #expect(several.errors == warning)
    }
}
