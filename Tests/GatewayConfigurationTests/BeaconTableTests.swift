import BaseTypes
import BluetoothLE
import Testing

@testable import GatewayConfiguration

/// The file with names of beacons is read as spreadsheets write it.
@Suite struct BeaconTableTests {
    private static let uuid = "F7826DA6-4FA2-4E98-8024-BC5B71E0893E"
    private static let other = "2F234454-CF6D-4A0F-ADF2-F4911BA9FFA6"

    private static func twoUUIDs() throws -> Configuration {
        try configuration(
            """
            beacons: {file: beacons.csv}
            conditions:
              - {identifier: a, uuid: \(uuid)}
              - {identifier: b, uuid: \(other)}
            """)
    }

    private func read(_ bytes: [UInt8], _ configuration: Configuration? = nil) throws -> [NamedBeacon] {
        var made = try configuration ?? GatewayConfigurationTests.configuration(file("beacons: {file: beacons.csv}"))
        #expect(made.beaconsFile?.path == "beacons.csv")
        try made.readBeacons(bytes, file: "beacons.csv")
        return made.beacons.all
    }

    private func problems(_ bytes: [UInt8], _ configuration: Configuration? = nil) throws -> [String] {
        do {
            _ = try read(bytes, configuration)
            return []
        } catch let errors as ConfigurationErrors {
            return errors.description.split(separator: "\n").map(String.init)
        }
    }

    private func problems(_ text: String, _ configuration: Configuration? = nil) throws -> [String] {
        try problems(Array(text.utf8), configuration)
    }

    private static func badge(_ minor: UInt16, major: UInt16 = 1, uuid: String = uuid) throws -> BeaconIdentity {
        BeaconIdentity(uuid: try #require(ProximityUUID(uuid)), major: major, minor: minor)
    }

    @Test(arguments: [",", ";", "\t"], ["\n", "\r\n", "\r"])
    func `columns can be in any order, further columns, all three separators and all line ends are accepted`(
        _ separator: String, _ end: String
    ) throws {
        // A name must not have a tab.
        let mark = separator == "\t" ? ";" : separator
        let rows = [
            ["Group", "shoe size", "NAME", "minor", "uuid", " major "], ["staff", "39", "Ada", "17", Self.uuid, "1"],
            ["", "", "\"Bob \"\"the\"\" Builder\(mark) Jr.\"", "0", Self.other.lowercased(), " 65535 "],
            ["", "", "", "", "", ""], ["x", "\"41\n42\"", "Zoë", "18", "", "1"],
        ]
        let text = rows.map { $0.joined(separator: separator) }.joined(separator: end)
        for file in [text, text + end, "\u{FEFF}" + text] {
            #expect(
                try read(Array(file.utf8)) == [
                    NamedBeacon(try Self.badge(17), name: "Ada", group: "staff"),
                    NamedBeacon(
                        try Self.badge(0, major: 65535, uuid: Self.other),
                        name: "Bob \"the\" Builder\(mark) Jr."),
                    NamedBeacon(try Self.badge(18), name: "Zoë", group: "x"),
                ])
        }
    }

    @Test func `each error in a file has its row`() throws {
        let text = """
            uuid;major;minor;name;group
            \(Self.uuid);1;17;Ada;staff
            \(Self.uuid);1;70000;Bob;staff
            xyz;1;19;;staff
            \(Self.uuid);1;17;Ada again;
            \(Self.uuid);1
            \(Self.uuid);;20;"Eve\u{9}";
            \(Self.uuid);1;21;"Gus"x;
            \(Self.uuid);1;22;\(String(repeating: "ä", count: 65));
            """
        #expect(
            try problems(text) == [
                "beacons.csv:3:40: minor is 70000; expected 0…65535",
                "beacons.csv:4:1: uuid is xyz; expected 32 hexadecimal digits, such as \(Self.uuid); found 0",
                "beacons.csv:4:10: name is empty; expected 1 to 128 bytes without control characters",
                "beacons.csv:5:1: this beacon already has a name at line 2; remove one",
                "beacons.csv:6:1: minor is missing; add it; the row is too short",
                "beacons.csv:6:1: name is missing; add it; the row is too short",
                "beacons.csv:7:38: major is empty; expected 0…65535, a whole number in decimal digits",
                "beacons.csv:8:48: unexpected text after a closing quotation mark; quote the whole field",
                "beacons.csv:9:43: name is “\(String(repeating: "ä", count: 48))…”; "
                    + "expected 1 to 128 bytes without control characters",
            ])
    }

    @Test func `a name must not have a control character; a row after a multi-line row has its number`() throws {
        #expect(
            try problems("major,minor,name,note\n1,1,a,\"x\ny\"\n1,2,\"b\nc\",\n1,x,d,")
                == [
                    "beacons.csv:4:6: row 3: name is “b⟨U+000A⟩c”; expected 1 to 128 bytes without control characters",
                    "beacons.csv:6:3: row 4: minor is x; expected 0…65535, a whole number in decimal digits",
                ])
    }

    @Test func `a file without a heading, an empty file and a quotation mark that is not closed are errors`() throws {
        let hint = "the first row must have the columns major, minor and name; uuid and group are optional"
        #expect(
            try problems("\(Self.uuid),1,17,Ada")
                == ["major", "minor", "name"].map {
                    "beacons.csv:1:1: the column \($0) is missing; \(hint)"
                })
        #expect(try problems("") == ["beacons.csv:1:1: the file is empty; \(hint)"])
        #expect(
            try problems("major,major,minor,name\n")
                == ["beacons.csv:1:7: the column major occurs twice; remove one"])
        #expect(
            try problems("major,minor,name\n1,1,\"Ada\n1,2,Bob")
                == [
                    "beacons.csv:2:5: this quotation mark is not closed; "
                        + "close it; double a quotation mark within quotation marks"
                ])
    }

    private static let badges = [("Anna", UInt16(7)), ("Bo", 8)]

    private func expectBadges(_ text: String) throws {
        let names = try read(Array(text.utf8))
        #expect(
            names == (try Self.badges.map { NamedBeacon(try Self.badge($0.1, major: 100), name: $0.0) }), "\(text)")
    }

    @Test(
        arguments: [
            ("sep=;", ";"), ("sep=,", ","), ("sep=\t", "\t"), ("SEP=;", ";"), ("Sep=,", ","), ("\"sep=;\"", ";"),
            ("\"SEP=,\"", ","), ("\"sep=\t\"", "\t"), ("sep=;  ", ";"), ("sep=;;;", ";"), ("sep=,,,", ","),
            ("sep=\t\t\t", "\t"), ("\"sep=;\";;", ";"), ("\"sep=,\",\"\",\"\"", ","),
            // A program that writes the file again appends its own separators, with which it writes all other lines too.
            ("\"sep=;\",,", ","), ("sep=,;;", ";"), ("sep=;\t\t", "\t"),
        ], ["\n", "\r\n", "\r"])
    func `the line sep= of Excel selects the separator and is not a row`(
        _ line: (text: String, separator: String), _ end: String
    ) throws {
        let rows = ["major;minor;name", "100;7;Anna", "100;8;Bo", ""].map {
            $0.replacing(";", with: line.separator)
        }
        let text = ([line.text] + rows).joined(separator: end)
        try expectBadges(text)
        try expectBadges("\u{FEFF}" + text)
    }

    @Test(arguments: [
        ("sep=|", 5, "is |"), ("SEP=:", 5, "is :"), ("sep=ä", 5, "is “ä”"), ("\"sep=|\"", 6, "is |"),
        ("sep=|||", 5, "is |||"), ("sep=;|", 5, "is “;|”"), ("sep=;,;", 5, "is “;,;”"), ("sep= ", 5, "is missing"),
        ("sep=", 5, "is missing"), ("\"sep=\"", 6, "is missing"), ("sep=\u{1}", 5, nil),
    ])
    func `another separator after sep= is an error with its line, the three separators and the remedy`(
        _ line: String, _ column: Int, _ words: String?
    ) throws {
        let text = "\(line)\r\nmajor|minor|name\r\n100|7|Anna\r\n"
        let error =
            if let words {
                "the separator after sep= \(words); expected a comma, a semicolon or a tab: "
                    + "save the table with one of these, and remove this line"
            } else {
                "the file contains the control character U+0001; remove it"
            }
        #expect(try problems(text) == ["beacons.csv:1:\(column): \(error)"])
    }

    @Test func `after the line sep=, errors have their line in the file and their row in the spreadsheet`() throws {
        let text = "sep=;\r\nmajor;minor;name\r\n1;x;Ada\r\n1;2;\"B\nC\"\r\n1;3;Eve\r\n1;3;Eve\r\n"
        #expect(
            try problems(text) == [
                "beacons.csv:3:3: row 2: minor is x; expected 0…65535, a whole number in decimal digits",
                "beacons.csv:4:6: row 3: name is “B⟨U+000A⟩C”; expected 1 to 128 bytes without control characters",
                "beacons.csv:7:1: row 5: this beacon already has a name at line 6; remove one",
            ])
        #expect(
            try problems("sep=,\nmajor;minor;name\n1;7;Ada\n")
                == ["major", "minor", "name"].map {
                    "beacons.csv:2:1: the column \($0) is missing; line 1 selects commas as separators; "
                        + "the row after it must have the columns major, minor and name; uuid and group are optional"
                })
        for text in ["sep=;", "sep=;\r\n"] {
            #expect(
                try problems(text) == [
                    "beacons.csv:1:1: the table after this line is empty; line 1 selects semicolons as separators; "
                        + "the row after it must have the columns major, minor and name; uuid and group are optional"
                ])
        }
        // A column with this name is not the first line of Excel.
        try expectBadges("major;minor;name;sep=|\n100;7;Anna;\n100;8;Bo;\n")
    }

    @Test func `an empty field between two tabs is a field, and spaces around fields are skipped`() throws {
        let text = "uuid\tmajor\tminor\tgroup\tname\n\t1\t17\t\t Ada \n \t1\t18\t \"staff\" \t\"\tBob\t\"\t\t\n"
        #expect(
            try read(Array(text.utf8)) == [
                NamedBeacon(try Self.badge(17), name: "Ada"),
                NamedBeacon(try Self.badge(18), name: "Bob", group: "staff"),
            ])
        #expect(
            try problems("major\tminor\tname\n\t17\tAda\n1\t\tBob\n1\t17\t") == [
                "beacons.csv:2:1: major is empty; expected 0…65535, a whole number in decimal digits",
                "beacons.csv:3:3: minor is empty; expected 0…65535, a whole number in decimal digits",
                "beacons.csv:4:6: name is empty; expected 1 to 128 bytes without control characters",
            ])
    }

    @Test(arguments: [
        "major,\tminor,\tname\n100,\t7,\tAnna\n100\t,8\t,Bo\t\n",
        "major;\tminor;\tname\n100;\t7;\tAnna\n100\t;8\t;Bo\t\n",
        "major\tminor\tname\tnote; or, place\n100\t7\tAnna\tA; b\n100\t8\tBo\n",
        "major,minor,name,note; or place\n100,7,Anna,A; b\n100,8,Bo\n",
        "\"note;\tcomma\",major,minor,name\nA;\tb,100,7,Anna\n,100,8,Bo\n",
    ])
    func `the separator is the one with which the first row has the most columns`(_ text: String) throws {
        try expectBadges(text)
    }

    @Test func `the UUID is optional if the conditions have only one, but not if they have two`() throws {
        #expect(try read(Array("name,major,minor\nAda,1,17".utf8)).map(\.beacon) == [try Self.badge(17)])
        #expect(
            try problems("name,major,minor\nAda,1,17", Self.twoUUIDs())
                == [
                    "beacons.csv:1:1: the column uuid is missing; "
                        + "add it: the conditions have 2 different UUIDs, so there is no default"
                ])
        #expect(
            try problems("name,major,minor,uuid\nAda,1,17,", Self.twoUUIDs())
                == [
                    "beacons.csv:2:10: uuid is empty; "
                        + "add it: the conditions have 2 different UUIDs, so there is no default"
                ])
    }

    @Test func `bytes that are not UTF-8 are an error with their position`() throws {
        let latin = Array("major,minor,name\n1,1,Zo".utf8) + [0xEB, 0x0A]
        #expect(try problems(latin) == ["beacons.csv:2:7: the file is not UTF-8 here; save it as UTF-8"])
        #expect(try problems([0xFF, 0xFE, 0x6D, 0]) == ["beacons.csv:1:1: the file is UTF-16; save it as UTF-8"])
    }

    @Test func `100,000 rows are read, and one more is an error`() throws {
        var text = "uuid,major,minor,name,group\r\n"
        for number in 0..<BeaconNames.countMost {
            text += "\(Self.uuid),\(number >> 16),\(number & 0xFFFF),Badge \(number),staff\r\n"
        }
        #expect(try read(Array(text.utf8)).count == BeaconNames.countMost)
        text += "\(Self.uuid),9,9,One more,\r\n\(Self.uuid),9,10,Another,\r\n"
        #expect(
            try problems(text) == [
                "beacons.csv:100002:1: there are more than 100000 beacons; name only the beacons that must never lose their place"
            ])
    }

    @Test func `no content of the file traps, and each error has a line within the file`() throws {
        let seed = Array(
            "uuid,major,minor,name,group\n\(Self.uuid),1,17,\"A \"\"d\"\" a\",staff\r\n;\"x\ny\",,\n".utf8)
        let made = try configuration(file("beacons: {file: beacons.csv}"))
        var state: UInt64 = 7
        func next(_ count: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((state >> 33) % UInt64(count))
        }
        for round in 0..<4000 {
            var bytes = round % 2 == 0 ? seed : Array("sep=,\r\n".utf8) + seed
            for _ in 0...next(6) {
                let place = next(bytes.count)
                switch next(3) {
                case 0: bytes.remove(at: place)
                case 1: bytes.insert([0x22, 0x2C, 0x3B, 0x0A, 0x0D, 0x00, 0xFF, 0x20, 0x09][next(9)], at: place)
                default: bytes[place] = UInt8(next(256))
                }
            }
            var other = made
            do {
                try other.readBeacons(bytes, file: "beacons.csv")
                #expect(other.beacons.all.allSatisfy { (1...128).contains($0.name.utf8.count) })
            } catch {
                #expect(error.listed.allSatisfy { $0.line >= 1 && $0.line <= bytes.count + 1 })
            }
        }
    }
}
