import BaseTypes
import BeaconMonitoring
import BluetoothLE
import Testing

@testable import GatewayConfiguration

/// `beacons:` gives beacons names, and `unnamed` decides about beacons without one.
@Suite struct BeaconNamesTests {
    private static let badges = ProximityUUID("F7826DA6-4FA2-4E98-8024-BC5B71E0893E")
    private static let others = "2F234454-CF6D-4A0F-ADF2-F4911BA9FFA6"
    private static let twoUUIDs = """

        conditions:
          - {identifier: a, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E}
          - {identifier: b, uuid: 2F234454-CF6D-4A0F-ADF2-F4911BA9FFA6, major: 1}
        """

    // MARK: The list

    @Test func `a list names beacons, without a UUID if the conditions have only one`() throws {
        let made = try configuration(
            file(
                """
                beacons:
                  - {major: 1, minor: 17, name: "Ada L.", group: staff}
                  - {uuid: \(Self.others), major: 0, minor: 65535, name: 007}
                """))
        let badges = try #require(Self.badges)
        #expect(made.beacons.count == 2)
        let first = made.beacons[BeaconIdentity(uuid: badges, major: 1, minor: 17)]
        #expect(first?.name == "Ada L." && first?.group == "staff")
        let others = try #require(ProximityUUID(Self.others))
        let second = made.beacons[BeaconIdentity(uuid: others, major: 0, minor: 65535)]
        #expect(second?.name == "007" && second?.group == nil)
        #expect(made.beacons.beacons == Set(made.beacons.all.map(\.beacon)))
        // The two warnings: the only condition does not have `per_beacon`, and it does not match the second beacon's
        // UUID.
        #expect(made.beaconsFile == nil && made.warnings.count == 2)
    }

    @Test func `each error in a list has its line`() {
        let found = errors(
            """
            beacons:
              - {minor: 17, name: Ada}
              - {major: 1, minor: 70000, name: Ada}
              - {uuid: 77, major: 1, minor: 1, name: "", colour: red}
              - {major: 1, minor: 17, name: Ada, file: x}
              - Ada
            """ + Self.twoUUIDs)
        #expect(
            found == [
                "g.yaml:2:5: this beacon has no major; add it",
                "g.yaml:2:5: this beacon has no uuid; "
                    + "add it: the conditions have 2 different UUIDs, so there is no default",
                "g.yaml:3:5: this beacon has no uuid; "
                    + "add it: the conditions have 2 different UUIDs, so there is no default",
                "g.yaml:3:23: beacons.minor is 70000; expected 0…65535",
                "g.yaml:4:12: beacons.uuid is 77; expected 32 hexadecimal digits, such as "
                    + "F7826DA6-4FA2-4E98-8024-BC5B71E0893E; found 2",
                "g.yaml:4:42: beacons.name is “”; expected 1 to 128 bytes without control characters",
                "g.yaml:4:46: the key colour in beacons is unknown; expected uuid, major, minor, name or group",
                "g.yaml:5:5: this beacon has no uuid; "
                    + "add it: the conditions have 2 different UUIDs, so there is no default",
                "g.yaml:5:38: beacons.file is not allowed here; it replaces the list",
                "g.yaml:6:5: an entry of beacons is a single value; expected a map, key: value",
            ])
    }

    @Test func `a beacon can have only one name, but two beacons can have the same name`() {
        #expect(
            errors(
                file(
                    """
                    beacons:
                      - {major: 1, minor: 17, name: Ada}
                      - {major: 1, minor: 18, name: Ada}
                      - {major: 1, minor: 17, name: Bob}
                    """))
                == ["g.yaml:4:5: this beacon already has a name at line 2; remove one"])
    }

    @Test func `beacons must be a list or a map with a file`() {
        #expect(
            errors(file("beacons: Ada"))
                == [
                    "g.yaml:1:10: beacons is a single value; expected a list, such as - {major: 1, minor: 17, name: Ada}"
                ])
        #expect(
            errors(file("beacons: {name: Ada}")) == [
                "g.yaml:1:10: beacons is a map without file; add file: and its path, or write a list",
                "g.yaml:1:11: beacons.name is not allowed here; write a list: - {name: …}",
            ])
        #expect(
            errors(file("beacons: {file: \"\"}")) == [
                "g.yaml:1:17: beacons.file is “”; expected a path of at most 4095 bytes, such as "
                    + "/etc/beacon-gateway/beacons.csv"
            ])
    }

    @Test func `more names than places are a warning`() throws {
        let made = try configuration(
            file(
                """
                monitor: {max_beacons: 1, per_beacon: true}
                beacons: [{major: 1, minor: 1, name: a}, {major: 1, minor: 2, name: b}]
                """))
        #expect(
            made.warnings.map(\.description) == [
                "g.yaml:2:10: 2 beacons have names, but max_beacons is 1; "
                    + "if all are present, some are not tracked; raise max_beacons"
            ])
        var other = try configuration(file("monitor: {max_beacons: 1, per_beacon: true}\nbeacons: {file: b.csv}"))
        try other.readBeacons(Array("major,minor,name\n1,1,a\n1,2,b".utf8), file: "b.csv")
        #expect(other.warnings.map(\.line) == [1] && other.warnings.map(\.file) == ["b.csv"])
    }

    // MARK: Names without effect

    private func warnings(_ beacons: String, _ conditions: String) throws -> [String] {
        try configuration("\(beacons)\nconditions:\n\(conditions)\n").warnings.map(\.description)
    }

    private static let uuid = "uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E"
    private static let ada = "beacons: [{major: 1, minor: 2, name: Ada}]"

    @Test func `if no condition has per_beacon, names are a warning`() throws {
        let words =
            "g.yaml:1:10: no condition has per_beacon, so no visit shows a name; "
            + "set per_beacon: true, or remove the names"
        #expect(try warnings(Self.ada, "- {identifier: a, \(Self.uuid)}") == [words])
        #expect(try warnings(Self.ada, "- {identifier: a, \(Self.uuid), per_beacon: true}") == [])
        #expect(try warnings("monitor: {per_beacon: true}\n\(Self.ada)", "- {identifier: a, \(Self.uuid)}") == [])
        #expect(try warnings("beacons: []", "- {identifier: a, \(Self.uuid)}") == [])
        #expect(
            try warnings(Self.ada, "- {identifier: a, \(Self.uuid)}\n- {identifier: b, center: [1, 2], radius: 9}")
                .first == words)
    }

    @Test func `named beacons that match no condition are one warning, at the first of them`() throws {
        let condition = "- {identifier: a, \(Self.uuid), major: 1, per_beacon: true}"
        let hint = "; correct uuid, major or minor, add a condition, or remove the name"
        func names(_ majors: [Int]) -> String {
            "beacons:\n"
                + majors.enumerated().map { "  - {major: \($0.element), minor: 7, name: N\($0.offset)}" }
                .joined(separator: "\n")
        }
        #expect(try warnings(names([1]), condition) == [])
        #expect(
            try warnings(names([1, 2]), condition) == ["g.yaml:3:5: the beacon N1 matches no condition" + hint])
        #expect(
            try warnings(names([2, 1, 3]), condition)
                == ["g.yaml:2:5: 2 beacons with names match no condition: N0, N2" + hint])
        #expect(
            try warnings(names((2...10).map { $0 }), condition) == [
                "g.yaml:2:5: 9 beacons with names match no condition: N0, N1, N2, N3, N4, N5, N6, N7, …" + hint
            ])
        let circle = "- {identifier: b, center: [1, 2], radius: 90}"
        let named = "beacons: [{\(Self.uuid), major: 1, minor: 7, name: N0}]"
        #expect(
            try warnings("location: {source: gpsd}\n\(named)", circle)
                == ["g.yaml:2:11: the beacon N0 matches no condition" + hint])
        #expect(
            try warnings(names([2]), condition + "\n- {identifier: b, \(Self.uuid), major: 2}") == [
                "g.yaml:2:5: the beacon N0 matches only conditions without per_beacon; "
                    + "no visit shows the name; set per_beacon: true there"
            ])
    }

    @Test(arguments: [
        ("refuse", "all sightings are refused, so it is never satisfied"),
        ("ignore", "no beacon has its own events and visits"),
    ])
    func `excluding unnamed beacons is a warning if no named one matches the condition`(policy: String, effect: String)
        throws
    {
        func condition(_ rest: String) -> String { "- {identifier: a, \(Self.uuid), unnamed: \(policy)\(rest)}" }
        let warning =
            "g.yaml:3:3: unnamed is \(policy) for the condition a, but no beacon with a name matches it; \(effect); "
            + "add names under beacons, or set unnamed: track"
        #expect(try warnings("", condition(", per_beacon: true")) == [warning])
        #expect(try warnings(Self.ada, condition(", per_beacon: true, major: 2")).last == warning)
        #expect(try warnings(Self.ada, condition(", per_beacon: true, major: 1, minor: 2")) == [])
        #expect(
            try warnings("", condition("")) == [
                "g.yaml:3:3: unnamed is \(policy), but no condition with it has per_beacon; "
                    + "it has no effect there; set per_beacon: true, or remove it"
            ])
        // Names in a file are known only after the file was read.
        var read = try configuration(
            "beacons: {file: b.csv}\nconditions:\n\(condition(", per_beacon: true, major: 2"))\n")
        #expect(read.warnings == [])
        try read.readBeacons(Array("major,minor,name\n2,7,Ben\n1,2,Ada\n3,2,Eve".utf8), file: "b.csv")
        #expect(
            read.warnings.map(\.description) == [
                "b.csv:3:1: 2 beacons with names match no condition: Ada, Eve; "
                    + "correct uuid, major or minor, add a condition, or remove the name"
            ])
        read = try configuration("beacons: {file: b.csv}\nconditions:\n\(condition(", per_beacon: true"))\n")
        try read.readBeacons(Array("major,minor,name\n".utf8), file: "b.csv")
        #expect(read.warnings.map(\.description) == [warning])
    }

    // MARK: The settings

    @Test func `unnamed is a setting of the monitor or of a condition`() throws {
        let made = try configuration(
            """
            monitor: {unnamed: ignore, per_beacon: true}
            conditions:
              - {identifier: a, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E}
              - {identifier: b, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E, unnamed: refuse}
              - {identifier: c, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E, unnamed: track}
            """)
        #expect(made.monitors[0].conditions.map(\.settings.unnamed) == [.ignore, .refuse, .track])
        #expect(try configuration(file("")).monitors[0].conditions[0].settings.unnamed == .track)
        #expect(
            errors(condition("unnamed: deny"))
                == ["g.yaml:5:14: conditions.unnamed is deny; expected track, ignore or refuse"])
    }

    @Test func `a file of an earlier version can have strangers instead of unnamed`() throws {
        let made = try configuration(
            """
            monitor: {strangers: ignore, per_beacon: true}
            conditions:
              - {identifier: a, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E}
              - {identifier: b, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E, strangers: refuse}
              - {identifier: c, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E, unnamed: track}
            """)
        #expect(made.monitors[0].conditions.map(\.settings.unnamed) == [.ignore, .refuse, .track])
        // Messages have the name that is in the file.
        #expect(
            errors(condition("strangers: deny"))
                == ["g.yaml:5:16: conditions.strangers is deny; expected track, ignore or refuse"])
        #expect(
            errors(condition("unnamed: track\nstrangers: track"))
                == ["g.yaml:6:5: conditions.unnamed occurs twice; the first is at line 5; remove one"])
        // Only the present name is suggested.
        #expect(
            errors(condition("stranger: track")).allSatisfy { !$0.contains("strangers") }
                && errors(condition("unamed: track"))
                    == ["g.yaml:5:5: the key unamed in conditions is unknown; did you mean “unnamed”?"]
        )
    }

    @Test func `P5: max_new_beacons is 2,000 live and 0 in a replay, unless it is set`() throws {
        let unset = try configuration(file(""))
        #expect(unset.liveEngineSettings.maxNewBeacons == 2000)
        #expect(unset.engine.settings(deafAfterUnlessSet: nil).maxNewBeacons == 0)
        for count in [0, 1, 1_000_000] {
            let set = try configuration(file("monitor: {max_new_beacons: \(count)}"))
            #expect(set.liveEngineSettings.maxNewBeacons == count)
            #expect(set.engine.settings(deafAfterUnlessSet: nil).maxNewBeacons == count)
        }
        #expect(
            errors(file("monitor: {max_new_beacons: 1000001}"))
                == ["g.yaml:1:28: monitor.max_new_beacons is 1000001; expected 0…1000000"])
        #expect(
            errors(condition("max_new_beacons: 1"))
                == ["g.yaml:5:5: conditions.max_new_beacons is not allowed here; it is only a setting of the monitor"])
    }
}
