import Testing

@testable import GatewayConfiguration

@Suite struct YAMLTests {
    @Test(arguments: [
        ("conditions:\n\t- identifier: a\n", "2:1: the indentation contains a tab; indent with spaces"),
        ("gateway:\n  name: a\n\tx: y\n", "3:1: the indentation contains a tab; indent with spaces"),
        (
            "gateway:\n  name: a: b\n",
            "2:10: unexpected second colon; quote a value that contains “: ”, and check the indentation of this line and the previous one"
        ),
        (
            "gateway: {name: lobby\nconditions: []\n",
            "2:11: a comma or } is missing; the { is at line 1; close the map with }"
        ),
        (
            "gateway:\n  name: \"lobby\nconditions: []\n",
            "2:9: a quotation mark is not closed; close it, or double a quotation mark that is part of the value"
        ),
        (
            "gateway:\n    name: x\n  nam: y\n",
            "3:3: this does not continue the map that starts at line 1; give all keys of a map the same indentation, and write key: value"
        ),
        (
            "conditions:\n  - identifier: a\n    uuid: 00000000000000000000000000000000\n   - identifier: b\n",
            "4:4: this does not continue the list that starts at line 2; give all entries (-) of a list the same indentation"
        ),
        ("gateway:\n  name: @x\n", "2:9: a value can't start with @ without quotes; quote it"),
        ("gateway: {name: &}\n", "1:17: a value starts with & or *, which have a meaning in YAML; quote it"),
        (
            "gateway:\n  name: \"\\q\"\n",
            "2:10: unknown escape after a backslash in double quotes; write \\\\, or use single quotes"
        ),
        (
            "conditions: - identifier: a\n",
            "1:13: unexpected list entry (-); start the list on a separate, indented line"
        ),
        ("gateway:\n  name: |0\n", "2:9: a value starts with | or >, which have a meaning in YAML; quote it"),
        ("gateway:\n  name: !<x\n", "2:9: a value starts with !, which has a meaning in YAML; quote it"),
        (
            "%YAML 1.3\n---\na: b\n",
            "1:1: the line starts with %, a YAML directive; remove the line, or quote the value"
        ),
        (
            "conditions: []\n---\nconditions: []\n",
            "2:1: a second document starts here; a configuration has one document; remove the ---"
        ),
        (
            "conditions: []\n...\nx: 1\n",
            "3:1: unexpected text after the end of the configuration; check the indentation, and remove a line of three dots"
        ),
        ("a\u{0}b", "1:2: the file contains the control character U+0000; remove it"),
        ("a: \u{7F}", "1:4: the file contains the control character U+007F; remove it"),
        ("a: b\u{2028}", "1:5: the file contains the invisible character U+2028; remove it"),
        ("a: \u{FEFF}", "1:4: the file contains the invisible character U+FEFF; remove it"),
    ])
    func `invalid YAML is an error with its position and a correction`(text: String, expected: String) {
        #expect(errors(text) == ["g.yaml:\(expected)"])
    }

    @Test func `aliases, anchors, tags and merge keys are refused, each at its position`() {
        #expect(
            errors("gateway:\n  name: *x\nconditions: &c []\nmqtt: !!map {host: !x y}\n<<: *y\n") == [
                "g.yaml:2:9: an alias (*) is not supported; write the value itself, set a default under monitor, or quote a value that starts with *",
                "g.yaml:3:13: an anchor (&) is not supported; remove it, or quote a value that starts with &",
                "g.yaml:4:7: a tag (!) is not supported; remove it, because each setting has its own type, or quote a value that starts with !",
                "g.yaml:4:20: a tag (!) is not supported; remove it, because each setting has its own type, or quote a value that starts with !",
                "g.yaml:5:1: a merge key (<<) is not supported; set defaults under monitor",
                "g.yaml:5:5: an alias (*) is not supported; write the value itself, set a default under monitor, or quote a value that starts with *",
            ])
    }

    @Test func `a list or a map as a key is refused`() {
        #expect(
            errors("conditions: []\n? [a]\n: b\n{a}: c\n") == [
                "g.yaml:2:3: expected a key instead of a list or map; write key: value",
                "g.yaml:4:1: expected a key instead of a list or map; write key: value",
            ])
    }

    @Test
    func `values before a syntax error are checked, and keys after it are not reported as missing`() {
        #expect(
            errors("mqtt:\n  port: 70000\nmonitor:\n  exit_rssi: -80\n  name: \"x") == [
                "g.yaml:2:3: mqtt has no host; add the host of the broker, or remove mqtt to write only files",
                "g.yaml:2:9: mqtt.port is 70000; expected 1…65535",
                "g.yaml:5:9: a quotation mark is not closed; close it, or double a quotation mark that is part of the value",
            ])
    }

    @Test func `a node has 16 bytes, so that many conditions fit`() {
        #expect(MemoryLayout<Document.Node>.stride == 16)
    }

    @Test(arguments: [[0xFF, 0xFE, 0x61, 0x00], [0xFE, 0xFF, 0x00, 0x61]])
    func `the error for UTF-16 names the encoding`(bytes: [UInt8]) {
        #expect(errors(bytes) == ["g.yaml:1:1: the file is UTF-16; save it as UTF-8"])
    }

    @Test(arguments: [
        [0xFF], [0xC3], [0xC3, 0x28], [0xC0, 0x80], [0xE2, 0x82], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80],
        [0xF8, 0x88, 0x80, 0x80],
        [0x80], [0xE0, 0x80, 0x80], [0xF0, 0x80, 0x80, 0x80],
    ])
    func `invalid UTF-8 is an error with its position`(bytes: [UInt8]) {
        #expect(errors(Array("a: ".utf8) + bytes) == ["g.yaml:1:4: the file is not UTF-8 here; save it as UTF-8"])
    }

    @Test func `a byte order mark is skipped and does not count for columns`() throws {
        #expect(
            errors([0xEF, 0xBB, 0xBF] + Array("conditions: []\nx: 1".utf8)).map { $0.prefix(11) } == ["g.yaml:2:1:"])
        #expect(
            errors([0xEF, 0xBB, 0xBF] + Array("x: 1\nconditions: []".utf8)).map { $0.prefix(11) } == ["g.yaml:1:1:"])
    }

    @Test func `tabs between words are accepted`() throws {
        #expect(
            try configuration("conditions:\t\n  - identifier:\ta\t# b\n    uuid: 00000000000000000000000000000000\n")
                .monitors[0].conditions.count == 1)
    }

    @Test(arguments: [("{", "}"), ("[", "]")])
    func `16 levels are accepted, 17 are an error`(open: String, close: String) {
        // Level 1 is the map of the file, and level 2 is the value of `a`.
        func nested(_ levels: Int) -> String {
            let inner = open == "{" ? "{a: " : "["
            return "conditions: []\na: " + String(repeating: inner, count: levels - 1) + "1"
                + String(repeating: close, count: levels - 1)
        }
        #expect(!errors(nested(16)).joined().contains("deep"))
        #expect(
            errors(nested(17)).joined().contains("the nesting is more than 16 deep; no setting needs so many levels"))
        #expect(errors(nested(100_000)).joined().contains("the nesting is more than 16 deep"))
    }

    @Test func `a file above 64 MiB is refused without being read`() {
        let bytes = [UInt8](repeating: 0x0A, count: SourceText.lengthMost + 1)
        #expect(errors(bytes) == ["g.yaml:1:1: the file has 67108865 bytes; expected at most 64MiB"])
    }
}
