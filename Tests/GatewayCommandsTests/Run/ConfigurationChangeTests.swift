import BeaconMonitoring
import GatewayConfiguration
import Testing

@testable import GatewayCommands

/// The effect of a reload, and its messages (rule C2).
@Suite struct ConfigurationChangeTests {
    private static let uuid = "F7826DA6-4FA2-4E98-8024-BC5B71E0893E"

    private func configuration(
        _ more: String = "", conditions: [String] = ["staff"], changed: String? = nil
    ) throws -> Configuration {
        let text =
            "output: {directory: /tmp/e, state_directory: /tmp/s}\n\(more)\nconditions:\n"
            + conditions.map {
                "- {identifier: \($0), uuid: \(Self.uuid)\($0 == changed ? ", exit_timeout: 77s" : "")}\n"
            }
            .joined()
        return try Configuration.parse(Array(text.utf8), file: "c.yaml").get()
    }

    private func change(_ old: Configuration, _ new: Configuration) throws -> ConfigurationChange {
        ConfigurationChange(from: old, to: new, gateway: try Identifier("lobby"))
    }

    @Test func `an unchanged configuration changes nothing`() throws {
        let change = try change(try configuration(), try configuration())
        #expect(change.refusals.isEmpty)
        #expect(!change.needsNewEngine && !change.restartsScanning && !change.restartsLocation)
        #expect(change.words(for: "c.yaml") == ["c.yaml was applied; no condition has changed"])
    }

    @Test func `settings that a running gateway cannot change are refused by name, and keep their values`() throws {
        let old = try configuration("gateway: {name: lobby}")
        let new = try Configuration.parse(
            Array(
                """
                gateway: {name: yard}
                output: {directory: /tmp/other, state_directory: /tmp/s}
                mqtt: {host: 127.0.0.1}
                monitor: {name: other}
                conditions:
                - {identifier: staff, uuid: \(Self.uuid)}

                """.utf8), file: "c.yaml"
        ).get()
        let change = try change(old, new)
        let refused = ["gateway.name", "output", "mqtt", "the names of monitors"]
        #expect(
            change.refusals
                == refused.map {
                    "\($0) changed in the file; it takes effect with `systemctl restart beacon-gateway`"
                })
        #expect(change.wanted.output == old.output && change.wanted.mqtt == nil)
        #expect(change.wanted.gatewayName == old.gatewayName)
    }

    @Test func `added, removed and changed conditions are named, at most twenty of each kind`() throws {
        let old = try configuration(conditions: ["staff", "gone"])
        let new = try configuration(conditions: ["staff"] + (10..<35).map { "new\($0)" }, changed: "staff")
        let words = try change(old, new).words(for: "c.yaml")
        let added = (10..<30).map { "new\($0)" }.joined(separator: ", ")
        #expect(
            words == ["c.yaml was applied; conditions added: \(added) and 5 more; changed: staff; removed: gone"])
    }

    @Test func `scanning and location restart only for their own settings; monitor bounds need a new engine`() throws {
        let old = try configuration()
        let scanner = try change(old, try configuration("scanner: {backend: dbus}"))
        #expect(scanner.restartsScanning && !scanner.restartsLocation && !scanner.needsNewEngine)
        let location = try change(old, try configuration("location: {source: gpsd}"))
        #expect(location.restartsLocation && location.needsNewEngine && !location.restartsScanning)
        let bounds = try change(old, try configuration("monitor: {max_beacons: 77}"))
        #expect(bounds.needsNewEngine)
    }

    @Test func `if scanning cannot be restarted, its settings do not change, and the message has the reason`() throws {
        let old = try configuration()
        let change = ConfigurationChange(
            from: old, to: try configuration("scanner: {backend: dbus}"), gateway: try Identifier("lobby"),
            scanningStaysBecause: "management can't be opened again")
        #expect(change.refusals.isEmpty && !change.restartsScanning)
        #expect(change.wanted.scanner == old.scanner)
        #expect(
            change.postponed == [
                """
                scanner changed in the file; management can't be opened again: it takes effect with \
                `systemctl restart beacon-gateway`
                """
            ])
    }
}
