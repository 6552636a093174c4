import BeaconMonitoring
import Foundation
import Testing

@testable import GatewayConfiguration
@testable import settings_manual

/// Documents describe each setting as the parser handles it.
@Suite struct SettingTableTests {
    private static let root = Sample.url.deletingLastPathComponent().deletingLastPathComponent()

    private static func document(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    @Test func `docs/configuration.md is equal to the output of the setting table`() throws {
        #expect(try Self.document("docs/configuration.md") == MarkdownManual.text, "run `make manual`")
    }

    @Test func `the manual page gateway.yaml(5) is equal to the output of the setting table`() throws {
        #expect(try Self.document("docs/gateway.yaml.5") == ManualPage.text, "run `make manual`")
    }

    @Test func `each key of the schema is in the table once, in its own section`() {
        for section in Schema.sections {
            let explained = SettingTable.sections.filter { $0.path == section.path }.flatMap(\.settings).map(\.name)
            // Settings that a monitor also has are described there.
            let elsewhere =
                ["conditions", "monitors"].contains(section.path) ? MonitoringPlace.monitor.keys.map(\.name) : []
            #expect(Set(explained).count == explained.count, "\(section.path)")
            #expect(Set(explained).union(elsewhere).isSuperset(of: section.keys), "\(section.path)")
            #expect(Set(explained).isSubset(of: section.keys), "\(section.path)")
        }
        #expect(SettingTable.sections.count == Schema.sections.count)
    }

    @Test func `each note has a type, ends with a period and has complete code spans`() {
        for section in SettingTable.sections {
            #expect(section.text.hasSuffix("."), "\(section.path)")
            for (name, note) in section.settings {
                #expect(note.text.hasSuffix("."), "\(section.path).\(name)")
                #expect(!note.type.words.isEmpty, "\(section.path).\(name)")
                #expect(note.text.count { $0 == "`" }.isMultiple(of: 2), "\(section.path).\(name)")
            }
        }
    }

    /// Returns a file with one more setting, at the end of its section so that no other position changes; `nil` for a
    /// section without settings to check.
    private func file(_ path: String, _ key: String, _ value: String) -> String? {
        let uuid = "uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E\n"
        let condition = "conditions:\n  - identifier: a\n    \(uuid)"
        let line = "  \(key): \(value)\n"
        switch path {
        case "scanner":
            return condition + "scanner:\n  adapters: [hci0]\n" + (key == "duty_cycle" ? "  mode: low_power\n" : "")
                + line
        case "scanner.canary":
            return condition + "scanner:\n  canary:\n    \(uuid)" + (key == "minor" ? "    major: 1\n" : "")
                + "  \(line)"
        case "location":
            let isTrack = ["speed", "loop", "pace"].contains(key)
            let other = isTrack ? "  source: gpx\n  file: /a\n" : key == "host" ? "  port: 1\n" : "  host: b\n"
            return condition + "location:\n\(other)\(line)"
        case "ranging":
            return condition + "ranging:\n" + (key == "window" ? "  exponent: 3\n" : "  window: 7s\n") + line
        case "monitor":
            return condition + "monitor:\n" + (key == "name" ? "  ranging: false\n" : "  name: site\n")
                + (key == "exit_rssi" ? "  enter_rssi: 20\n" : "") + line
        case "output":
            return condition + "output:\n" + (key == "retain" ? "  envelope: true\n" : "  retain: 3d\n") + line
        case "mqtt": return condition + "mqtt:\n  host: b\n\(line)"
        case "serve":
            return condition + "serve:\n" + (key == "port" ? "  host_name: b\n" : "  port: 81\n") + line
        case "serve.tls":
            let other = key == "key_file" ? "certificate_file: /c" : "key_file: /k"
            return condition + "serve:\n  tls:\n    \(other)\n  \(line)"
        case "beacons":
            return condition + "beacons:\n  - name: Ada\n    \(key == "major" ? "minor" : "major"): 1\n  \(line)"
        case "conditions": return condition + (key == "minor" ? "    major: 1\n" : "") + "  \(line)"
        default: return nil
        }
    }

    private static let bounded = SettingTable.sections.flatMap { section in
        section.settings.compactMap { name, note in note.type.bounds.map { (section.path, name, $0.least, $0.most) } }
    }

    @Test(arguments: bounded)
    func `the documented bounds are those that the parser checks`(
        path: String, key: String, least: String, most: String
    ) throws {
        for bound in [least, most] {
            let said = try errors(#require(file(path, key, bound), "\(path).\(key)"))
            #expect(!said.contains { $0.contains("\(least)…\(most)") }, "\(path).\(key): \(bound): \(said)")
        }
        for bound in [Self.past(least, by: -1), Self.past(most, by: 1)] {
            let said = try errors(#require(file(path, key, bound)))
            #expect(
                said.contains { $0.contains("\(key) is ") && $0.contains("\(least)…\(most)") },
                "\(path).\(key): \(bound): \(said)")
        }
    }

    /// Returns a value just below or above: by a thousandth if the number has decimals, else by 1.
    private static func past(_ value: String, by step: Int) -> String {
        let digits = value.prefix { $0.isNumber || $0 == "." || $0 == "-" }
        let unit = value.dropFirst(digits.count)
        guard let whole = Int(digits) else { return "\((Double(digits) ?? 0) + Double(step) / 1000)" }
        guard unit.isEmpty else { return "\(step < 0 ? whole - 1 : whole + 1)\(unit)" }
        return "\(whole + step)"
    }

    private static let defaulted = SettingTable.sections.flatMap { section in
        section.settings.compactMap { name, note in
            if case .value(let value) = note.absent { (section.path, name, value) } else { nil }
        }
    }

    @Test(arguments: defaulted)
    func `a documented default changes nothing if it is written`(
        path: String, key: String, value: String
    ) throws {
        let with = try #require(file(path, key, value), "\(path).\(key)")
        let without = with.replacing("  \(key): \(value)\n", with: "")
        try #require(with != without)
        #expect(try dump(without) == dump(with), "\(path).\(key): \(value)")
    }

    private func dump(_ text: String) throws -> String {
        var configuration = try configuration(text)
        configuration.statusSocketPosition = nil
        return String(reflecting: configuration)
    }

    @Test func `at least 25 settings have bounds and 35 have defaults, so the tests are not empty`() {
        #expect(Self.bounded.count >= 25)
        #expect(Self.defaulted.count >= 35)
    }
}
