import BaseTypes
import BeaconMonitoring
import BluetoothLE
import Testing

@testable import GatewayConfiguration

@Suite struct ScalarTests {
    @Test(arguments: [
        "no", "true", "1e10", "010", "0123", "0x1F", "1_000", "2026-11-21", ".inf", "12:30:45", "off", "=", "y",
    ])
    func `the schema decides the type of a scalar: an identifier is used as written, quoted or not`(text: String)
        throws
    {
        for spelling in [text, "'\(text)'", "\"\(text)\""] {
            let made = try configuration(condition("").replacing("identifier: a", with: "identifier: \(spelling)"))
            #expect(made.monitors[0].conditions[0].identifier.text == text)
        }
    }

    @Test(arguments: [
        "12345678123456781234567812345678", "12345678-1234-5678-1234-567812345678", "1234567812345678123456781234567e",
        "00000000000000000000000000000010", "abcdefabCDEFabcdefabcdefabcdef99",
    ])
    func `a UUID that has only digits, or looks like a number, is a UUID`(text: String) throws {
        let uuid = try #require(ProximityUUID(text))
        for spelling in [text, "'\(text)'"] {
            let made = try configuration("conditions:\n- identifier: a\n  uuid: \(spelling)\n")
            #expect(
                made.monitors[0].conditions[0].condition == .beacon(BeaconMonitor.BeaconIdentityCondition(uuid: uuid)))
        }
    }

    @Test(arguments: ["0", "65535", "007", "'100'", "\"100\"", "+5", "010"])
    func `numbers are decimal, quoted or not`(text: String) throws {
        let made = try configuration(condition("major: \(text)"))
        let digits = text.filter { $0.isNumber }
        let condition = made.monitors[0].conditions[0].condition
        guard case .beacon(let beacon) = condition else {
            Issue.record("the condition must be of beacons: \(condition)")
            return
        }
        #expect(beacon.major == UInt16(digits))
    }

    @Test(arguments: [
        "65536", "-1", "1e3", "0x10", "1_000", "1.0", "ten", "99999999999999999999999", "''", "'-'", "١٠",
    ])
    func `a major must be a number from 0 to 65535`(text: String) {
        #expect(errors(condition("major: \(text)")).count == 1)
    }

    @Test(arguments: [
        ("1ms", 1_000_000), ("500ms", 500_000_000), ("30s", 30_000_000_000), ("1.5s", 1_500_000_000),
        ("2m", 120_000_000_000), ("1h", 3_600_000_000_000), ("1d", 86_400_000_000_000), ("030s", 30_000_000_000),
        ("0.001s", 1_000_000), ("1.000000001s", 1_000_000_001), ("1.50000000000000000000s", 1_500_000_000),
        ("30d", 2_592_000_000_000_000), ("'30s'", 30_000_000_000),
    ])
    func `C7: durations are exact`(text: String, nanoseconds: Int64) throws {
        let monitor = "monitor: {outage_timeout: 29d, forget_after: 30d, deaf_after: off}"
        let made = try configuration(condition("exit_timeout: \(text)", monitor: monitor))
        #expect(made.monitors[0].conditions[0].settings.exitTimeout == .nanoseconds(nanoseconds))
    }

    @Test(arguments: [
        ("30", "the unit is missing: write 30s if this is the intended unit"),
        ("30 s", "write 30s"), ("30S", "write 30s"), ("5MS", "write 5ms"),
        ("1m30s", "expected one number and one unit (ms, s, m, h or d), such as 30s"),
        ("250us", "expected one number and one unit (ms, s, m, h or d), such as 30s"),
        ("s", "expected 1ms…30d, a number and a unit such as 30s"),
        ("-5s", "expected 1ms…30d, a number and a unit such as 30s"),
        ("1.s", "expected 1ms…30d, a number and a unit such as 30s"),
        ("0s", "expected 1ms…30d"), ("0.999ms", "expected 1ms…30d"), ("31d", "expected 1ms…30d"),
        ("30.000000001d", "expected 1ms…30d"), ("1.0000000001s", "expected fewer decimals"),
        ("999999999999999999999999999999d", "expected 1ms…30d"),
        ("off", "expected 1ms…30d, a number and a unit such as 30s"),
    ])
    func `C7: a duration must be 1 ms to 30 d, and the error suggests a correction`(text: String, hint: String) {
        let shown = text.contains(" ") ? "“\(text)”" : text
        #expect(
            errors(condition("exit_timeout: \(text)")) == [
                "g.yaml:5:19: conditions.exit_timeout is \(shown); \(hint)"
            ])
    }

    @Test(arguments: [
        ("64MiB", 67_108_864), ("4KiB", 4096), ("1.5GiB", 1_610_612_736), ("5000B", 5000), ("64kB", 64_000),
        ("64MB", 64_000_000), ("1GB", 1_000_000_000), ("1TiB", 1_099_511_627_776),
    ])
    func `sizes are exact, with binary and decimal units`(text: String, bytes: Int64) throws {
        let made = try configuration(file("output: {rotate_size: \(text), retain_size: 1024TiB}"))
        #expect(made.output.rotateSize == bytes)
    }

    @Test(arguments: [
        ("64", "the unit is missing: write 64MiB if this is the intended unit"), ("64mib", "write 64MiB"),
        ("64 MiB", "write 64MiB"),
        ("4095B", "expected 4KiB…1TiB"), ("2TiB", "expected 4KiB…1TiB"), ("5000.5B", "expected fewer decimals"),
        ("64M", "expected one number and one unit (B, kB, MB, GB, TB, KiB, MiB, GiB or TiB), such as 64MiB"),
    ])
    func `the error for an invalid size suggests a correction`(text: String, hint: String) {
        let shown = text.contains(" ") ? "“\(text)”" : text
        #expect(
            errors(file("output:\n  rotate_size: \(text)")) == [
                "g.yaml:2:16: output.rotate_size is \(shown); \(hint)"
            ])
    }

    @Test(arguments: [
        ("yes", "true"), ("on", "true"), ("True", "true"), ("1", "true"), ("no", "false"), ("off", "false"),
        ("FALSE", "false"),
    ])
    func `a flag must be true or false, and the error suggests the right one`(text: String, meant: String) {
        #expect(
            errors(condition("per_beacon: \(text)"))
                == ["g.yaml:5:17: conditions.per_beacon is \(text); expected true or false: write \(meant)"])
    }

    @Test(arguments: ["", " ~", " null", " Null", " NULL"])
    func `a known key without a value is an error`(text: String) {
        let column = text.isEmpty ? 8 : 9
        let hint =
            text.isEmpty ? "add a value, or remove the line" : "add a value, or quote the word if it is the value"
        #expect(
            errors(file("gateway:\n  name:\(text)")) == ["g.yaml:2:\(column): gateway.name has no value; \(hint)"])
        #expect(errors(file("mqtt:\(text)")).first?.contains("mqtt has no value") == true)
        #expect(errors("conditions:\(text)\n").first?.contains("conditions has no value") == true)
    }

    @Test func `a quoted null is a text`() throws {
        #expect(try configuration(file("gateway: {name: 'null'}")).gatewayName?.text == "null")
        #expect(try configuration(file("gateway: {name: \"~\"}")).gatewayName?.text == "~")
    }

    @Test(arguments: [("10s", EngineConfiguration.DeafAfter.after(.seconds(10))), ("off", .off), ("'off'", .off)])
    func `L5: deaf_after is a duration or off`(text: String, expected: EngineConfiguration.DeafAfter) throws {
        #expect(try configuration(file("monitor: {deaf_after: \(text)}")).engine.deafAfter == expected)
    }

    @Test func `L5: a deaf_after that is not set differs from one that is off`() throws {
        let unset = try configuration(file("")).engine
        #expect(unset.deafAfter == .unset)
        #expect(unset.settings(deafAfterUnlessSet: nil).deafAfter == nil)
        #expect(unset.settings(deafAfterUnlessSet: EngineConfiguration.liveDeafAfter).deafAfter == .seconds(10))
        let off = try configuration(file("monitor: {deaf_after: off}")).engine
        #expect(off.settings(deafAfterUnlessSet: .seconds(10)).deafAfter == nil)
    }

    @Test(arguments: [
        ("F7826DA6-4FA2-4E98-8024-BC5B71E0893", "; found 31"),
        ("F7826DA64FA2-4E98-8024-BC5B71E0893E", ", with all four hyphens or none"), ("staff", "; found 3"),
    ])
    func `the error for an invalid UUID has the number of digits or names the hyphens`(text: String, end: String) {
        #expect(
            errors("conditions:\n- identifier: a\n  uuid: \(text)\n") == [
                "g.yaml:3:9: conditions.uuid is \(text); expected 32 hexadecimal digits, such as F7826DA6-4FA2-4E98-8024-BC5B71E0893E\(end)"
            ])
    }
}
