import Testing

@testable import Captures

private func records(_ text: String, fields: String? = nil, windowSize: Int = 128 * 1024) throws -> Contents {
    let options = CaptureOptions(fields: try fields.map { try FieldMap($0) } ?? FieldMap(), windowSize: windowSize)
    return try contents(.bytes(Array(text.utf8), name: "test"), options: options)
}

private func time(_ value: String) throws -> Int64? {
    let found = try records("{\"time\":\(value),\"data\":\"\"}")
    return found.records.first.map { $0.numbers[0] }
}

@Suite struct AdvertisementLogTests {
    @Test(
        arguments: [
            (#""2026-11-21T07:46:27.123456Z""#, 1_795_247_187_123_456_000), (#""1970-01-01T00:00:00Z""#, 0),
            (#""2024-02-29T12:00:00.5+02:00""#, 1_709_200_800_500_000_000),
            (#""2023-11-14t22:13:20z""#, 1_700_000_000_000_000_000),
            (#""2023-11-14 22:13:20.1234567899-00:30""#, 1_700_001_800_123_456_789),
            (#""2016-12-31T23:59:60Z""#, 1_483_228_800_000_000_000),
            (#""2017-01-01T00:59:60.5+01:00""#, 1_483_228_800_500_000_000),
            (#""\u0032023-11-14T22:13:20Z""#, 1_700_000_000_000_000_000),
            ("0", 0), ("1.5", 1_500_000_000), ("1700000000.123456", 1_700_000_000_123_456_000),
            ("0.1", 100_000_000), ("1e3", 1_000_000_000_000), ("12.5E-1", 1_250_000_000),
            ("4133980799.999999999", 4_133_980_799_999_999_999),
            ("100000000000", 100_000_000_000_000_000), ("1425417360553", 1_425_417_360_553_000_000),
            ("4133980799999.999999", 4_133_980_799_999_999_999),
            ("100000000000000", 100_000_000_000_000_000), ("1763971200000000", 1_763_971_200_000_000_000),
            ("4133980799999999.999", 4_133_980_799_999_999_999),
            ("100000000000000000", 100_000_000_000_000_000), ("1763971200000000001", 1_763_971_200_000_000_001),
            ("4133980799999999999", 4_133_980_799_999_999_999), ("1.763971200e18", 1_763_971_200_000_000_000),
            ("1425417360553.25", 1_425_417_360_553_250_000), ("1.425417360553e12", 1_425_417_360_553_000_000),
            ("0.000000001", 1), ("0.0000000019", 1), ("1e-400", 0), ("-0", 0),
            (#""2100-12-31T23:59:59.999999999Z""#, 4_133_980_799_999_999_999),
            (#""2101-01-01T00:59:59+01:00""#, 4_133_980_799_000_000_000),
        ] as [(String, Int64)])
    func `a time is read exactly`(text: String, nanoseconds: Int64) throws {
        #expect(try time(text) == nanoseconds)
    }

    @Test(arguments: [
        ("-1", "time is -1, in seconds 1969-12-31T23:59:59Z"),
        ("-0.000001", "time is -0.000001, in seconds 1969-12-31T23:59:59Z"),
        ("4133980800", "time is 4133980800, in seconds 2101-01-01T00:00:00Z"),
        ("99999999999", "time is 99999999999, in seconds 5138-11-16T09:46:39Z"),
        ("4133980800000", "time is 4133980800000, in milliseconds 2101-01-01T00:00:00Z"),
        ("99999999999999", "time is 99999999999999, in milliseconds 5138-11-16T09:46:39Z"),
        ("4133980800000000", "time is 4133980800000000, in microseconds 2101-01-01T00:00:00Z"),
        ("99999999999999999", "time is 99999999999999999, in microseconds 5138-11-16T09:46:39Z"),
        ("4133980800000000000", "time is 4133980800000000000, in nanoseconds 2101-01-01T00:00:00Z"),
        ("-1763971200000", "time is -1763971200000, in milliseconds 1914-02-07T16:00:00Z"),
        ("1e999999999999", "time is 1e999999999999, in nanoseconds millions of years away"),
        (#""1969-12-31T23:59:59Z""#, #"time is "1969-12-31T23:59:59Z""#),
        (#""2101-01-01T00:00:00Z""#, #"time is "2101-01-01T00:00:00Z""#),
        (#""0000-01-01T00:00:00Z""#, #"time is "0000-01-01T00:00:00Z""#),
        (#""9999-12-31T23:59:59\u005A""#, #"time is "9999-12-31T23:59:59Z""#),
    ])
    func `a record outside 1970…2100 is refused with its line, its value and the unit`(
        text: String, reason: String
    ) throws {
        let found = try records("{\"time\":1,\"data\":\"01\"}\n{\"time\":\(text),\"data\":\"02\"}\n")
        #expect(found.records.map(\.payload) == [[1]])
        #expect(
            found.damages.map(\.description) == ["record 2 at line 2, byte 23: \(reason); must be within 1970…2100"])
    }

    @Test(arguments: [
        "2025-11-24T08:00:60Z", "2016-12-30T23:59:60Z", "2016-12-31T23:59:60+01:00", "2016-12-31T23:59:60",
        "2016-12-31T23:59:61Z",
    ])
    func `second 60 is refused unless it can be a leap second: the last of a month in UTC`(text: String) throws {
        let found = try records(#"{"time":"\#(text)","data":"02"}{"time":2,"data":"03"}"#)
        #expect(found.records.map(\.payload) == [[3]])
        #expect(
            found.damages.map(\.description) == [
                "record 1 at line 1, byte 0: time is \"\(text)\"; must be a time such as 2026-11-21T07:46:27.123456Z (RFC 3339)"
            ])
    }

    @Test(arguments: [
        "0", "-0", "7", "-7", "42", "99999", "-99999", "100000", "65535", "00", "07", "-07", "", "-", "--1", "+1",
        "1.0", "1e2",
        "1a", "a", " 1", "1 ",
    ])
    func `smallInteger reads integers of at most 5 digits like DecimalNumber, and nothing else`(text: String) {
        let bytes = Array("x\(text)x".utf8)
        let end = bytes.count - 1
        let exact = DecimalNumber(bytes.span, 1, end)?.integer(in: -1_000_000...1_000_000)
        let small = LogText.smallInteger(bytes.span, 1, end)
        #expect(small == exact || small == nil)
        #expect(
            (small != nil)
                == (exact != nil && text.count(where: \.isNumber) <= 5 && text.allSatisfy { $0.isNumber || $0 == "-" }))
    }

    @Test func `each record's adapter address is read, also if one character differs from the previous one`() throws {
        let first = "00:AA:01:2B:00:0F"
        var addresses = [first, first, first.lowercased(), first.replacing(":", with: "-"), "00AA012B000F"]
        for place in stride(from: 0, to: 17, by: 3) {
            var other = Array(first)
            other[place] = "C"
            addresses += [first, String(other), String(other), first.lowercased()]
            other[place + 1] = "D"
            addresses.append(String(other))
        }
        let log = addresses.enumerated().map { #"{"time":\#($0.offset),"adapterAddress":"\#($0.element)","data":""}"# }
        var reader = try CaptureReader(.bytes(Array(log.joined().utf8), name: "test"))
        var found: [UInt64?] = []
        while let record = try reader.next() {
            found.append(reader.adapterAddresses[try #require(record.adapter)]?.value)
        }
        #expect(found == addresses.map { UInt64($0.filter { $0 != ":" && $0 != "-" }, radix: 16) })
        #expect(reader.damages.total == 0)
    }

    @Test func `since outside 1970…2100 is refused like time`() throws {
        let found = try records(#"{"time":1,"listening":false,"since":-5}{"time":2,"data":"02"}"#)
        #expect(
            found.damages.map(\.description) == [
                "record 1 at line 1, byte 0: since is -5, in seconds 1969-12-31T23:59:55Z; must be within 1970…2100"
            ])
        #expect(found.records.map(\.payload) == [[2]])
    }

    @Test(arguments: [1, 7, 4096])
    func `damage is reported with its line, also if objects span several lines`(windowSize: Int) throws {
        let text = """
            \u{FEFF}

            {"time":1,
              "x":["}",
                {}
              ],
              "adapter":"a\\nb\\nc",
              "data":"0A0A"
            }
            {"time":2,
              "adapter":"\\n\\n",
              "data":"0A0x"} {"time":-3,"data":""}
            {"time":4
              "data":"00"}
            }
            nonsense

            {"time":5,"data":"05"}
            {"time":"x","data":""}
            """
        let found = try records(text, windowSize: windowSize)
        #expect(found.damages.map(\.line) == [10, 12, 14, 15, 19])
        #expect(found.records.map(\.payload) == [[10, 10], [5]])
    }

    @Test(arguments: [
        #""2026-11-21T07:46:27""#, #""2026-13-21T07:46:27Z""#, #""2023-02-29T07:46:27Z""#, #""2026-11-21T24:00:00Z""#,
        #""2026-11-21T07:46:27.Z""#, #""2026-11-21T07:46:27+2""#, #""yesterday""#, #""""#, "true", "[1]", "01", "1.",
        "1e",
        "--1", "+1", ".5",
    ])
    func `an invalid time is damage, and the next object is read`(text: String) throws {
        let found = try records("{\"time\":\(text),\"data\":\"\"}\n{\"time\":5,\"data\":\"\"}")
        #expect(found.records.last?.numbers.first == 5_000_000_000)
        #expect(found.damageTotal == 1)
    }

    @Test func `objects can span lines and follow one another without separators`() throws {
        let text = """
            {"time":1,
              "data":"00"
            }{"time":2,"data":""}   {"time" : 3 , "data" : "FFff"}
            """
        for size in [1, 2, 9, 1000] {
            let found = try records(text, windowSize: size)
            #expect(found.records.map { $0.numbers[0] } == [1_000_000_000, 2_000_000_000, 3_000_000_000])
            #expect(found.records.map(\.payload) == [[0], [], [0xFF, 0xFF]])
            #expect(found.damages == [])
        }
    }

    @Test func `unknown keys are ignored at any depth, and of two equal keys the last one counts`() throws {
        let found = try records(
            #"{"x":{"y":[1,{"data":"FF"},"}\"]"],"z":null},"time":1,"data":"00","q":"\\","data":"0A","rssi":5,"rssi":null}"#
        )
        #expect(found.records.count == 1)
        #expect(found.records[0].payload == [0x0A])
        #expect(found.damages == [])
        #expect(found.records[0].numbers.dropFirst(2).starts(with: [2, -1, 127]))
    }

    @Test func `more than 64 nested levels are damage, not a crash`() throws {
        // The record itself is the first of 64 levels.
        let deep = String(repeating: "[", count: 63) + String(repeating: "]", count: 63)
        let next = #"{"time":2,"data":""}"#
        #expect(try records("{\"time\":1,\"data\":\"\",\"x\":\(deep)}").damageTotal == 0)
        #expect(try records("{\"time\":1,\"data\":\"\",\"x\":[\(deep)]}\n\(next)").damageTotal == 1)
        #expect(try records("\(next)\n{\"x\":" + String(repeating: "[", count: 100_000)).damageTotal == 1)
    }

    @Test func `escapes are decoded, surrogate pairs too`() throws {
        let found = try records(#"{"time":1,"\u0061dapter":"a\u00e9\ud83d\ude00\"\\\/\b\ud83dx"}"#)
        #expect(found.adapters == ["aé😀\"\\/_\u{FFFD}x"])
        #expect(try records(#"{"time":1,"data":"\u00300"}"#).records.first?.payload == [0])
    }

    @Test(arguments: [
        #"{"time":1,"data":"0"}"#, #"{"time":1,"data":"0G"}"#, #"{"time":1,"data":"000000000000000x"}"#,
        #"{"time":1,"data":5}"#,
        #"{"time":1,"rssi":"5x","data":""}"#, #"{"time":1,"rssi":128,"data":""}"#,
        #"{"time":1,"rssi":-128.5,"data":""}"#,
        #"{"time":1,"address":"C0:98:E5:00:00","data":""}"#, #"{"time":1,"address":"C0:98-E5:00:00:07","data":""}"#,
        #"{"time":1,"address":"C0:98:E5:00:00:07","addressType":"odd","data":""}"#,
        #"{"time":1,"adapter":7,"data":""}"#,
        #"{"time":1,"adapter":"","data":""}"#, #"{"time":1,"uuid":"F7826DA6","major":1,"minor":2,"measuredPower":3}"#,
        #"{"time":1,"uuid":"F7826DA64FA24E988024BC5B71E0893E","major":65536,"minor":2,"measuredPower":3}"#,
        #"{"time":1,"uuid":"F7826DA64FA24E988024BC5B71E0893E","major":1,"minor":2,"measuredPower":-129}"#,
        #"{"time":1,"uuid":"F7826DA64FA24E988024BC5B71E0893E","major":1,"minor":2,"measuredPower":128}"#,
        #"{"time":1,"uuid":"F7826DA64FA24E988024BC5B71E0893E","major":1,"minor":2,"measuredPower":"x"}"#,
        #"{"time":1,"uuid":"F7826DA64FA24E988024BC5B71E0893E","major":1}"#, #"{"time":1,"listening":"no"}"#,
        #"{"data":"00"}"#, "{}", #"{"time":1"#, #"{"time":1,"data":"00"#, #"{"time":1 "data":"00"}"#, "garbage",
        #"{"time":nil}"#,
        #"{"time":1,}"#, #"{"time":1,"x":[}"#, #"{"time":1,"x":"\q"}"#, #"{"time":1,"rssi":-50}"#,
    ])
    func `a damaged object is skipped and reported, and the next one is read`(text: String) throws {
        let found = try records("{\"time\":1,\"data\":\"01\"}\n\(text)\n{\"time\":2,\"data\":\"02\"}")
        #expect(found.records.map(\.payload) == [[1], [2]])
        #expect(found.damageTotal == 1)
        #expect(found.damages.first?.offset ?? 0 >= 23)
    }

    @Test func `a beacon can be given by its fields, also with a UUID without hyphens`() throws {
        let text = """
            {"t":1,"uuid":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E","major":1,"minor":65535,"measuredPower":-59,"rssi":-70}
            {"t":2,"uuid":"f7826da64fa24e988024bc5b71e0893e","major":1.0,"minor":6.5535e4,"measuredPower":-59}
            """
        let found = try records(text)
        #expect(
            found.sightings == [
                #"{"t":1.000000,"uuid":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E","major":1,"minor":65535,"measuredPower":-59,"rssi":-70,"address":null}"#,
                #"{"t":2.000000,"uuid":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E","major":1,"minor":65535,"measuredPower":-59,"rssi":null,"address":null}"#,
            ])
    }

    @Test func `the measured power of a beacon is unknown if it is absent, null or -128`() throws {
        let start = #"{"t":1,"uuid":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E","major":1,"minor":2"#
        let found = try records(
            [#","x":1}"#, #","measuredPower":null}"#, #","measuredPower":-128}"#]
                .map { start + $0 }.joined(separator: "\n"))
        #expect(
            found.sightings
                == Array(
                    repeating:
                        #"{"t":1.000000,"uuid":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E","major":1,"minor":2,"rssi":null,"address":null}"#,
                    count: 3))
        #expect(found.damageTotal == 0)
    }

    @Test func `--fields takes the first name that exists and is not 0`() throws {
        let text = """
            {"when":1,"uuid":"F7826DA64FA24E988024BC5B71E0893E","major":1,"minor":1,"a":0,"b":-5,"measuredPower":9}
            {"when":2,"uuid":"F7826DA64FA24E988024BC5B71E0893E","major":1,"minor":1,"a":-4,"b":-5}
            {"when":3,"uuid":"F7826DA64FA24E988024BC5B71E0893E","major":1,"minor":1,"b":0}
            {"when":4,"uuid":"F7826DA64FA24E988024BC5B71E0893E","major":1,"minor":1,"a":null,"measuredPower":9}
            {"when":5,"uuid":"F7826DA64FA24E988024BC5B71E0893E","major":1,"minor":1,"a":-400}
            """
        let found = try records(text, fields: "time=when,measuredPower=a|b")
        #expect(found.records.map { $0.numbers[7] } == [-5, -4, 0, -128])
        #expect(found.damageTotal == 1)
    }

    @Test(arguments: ["", "adapter", "adapter=", "nothing=x", "adapter=a,adapter=b", "adapter=a||b", "adapter=a,"])
    func `an invalid --fields is an error`(text: String) {
        #expect(throws: CaptureError.self) { try FieldMap(text) }
    }

    @Test func `a log without times is a capture without times, in which a time is damage`() throws {
        let reader = try CaptureReader(.bytes(Array(#"{"data":"00"}{"data":"01"}"#.utf8), name: "test"))
        let hasTimes = reader.hasTimes
        #expect(!hasTimes)
        let mixed = try records(#"{"data":"00"}{"data":"01","time":1}"#)
        #expect(mixed.damageTotal == 1)
        #expect(mixed.records.map { $0.numbers[0] } == [-1])
    }

    @Test func `adapter names have no control characters and at most 128 bytes; 255 are distinguished`() throws {
        let name = "a\\u001b[2J" + String(repeating: "é", count: 100)
        let found = try records(#"{"time":1,"adapter":"\#(name)"}{"time":2,"adapter":"\#(name)"}"#)
        #expect(found.adapters.count == 1)
        #expect(found.adapters[0].utf8.count <= 128)
        #expect(found.adapters[0].hasPrefix("a_[2Jé"))
        let many = (0..<300).map { #"{"time":\#($0),"adapter":"room \#($0)"}"# }.joined()
        let crowd = try records(many + #"{"time":900,"adapter":"room 254"}"#)
        #expect(crowd.adapters.count == 255)
        #expect(crowd.malformations == [.adaptersTooMany: 45])
        #expect(crowd.records.last?.numbers[1] == 254)
    }

    @Test func `an object of more than 1 MiB is damage, and the next one is read`() throws {
        let long = #"{"time":1,"x":""# + String(repeating: "x", count: 1_200_000) + "\"}"
        let found = try records(#"{"time":0,"data":""}"# + "\n\(long)\n" + #"{"time":2,"data":""}"#)
        #expect(found.records.map { $0.numbers[0] } == [0, 2_000_000_000])
        #expect(found.damageTotal == 1)
    }
}
