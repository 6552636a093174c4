import Testing

@testable import GatewayConfiguration

@Suite struct ConfigurationIssueTests {
    @Test func `an error has the file, line, column, setting, value and the expected value`() {
        #expect(
            errors(
                """
                gateway:
                  name: lobby
                scanner:
                  backend: auto
                location:
                  source: gpsd
                monitor:
                  name: site
                output:
                  envelope: true
                mqtt:
                  host: broker.example
                  tls: true
                  port: 70000
                conditions: []
                """) == ["g.yaml:14:9: mqtt.port is 70000; expected 1…65535"])
    }

    @Test func `all errors are listed at once, in the order of the file`() {
        #expect(
            errors(
                """
                gatway:
                  name: x
                exit_timeout: 3s
                conditions:
                - identifer: a
                  uuid: 00000000-0000-0000-0000-000000000000
                  deaf_after: 3s
                  host: 5
                monitor:
                  conditions: []
                  major: 5
                  exit-timeout: 5s
                mqtt:
                  pasword_file: x
                  prot: 4
                  port: 70000
                """) == [
                    "g.yaml:1:1: the key gatway is unknown; did you mean “gateway”?",
                    "g.yaml:3:1: the key exit_timeout is unknown; it belongs to monitor, conditions or monitors",
                    "g.yaml:5:3: the key identifer in conditions is unknown; did you mean “identifier”?",
                    "g.yaml:5:3: this condition has no identifier; give it one, unique in the file",
                    "g.yaml:7:3: conditions.deaf_after is not allowed here; it is only a setting of the monitor",
                    "g.yaml:8:3: the key host in conditions is unknown; it belongs to location or mqtt",
                    "g.yaml:10:3: monitor.conditions is not allowed here; move conditions to the top level of the file, next to monitor",
                    "g.yaml:11:3: monitor.major is not allowed here; it is a setting of a condition",
                    "g.yaml:12:3: the key exit-timeout in monitor is unknown; did you mean “exit_timeout”?",
                    "g.yaml:14:3: the key pasword_file in mqtt is unknown; did you mean “password_file”?",
                    "g.yaml:14:3: mqtt has no host; add the host of the broker, or remove mqtt to write only files",
                    "g.yaml:15:3: the key prot in mqtt is unknown; did you mean “port”?",
                    "g.yaml:16:9: mqtt.port is 70000; expected 1…65535",
                ])
    }

    @Test func `if a value has another kind than expected, the error names both`() {
        #expect(
            errors(
                """
                monitor: site
                gateway: [x]
                conditions: 5
                output: {directory: events, durability: always, retain_size: 1MiB, envelope: [1]}
                scanner: {adapters: hci0, canary: {minor: 3}, backend: bluez}
                location: {source: gpx, port: 5}
                mqtt: {host: "mqtt://b:1883", tls: maybe, client_id: "", prefix: /a/#, keep_alive: 5.5s}
                """) == [
                    "g.yaml:1:10: monitor is a single value; expected a map, key: value",
                    "g.yaml:2:10: gateway is a list; expected a map, key: value",
                    "g.yaml:3:13: conditions is a single value; expected a list, such as - identifier: lobby",
                    "g.yaml:4:21: output.directory is events; expected an absolute path of at most 4095 bytes, such as /var/lib/…",
                    "g.yaml:4:41: output.durability is always; expected event, or a duration such as 1s",
                    "g.yaml:4:62: output.retain_size is 1MiB; expected at least rotate_size, 64MiB",
                    "g.yaml:4:78: output.envelope is a list; expected a single value",
                    "g.yaml:5:21: scanner.adapters is a single value; expected a list, such as [hci0]",
                    "g.yaml:5:35: scanner.canary has no uuid; add the UUID of the beacon",
                    "g.yaml:5:43: scanner.canary.minor needs a major; add the major, or remove the minor",
                    "g.yaml:5:56: scanner.backend is bluez; expected auto, management, dbus or hci",
                    "g.yaml:6:20: location.source gpx needs a file; add file: /path/to/track.gpx",
                    "g.yaml:6:31: location.port is not a setting of source gpx; remove it",
                    "g.yaml:7:14: mqtt.host is mqtt://b:1883; expected only the host, without a scheme and a port",
                    "g.yaml:7:36: mqtt.tls is maybe; expected true or false",
                    "g.yaml:7:54: mqtt.client_id is “”; expected 1 to 255 bytes without control characters",
                    "g.yaml:7:66: mqtt.prefix is /a/#; expected one or more levels, separated by /, without + and #, and not starting with $",
                    "g.yaml:7:84: mqtt.keep_alive is 5.5s; expected whole seconds",
                ])
    }

    @Test func `the error for a condition names the part that is missing or invalid`() {
        #expect(
            errors(
                """
                conditions:
                - identifier: a
                - identifier: b
                  center: [100, x]
                - identifier: c
                  center: [1]
                  radius: -5
                - identifier: d/e
                  uuid: 5
                  radius: 5
                - identifier: "e\\u0007"
                  minor: 5
                - x
                -
                - uuid: 00000000000000000000000000000000
                """) == [
                    "g.yaml:2:3: this condition has nothing to monitor; give it a uuid, or a center and a radius",
                    "g.yaml:3:3: this condition has a center but no radius; add radius, in metres",
                    "g.yaml:4:12: the latitude of conditions.center is 100; expected −90…90 degrees",
                    "g.yaml:4:17: the longitude of conditions.center is x; expected a decimal number, with a point before the fraction",
                    "g.yaml:6:11: conditions.center has 1 entries; expected two, such as [48.2082, 16.3738], latitude and longitude in degrees",
                    "g.yaml:7:11: conditions.radius is -5; expected a number of metres above 0",
                    "g.yaml:8:15: conditions.identifier is d/e; “/” has a meaning in topics; expected 1 to 128 bytes without /, +, # and control characters",
                    "g.yaml:9:9: conditions.uuid is 5; expected 32 hexadecimal digits, such as F7826DA6-4FA2-4E98-8024-BC5B71E0893E; found 1",
                    "g.yaml:10:3: this condition has a uuid and a circle; split it into two conditions",
                    "g.yaml:11:3: this condition has nothing to monitor; give it a uuid, or a center and a radius",
                    "g.yaml:11:15: conditions.identifier is “e⟨U+0007⟩”; it has the control character U+7; expected 1 to 128 bytes without /, +, # and control characters",
                    "g.yaml:12:10: conditions.minor needs a major; add the major, or remove the minor",
                    "g.yaml:13:3: an entry of conditions is a single value; expected a map, key: value",
                    "g.yaml:14:2: an entry of conditions has no value; add a value, or remove the line",
                    "g.yaml:15:3: this condition has no identifier; give it one, unique in the file",
                ])
    }

    @Test func `a key that occurs twice is an error that names the first one`() {
        #expect(
            errors(file("gateway:\n  name: a\n  name: b\ngateway: {}")) == [
                "g.yaml:3:3: gateway.name occurs twice; the first is at line 2; remove one",
                "g.yaml:4:1: gateway occurs twice; the first is at line 1; remove one",
            ])
    }

    @Test(arguments: ["password: hunter2", "passwd: hunter2", "Password: hunter2", "secret: 'hunter2'"])
    func `a secret in the file is refused, and not repeated in the error`(line: String) {
        let found = errors(file("mqtt:\n  host: b\n  \(line)"))
        #expect(found.count == 1)
        #expect(found[0].hasSuffix("is unknown; secrets are only read from a file; set mqtt.password_file"))
        #expect(!found[0].contains("hunter2"))
    }

    @Test(arguments: [
        "mqtt: {host: b, username: u, password_file: hunter2}", "mqtt: {host: b, password=hunter2}",
        "mqtt:\n  password hunter2",
    ])
    func `a secret in a wrong place is not repeated in the error`(text: String) {
        let found = errors(file(text))
        #expect(!found.isEmpty)
        #expect(!found.joined().contains("hunter2"))
    }

    @Test(arguments: ["", "\n", "# nothing\n", "---\n", "~"])
    func `the error for an empty file names the required key`(text: String) {
        #expect(errors(text).map { $0.drop { $0 != " " } } == [" the file is empty; it needs conditions, a list"])
    }

    @Test func `only conditions are required`() throws {
        #expect(
            errors("gateway: {name: a}\n") == [
                "g.yaml:1:1: conditions are missing; add conditions: and a list of them"
            ])
        #expect(errors("[]") == ["g.yaml:1:1: the file is a list; expected a map, key: value"])
        let made = try configuration("conditions: []\n")
        #expect(made.monitors.map(\.name.text) == ["site"])
        #expect(made.mqtt == nil)
        #expect(made.location == nil)
        #expect(made.output == OutputConfiguration())
        #expect(made.scanner == ScannerConfiguration())
        #expect(made.warnings.map(\.description) == ["g.yaml:1:13: conditions is empty; nothing is monitored"])
    }

    @Test(arguments: [(200, 0), (201, 1), (5000, 4800)])
    func `the first 200 errors are listed, and the others are counted`(count: Int, more: Int) {
        let text = "conditions: []\n" + (0..<count).map { "x\($0): 1\n" }.joined()
        let found = errors(text)
        #expect(found.count == min(count, 200) + (more > 0 ? 1 : 0))
        #expect(found[0].hasPrefix("g.yaml:2:1: the key x0 is unknown"))
        #expect(found[199].hasPrefix("g.yaml:201:1: the key x199 is unknown"))
        #expect(more == 0 || found.last == "and \(more) more")
    }

    @Test func `columns count characters, lines end with LF, CR LF or CR`() {
        #expect(
            errors("größe: {ä: 1}\r\nconditions: []\rx: 1").map { $0.prefix(10) } == ["g.yaml:1:1", "g.yaml:3:1"])
        #expect(errors(file("gateway: {'ä': 1, b: 2}")).map { $0.prefix(12) } == ["g.yaml:1:11:", "g.yaml:1:19:"])
    }

    @Test func `a text in an error is short, and its control characters are escaped`() {
        let long = errors(file("gateway:\n  name: \"\\e[31m\(String(repeating: "x", count: 500))\""))
        #expect(long.count == 1)
        #expect(long[0].contains("“⟨U+001B⟩[31mxxx"))
        #expect(!long[0].unicodeScalars.contains("\u{1B}"))
        #expect(long[0].count < 300)
    }
}
