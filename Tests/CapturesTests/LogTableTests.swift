import Foundation
import Testing

@testable import Captures

/// Advertisement logs in CSV.
@Suite struct LogTableTests {
    private static let uuid = "F7826DA6-4FA2-4E98-8024-BC5B71E0893E"
    private static let beacon = "0215F7826DA64FA24E988024BC5B71E0893E00640007C5"
    private static let windowSizes = [1, 13, 65_536]

    private static func sightings(_ found: Contents) throws -> [String] {
        try shortSightings(found, ["major", "minor", "rssi", "measuredPower"])
    }

    private static func text(_ file: String) throws -> String {
        try String(contentsOf: Fixtures.tests.appendingPathComponent("Fixtures/logs/\(file)"), encoding: .utf8)
    }

    // MARK: real files

    @Test(arguments: [",", ";", "\t"])
    func `a table of tshark gives the sightings of its capture, with each separator`(separator: String) throws {
        let fields =
            "time=frame.time_epoch,address=bthci_evt.bd_addr,rssi=bthci_evt.rssi,"
            + "manufacturerData=btcommon.eir_ad.entry.data"
        let table = try Self.text("tshark.csv").replacing(",", with: separator)
        let capture = try contents(.path(Fixtures.path("android-gym-bike.btsnoop")))
        for windowSize in Self.windowSizes {
            let found = try logContents(table, fields: fields, windowSize: windowSize)
            #expect(found.sightings == Array(capture.sightings.prefix(5)))
            #expect(found.reports == 60)
            #expect(found.damages == [])
            #expect(found.malformations == [:])
        }
    }

    @Test func `a table of Excel names its separator, and its titles have capitals and blanks`() throws {
        let text = try Self.text("excel.csv").replacing("2025-11-24 08:00:0", with: "176397120")
        for windowSize in Self.windowSizes {
            let found = try logContents(text, windowSize: windowSize)
            #expect(try Self.sightings(found) == ["1763971200.0 100/7/-62/-59", "1763971201.0 100/8/-63/-59"])
            #expect(found.adapters == ["lobby", "lobby; door"])
            #expect(found.damages == [])
        }
    }

    @Test func `the messages of a broker in a column are read`() throws {
        for windowSize in Self.windowSizes {
            let found = try logContents(try Self.text("messages.csv"), windowSize: windowSize)
            #expect(try Self.sightings(found) == ["1763971200.0 100/7/-60/-59", "1763971201.5 100/8/-61/-59"])
            #expect(found.damages == [])
        }
        let inner = try logContents(
            try Self.text("messages.csv").replacing("\"\"data", with: "\"\"adv"),
            fields: "data=payload.adv,adapter=topic")
        #expect(inner.sightings.count == 2)
        #expect(inner.adapters == ["gw/1", "gw/2"])
    }

    // MARK: forms

    @Test(
        arguments: [
            "time,uuid,major,minor\n1,U,100,7\n2,U,100,8\n",
            "\u{FEFF}time,uuid,major,minor\r\n1,U,100,7\r\n2,U,100,8",
            "\n  \n\ntime;uuid;major;minor\n1;U;100;7\n2;U;100;8\n",
            "time\tuuid\tmajor\tminor\n1\tU\t100\t7\n2\tU\t100\t8\n",
            "# a comment, data\n\n# time,uuid\ntime , uuid , major , minor\n 1 , U, 100 , 7 \n2,\tU, 100,8\n",
            "\"time\",\"uuid\",\"major\",\"minor\"\n\"1\",\"U\",\"100\",\"7\"\n\"2\",\"U\",\"100\" , \"8\" \r\n",
            "sep=;,,,\r\nTIME,UUID,Major,Minor\r\n1,U,100,7\r\n2,U,100,8\r\n",
            "sep=;\n\ntime;uuid;major;minor\n1;U;100;7\nsep=;\ntime;uuid;minor;major\n2;U;8;100\n",
            // InfluxDB annotates each table.
            "#group,false,false\n#datatype,string,long\n,result,time,uuid,major,minor\n,,1,U,100,7\n\n#group,false,false\n"
                + "#datatype,string,long\n#default,_result,,,,\n,result,time,uuid,minor,major\n,,2,U,8,100\n",
            "# {\"device\":\"esp32\"}\ntime,uuid,major,minor,T1,E1,Signal strength in dBm,2021\n1,U,100,7,20,21,-60,\n2,U,100,8,,,,\n",
            "name,uuid,major,minor,time\n{x},U,100,7,1\na {\"data\":\"\"},U,100,8,2\n",
            "time;uuid;major;minor;x\n1;U;100;7; {\"a\":1}\n2;U;100;8;\n",
            "time,uuid,major,minor,rssi:dBm,1m_power\n1,U,100,7,-60,-59\n\ntime,uuid,minor,major,rssi:dBm\n2,U,8,100,-61\n",
            "\"sep=;\"\ntime;uuid;major;minor\n1;U;100;7\n2;U;100;8\n",
            // With the index of a data frame, which has no name.
            ",time,uuid,major,minor\n0,1,U,100,7\n1,2,U,100,8\n",
            "\ttime\tuuid\tmajor\tminor\n0\t1\tU\t100\t7\n1\t2\tU\t100\t8\n",
            // Rows without values, the header line again, and a separator at the end of rows.
            "time,uuid,major,minor\n1,U,100,7,\n,,,\n\n,\ntime,uuid,major,minor\r\n2,U,100,8,,\n",
            "time,uuid,major,minor,note\n1,U,100,7,\"a, \"\"b\"\"c\"\n2,U,100,8,\"\"\n",
            // The column with the most known names selects the separator.
            "time;uuid;major;minor;remark, data\n1;U;100;7;x\n2;U;100;8;a,b\n",
            // Another table whose columns have another order.
            "time,uuid,major,minor\n1,U,100,7\n\u{FEFF}\"minor\",\"major\",\"time\",\"uuid\",n\r\n8,100,2,U,\n",
            "time,uuid,major,minor\n1,U,100,7\nUUID,Minor,note,Major,Time\nU,8,,100,2\n",
            "time,note,uuid,major,minor\n1,it's \"fine\" \\ \u{1}ö,U,100,7\n2,,U,100,8\n",
        ])
    func `a table is read in each form that programs write`(form: String) throws {
        let text = form.replacing("U,", with: "\(Self.uuid),").replacing("U;", with: "\(Self.uuid);")
            .replacing("U\t", with: "\(Self.uuid)\t").replacing("\"U\"", with: "\"\(Self.uuid)\"")
        for windowSize in Self.windowSizes {
            let found = try logContents(text, windowSize: windowSize)
            #expect(try Self.sightings(found) == ["1.0 100/7/-/-", "2.0 100/8/-/-"])
            #expect(found.damages == [])
        }
    }

    @Test(
        arguments: [
            (nil, "time,data,rssi\n1,02.01.06.1A.FF.4C.00.B,-60\n"), (nil, "time,manufacturerData,rssi\n1,4C00B,-60\n"),
            ("data=Raw Bytes", "time,rssi,Raw Bytes\n1,-60.4,0201061AFF4C00B\n"),
            ("data=raw:base64", "time,rssi,raw\n1,-60,AgEGGv9MAAIV94Jtpk+iTpiAJLxbceCJPgBkAAfF\n"),
            ("data=a.b,rssi=c.d", "time,a,c\n1,\"{\"\"b\"\":\"\"0201061AFF4C00B\"\"}\",\"{\"\"d\"\":-60}\"\n"),
            ("data=a.b", "time,a.b,rssi\n1,0201061AFF4C00B,-60\n"),
            (nil, "time,payload\n1,\"[{\"\"data\"\":\"\"0201061AFF4C00B\"\",\"\"rssi\"\":-60}]\"\n"),
        ] as [(String?, String)])
    func `columns have the same forms of values as JSON`(fields: String?, text: String) throws {
        let separated = stride(from: 0, to: Self.beacon.count, by: 2).map {
            String(Array(Self.beacon)[$0..<$0 + 2])
        }.joined(separator: ".")
        let value = text.contains("02.01") ? separated : Self.beacon
        for windowSize in Self.windowSizes {
            let found = try logContents(
                text.replacing("B,", with: "\(value),").replacing("B\n", with: "\(value)\n")
                    .replacing("B\"", with: "\(value)\""), fields: fields, windowSize: windowSize)
            #expect(found.adapters == ["hci0"])
            #expect(found.damages == [])
            #expect(try Self.sightings(found) == ["1.0 100/7/-60/-59"])
        }
    }

    @Test func `an empty cell is absent, and a row without data is a report`() throws {
        let text = """
            time,adapter,address,rssi,uuid,major,minor,listening
            1,hci0,C0:98:E5:00:00:07,-60,\(Self.uuid),1,2,
            2,hci0,C0:98:E5:00:00:08,-61,,,,
            3,,,-62,\(Self.uuid),1,3,
            4,hci1,,,,,,False
            5,hci1,,,,,,
            6,hci1,,,,,,true

            """
        for windowSize in Self.windowSizes {
            let found = try logContents(text, windowSize: windowSize)
            #expect(try Self.sightings(found) == ["1.0 1/2/-60/-", "3.0 1/3/-62/-"])
            #expect(found.reports == 3)
            #expect(found.adapters == ["hci0", "hci1"])
            // Their adapters and kinds: two beacons and a report, then the changes of scanning and a time alone.
            #expect(
                found.records.map { [$0.numbers[1], $0.numbers[2]] } == [
                    [0, 3], [0, 2], [0, 3], [1, 4], [1, 6], [1, 4],
                ])
            #expect(found.records.compactMap { $0.numbers[2] == 4 ? $0.numbers[3] : nil } == [0, 1])
            #expect(found.damages == [])
        }
    }

    // MARK: damage

    @Test(
        arguments: [
            ("1,U,1\n", "record 1 at line 2, byte 22: its number of columns is 3; the header line has 4"),
            ("1,U,1,2,3\n", "record 1 at line 2, byte 22: its number of columns is 5; the header line has 4"),
            ("1,\"U,1,2\n", "record 1 at line 2, byte 24: a quotation mark is not closed in its line"),
            ("\"1\"0,U,1,2\r\n", "record 1 at line 2, byte 25: a text follows a closing quotation mark"),
            (
                "x,U,1,2\n",
                "record 1 at line 2, byte 22: time is \"x\"; must be a time such as 2026-11-21T07:46:27.123456Z (RFC 3339)"
            ),
            (
                "1.76397E+12,U,1,2\n",
                "record 1 at line 2, byte 22: time is \"1.76397E+12\", which has lost its last digits"
            ),
            ("1,U,1,70000\n", "record 1 at line 2, byte 22: minor is not a whole number in its range"),
            (
                "1,U,1,1.000\n",
                "record 1 at line 2, byte 22: minor is \"1.000\", which can be thousands; write it without a full stop"
            ),
            ("1,U,1,\n", "record 1 at line 2, byte 22: minor is absent"),
            (
                "1,,1,2\n",
                """
                record 1 at line 2, byte 22: it has none of the keys data, manufacturerData, uuid, listening; it has time, \
                major, minor. If the text of one of these is the advertisement, name it with --fields data=KEY, or a UUID with \
                --fields uuid=KEY; KEY can be a path such as report.data. Arrays in an object are not read
                """
            ),
        ])
    func `a damaged row is reported once, and the next one is read`(row: String, damage: String) throws {
        let text = "time,uuid,major,minor\n" + row.replacing("U", with: Self.uuid) + "5,\(Self.uuid),3,4\n"
        for windowSize in Self.windowSizes {
            let found = try logContents(text, windowSize: windowSize)
            #expect(found.damages.map(\.description) == [damage])
            #expect(try Self.sightings(found) == ["5.0 3/4/-/-"])
        }
    }

    @Test func `a cell ends with its line, so a stray quotation mark hides no row`() throws {
        let rows = ["1,U,1,2,\"", "2,U,1,3,x", "3,U,1,4,a \"b", "4,U,1,5,\""].map { $0.replacing("U", with: Self.uuid) }
        for windowSize in Self.windowSizes {
            let found = try logContents(
                "time,uuid,major,minor,name\n" + rows.joined(separator: "\n"), windowSize: windowSize)
            #expect(try Self.sightings(found) == ["2.0 1/3/-/-", "3.0 1/4/-/-"])
            #expect(
                found.damages.map { "\($0.line ?? 0) \($0.reason)" } == [
                    "2 a quotation mark is not closed in its line", "5 a quotation mark is not closed in its line",
                ])
        }
    }

    @Test(arguments: [
        "24.11.2025;F7826DA6-4FA2-4E98-8024-BC5B71E0893E;1;2", "2025-11-24;F7826DA6-4FA2-4E98-8024-BC5B71E0893E;1;2",
    ])
    func `a date is not an advertisement`(row: String) throws {
        let found = try logContents("Data;UUID;Major;Minor\n\(row)\n")
        #expect(
            found.damages.map(\.reason) == [
                "data is a date; name the key with the advertisement with --fields data=KEY"
            ])
        #expect(found.records == [])
    }

    @Test func `a row with numbers and without a UUID is refused, also if it has a signal strength`() throws {
        let text = "time,rssi,uuid,major,minor\n1,-60,\(Self.uuid),1,2\n2,-61,,1,3\n3,-61,,,\n"
        let found = try logContents(text)
        #expect(try Self.sightings(found) == ["1.0 1/2/-60/-"])
        #expect(found.damages.map(\.line) == [3])
        #expect(found.reports == 2)
    }

    @Test(arguments: [
        "3,-61,,,,,\(beacon)", "3,-61,,,,,02.15.F7.82.6D.A6.4F.A2.4E.98.80.24.BC.5B.71.E0.89.3E.00.64.00.07.C5",
        "3,,,,,,\(beacon)",
        "3,-61,,,,\"{\"\"data\"\":\"\"02\",", "3,-61,,,,hello,",
        "3,-61,,,,,0201061AFF4C00\(beacon)",
    ])
    func `a row whose advertisement cannot be read is refused`(row: String) throws {
        let found = try logContents(
            "time,rssi,uuid,major,minor,payload,\n1,-60,\(Self.uuid),1,2,,\n\(row)\n4,-62,,0,0,,\n")
        #expect(try Self.sightings(found) == ["1.0 1/2/-60/-"])
        #expect(found.damages.map(\.line) == [3])
        #expect(found.damages.allSatisfy { $0.reason.hasPrefix("it has none of the keys data, ") })
        #expect(found.reports == 2)
    }

    @Test(
        arguments: [
            ("time,uuid,minor,major,major", "two columns have the name major; remove or rename one"),
            ("time,minor,major", "none of the columns is one of data, manufacturerData, uuid, listening, payload"),
        ])
    func `a log ends at another header line that is not understood, because its rows have other columns`(
        header: String, reason: String
    ) throws {
        let text =
            "time,uuid,major,minor\n1,\(Self.uuid),1,2\n\(header)\n2,\(Self.uuid),2,1\n3,\(Self.uuid),3,1,1\n"
        for windowSize in Self.windowSizes {
            let found = try logContents(text, windowSize: windowSize)
            #expect(try Self.sightings(found) == ["1.0 1/2/-/-"])
            #expect(
                found.damages.map(\.description) == [
                    "record 2 at line 3, byte 65: another table starts, whose header line is invalid: \(reason)"
                ])
        }
    }

    @Test func `a name in a row does not make the row a header line`() throws {
        let rows = ["x,U,1,2,data", "uuid,U,1,2,time", "2,time,uuid,data,C0:98:E5:00:00:07", "3,U,1,3,time"]
        let found = try logContents(
            "time,uuid,major,minor,name\n" + rows.map { $0.replacing("U", with: Self.uuid) + "\n" }.joined())
        #expect(try Self.sightings(found) == ["3.0 1/3/-/-"])
        #expect(found.damages.map(\.line) == [2, 3, 4])
        // The name of a device with separators and line ends, and rows that look like comments.
        let address = "address,time,uuid,major,minor,name\nC4:C1:38:BF:6F:AB,1,U,1,2,\n"
        for (row, lines) in [
            ("C4:C1:38:BF:6F:AB,2,,1,0,\"x;rssi;time;y\"", [3]), ("C4:C1:38:BF:6F:AB,2,x;uuid;data;y,z,U,1,2", [3]),
            ("C4:C1:38:BF:6F:AB,2,U,1,3,\"a\ntime,uuid,major,minor\nb\"", [3, 4, 5]),
            ("#1,2,U,1,70000,", [3]), ("#1,red,2,U,1,3,", [3]),
        ] {
            let text = (address + row + "\nC4:C1:38:BF:6F:AB,3,U,1,4,\n").replacing("U,", with: "\(Self.uuid),")
            let found = try logContents(text)
            #expect(try Self.sightings(found) == ["1.0 1/2/-/-", "3.0 1/4/-/-"])
            #expect(found.damages.map(\.line) == lines)
        }
    }

    @Test func `records are counted as in JSON if a row has several`() throws {
        let array = "[{\"data\":\"02\"},{\"data\":\"03\"}]"
        let table = try logContents(
            "tst,payload\n1,\"\(array.replacing("\"", with: "\"\""))\"\n2,[]\n3,x\n")
        let log = try logContents(
            "{\"tst\":1,\"payload\":\(array)}\n{\"tst\":2,\"payload\":[]}\n{\"tst\":3,\"payload\":\"x\"}\n")
        #expect(table.records == log.records)
        #expect(table.damages.map(\.record) == log.damages.map(\.record))
        #expect(table.damages.map(\.reason) == log.damages.map(\.reason))
        #expect(table.damages.map(\.line) == [4])
    }

    @Test func `a time with all its digits can have an exponent, as Java writes it`() throws {
        let found = try logContents("time,data\n1.7639712E9,\n1.7639712015E9,\n1.7639713E12,\n")
        #expect(found.damages == [])
        #expect(found.records.map { $0.numbers[0] / 100_000_000 } == [17_639_712_000, 17_639_712_015, 17_639_713_000])
    }

    @Test func `a row with only a time is a time of the adapter, also if the table has no adapters`() throws {
        let other = try logContents("time,adapter,data\n1,a,02\n2,,\n3,a,\n")
        #expect(other.damages.map(\.line) == [3])
        #expect(other.adapters == ["a"])
        let found = try logContents("time,address,data\n1,,\n2,C0:98:E5:00:00:07,\n")
        #expect(found.records.map { Array($0.numbers[0...2]) } == [[1_000_000_000, 0, 6], [2_000_000_000, 0, 2]])
        #expect(found.damages == [])
    }

    @Test func `a row of more than a MiB is skipped`() throws {
        let long = String(repeating: "x", count: CaptureReader.recordBytesMax)
        let text = "time,uuid,major,minor\n1,\(Self.uuid),1,2\n\(long)\n\"\(long)\n2,\(Self.uuid),1,3\n"
        let found = try logContents(text)
        #expect(
            found.damages.map { "\($0.line ?? 0) \($0.reason)" } == [
                "3 it is longer than 1 MiB", "4 it is longer than 1 MiB",
            ])
        #expect(try Self.sightings(found) == ["1.0 1/2/-/-", "2.0 1/3/-/-"])
    }

    @Test(arguments: [
        ("time,uuid,major,minor\n1,U,1,2", true), ("time,uuid,major,minor\n1,U,1,2\n", false),
        ("uuid,major,minor,note\nU,1,2,a", false), ("time,uuid,major,minor\n1,U,1,2\n3", true), ("time,uuid", true),
    ])
    func `a last row without a line end is marked, because its last value can be incomplete`(
        text: String, isMarked: Bool
    ) throws {
        var reader = try CaptureReader(.bytes(Array(text.replacing("U", with: Self.uuid).utf8), name: "test"))
        while try reader.next() != nil {}
        #expect(reader.lacksLineEnd == isMarked)
        #expect(reader.damages.total == (text.hasSuffix("3") ? 1 : 0))
    }

    @Test func `the last row of a truncated file is not read`() throws {
        let text = "time,uuid,major,minor\n" + (1...500).map { "\($0),\(Self.uuid),1,\($0)\n" }.joined()
        let packed = try pipe(Array(text.utf8), through: "gzip")
        for count in [packed.count - 9, packed.count / 2] {
            let found = try contents(Array(packed.prefix(count)))
            #expect(found.damages.count == 1)
            #expect(found.records.count < 500 || count == packed.count - 9)
            #expect(try Self.sightings(found) == (1...max(1, found.records.count)).map { "\($0).0 1/\($0)/-/-" })
        }
    }

    // MARK: header lines

    @Test(
        arguments: [
            ("time,uuid,UUID,major,minor,uuid\n", "two columns have the name uuid; remove or rename one"),
            (
                "sep=;\ntime;RSSI;Mac\n1;-60;C0:98:E5:00:00:07\n",
                """
                none of the columns time, RSSI, Mac is one of data, manufacturerData, uuid, listening, payload. Name the column \
                of the advertisement with --fields data=COLUMN, or that of the UUID with --fields uuid=COLUMN
                """
            ),
            ("time,uuid,major,minor\r1,2,3,4\r", "its lines end with CR; convert them with: tr '\\r' '\\n'"),
            (
                "C0:98:E5:00:00:07;-60;0201061AFF\n",
                """
                the first line must have the names of the columns, such as time,adapter,address,rssi,data. Add it to the start \
                of the file
                """
            ),
            (
                "1763971200.5,C0:98:E5:00:00:07,-60\n",
                """
                the first line must have the names of the columns, such as time,adapter,address,rssi,data. Add it to the start \
                of the file
                """
            ),
            (
                "-60\t0201\n-61\t0202\n",
                """
                the first line must have the names of the columns, such as time,adapter,address,rssi,data. Add it to the start \
                of the file
                """
            ),
        ])
    func `a table without an advertisement is refused with the reason`(text: String, reason: String) throws {
        #expect(throws: CaptureError.headerInvalid(path: "test", reason)) { try logContents(text) }
    }

    @Test(arguments: [
        "a,b\n", "Hello, world\nand others\n", "weather,city=Vienna temperature=82 1465839830100400200\n",
        "one two three four, five\nsix, seven\n", String(repeating: "a,", count: 2048) + "uuid\n1\n",
        "2025-11-24 08:00:00,123 INFO scanner has started\n2025-11-24 08:00:01,124 INFO x\n", "uuid\nU\n",
        "data:\n00\n",
        "Δtime,Δuuid\n1,2\n",
    ])
    func `another text with separators is not a table`(text: String) throws {
        let error = try #require(throws: CaptureError.self) { try logContents(text) }
        switch error {
        case .unrecognised(path: "test", _?): break
        case .headerInvalid(path: "test", let reason):
            #expect(text.hasPrefix("Δ") && reason.hasPrefix("none of the columns Δ"))
        default: Issue.record("\(error)")
        }
    }

    @Test(arguments: [
        "Listening...\n", "listening\n", "Data:\n", "2025-11-24 08:00:00,123 INFO scanner started, payload\n",
        "Nov 30 10:00:00 gw scanner[1]: started, listening\n", "started, listening\n",
        "12:00:01 columns: time, rssi, data\n", "Scan started, data\n", "started, payload\n",
        "fields: time, rssi, data\n",
    ])
    func `a log after a line with the name of a column is not a table`(line: String) throws {
        let object = #"{"time":1,"data":"0201061AFF4C00\#(Self.beacon)"}"#
        for text in ["\(line)gw/1 \(object)\n", "\(line)Nov 30 10:00:01 gw scanner[1]: \(object)\n"] {
            #expect(try Self.sightings(logContents(text)) == ["1.0 100/7/-/-59"])
        }
        let packet = try Fixtures.lines("hcidump-gimbal.raw").prefix(8).joined(separator: "\n")
        let capture = try logContents(packet)
        #expect(capture.reports > 0)
        #expect(try logContents(line + packet).reports == capture.reports)
    }

    @Test func `the name of a column that is a key is not read as a similar key`() throws {
        let found = try logContents(
            "time,mac,uuid,major,minor\n1,C0:98:E5:00:00:07,\(Self.uuid),1,2\n",
            fields: "adapterAddress=MAC,address=mac")
        #expect(found.sightings.count == 1)
        #expect(found.sightings[0].hasSuffix("\"address\":\"C0:98:E5:00:00:07\"}"))
    }

    @Test func `a header line alone is a log without records`() throws {
        for text in ["uuid,major,minor", "uuid,major,minor\n", "sep=;\nuuid;major;minor\r\n", "Time,Payload\n"] {
            let found = try logContents(text)
            #expect(found.records == [])
            #expect(found.damages == [])
        }
    }
}
