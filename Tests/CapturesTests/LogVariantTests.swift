import Foundation
import Testing

@testable import Captures

/// Forms of advertisement logs that other programs write.
@Suite struct LogVariantTests {
    private static let uuid = "F7826DA6-4FA2-4E98-8024-BC5B71E0893E"
    private static let beacon = "0215F7826DA64FA24E988024BC5B71E0893E00640007C5"
    private static let structures = "0201061AFF4C00\(beacon)"

    private static func row(_ time: Int) -> String { #"{"time":\#(time),"data":"0\#(time)"}"# }

    // MARK: real files

    @Test(
        arguments: [
            ("array.json", nil, ["1763971200.0 7/-60/-59", "1763971201.0 7/-61/-59"]),
            ("lines-of-arrays.jsonl", nil, ["1763971200.0 7/-60/-59", "1763971201.0 7/-61/-59"]),
            ("esphome.jsonl", nil, ["1763971200.0 1/-84/-53"]),
            ("theengs.jsonl", "measuredPower=txpower", ["7/-67/-59", "8/-71/-59"]),
            (
                "mosquitto-topics.txt", nil,
                ["1763971200.0 7/-60/-59", "1763971201.5 7/-61/-59", "1763971202.0 8/-71/-", "1763971203.25 9/-62/-59"]
            ),
            (
                "mosquitto-text.jsonl", nil,
                [
                    "1796034106.160846 7/-60/-59", "1796034106.164002 7/-61/-59", "1796034106.164002 8/-71/-",
                    "1796034106.166778 9/-62/-59",
                ]
            ),
            (
                "mosquitto-object.jsonl", nil,
                [
                    "1796034106.161019 7/-60/-59", "1796034106.163929 7/-61/-59", "1796034106.163929 8/-71/-",
                    "1796034106.166822 9/-62/-59",
                ]
            ),
        ] as [(String, String?, [String])])
    func `files of other programs are read, whatever the size of the window`(
        file: String, fields: String?, expected: [String]
    ) throws {
        let text = try String(
            contentsOf: Fixtures.tests.appendingPathComponent("Fixtures/logs/\(file)"), encoding: .utf8)
        for windowSize in [1, 13, 200, 65_536] {
            let found = try logContents(text, fields: fields, windowSize: windowSize)
            #expect(try shortSightings(found) == expected)
            #expect(found.damages == [])
        }
    }

    @Test func `each example in the documentation is one iBeacon`() throws {
        let page = Fixtures.tests.deletingLastPathComponent().appendingPathComponent("docs/replay.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let section = try #require(text.components(separatedBy: "### Logs of other programs").last)
        let rows = section.prefix(upTo: try #require(section.range(of: "\n- **")).lowerBound).split(separator: "\n")
            .dropFirst(3).map { $0.components(separatedBy: " | ") }
        #expect(rows.count == 8)
        for row in rows {
            let fields = row[2].contains("`") ? row[2].filter { $0 != "`" && $0 != "|" && $0 != " " } : nil
            let found = try logContents(
                row[1].filter { $0 != "`" }, fields: fields.map { String($0.dropFirst("--fields".count)) })
            #expect(found.damages == [])
            #expect(found.sightings.count == 1)
            #expect(found.sightings[0].contains(#""uuid":"\#(Self.uuid)","major":100,"minor":7,"#))
        }
    }

    // MARK: arrays

    @Test(arguments: [
        ("[{1},{2}]", [1, 2]), ("[{1}]", [1]), (" [ {1}\n,\n{2} ] \n", [1, 2]), ("[{1},{2}]{3}", [1, 2, 3]),
        ("[{1}][{2},{3}]", [1, 2, 3]), ("[[{1},{2}],[],[{3}]]", [1, 2, 3]), ("[]", []), ("[[]]", []),
        ("{1}\n[{2}]", [1, 2]), ("\u{FEFF}[{1}]", [1]),
    ])
    func `arrays of objects are read, also nested or one per line`(text: String, times: [Int]) throws {
        let log = times.reduce(text) { $0.replacing("{\($1)}", with: Self.row($1)) }
        for windowSize in [1, 5, 4096] {
            let found = try logContents(log, windowSize: windowSize)
            #expect(found.records.map(\.payload) == times.map { [UInt8($0)] })
            #expect(found.damages == [])
        }
    }

    @Test(arguments: [
        ("[{1},{2}", [1, 2], "the array is truncated"), ("[{1},", [1], "the array is truncated"),
        ("[{1} {2}]", [1, 2], "a comma or a closing bracket is expected"),
        ("[{1},]", [1], "an object is expected"), ("[{1},,{2}]", [1, 2], "an object is expected"),
        ("[{1}]]", [1], "an object is expected"),
        ("[{1},12,{2}]", [1, 2], "an object is expected"),
        ("[{1},\"a,{}\",{2}]", [1, 2], "an object is expected"), ("[{1},null,{2}]", [1, 2], "an object is expected"),
        ("[{1},bad,{2}]", [1, 2], "a value is expected"),
        ("[{1},{\"x\":NaN,\"l\":[{9},{9}]},{2}]", [1, 2], "a value is expected"),
        ("[\n{ bad\n \"x\": {9}\n},\n{1}]", [1], "a key is expected"),
        ("{\n \"a\": NaN,\n \"l\": [\n {9}\n ]\n}\n{1}\n", [1], "a value is expected"),
        ("{1}{\"a\":NaN,\"b\":{9}}{2}", [1, 2], "a value is expected"),
        ("{1}\n{\"a\":\"x\n{2}", [1, 2], "a string ends in the middle of its line"),
        ("[{1},\n{\"x\":\n{2}]", [1, 2], "a comma or a closing brace is expected"),
        ("[{1},{\"x\":\n[{2}]", [1, 2], "it is truncated"),
        ("[{1},{\"x\":\"a\\q]}\"},{2}]", [1, 2], "an escape is invalid in JSON"),

        ("[{1},{\"time\":x},{2}]", [1, 2], "a value is expected"),
        ("[{1},{\"time\":5", [1], "it is truncated"),
        ("[{1}[{2}]]", [1, 2], "a comma or a closing bracket is expected"),
        ("[{1},\"x", [1], "it is truncated"), ("{1},{2}", [1], "an object is expected"),
    ])
    func `a damaged array is reported once, and its other objects are read`(
        text: String, times: [Int], reason: String
    ) throws {
        let log = times.reduce(text) { $0.replacing("{\($1)}", with: Self.row($1)) }.replacing("{2}", with: Self.row(2))
        for windowSize in [1, 5, 4096] {
            let found = try logContents(log, windowSize: windowSize)
            #expect(found.records.map(\.payload) == times.map { [UInt8($0)] })
            #expect(found.damages.map(\.reason) == [reason])
        }
    }

    @Test(arguments: [1, 5, 4096])
    func `a number at the end of a truncated array is reported at its place`(windowSize: Int) throws {
        let found = try logContents("[\(Self.row(1)),12", windowSize: windowSize)
        #expect(
            found.damages.map(\.description) == [
                "record 2 at line 1, byte 24: an object is expected",
                "record 3 at line 1, byte 26: the array is truncated",
            ])
    }

    @Test(arguments: ["[1,2]", "[\"a\"]", "[", "[ 1", "[x]", "[NEW] x", "[[1],[2]]", "[null]", "[,{\"time\":1}]"])
    func `an array without objects is not a log`(text: String) {
        #expect(throws: CaptureError.self) { try logContents(text) }
    }

    // MARK: messages of a broker

    @Test(arguments: [
        #"{"payload":{"time":1,"data":"07"}}"#, #"{"payload":"{\"time\":1,\"data\":\"07\"}"}"#,
        #"{"time":1,"payload":{"data":"07"}}"#, #"{"t":9,"payload":{"time":1,"data":"07"}}"#,
        #"{"tst":9,"payload":{"tst":1,"data":"07"}}"#, #"{"time":1,"payload":{"time":null,"data":"07"}}"#,
        #"{"time":1,"data":"07","payload":{"data":"08","time":2}}"#, #"{"payload":[{"time":1,"data":"07"}]}"#,
        #"{"payload":" [{\"time\":1,\"data\":\"0\\u0037\"}] "}"#, #"{"time":1,"payload":["{\"data\":\"07\"}"]}"#,
        #"{"\u0070ayload":{"time":1,"data":"07"}}"#, #"{"payload":1,"payload":{"time":1,"data":"07"}}"#,
    ])
    func `the members of a payload count as those of the message`(text: String) throws {
        for windowSize in [1, 30, 4096] {
            let found = try logContents(text, windowSize: windowSize)
            #expect(found.records.map { $0.numbers[0] } == [1_000_000_000])
            #expect(found.records.map(\.payload) == [[7]])
            #expect(found.damages == [])
        }
    }

    @Test func `each element of a payload is a record with the values of the message that it lacks`() throws {
        let text = #"""
            {"time":"2025-11-24T08:00:\u00300Z","adapter":"gw\/1","rssi":"-7\u0030","payload":[{"data":"01"},{"data":"02","rssi":-5},3,{"data":"03"},{"x":5}]}
            {"tst":1763971201,"topic":"a","payload":[]}{"time":1763971202,"adapter":"gw/1","payload":{"data":"04"}}
            """#
        for windowSize in [1, 100, 4096] {
            let found = try logContents(text, windowSize: windowSize)
            #expect(found.adapters == ["gw/1"])
            #expect(found.records.map(\.payload) == [[1], [2], [3], [4]])
            #expect(
                found.records.map { $0.numbers[0] }
                    == [0, 0, 0, 2].map { 1_763_971_200_000_000_000 + $0 * 1_000_000_000 })
            #expect(found.records.map { $0.numbers[4] } == [-70, -5, -70, 127])
            #expect(
                found.damages.map(\.description) == [
                    "record 3 at line 1, byte 0: an element of its payload is not an object",
                    """
                    record 5 at line 1, byte 0: it has none of the keys data, manufacturerData, uuid, listening; its payload has x. \
                    If the text of one of these is the advertisement, name it with --fields data=KEY, or a UUID with --fields \
                    uuid=KEY; KEY can be a path such as report.data. Arrays in an object are not read
                    """,
                ])
        }
    }

    @Test(arguments: [#""online""#, "null", "1", #""{\"data\":\"07\"""#, #""{\"data\":\"07\"} x""#, #""""#])
    func `a message without an object is refused`(payload: String) throws {
        let found = try logContents(#"{"time":1,"payload":\#(payload)}{"time":2,"data":"02"}"#)
        #expect(found.records.map(\.payload) == [[2]])
        #expect(found.damages.first?.reason.hasPrefix("it has none of the keys data") == true)
        #expect(found.damageTotal == 1)
    }

    @Test func `lines of topics are read, and lines without an object are reported`() throws {
        let text = """
            gw/status online
            gw/a {"time":1,"data":"01"}
            gw/empty (null)
            {"time":2,"data":"02"}
            a topic [with] blanks [{"time":3,"data":"03"},{"time":4,"data":"04"}]
            gw/b []
            gw/b {"time":5,"data":"0
            gw/b [{"time":6,"data":"06"}
            gw/c {"time":7,"data":"07"} {"time":8,"data":"08"} x {"time":9,"data":"FF"}
            gw/e [{
             "x": {"time":98,"data":"FF"},
             "rssi": NaN,
             "l": [
             {"time":97,"data":"FF"}
             ]}]
            gw/g [{,{"time":1,"x": {"time":9,"data":"FF"}}]
            gw/f {"rssi": NaN,
             "x": {"time":9,"data":"FF"}
            }
            gw/d {
              "time": 9, "data": "09"
            }
            """
        for windowSize in [1, 9, 4096] {
            let found = try logContents(text, windowSize: windowSize)
            #expect(found.records.map { $0.payload } == [[1], [2], [3], [4], [6], [7], [8], [9]])
            #expect(
                found.damages.map { "\($0.line ?? 0): \($0.reason)" } == [
                    "1: an object is expected", "3: an object is expected",
                    "7: a string ends in the middle of its line", "9: the array before it is truncated",
                    "9: an object is expected", "12: a value is expected", "16: an object is expected",
                    "17: a value is expected",
                ])
        }
    }

    @Test(arguments: [
        "gw/a online\ngw/b 12\n", "int main() {\n  return 0;\n}\n", "a topic {x} y\n",
        "a\u{1} {\"time\":1,\"data\":\"\"}\n",
        "d e {\"x\":1}\n", "x [1]\n", "foo: {}\n", "char *n[] = { \"a\", \"b\" };\n", "x {\"data\"",
    ])
    func `a text without a topic and an object is not a log`(text: String) {
        #expect(throws: CaptureError.self) { try logContents(text) }
    }

    @Test(arguments: [
        #"{"time":1,"adapter":"gw","advertisement":"00","payload":{"time":1}}"#,
        #"{"adapter":"gw","adv":"00","payload":{"time":1}}"#, #"{"tst":1,"payload":{"adapter":"gw"}}"#,
        #"{"time":1,"adv":"00","payload":[]}"#, #"{"time":1,"adv":"00","payload":"[]"}"#,
    ])
    func `an object whose advertisement is not read is refused, whatever its payload is`(text: String) throws {
        let found = try logContents(text)
        #expect(found.records.isEmpty)
        #expect(found.damages.map { $0.reason.prefix(34) } == ["it has none of the keys data, manu"])
    }

    @Test func `an advertisement at a path of the outer object is not that of the elements of a payload`() throws {
        let text =
            #"{"time":1,"r":{"d":"01"},"payload":[{"data":"02"},{"data":"03"},{"x":1}]}{"time":4,"r":{"d":"04"},"payload":[]}"#
        let found = try logContents(text, fields: "data=data|r.d")
        #expect(found.records.map(\.payload) == [[2], [3], [4]])
        #expect(found.damageTotal == 1)
    }

    @Test func `the last value of a key in a payload counts, and null there does not hide the outer value`() throws {
        let text =
            #"{"time":1,"rssi":-9,"payload":{"data":"","rssi":null}}{"time":2,"payload":{"data":"","rssi":-8,"rssi":null}}"#
        #expect(try logContents(text).records.map { $0.numbers[4] } == [-9, 127])
    }

    @Test func `a compressed log that is truncated in its first line has that error`() throws {
        let packed = try pipe(Array("gw/1 \(Self.row(1))\n".utf8), through: "gzip")
        #expect(throws: CaptureError.inflationFailed(path: "test", "the gzip data are truncated (byte 33 of the file)"))
        {
            try contents(.bytes(Array(packed.dropLast(15)), name: "test"))
        }
    }

    @Test(arguments: [
        (#"{"time":1,"a":{"r":-1},"payload":{"data":"","a":{"r":-2}}}"#, -2),
        (#"{"time":1,"a":{"r":-1},"payload":[{"data":"","a":{"r":-2}}]}"#, -2),
        (#"{"time":1,"a":{"r":-1},"payload":[{"data":""}]}"#, -1),
        (#"{"time":1,"a":{"r":-1},"payload":{"data":"","a":{"r":null}}}"#, -1),
    ])
    func `a path in the payload precedes the same path in the outer object`(text: String, rssi: Int64) throws {
        #expect(try logContents(text, fields: "rssi=a.r").records.map { $0.numbers[4] } == [rssi])
    }

    @Test func `many elements and texts in one payload are read in a time that grows with their number`() throws {
        // With a loop over all members or texts for each element, this would take minutes.
        let count = 12_000
        let members = (0..<count).map { "\"\($0)\":0" }.joined(separator: ",")
        let elements = String(repeating: #""{\"data\":\"\",\"x\":{}}","#, count: count).dropLast()
        let found = try logContents("{\"time\":1,\(members),\"payload\":[\(elements)]}", fields: "rssi=x.y,minor=x.z")
        #expect(found.records.count == count)
        #expect(found.damages == [])
    }

    @Test(arguments: [
        "text with blanks: {1}\nother text: {2}\n", "[gw] {1}\n[gw] {2}\n", "[10:00:00] {1}\n[10:00:01] {2}",
        "[INFO] adv {1}\n[INFO] adv [{2}]\n",
        "a {1}\n[b] {2}\n[]\n",
        "a [{1}]\n[{2}]\n",
    ])
    func `a text in brackets before the object is not an array`(text: String) throws {
        let log = text.replacing("{1}", with: Self.row(1)).replacing("{2}", with: Self.row(2))
        let found = try logContents(log)
        #expect(found.records.map(\.payload) == [[1], [2]])
        #expect(found.damages == [])
    }

    @Test func `packets of hcidump in a system log are read also after a line with an object`() throws {
        let text = "Nov 30 10:00:00 host app: {\"a\":1}\nNov 30 10:00:00 host hcidump: > 04 0E 00\n"
        let reader = try CaptureReader(.bytes(Array(text.utf8), name: "test"))
        #expect(reader.format == .hcidump)
    }

    // MARK: values

    @Test(
        arguments: [
            (#""2026-11-30T11:20:53.406348Z+0100""#, 1_796_034_053_406_348_000),
            (#""2026-11-30T11:20:53+0100""#, 1_796_034_053_000_000_000),
            (#""2026-11-30 11:20:53,25 +01:00""#, 1_796_034_053_250_000_000),
            (#""2026-11-30 11:20:53+01""#, 1_796_034_053_000_000_000),
            (#""2026-11-30 10:20:53 UTC""#, 1_796_034_053_000_000_000),
            (#""2026-11-30 10:20:53GMT""#, 1_796_034_053_000_000_000), (#""1796034053.5""#, 1_796_034_053_500_000_000),
            (#""1796034053500""#, 1_796_034_053_500_000_000), (#""\u0031""#, 1_000_000_000),
        ] as [(String, Int64)])
    func `times of other programs are read`(text: String, nanoseconds: Int64) throws {
        let found = try logContents("{\"time\":\(text),\"data\":\"\"}")
        #expect(found.records.map { $0.numbers[0] } == [nanoseconds])
    }

    @Test(arguments: [
        "2026-11-30T11:20:53Z+1", "2026-11-30T11:20:53+010", "2026-11-30T11:20:53 ", "2026-11-30T11:20:53 CET",
        "2026-11-30T11:20:53ZUTC", "2026-11-30T11:20:53  Z", "2026-11-30T11:20:53+01:0", "2026-11-30T11:20:53,Z",
        "2026-11-30T11:20:53+0160", "2026-11-30T11:20:53+24", "20261130112053", "20261130", "202611301120", "1e",
    ])
    func `other texts are not times`(text: String) throws {
        #expect(
            try logContents(#"{"time":"\#(text)","data":"01"}{"time":2,"data":"02"}"#).records.map(\.payload) == [[2]])
    }

    @Test(arguments: [
        ("-60.5", -61), ("-60.4999", -60), ("-0.5", -1), ("\"-60\"", -60), ("\"-60.6\"", -61), ("\"\"", 127),
        ("-128.4", -128), ("1.5e1", 15), ("\"-6\\u0030\"", -60), ("126.4", 126), ("0.4", 0),
    ])
    func `signal strengths can be texts or have decimals`(value: String, rssi: Int64) throws {
        let found = try logContents(#"{"time":1,"rssi":\#(value),"data":""}"#)
        #expect(found.records.map { $0.numbers[4] } == [rssi])
        #expect(found.damages == [])
    }

    @Test(
        arguments: [
            (#""major":"100","minor":"7.0""#, nil),
            (#""major":100,"minor":"7x""#, #"minor is "7x", which is not a number"#),
            (#""major":100,"minor":"0x7""#, #"minor is "0x7", which is not a number"#),
            (#""major":"","minor":7"#, "major is absent"),
            (#""major":100,"minor":7.5"#, "minor is not a whole number in its range"),
            (#""major":"65536","minor":7"#, "major is not a whole number in its range"),
            (#""major":100,"minor":7,"rssi":"-128.5""#, "rssi is not in its range"),
            (#""major":100,"minor":7,"rssi":"x""#, #"rssi is "x", which is not a number"#),
            (#""major":"100.000","minor":"7""#, nil),
            (#""major":100,"minor":7,"rssi":true"#, "rssi is not a number"),
            (#""major":100,"minor":7,"measuredPower":"127.5""#, "measuredPower is not in its range"),
        ] as [(String, String?)])
    func `numbers can be texts, and other texts are refused`(members: String, reason: String?) throws {
        let found = try logContents(#"{"time":1,"uuid":"\#(Self.uuid)",\#(members)}"#)
        #expect(found.damages.map(\.reason) == (reason.map { [$0] } ?? []))
        #expect(found.sightings.count == (reason == nil ? 1 : 0))
    }

    @Test(arguments: [
        (#""scanner":"0","gw":"a""#, "adapter=scanner|gw", "0"), (#""scanner":"","gw":"a""#, "adapter=scanner|gw", "a"),
    ])
    func `an adapter can be named 0, and an empty text is absent`(members: String, fields: String, adapter: String)
        throws
    {
        #expect(try logContents(#"{"time":1,"data":"",\#(members)}"#, fields: fields).adapters == [adapter])
    }

    @Test func `a temperature t does not replace the time of a broker`() throws {
        let found = try logContents(
            #"{"tst":1763971200,"t":21.5,"data":""}{"tst":1763971201,"payload":{"t":"21.5","data":""}}"#)
        #expect(found.records.map { $0.numbers[0] } == [1_763_971_200_000_000_000, 1_763_971_201_000_000_000])
    }

    @Test func `a text of 0 is absent if there are other names`() throws {
        let text = #"{"time":1,"uuid":"\#(Self.uuid)","major":1,"minor":1,"a":"0","b":"-5"}"#
        #expect(try shortSightings(logContents(text, fields: "measuredPower=a|b")) == ["1.0 1/-/-5"])
    }

    // MARK: paths

    @Test(arguments: [
        (#"{"time":1,"a":{"b":"07"}}"#, "data=a.b"), (#"{"time":1,"a.b":"07"}"#, "data=a.b"),
        (#"{"time":1,"a":{"b":"08"},"a.b":"07"}"#, "data=a.b"), (#"{"time":1,"a":{"b.c":"07"}}"#, "data=a.b.c"),
        (#"{"time":1,"a":{"b":"x"},"a.b":{"c":"07"}}"#, "data=a.b.c"),
        (#"{"time":1,"a.b":5,"a":{"b":{"c":"07"}}}"#, "data=a.b.c"),
        (#"{"time":1,"a":"{\"b\":\"07\"}"}"#, "data=a.b"),
        (#"{"time":1,"a":"{\"b\":\"{\\\"c\\\":\\\"07\\\"}\"}"}"#, "data=a.b.c"),
        (#"{"a":"{\"b\":\"07\",\"c\":1}"}"#, "data=a.b,time=a.c"),
        (#"{"a":{"b":"00"},"a":{"b":"07"},"time":1}"#, "data=a.b"),
        (#"{"time":1,"payload":{"a":{"b":"07"}}}"#, "data=a.b"),
        (#"{"time":1,"payload":{"b":"07"}}"#, "data=payload.b"),
        (#"{"tst":1,"payload":"{\"b\":\"07\",\"data\":\"08\"}"}"#, "data=payload.b"),
        (#"{"time":1,"payload":[{"a":{"b":"07"}}]}"#, "data=a.b"),
        (#"{"h":{"t":1},"payload":[{"data":"07"}]}"#, "time=h.t"),
        (#"{"time":1,"a":{"b":null},"c":"07"}"#, "data=a.b|c"),
        (#"{"time":1,"data":{"mfg":"000102"},"uuid":{"a":"07"}}"#, "data=uuid.a,rssi=data.rssi"),
        (#"{"time":1,"\u0061":{"\u0062":"07"}}"#, "data=a.b"), (#"{"time":1,".":{"":"07"}}"#, "data=.."),
    ])
    func `a name can be a path`(text: String, fields: String) throws {
        for windowSize in [1, 4096] {
            let found = try logContents(text, fields: fields, windowSize: windowSize)
            #expect(found.records.map { $0.numbers[0] } == [1_000_000_000])
            #expect(found.records.map(\.payload) == [[7]])
            #expect(found.damages == [])
        }
    }

    @Test func `fields without a path are those of the payload`() throws {
        let text = #"{"tst":1,"payload":{"adv":"07","rssi":-50,"adapter":"lobby"}}"#
        let found = try logContents(text, fields: "data=payload.adv")
        #expect(found.adapters == ["lobby"])
        #expect(found.records.map { $0.numbers[4] } == [-50])
    }

    @Test(arguments: [
        #"{"time":1,"a":[{"b":"07"}]}"#, #"{"time":1,"a":"b"}"#, #"{"time":1,"a":{"c":"07"}}"#, #"{"time":1,"b":"07"}"#,
    ])
    func `a path without a value is refused`(text: String) throws {
        let found = try logContents(text, fields: "data=a.b")
        #expect(found.records.isEmpty)
        #expect(found.damages.first?.reason.hasPrefix("it has none of the keys a.b, ") == true)
    }

    // MARK: bytes

    @Test(arguments: [
        "02 01 06", "02.01.06", "02:01:06", "02-01-06", " 02  01 06 ", "0x020106", "0X02 01 06", "(0x) 02-01-06",
        "02 01 06\\n", "0201 06",
        "02.01.06 (3)",
        "02.01.06(3)", "020106 (3)", "\\u00302 01 06",
    ])
    func `hexadecimal digits can have separators`(text: String) throws {
        let found = try logContents(#"{"time":1,"data":"\#(text)"}"#)
        #expect(found.records.map(\.payload) == [[2, 1, 6]])
        #expect(found.damages == [])
    }

    @Test(arguments: [
        "02.01:06", "02..01", "02.01.", ".02.01", "2 1 6", "02 1 06", "02.01.06 (4)", "02.01.06 (3) x", "0x", "0x0",
        "02 0x01",
        "02,01", "02 . 01", "02.0 1", "0201060", "(0)x", "0x02 0x01",
    ])
    func `other texts are not hexadecimal`(text: String) throws {
        let found = try logContents(#"{"time":1,"data":"\#(text)"}{"time":2,"data":"02"}"#)
        #expect(found.records.map(\.payload) == (text == "0x" ? [[], [2]] : [[2]]))
    }

    @Test(arguments: 0..<40)
    func `digits are decoded in every grouping`(count: Int) throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 161) }
        let digits = bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
        for size in 1...5 {
            let groups = stride(from: 0, to: count, by: size).map { digits[$0..<min($0 + size, count)].joined() }
            for separator in [" ", ".", ":", "-", ""] {
                let text = groups.joined(separator: separator)
                #expect(try logContents(#"{"time":1,"data":"\#(text)"}"#).records.map(\.payload) == [bytes])
            }
        }
    }

    @Test(arguments: 0..<12)
    func `base64 of every length is decoded like Foundation's`(count: Int) throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 91 &+ 250) }
        let text = Data(bytes).base64EncodedString()
        for text in [text, text.filter { $0 != "=" }, text.replacing("+", with: "-").replacing("/", with: "_")] {
            let found = try logContents(#"{"time":1,"raw":"\#(text)"}"#, fields: "data=raw:base64")
            #expect(found.records.map(\.payload) == [bytes])
        }
    }

    @Test(arguments: ["A", "AAAAA", "AB", "AAB", "A=", "A===", "====", "=", "AA=A", "AA==AA==", "AA A", "AA*A"])
    func `other texts are not base64`(text: String) throws {
        let found = try logContents(#"{"time":1,"raw":"\#(text)"}"#, fields: "data=raw:base64")
        #expect(found.damages.map(\.reason) == ["data is \"\(text)\", which is not base64"])
    }

    @Test(arguments: [
        ("data=raw:base64", #""AgEGGv9MAAIV94Jtpk+iTpiAJLxbceCJPgBkAAfF""#),
        ("manufacturerData=raw:base64", #""TAACFfeCbaZPok6YgCS8W3HgiT4AZAAHxQ""#),
        ("manufacturerData=raw:base64", #""AhX3gm2mT6JOmIAkvFtx4Ik+AGQAB8U=""#),
        ("manufacturerData=raw:base64", #"{"76":"AhX3gm2mT6JOmIAkvFtx4Ik-AGQAB8U="}"#),
        ("data=a.raw:base64|raw:base64", #""AgEGGv9MAAIV94Jtpk+iTpiAJLxbceCJPgBkAAfF""#),
        ("data=a|raw:base64", #""AgEGGv9MAAIV94Jtpk+iTpiAJLxbceCJPgBkAAfF""#),
    ])
    func `base64 is read if the option requests it`(fields: String, value: String) throws {
        let found = try logContents(#"{"time":1,"rssi":-60,"raw":\#(value)}"#, fields: fields)
        #expect(try shortSightings(found) == ["1.0 7/-60/-59"])
    }

    @Test(arguments: [
        ("data", #""AgEGGv9MAAIV94Jtpk+iTpiAJLxbceCJPgBkAAfF""#, "data=data:base64"),
        ("data", #""TAACFfeCbaZPok6YgCS8W3HgiT4AZAAHxQ==""#, "manufacturerData=data:base64"),
        ("data", #""AhX3gm2mT6JOmIAkvFtx4Ik+AGQAB8U=""#, "manufacturerData=data:base64"),
        ("manufacturerData", #""AgEGGv9MAAIV94Jtpk+iTpiAJLxbceCJPgBkAAfF""#, "data=manufacturerData:base64"),
        ("data", #""WQACFQ==""#, "data=data:base64"),
    ])
    func `base64 without the option is refused, and the option is named`(
        key: String, value: String, option: String
    ) throws {
        let found = try logContents(#"{"time":1,"\#(key)":\#(value)}"#)
        #expect(
            found.damages.map(\.reason) == [
                "\(key) has a character that is not a hexadecimal digit; if it is base64, use --fields \(option)"
            ])
    }

    @Test(arguments: [
        ("data", structures, "data=raw"), ("manufacturerData", "4C00\(beacon)", "manufacturerData=raw"),
        ("data", beacon, "manufacturerData=raw"),
    ])
    func `hexadecimal that is read as base64 is reported if it is an advertisement`(
        field: String, value: String, option: String
    ) throws {
        var reader = try CaptureReader(
            .bytes(Array(#"{"time":1,"raw":"\#(value)"}"#.utf8), name: "test"),
            options: CaptureOptions(fields: try FieldMap("\(field)=raw:base64")))
        while try reader.next() != nil {}
        #expect(
            reader.misplacedAdvertisement?.reason ?? "\(reader.damages)" == "raw is hexadecimal; use --fields \(option)"
        )
    }

    @Test(arguments: [
        (#"{"time":1,"data":{"adv":"00"}}"#, "data is an object; read a text in it with --fields data=data.KEY"),
        (#"{"time":1,"data":["00"]}"#, "data is not text"),
    ])
    func `an object in the place of a text is refused with the option that reads a text in it`(
        text: String, reason: String
    ) throws {
        #expect(try logContents(text).damages.map(\.reason) == [reason])
    }

    @Test(arguments: ["data=raw|raw:base64", "rssi=rssi:base64", "data=:base64", "data=a:base64|", "uuid=a:base64"])
    func `base64 is only for bytes`(fields: String) {
        #expect(throws: CaptureError.self) { try FieldMap(fields) }
    }

    // MARK: measured power

    @Test(
        arguments: [
            (#""txpower":-59"#, "txpower"), (#""rssi@1m":-59"#, "rssi@1m"), (#""Tx Power":"-59.5""#, "Tx Power"),
            (#""tx,power":-59"#, nil),
            (#""powerSave":1"#, nil),
            (#""calibratedPower":-59,"power":-4"#, "calibratedPower"), (#""power":true"#, nil), (#""power":-300"#, nil),
            (#""battery":99"#, nil), (#""measuredPower":null"#, nil),
        ] as [(String, String?)])
    func `a beacon without measured power is read, and the key that can have it is named`(
        member: String, key: String?
    ) throws {
        let line = #"{"time":1,"uuid":"\#(Self.uuid)","major":1,"minor":2,\#(member)}"#
        var reader = try CaptureReader(.bytes(Array((line + line).utf8), name: "test"))
        var count = 0
        while try reader.next() != nil { count += 1 }
        #expect(count == 2)
        #expect(reader.damages.isEmpty)
        let option = key.map { $0.contains(" ") ? "'measuredPower=\($0)'" : "measuredPower=\($0)" }
        #expect(
            reader.unreadMeasuredPower?.description
                == key.map {
                    """
                    record 1 at line 1, byte 0: measuredPower is absent; if \($0) is the RSSI at one metre, use --fields \
                    \(option ?? "")
                    """
                })
    }

    @Test func `the key of the measured power can be in the outer object, and in a later record`() throws {
        let beacon = #""uuid":"\#(Self.uuid)","major":1,"minor":2"#
        let text = #"{"time":1,\#(beacon)}{"time":2,"power":-59,"payload":{\#(beacon)}}"#
        var reader = try CaptureReader(.bytes(Array(text.utf8), name: "test"))
        while try reader.next() != nil {}
        #expect(reader.unreadMeasuredPower?.record == 2)
    }
}
