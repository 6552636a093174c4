import BeaconMonitoring
import BluetoothLE
import Testing

@testable import GatewayConfiguration

@Suite struct RelationTests {
    private func settings(_ text: String) throws -> ConditionSettings {
        try configuration(text).monitors[0].conditions[0].settings
    }

    @Test func `a condition inherits the settings of its monitor, and can override them`() throws {
        let monitor =
            "monitor: {exit_timeout: 20s, enter_count: 2, enter_window: 5s, enter_rssi: -70, exit_rssi: -80, per_beacon: true, ranging: true, outage_timeout: 90s}"
        let inherited = try configuration(condition("", monitor: monitor)).monitors[0].conditions[0]
        #expect(inherited.settings.exitTimeout == .seconds(20))
        #expect(inherited.settings.enterCount == 2)
        #expect(inherited.settings.enterWindow == .seconds(5))
        #expect(inherited.settings.enterRSSI == RSSI(dBm: -70))
        #expect(inherited.settings.exitRSSI == RSSI(dBm: -80))
        #expect(inherited.settings.perBeacon)
        #expect(inherited.ranging)
        let own = try configuration(
            condition(
                "exit_timeout: 21s\nenter_count: 3\nenter_window: 6s\nenter_rssi: -71\nexit_rssi: -81\nper_beacon: false\nranging: false",
                monitor: monitor)
        ).monitors[0].conditions[0]
        #expect(own.settings.exitTimeout == .seconds(21))
        #expect(own.settings.enterCount == 3)
        #expect(own.settings.enterWindow == .seconds(6))
        #expect(own.settings.enterRSSI == RSSI(dBm: -71))
        #expect(own.settings.exitRSSI == RSSI(dBm: -81))
        #expect(!own.settings.perBeacon)
        #expect(!own.ranging)
        #expect(own.position == Position(line: 3, column: 5))
    }

    @Test(arguments: MonitoringPlace.listedMonitor.keys.filter { !MonitoringPlace.condition.keys.contains($0) })
    func `a setting that only a monitor can have is an error in a condition`(key: MonitoringKey) {
        #expect(
            errors(condition("\(key.name): 1")) == [
                "g.yaml:5:5: conditions.\(key.name) is not allowed here; it is only a setting of the monitor"
            ])
    }

    @Test func `X1: exit_rssi must have an enter_rssi, and must not be above it`() throws {
        #expect(try settings(condition("enter_rssi: -80\nexit_rssi: -80")).exitRSSI == RSSI(dBm: -80))
        #expect(
            errors(condition("enter_rssi: -80\nexit_rssi: -79")) == [
                "g.yaml:6:16: conditions.exit_rssi is -79; expected at most enter_rssi, -80"
            ])
        #expect(
            errors(condition("exit_rssi: -90")) == [
                "g.yaml:5:16: conditions.exit_rssi needs an enter_rssi; add one that is at least -90"
            ])
        #expect(try settings(condition("enter_rssi: -80")).exitRSSI == nil)
    }

    @Test func `X1: a setting of a condition is checked together with the inherited ones`() throws {
        #expect(
            errors(condition("exit_rssi: -79", monitor: "monitor: {enter_rssi: -80}")) == [
                "g.yaml:5:16: conditions.exit_rssi is -79; expected at most enter_rssi, -80"
            ])
        #expect(
            try settings(condition("exit_rssi: -80", monitor: "monitor: {enter_rssi: -80}")).exitRSSI == RSSI(dBm: -80))
        #expect(
            errors(condition("enter_rssi: -91", monitor: "monitor: {enter_rssi: -80, exit_rssi: -90}"))
                == ["g.yaml:5:17: conditions.enter_rssi is -91; expected at least exit_rssi, -90"])
        // The monitor's own pair does not matter if each condition completes it.
        #expect(
            try settings(condition("enter_rssi: -80", monitor: "monitor: {exit_rssi: -90}")).exitRSSI == RSSI(dBm: -90))
        #expect(
            errors(condition("", monitor: "monitor: {exit_rssi: -90}")) == [
                "g.yaml:1:22: monitor.exit_rssi needs an enter_rssi; add one that is at least -90"
            ])
        #expect(
            errors(condition("", monitor: "monitor: {enter_rssi: -91, exit_rssi: -90}")) == [
                "g.yaml:1:39: monitor.exit_rssi is -90; expected at most enter_rssi, -91"
            ])
    }

    @Test(arguments: [("-127", true), ("-128", false), ("20", true), ("21", false)])
    func `C7: enter_rssi must be from -127 to 20`(text: String, isGood: Bool) {
        #expect(
            errors(condition("enter_rssi: \(text)"))
                == (isGood ? [] : ["g.yaml:5:17: conditions.enter_rssi is \(text); expected -127…20"]))
    }

    @Test(arguments: [("1", true), ("0", false), ("1000", true), ("1001", false)])
    func `C7: enter_count must be from 1 to 1000`(text: String, isGood: Bool) {
        #expect(
            errors(condition("enter_count: \(text)"))
                == (isGood ? [] : ["g.yaml:5:18: conditions.enter_count is \(text); expected 1…1000"]))
    }

    @Test func `C7: outage_timeout must be above deaf_after`() {
        #expect(errors(file("monitor: {outage_timeout: 20s, deaf_after: 19999ms}")) == [])
        #expect(
            errors(file("monitor: {outage_timeout: 20s, deaf_after: 20s}")) == [
                "g.yaml:1:27: monitor.outage_timeout is 20s; expected above deaf_after, 20s"
            ])
        #expect(
            errors(file("monitor: {deaf_after: 60s}")) == [
                "g.yaml:1:23: monitor.deaf_after is 1m; expected below outage_timeout, 1m"
            ])
        #expect(errors(file("monitor: {outage_timeout: 1s, deaf_after: off, enter_window: 1s}")) == [])
    }

    @Test
    func `C7: if deaf_after is not set, outage_timeout must be above its live default, but not in a replay`() {
        let text = file("monitor: {outage_timeout: 10s}")
        #expect(errors(text) == ["g.yaml:1:27: monitor.outage_timeout is 10s; expected above deaf_after, 10s"])
        #expect(errors(text, deafAfterUnlessSet: nil) == [])
    }

    @Test func `C7: outage_timeout must be at least each enter_window`() {
        #expect(errors(file("monitor: {enter_window: 60s}")) == [])
        #expect(
            errors(file("monitor: {enter_window: 61s}")) == [
                "g.yaml:1:25: monitor.enter_window is 61s; expected at most outage_timeout, 1m"
            ])
        #expect(
            errors(file("monitor: {outage_timeout: 9s, deaf_after: 1s}")) == [
                "g.yaml:1:27: monitor.outage_timeout is 9s; expected at least enter_window, 10s"
            ])
        #expect(
            errors(condition("enter_window: 61s")) == [
                "g.yaml:5:19: conditions.enter_window is 61s; expected at most outage_timeout, 1m"
            ])
        // The monitor's own window does not matter if each condition has its own.
        #expect(errors(condition("enter_window: 5s", monitor: "monitor: {enter_window: 61s}")) == [])
    }

    @Test func `C7: forget_after must be above outage_timeout`() {
        #expect(errors(file("monitor: {forget_after: 60001ms}")) == [])
        #expect(
            errors(file("monitor: {forget_after: 60s}")) == [
                "g.yaml:1:25: monitor.forget_after is 1m; expected above outage_timeout, 1m"
            ])
        #expect(
            errors(file("monitor: {outage_timeout: 1d}")) == [
                "g.yaml:1:27: monitor.outage_timeout is 1d; expected below forget_after, 1d"
            ])
    }

    @Test func `L5: a deaf_after that is not below an exit_timeout is a warning`() throws {
        func warnings(_ text: String, unlessSet: Duration? = .seconds(10)) throws -> [String] {
            try configuration(text, deafAfterUnlessSet: unlessSet).warnings.map(\.description)
        }
        #expect(try warnings(condition("exit_timeout: 10001ms")) == [])
        let own =
            "g.yaml:5:19: conditions.exit_timeout is 10s, and deaf_after (10s) is not below it; if an adapter receives nothing, the beacons that only it holds exit before it counts as out of order; lower deaf_after"
        #expect(try warnings(condition("exit_timeout: 10s")) == [own])
        #expect(try warnings(condition("exit_timeout: 10s"), unlessSet: nil) == [])
        #expect(try warnings(condition("exit_timeout: 10s", monitor: "monitor: {deaf_after: off}")) == [])
        #expect(
            try warnings(file("monitor: {deaf_after: 30s}")).map { $0.prefix(44) } == [
                "g.yaml:1:23: monitor.exit_timeout is 30s, an"
            ])
        #expect(
            try warnings(file("monitor: {exit_timeout: 5s}")).map { $0.prefix(43) } == [
                "g.yaml:1:25: monitor.exit_timeout is 5s, an"
            ])
        #expect(try warnings(condition("exit_timeout: 11s", monitor: "monitor: {exit_timeout: 5s}")) == [])
    }

    @Test func `C5: a circle without a location source is a warning`() throws {
        let circle = "conditions:\n- identifier: a\n  center: [1, 2]\n  radius: 3\n"
        #expect(
            try configuration(circle).warnings.map(\.description)
                == [
                    "g.yaml:2:3: this circle will be unmonitored because the file has no location source; add location, or remove the circle"
                ])
        #expect(
            try configuration("location: {source: gpx, file: /a, speed: 2, loop: true}\n" + circle).warnings.map(
                \.description)
                == [
                    "g.yaml:5:11: conditions.radius is 3, less than the accuracy of the location source; the circle is entered only at a fix whose accuracy is at most the radius; set a radius of 5 m or more"
                ])
    }

    @Test(arguments: [
        ("gpsd", "19.9", false), ("gpsd", "20", true), ("gpx, file: /a", "4.9", false), ("gpx, file: /a", "5", true),
    ])
    func `G2: a radius below the source's accuracy is a warning`(source: String, radius: String, isGood: Bool) throws {
        let text = "location: {source: \(source)}\nconditions:\n- {identifier: a, center: [1, 2], radius: \(radius)}\n"
        let made = try configuration(text)
        #expect(made.warnings.isEmpty == isGood)
    }

    @Test func `a track can have a speed, a loop and a pace within bounds, and gpsd cannot`() throws {
        let rest = "\nconditions:\n- {identifier: a, center: [1, 2], radius: 30}\n"
        let made = try configuration("location: {source: gpx, file: /a.gpx, speed: 0.5, loop: true, pace: 14}" + rest)
        var track = GPXConfiguration(file: "/a.gpx")
        (track.speed, track.loops, track.pace) = (0.5, true, 14)
        #expect(made.location == .gpx(track))
        #expect(made.liveEngineSettings.locationSource == "gpx")
        #expect(errors("location: {source: gpsd, speed: 2, loop: true, pace: 3}" + rest).count == 3)
        for pace in ["0", "0.009", "1000.1", "-1", "fast"] {
            #expect(errors("location: {source: gpx, file: /a, pace: \(pace)}" + rest).count == 1)
        }
    }

    @Test(arguments: [
        ("[90, 180]", true), ("[-90, -180]", true), ("[90.0001, 0]", false), ("[0, -180.5]", false),
        ("[nan, 0]", false),
        ("[inf, 0]", false), ("[0x1, 0]", false), ("[1, 2, 3]", false), ("1, 2", false), ("{latitude: 1}", false),
    ])
    func `a center must be a valid latitude and longitude`(text: String, isGood: Bool) {
        #expect(errors("conditions:\n- identifier: a\n  center: \(text)\n  radius: 3\n").isEmpty == isGood)
    }

    @Test(arguments: [("0.001", true), ("0", false), ("-1", false), ("1e400", false), ("2e3", true), ("nan", false)])
    func `a radius must be a number above 0`(text: String, isGood: Bool) {
        #expect(errors("conditions:\n- identifier: a\n  center: [1, 2]\n  radius: \(text)\n").isEmpty == isGood)
    }

    @Test func `a circle does not inherit settings of beacons, and ranging there is a warning`() throws {
        let made = try configuration(
            "monitor: {per_beacon: true, exit_rssi: -90, enter_rssi: -80, ranging: true}\nconditions:\n- identifier: a\n  center: [1, 2]\n  radius: 3\n  ranging: true\n"
        )
        let circle = made.monitors[0].conditions[0]
        #expect(circle.settings == ConditionSettings())
        #expect(!circle.ranging)
        #expect(
            made.warnings.map { $0.description }.contains(
                "g.yaml:6:3: conditions.ranging is not a setting of a circle; remove it"))
    }

    @Test func `C6: identifiers must be unique over all monitors, compared by bytes`() throws {
        #expect(
            errors(
                """
                monitors:
                - name: north
                  conditions: [{identifier: a, uuid: 00000000000000000000000000000000}]
                - name: south
                  conditions: [{identifier: a, uuid: 00000000000000000000000000000001}]
                """) == [
                    "g.yaml:5:29: the identifier a is already used by the condition at line 3; identifiers are unique over all monitors; choose another"
                ])
        let made = try configuration(
            "conditions:\n- {identifier: \"\\u00e9\", uuid: 00000000000000000000000000000000}\n- {identifier: \"e\\u0301\", uuid: 00000000000000000000000000000000}\n"
        )
        #expect(made.monitors[0].conditions.count == 2)
    }

    @Test(arguments: ["a/b", "a+b", "'a#b'", ".", "..", "''", "\"a\\tb\"", "\"\\x85\""])
    func `C6: an invalid identifier is also invalid as a name`(text: String) {
        #expect(errors(file("gateway: {name: \(text)}")).count == 1)
        #expect(errors(file("monitor: {name: \(text)}")).count == 1)
        #expect(errors(condition("").replacing("identifier: a", with: "identifier: \(text)")).count == 1)
    }

    @Test(arguments: [(128, true), (129, false)])
    func `C6: the name of a gateway must have at most 128 bytes`(count: Int, isGood: Bool) {
        let name = String(repeating: "ä", count: count / 2) + (count % 2 == 1 ? "a" : "")
        #expect(errors(file("gateway: {name: \(name)}")).isEmpty == isGood)
    }

    @Test func `monitors replaces monitor and conditions, and must not be used together with them`() throws {
        let entry = "monitors:\n- conditions: []\n"
        #expect(try configuration(entry).monitors.map(\.name.text) == ["site"])
        #expect(
            errors(entry + "conditions: []\n")
                == ["g.yaml:3:1: conditions is not allowed together with monitors; move them into an entry of monitors"]
        )
        #expect(
            errors(entry + "monitor: {}\n").first
                == "g.yaml:3:1: monitor is not allowed together with monitors; move it to an entry of monitors")
        #expect(errors("monitors: []\n") == ["g.yaml:1:11: monitors is empty; add a monitor with conditions"])
        #expect(
            errors("monitors:\n- name: a\n") == [
                "g.yaml:2:3: this monitor has no conditions; add conditions: and a list of them"
            ])
    }

    @Test func `names of monitors must be unique`() {
        let found = errors(
            "monitors:\n- name: a\n  conditions: []\n- name: a\n  conditions: []\n- conditions: []\n- conditions: []\n")
        #expect(
            found == [
                "g.yaml:4:9: the name a is already used by the monitor at line 2; give each monitor its own name",
                "g.yaml:7:3: the name site, which is the default, is already used by the monitor at line 6; give each monitor its own name",
            ])
    }

    @Test(arguments: [
        ("deaf_after", "10s", "11s"), ("deaf_after", "off", "11s"), ("condition_limit", "20", "0"),
        ("max_beacons", "5", "6"),
        ("max_new_beacons", "0", "6"),
    ])
    func `settings of the whole gateway must not differ between monitors`(key: String, first: String, second: String) {
        func text(_ second: String) -> String {
            "monitors:\n- name: a\n  \(key): \(first)\n  conditions: []\n- name: b\n  \(second)\n  conditions: []\n"
        }
        #expect(errors(text("\(key): \(first)")) == [])
        // A monitor without the setting has the value of the other one.
        #expect(errors(text("exit_timeout: 30s")) == [])
        let column = key.count + 5
        #expect(
            errors(text("\(key): \(second)"))
                == [
                    "g.yaml:6:\(column): monitors.\(key) differs from the one at line 3; it applies to the whole gateway; set it once, or to the same value"
                ])
    }

    @Test func `C1: the assumed state must be unknown, satisfied or unsatisfied`() throws {
        for (text, state) in [
            ("unknown", BeaconMonitor.Event.State.unknown), ("satisfied", .satisfied), ("unsatisfied", .unsatisfied),
        ] {
            #expect(try configuration(condition("assuming: \(text)")).monitors[0].conditions[0].assuming == state)
        }
        #expect(
            errors(condition("assuming: unmonitored")) == [
                "g.yaml:5:15: conditions.assuming is unmonitored; expected unknown, satisfied or unsatisfied"
            ])
    }

    @Test func `a password that is sent without TLS is a warning, unless the broker is on this machine`() throws {
        func count(_ mqtt: String) throws -> Int { try configuration(file("mqtt: {\(mqtt)}")).warnings.count }
        #expect(try count("host: broker, username: u") == 1)
        #expect(try count("host: broker, username: u, tls: false") == 1)
        #expect(try count("host: broker, username: u, tls: true") == 0)
        #expect(try count("host: localhost, username: u") == 0)
        #expect(try count("host: broker") == 0)
    }

    @Test func `topics with more than 7 slashes or 256 bytes are a warning`() throws {
        func warnings(_ mqtt: String, gateway: String = "lobby", _ condition: String) throws -> [String] {
            try configuration(
                """
                gateway: {name: \(gateway)}
                mqtt: {host: localhost, \(mqtt)}
                conditions:
                  - {uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E, \(condition)}
                  - {uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E, identifier: b}

                """
            ).warnings.map(\.description)
        }
        let each = "per_beacon: true, identifier: "
        // `a/b/g/event/c/UUID/1/2` has 7 slashes.
        #expect(try warnings("prefix: a/b", each + "c") == [])
        #expect(
            try warnings("prefix: a/b/c", each + "c") == [
                "g.yaml:4:5: topics of c have up to 8 slashes; AWS IoT Core takes at most 7; shorten mqtt.prefix or names, or ignore this with another broker"
            ])
        #expect(try warnings("prefix: a/b/c", "identifier: c") == [])
        #expect(
            try warnings("prefix: a/b/c/d/e/f/g", "identifier: c").first?.contains("c (and 1 more) have") == true)
        #expect(try warnings("home_assistant: true, home_assistant_prefix: a/b/c/d", each + "c") == [])
        #expect(try warnings("home_assistant: true, home_assistant_prefix: a/b/c/d/e", each + "c").count == 1)
        // `p/GATEWAY/visit/c/UUID/65535/65535` has 2 + 128 + 7 + 70 + 49 bytes.
        let (name, long) = (String(repeating: "g", count: 128), String(repeating: "c", count: 70))
        #expect(try warnings("prefix: p", gateway: name, each + long) == [])
        #expect(try warnings("prefix: p", gateway: name, each + long + "c").first?.contains("257 bytes") == true)
        #expect(try warnings("prefix: p", gateway: name, "identifier: c" + long) == [])
        // In discovery topics, a space counts as 3 bytes.
        let blanks = "\"x" + String(repeating: " x", count: 40) + "\""
        #expect(try warnings("prefix: p, home_assistant: true", each + blanks).count == 1)
        #expect(try warnings("prefix: p", each + blanks) == [])
    }

    @Test func `home_assistant_trackers must be state or zones, and is state if it is not set`() throws {
        func trackers(_ mqtt: String) throws -> MQTTConfiguration.HomeAssistantTrackers? {
            try configuration(file("mqtt: {host: localhost\(mqtt)}")).mqtt?.homeAssistantTrackers
        }
        #expect(try trackers("") == .state)
        #expect(try trackers(", home_assistant_trackers: state") == .state)
        #expect(try trackers(", home_assistant_trackers: zones") == .zones)
        #expect(
            errors(file("mqtt: {host: localhost, home_assistant_trackers: gps}")) == [
                "g.yaml:1:50: mqtt.home_assistant_trackers is gps; expected state or zones"
            ])
    }

    @Test func `if the port is not set, it is 8883 with TLS and 1883 without`() throws {
        func port(_ mqtt: String) throws -> UInt16? { try configuration(file("mqtt: {host: b, \(mqtt)}")).mqtt?.port }
        #expect(try port("tls: false") == 1883)
        #expect(try port("tls: true") == 8883)
        #expect(try port("tls: {ca_file: /a}") == 8883)
        #expect(try port("tls: true, port: 5") == 5)
    }
}
