import BeaconMonitoring
import BluetoothLE
import Foundation
import Testing

@testable import GatewayConfiguration

/// The sample configuration that is installed.
enum Sample {
    static let url = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Config/gateway.yaml")

    static func text() throws -> String { try String(contentsOf: url, encoding: .utf8) }
}

@Suite struct SampleTests {
    @Test func `the sample has no error, and its only warning is about the placeholder of the broker`() throws {
        let sample = try configuration(Sample.text())
        #expect(sample.warnings.map { $0.message.prefix { $0 != "," } } == ["mqtt.host is broker.example"])
    }

    @Test func `the sample sets the values that it shows`() throws {
        let sample = try configuration(Sample.text())
        #expect(sample.gatewayName?.text == "lobby")
        #expect(sample.scanner.backend == .auto)
        #expect(sample.scanner.adapters == ["hci0"])
        #expect(sample.scanner.mode == .auto)
        let canary = try #require(ProximityUUID("2F234454-CF6D-4A0F-ADF2-F4911BA9FFA6"))
        #expect(sample.scanner.canary == BeaconMonitor.BeaconIdentityCondition(uuid: canary, major: 1, minor: 1))
        #expect(sample.location == .gpsd(host: "localhost", port: 2947))
        #expect(sample.engine.deafAfter == .after(.seconds(10)))
        #expect(sample.engine.conditionLimit == 0)
        #expect(sample.engine.maxBeacons == 10_000)
        #expect(sample.engine.maxNewBeacons == nil)
        #expect(sample.beacons.all.map(\.name) == ["Forklift 7"])
        #expect(sample.ranging == RangingSettings())
        #expect(sample.output == OutputConfiguration())
        let mqtt = try #require(sample.mqtt)
        #expect(mqtt.host == "broker.example")
        #expect(mqtt.port == 8883)
        #expect(mqtt.tls == MQTTConfiguration.TLS())
        #expect(mqtt.username == "lobby")
        #expect(mqtt.passwordFile == "/etc/beacon-gateway/mqtt.password")
        #expect(mqtt.prefix == "beacons")
        #expect(mqtt.homeAssistant)
        #expect(mqtt.homeAssistantPrefix == "homeassistant")
        #expect(mqtt.homeAssistantTrackers == .state)
        #expect(!mqtt.names)
        #expect(mqtt.clientID == nil)
        #expect(mqtt.keepAlive == .seconds(60))

        let monitor = try #require(sample.monitors.first)
        #expect(sample.monitors.count == 1)
        #expect(monitor.name.text == "site")
        #expect(monitor.settings == MonitorSettings())
        #expect(monitor.conditions.map(\.identifier.text) == ["staff", "forklift-7", "depot"])
        let uuid = try #require(ProximityUUID("F7826DA6-4FA2-4E98-8024-BC5B71E0893E"))
        #expect(monitor.conditions[0].condition == .beacon(BeaconMonitor.BeaconIdentityCondition(uuid: uuid)))
        #expect(monitor.conditions[0].settings.perBeacon)
        #expect(monitor.conditions[0].settings.exitTimeout == .seconds(120))
        #expect(
            monitor.conditions[1].condition
                == .beacon(BeaconMonitor.BeaconIdentityCondition(uuid: uuid, major: 100, minor: 7)))
        #expect(monitor.conditions[1].assuming == .unsatisfied)
        #expect(monitor.conditions[1].settings.enterRSSI == RSSI(dBm: -80))
        #expect(monitor.conditions[1].settings.exitRSSI == RSSI(dBm: -90))
        #expect(monitor.conditions[1].settings.exitTimeout == .seconds(30))
        let circle = try BeaconMonitor.CircularGeographicCondition(latitude: 48.2082, longitude: 16.3738, radius: 200)
        #expect(monitor.conditions[2].condition == .circle(circle))
    }

    @Test func `each key of the schema is in the sample, in its own section`() throws {
        let chunks = try sections(of: Sample.text())
        #expect(Schema.sections.count > 5 && Schema.sections.allSatisfy { !$0.keys.isEmpty || $0.path == "monitors" })
        for section in Schema.sections {
            let top = String(section.path.split(separator: ".").first ?? "")
            let chunk = try section.path.isEmpty ? Sample.text() : #require(chunks[top], "no section \(top)")
            // The section `monitors` refers to `monitor` for all other settings.
            let keys = section.path == "monitors" ? ["name", "conditions"] : section.keys
            for key in keys {
                let isMentioned = chunk.split(separator: "\n").contains { line in
                    let trimmed = line.drop { $0 == " " || $0 == "#" || $0 == "-" }
                    return trimmed.hasPrefix("\(key):") || line.contains("{\(key):") || line.contains(", \(key):")
                        || (section.path == "conditions" && trimmed.contains(key))
                }
                #expect(isMentioned, "\(section.path).\(key)")
            }
        }
    }

    /// Returns the lines of the sample by the top-level key before them.
    private func sections(of text: String) -> [String: String] {
        var chunks: [String: String] = [:]
        var current = ""
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if let colon = line.firstIndex(of: ":"), let first = line.first(where: { $0 != "#" }), first.isLetter,
                line.prefix(upTo: colon).allSatisfy({ $0.isLetter || $0 == "#" })
            {
                current = String(line.prefix(upTo: colon).drop { $0 == "#" })
            }
            chunks[current, default: ""] += line + "\n"
        }
        return chunks
    }

    @Test func `if the # of a setting in the sample is removed, the file is still valid`() throws {
        let lines = try Sample.text().split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        // Settings that need changes in other lines: the track needs its source, `exit_rssi` needs an `enter_rssi`, the
        // coefficients need their model, and the duty cycle needs its mode. The map of `tls` replaces the flag, the
        // file of beacons replaces their list, and `monitors` replaces `monitor`.
        let others = [
            "file:", "speed:", "loop:", "pace:", "tls:", "exit_rssi:", "ca_file", "ca_directory", "certificate_file",
            "key_file", "server_name", "coefficients:", "duty_cycle:", "beacons:",
        ]
        var tried = 0
        for (index, line) in lines.enumerated() {
            guard !line.hasPrefix("#monitors:") else { break }
            let trimmed = line.drop { $0 == " " }
            guard trimmed.hasPrefix("#"), !trimmed.hasPrefix("# "), trimmed != "#",
                !others.contains(where: { trimmed.dropFirst().hasPrefix($0) })
            else { continue }
            var changed = lines
            changed[index] = line.replacing("#", with: "", maxReplacements: 1)
            #expect(errors(changed.joined(separator: "\n")) == [], "\(line)")
            tried += 1
        }
        #expect(tried >= 12)
    }

    @Test func `the map of tls and the list of monitors in the sample are valid`() throws {
        let text = try Sample.text()
        let tls = text.split(separator: "\n").drop { $0 != "  #tls:" }
            .prefix { !$0.contains("The user name for the broker") }.filter { !$0.contains("# ") }
            .map { $0.replacing("#", with: "", maxReplacements: 1) }.joined(separator: "\n")
        let mqtt = try #require(try configuration(file("mqtt:\n  host: b\n\(tls)\n")).mqtt)
        #expect(mqtt.tls?.caFile == "/etc/beacon-gateway/ca.pem")
        #expect(mqtt.tls?.serverName == "broker.example")
        let monitors = text.split(separator: "\n").drop { $0 != "#monitors:" }.map { $0.dropFirst() }
        let names = try configuration(monitors.joined(separator: "\n")).monitors.map(\.name.text)
        #expect(names == ["north", "south"])
    }
}
