import Foundation
import ProgramSupport
import Testing

/// Returns the visits of beacons in a replay in short: arrival, departure, sightings.
func beaconVisits(_ lines: [String]) throws -> [String] {
    try payloads(lines, type: "visit").filter { $0["scope"] as? String == "beacon" }.map {
        "\($0["arrival"] as? String ?? "") \($0["departure"] as? String ?? "") \($0["sightings"] as? Int ?? -1)"
    }
}

/// Inputs that gave wrong or empty results without a message in earlier versions.
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

    @Test(arguments: ["", "000", "000000", "000000000"])
    func `log times in seconds, milliseconds, microseconds and nanoseconds give the same lines`(unit: String) throws {
        let ending = try Gateway.replay(["--settle", "-"], input: Array(Self.twoVisits(unit: unit).joined().utf8))
        #expect(ending.errors == "")
        #expect(
            try beaconVisits(ending.lines) == [
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
                == "\(path): record 2 at line 2, byte 117: time is 99999999999, in seconds 5138-11-16T09:46:39Z; must be within "
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
                \(path): record 2 at byte 81: its time is 2101-01-01T00:00:00Z; must be within 1970…2100
                \(path): record 3 at byte 146: its time is 1969-12-31T23:59:59Z; must be within 1970…2100

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
        (message, ["--fields", "time=tst"], "payload: rssi, major"),
        (#"{"time":1763971200}"#, [], "time"),
        (#"{"time":1,"adapter":"hci0","data":null}"#, [], "time, adapter, data (null)"),
        (#"{"time":1,"adapter":null}"#, [], "time, adapter (null)"),
        (#"{"":1,"a\nrecord 2":2,"\u001b[2J":3}"#, [], #""", a_record 2, _[2J"#),
        (
            "{\"\(String(repeating: "é", count: 40))\":1,\"\(String(repeating: "é", count: 32))\":1,\"x\(String(repeating: "é", count: 32))\":1}",
            [],
            "\(String(repeating: "é", count: 32))…, \(String(repeating: "é", count: 32)), x\(String(repeating: "é", count: 31))…"
        ),
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
        let holder = keys.hasPrefix("payload: ") ? "its payload" : "it"
        #expect(
            ending.errors == """
                standard input: record 1 at line 1, byte 0: it has none of the keys data, manufacturerData, uuid, listening; \
                \(holder) has \(keys.replacing("payload: ", with: "")). If the text of one of these is the advertisement, name it with --fields data=KEY, or a UUID \
                with --fields uuid=KEY; KEY can be a path such as report.data. Arrays in an object are not read

                """)
    }

    @Test func `a line with only a time and an adapter advances the time of the adapter`() throws {
        let lines = [
            Log.sighting("1"), #"{"time":200,"adapter":"hci0","adapterAddress":"00:AA:01:00:00:01"}"#,
            #"{"adapter":"hci0","time":300}"#, #"{"time":400,"adapter":"hci0","adapterAddress":null}"#,
        ]
        let ending = try Gateway.replay(["--summary", "-"], input: Array(lines.joined().utf8))
        #expect(ending.errors == "4 records, 1 report, 1 iBeacon: 4 events\n")
    }

    @Test func `the option for the measured power under another key is named, with and without times`() throws {
        let beacon = #""uuid":"F7826DA64FA24E988024BC5B71E0893E","major":100,"minor":7,"txpower":-59}"#
        let warning =
            "record 1 at line 1, byte 0: measuredPower is absent; if txpower is the RSSI at one metre, use --fields "
            + "measuredPower=txpower\n"
        let path = try scratch.log("theengs", [#"{"rssi":-67,"# + beacon])
        let ending = try Gateway.run("replay", path)
        #expect(ending.status == 65)
        #expect(ending.errors.hasPrefix("warning: \(path): \(warning)\(path) has no times: "))
        for arguments in [["replay", "--interval", "1s"], ["replay", "--sightings"]] {
            #expect(try Gateway.run(arguments + [path]).errors == "warning: \(path): \(warning)")
        }
        let mapped = try Gateway.run("replay", "--sightings", "--fields", "measuredPower=txpower", path)
        #expect(mapped.errors == "")
        #expect(mapped.text.hasSuffix(",\"minor\":7,\"measuredPower\":-59}\n"))
        let converted = try Gateway.run("convert", "--interval", "1s", path, "\(path).jsonl")
        #expect(converted.status == 0)
        #expect(converted.errors.contains("warning: \(path): \(warning)"))
    }

    @Test func `the option for the time under another key is named, in a table and in JSON`() throws {
        let beacon = "F7826DA6-4FA2-4E98-8024-BC5B71E0893E"
        let table = try scratch.write("a.csv", "n,Time stamp,uuid,major,minor\n1,2025-11-24 08:00:00,\(beacon),100,7\n")
        let log = try scratch.log(
            "b", [#"{"uptime":5,"last_date":"x","ts":1763971200,"uuid":"\#(beacon)","major":100,"minor":7}"#])
        for (path, place, key, option) in [
            (table, "line 2, byte 30", "Time stamp", "'time=Time stamp'"), (log, "line 1, byte 0", "ts", "time=ts"),
        ] {
            let warning =
                "warning: \(path): record 1 at \(place): time is absent; if \(key) is the time, use --fields \(option)\n"
            let ending = try Gateway.run("replay", path)
            #expect(ending.status == 65)
            #expect(ending.errors.hasPrefix("\(warning)\(path) has no times: "))
            #expect(try Gateway.replay(["--sightings", path]).errors == warning)
            let conversion = try Gateway.run("convert", path, scratch.path("c.pcapng"))
            #expect(conversion.status == 65)
            #expect(conversion.errors.hasPrefix("\(warning)\(path) has no times; "))
            let fields = option.filter { $0 != "'" }
            let mapped = try Gateway.replay(["--sightings", "--zone", "UTC", "--fields", fields, path])
            #expect(mapped.errors == "")
            #expect(mapped.text.hasPrefix("{\"time\":\"2025-11-24T08:00:00.000000Z\","))
        }
    }

    @Test func `a table whose last row has no line end is read with a warning`() throws {
        let text = "time,uuid,major,minor\n1,F7826DA6-4FA2-4E98-8024-BC5B71E0893E,100,7"
        let path = try scratch.write("a.csv", text)
        let ending = try Gateway.replay(["--summary", path])
        #expect(
            ending.errors
                == "1 record, 1 report, 1 iBeacon: 2 events\nwarning: \(path): the last line has no line end; if the file was "
                + "cut off, its last column can be incomplete\n")
        #expect(try Gateway.replay([try scratch.write("b.csv", text + "\n")]).errors == "")
    }

    // MARK: reversed UUIDs

    private static let reversedWarning =
        "warning: received beacons with the UUID F7826DA6-4FA2-4E98-8024-BC5B71E0893E match no condition; the uuid of "
        + "condition badge has the same bytes in reverse order, as btmon prints them; if these beacons are meant, set the "
        + "uuid of badge to F7826DA6-4FA2-4E98-8024-BC5B71E0893E\n"

    @Test func `a condition's UUID that was copied from btmon is reported with the right one`() throws {
        var capture = MonitorCapture()
        for second in 1...3 { capture.record(3, at: Double(second), MonitorCapture.event(minor: 7)) }
        let path = try scratch.write("a.btsnoop", capture.bytes)
        let config = try scratch.write(
            "rev.yaml", "conditions:\n  - identifier: badge\n    uuid: 3e89e071-5bbc-2480-984e-a24fa66d82f7\n")
        let ending = try Gateway.replay(["--config", config, "--summary", path])
        #expect(ending.errors == "3 records, 3 reports, 3 iBeacons: no events\n" + Self.reversedWarning)
        #expect(try Gateway.replay(["--config", config, path]).errors == Self.reversedWarning)
    }

    @Test func `a UUID in the right order, or of other beacons, is not reported`() throws {
        let log = try scratch.log("a", [Log.sighting("1"), Log.sighting("2", minor: 2)])
        for uuid in [Log.uuid, "3e89e071-5bbc-2480-984e-a24fa66d82f8"] {
            let config = try scratch.write("c.yaml", "conditions: [{identifier: badge, uuid: \(uuid)}]")
            #expect(try Gateway.replay(["--config", config, log]).errors == "")
        }
        let config = try scratch.write(
            "c.yaml", "conditions: [{identifier: badge, uuid: 3e89e071-5bbc-2480-984e-a24fa66d82f7, major: 2}]")
        #expect(try Gateway.replay(["--config", config, log]).errors == "")
    }

    // MARK: manufacturer data

    private static let beacon = "0215F7826DA64FA24E988024BC5B71E0893E00640007C5"
    private static let sighting =
        #"{"time":"2025-11-24T08:00:00.000000Z","adapter":"hci0","rssi":-60,"uuid":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E","#
        + #""major":100,"minor":7,"measuredPower":-59}"# + "\n"

    @Test(arguments: [
        #""4C00\#(beacon)""#, #""\#(beacon.lowercased())""#, #"{"76":"\#(beacon)"}"#, #"{ "0x004c" : "\#(beacon)" }"#,
        #"{"89":"01","76":"\#(beacon)"}"#, #""4C00\#(beacon)64""#, #""\#(beacon)64""#, #"{"76":"4C00\#(beacon)"}"#,
        #""\u0034C00\#(beacon)""#, #""004C\#(beacon)""#,
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
            (#""4C 00""#, nil),
            (#""4C0""#, "has an odd number of digits"), (#""4C0 ""#, "has a character that is not a hexadecimal digit"),
            (#""4C,00""#, "has a character that is not a hexadecimal digit"),
            (#"{"+76":"00"}"#, "has a key that is not a company identifier such as 76 or 0x004C"),
            (#"{"0x-0":"00"}"#, "has a key that is not a company identifier such as 76 or 0x004C"),
            (#""4C00XY""#, "has a character that is not a hexadecimal digit"),
            ("[76]", "is not text"),
            (#"{"apple":"00"}"#, "has a key that is not a company identifier such as 76 or 0x004C"),
            (#"{"65536":"00"}"#, "has a key that is not a company identifier such as 76 or 0x004C"),
            (#"{"76":[2]}"#, "is not text"),
            (#""\#(String(repeating: "00", count: 255))""#, "has 255 bytes; must be at most 254"),
            (#"{"76":"\#(String(repeating: "00", count: 253))"}"#, "has 253 bytes; must be at most 252"),
        ] as [(String, String?)])
    func `manufacturer data of other companies give no iBeacon, and invalid ones are refused`(
        value: String, reason: String?
    ) throws {
        let log = #"{"time":1,"manufacturerData":\#(value)}"# + Self.sighting
        let ending = try Gateway.run("replay", "--sightings", "--summary", "-", input: Array(log.utf8))
        #expect(ending.text == Self.sighting)
        #expect(ending.status == (reason == nil ? 0 : 65))
        let summary = reason == nil ? "2 records, 2 reports, 1 iBeacon\n" : "1 record, 1 report, 1 iBeacon\n"
        #expect(
            ending.errors == summary
                + (reason.map { "standard input: record 1 at line 1, byte 0: manufacturerData \($0)\n" } ?? ""))
    }

    @Test(arguments: [
        #""manufacturerData":[76,0,2,21],"#, #""manufacturerData":"Apple, Inc.","#, #""manufacturerData":"59000215","#,
        #""data":"","manufacturerData":"","#,
    ])
    func `a beacon that is given by its fields is read, whatever its manufacturer data are`(member: String) throws {
        let log = Self.sighting.replacing(#""adapter""#, with: member + #""adapter""#)
        #expect(try Gateway.replay(["--sightings", "-"], input: Array(log.utf8)).text == Self.sighting)
    }

    @Test func `data have precedence over manufacturer data, unless data are empty`() throws {
        func count(_ members: String) throws -> Int {
            try Gateway.replay(["--sightings", "-"], input: Array("{\"time\":1,\(members)}".utf8)).lines.count
        }
        #expect(try count(#""data":"","manufacturerData":"\#(Self.beacon)""#) == 1)
        #expect(try count(#""data":"020106","manufacturerData":"\#(Self.beacon)""#) == 0)
        #expect(try count(#""data":"1AFF4C00\#(Self.beacon)","manufacturerData":"59""#) == 1)
    }

    @Test(arguments: ["4c00\(beacon)", "4C00\(beacon)64", beacon])
    func `data that are manufacturer data are refused with the option that reads them, if the log has no iBeacon`(
        data: String
    ) throws {
        for (key, fields) in [("data", []), ("payload", ["--fields", "data=payload"])] {
            let log = #"{"time":1763971200,"rssi":-60,"\#(key)":"\#(data)"}"#
            let ending = try Gateway.run(["replay", "--sightings"] + fields + ["-"], input: Array(log.utf8))
            #expect(ending.status == 65)
            #expect(ending.text == "")
            #expect(
                ending.errors == """
                    warning: standard input has no iBeacons, but malformed reports (adStructureTruncated: 1)
                    standard input: record 1 at line 1, byte 0: \(key) is manufacturer data without length and type; use \
                    --fields manufacturerData=\(key)

                    """)
            // A conversion keeps the bytes, so it reports them as well.
            let alone = try scratch.write("alone.jsonl", log)
            let conversion = try Gateway.run(["convert"] + fields + [alone, scratch.path("alone.btsnoop")])
            #expect(conversion.status == 65)
            #expect(
                conversion.errors == """
                    not stored in the output: 1 malformed report or AD structure was skipped
                    \(alone): record 1 at line 1, byte 0: \(key) is manufacturer data without length and type; use \
                    --fields manufacturerData=\(key)

                    """)
            // A transmitter can send such bytes, so a log with iBeacons is not at fault, and neither is its conversion.
            let recording = try scratch.write(
                "recording.jsonl", log.replacing(key, with: "data") + "\n" + Self.sighting)
            #expect(try Gateway.replay(["--sightings", recording]).text == Self.sighting)
            let converted = scratch.path("converted.jsonl")
            #expect(try Gateway.run("convert", recording, converted).status == 0)
            #expect(try Gateway.replay(["--sightings", converted]).text == Self.sighting)
        }
    }

    @Test(arguments: ["0201061AFF4C00\(beacon)", "1aff4c00\(beacon)", "1AFF4C00\(beacon)0000"])
    func
        `manufacturer data that are AD structures are refused with the option that reads them, if the log has no iBeacon`(
            data: String
        ) throws
    {
        for (key, fields) in [("manufacturerData", []), ("payload", ["--fields", "manufacturerData=payload"])] {
            let log = #"{"time":1763971200,"rssi":-60,"\#(key)":"\#(data)"}"#
            let advice =
                "record 1 at line 1, byte 0: \(key) is AD structures, each with length and type; use --fields data=\(key)\n"
            let ending = try Gateway.run(["replay", "--sightings"] + fields + ["-"], input: Array(log.utf8))
            #expect(ending.status == 65 && ending.text == "" && ending.errors == "standard input: \(advice)")
            let alone = try scratch.write("alone.jsonl", log)
            let conversion = try Gateway.run(["convert"] + fields + [alone, scratch.path("alone.btsnoop")])
            #expect(conversion.status == 65 && conversion.errors == "\(alone): \(advice)")
            let read = try Gateway.replay(["--sightings", "--fields", "data=\(key)", "-"], input: Array(log.utf8))
            #expect(read.lines.count == 1 && read.errors == "")
            let recording = try scratch.write("recording.jsonl", log + "\n" + Self.sighting)
            #expect(try Gateway.replay(["--sightings"] + fields + [recording]).text == Self.sighting)
        }
    }

    @Test func `packets of other link types, and zeros after the records, are reported with a warning`() throws {
        let header: [UInt8] = [
            0x0A, 0x0D, 0x0D, 0x0A, 28, 0, 0, 0, 0x4D, 0x3C, 0x2B, 0x1A, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255,
            255, 28, 0, 0, 0,
        ]
        func interface(_ linkType: UInt8) -> [UInt8] {
            [1, 0, 0, 0, 20, 0, 0, 0, linkType, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0]
        }
        func packet(_ interface: UInt8) -> [UInt8] {
            [6, 0, 0, 0, 36, 0, 0, 0, interface, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0, 4, 14, 0, 0]
                + [36, 0, 0, 0]
        }
        let wireless = try scratch.write("wireless", header + interface(105) + packet(0))
        let ending = try Gateway.run("replay", wireless)
        #expect(ending.status == 65)
        #expect(ending.errors.hasPrefix("\(wireless) has packets of link type 105; supported are 187 and 201 (H4), "))
        let mixed = try scratch.write(
            "mixed",
            header + interface(105) + interface(187) + packet(0) + packet(1) + [UInt8](repeating: 0, count: 512))
        let warnings =
            "warning: \(mixed): 1 packet has a link type that is not read (105), and was skipped\n"
            + "warning: \(mixed): 512 bytes after the records are zeros\n"
        for arguments in [["replay", "--summary"], ["replay", "--sightings"]] {
            let ending = try Gateway.run(arguments + [mixed])
            #expect(ending.status == 0)
            #expect(ending.errors.contains(warnings), "\(ending.errors)")
        }
        let converted = try Gateway.run("convert", mixed, "\(mixed).btsnoop")
        #expect(converted.status == 0)
        #expect(converted.errors.contains(warnings), "\(converted.errors)")
    }

    @Test func `a capture without iBeacons, or without records, is reported with a warning`() throws {
        let none = try scratch.write("none", #"{"time":1,"data":"020106"}{"time":2,"adapter":"hci0"}"#)
        let empty = try scratch.write("empty", "HCI sniffer - Bluetooth packet analyzer ver 5.66\n")
        let some = try scratch.write("some", Self.sighting)
        let warnings = ["warning: \(none) has no iBeacons in 2 records\n", "warning: \(empty) has no records\n"]
        for arguments in [[], ["--sightings"]] {
            #expect(try Gateway.replay(arguments + [none]).errors == warnings[0])
            #expect(try Gateway.replay(arguments + [empty]).errors == warnings[1])
        }
        #expect(try Gateway.replay([empty, some, none]).errors == warnings[1] + warnings[0])
        // With `--summary`, the summary replaces the warning, unless another capture has iBeacons.
        #expect(
            try Gateway.replay(["--summary", none]).errors == "2 records, 1 report, 0 iBeacons: nothing to monitor\n")
        #expect(try Gateway.replay(["--summary", none, some]).errors.hasSuffix(" events\n" + warnings[0]))
    }

    @Test func `if --adapter selects an adapter without records, the error lists the adapters of the capture`() throws {
        let first = try scratch.log("a", [Log.sighting("1"), Log.sighting("2", adapter: "hci1")])
        let second = try scratch.log("b", [Log.sighting("1", adapter: "desk")])
        let absent = "\(first) has no records of the adapter desk; its adapters are hci0, hci1\n"
        let ending = try Gateway.run("replay", "--sightings", "--adapter", "desk", first)
        #expect(ending.status == 65 && ending.text == "" && ending.errors == absent)
        // If there are several files, it is enough that one of them has the adapter.
        let both = try Gateway.replay(["--sightings", "--adapter", "desk", first, second])
        #expect(both.lines.count == 1 && both.errors == "warning: \(absent)")
        let named = try Gateway.run("replay", "--adapter", "hci0", "lobby=\(first)")
        #expect(named.status == 65)
        #expect(
            named.errors == "\(first) has no records of the adapter hci0; its adapters are lobby/hci0, lobby/hci1\n")
        #expect(try Gateway.replay(["--sightings", "--adapter", "lobby/hci0", "lobby=\(first)"]).lines.count == 1)
    }

    @Test func `a mapped data key is read only as its new field, but a mapped address also as the address`() throws {
        let log =
            #"{"t":1,"address":"C0:98:E5:00:00:07","rssi":-60,"data":"4C00\#(Self.beacon)","uuid":"not a UUID"}"#
        let read = try Gateway.replay(
            ["--sightings", "--fields", "manufacturerData=data,uuid=none,adapter=address", "-"], input: Array(log.utf8))
        #expect(read.lines.count == 1)
        #expect(read.text.contains(#""adapter":"C0:98:E5:00:00:07","address":"C0:98:E5:00:00:07""#))
    }

    @Test func `a file without iBeacons is reported with its malformed reports, and one with iBeacons is not`() throws {
        let malformed = #"{"time":1,"data":"1AFF4C00"}"# + "\n"
        let one = try scratch.write("one", malformed + malformed)
        let both = try scratch.write("both", malformed + Self.sighting)
        let report = "has no iBeacons, but malformed reports (adStructureTruncated: 2)\n"
        #expect(try Gateway.replay(["--sightings", one, both]).errors == "warning: \(one) \(report)")
        #expect(try Gateway.replay([both, one]).errors == "warning: \(one) \(report)")
        #expect(try Gateway.replay([both]).errors == "")
        let other = try scratch.write(
            "other", Self.sighting + #"{"time":1763971300,"adapter":"hci1","data":"1AFF4C00"}"#)
        #expect(
            try Gateway.replay(["--adapter", "hci1", other]).errors
                == "warning: \(other) has no iBeacons of hci1, but malformed reports (adStructureTruncated: 1)\n")
    }

    @Test func `if the first object of a log is refused and the rest has no times, the error has the reason`() throws {
        let log = #"{"time":"2025-11-24 09:00:00","data":""}"# + "\n" + #"{"data":""}"#
        let ending = try Gateway.run("replay", "-", input: Array(log.utf8))
        #expect(ending.status == 65)
        #expect(
            ending.errors.hasPrefix(
                """
                standard input: record 1 at line 1, byte 0: time is "2025-11-24 09:00:00", without an offset; name its zone \
                with --zone, or append Z
                standard input has no times: its first valid record has none. So it gives sightings, but no events. Set the time between
                """), "\(ending.errors)")
    }

    // MARK: clock steps

    @Test func `records whose time goes back are counted in the summary, or in a warning without it`() throws {
        let path = try scratch.log(
            "back", ["0", "5", "2", "4", "6", "5.0", "7", "5.999999", "20"].map { Log.sighting($0) })
        let effect = "and handled at the time of that record (rule T2); if a file was merged out of order, use"
        let warning = "warning: 4 records are earlier than a record before, by up to 3 s, \(effect) --reorder\n"
        #expect(try Gateway.replay([path]).errors == warning)
        #expect(
            try Gateway.replay(["--summary", path]).errors
                == "9 records, 9 reports, 9 iBeacons, 4 out of order by up to 3 s: 2 events\n")
        // The statistics count the late records.
        #expect(try object(try Gateway.replay(["--stats", path]).errors)["reordered"] as? Int == 4)
        // With a sufficient `--reorder`, records are sorted, and each is handled at its own time.
        #expect(try Gateway.replay(["--reorder", "3s", path]).errors == "")
        #expect(
            try Gateway.replay(["--reorder", "1ms", path]).errors
                == "warning: 1 record is earlier than a record before, by up to 0.001 s, \(effect) a longer "
                + "--reorder\n")
        // From one hour on, the duration is rounded up to the minute, so that a `--reorder` with it is enough.
        let far = try scratch.log("far", ["4195", "0", "4196"].map { Log.sighting($0) })
        #expect(try Gateway.replay(["--sightings", far]).errors.contains(", by up to 1 h 10 min; if"))
        #expect(try Gateway.replay(["--sightings", "--reorder", "70m", far]).errors == "")
        let several = try Gateway.replay([path, try scratch.log("in order", [Log.sighting("1")])])
        #expect(several.errors == warning)
    }
}
