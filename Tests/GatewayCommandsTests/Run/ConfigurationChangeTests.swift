import BeaconMonitoring
import GatewayConfiguration
import Testing

@testable import GatewayCommands

/// What a reload applies, and what it says (rule C2).
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

    @Test func `a file that says the same changes nothing`() throws {
        let change = try change(try configuration(), try configuration())
        #expect(change.refusals.isEmpty)
        #expect(!change.needsNewEngine && !change.restartsScanning && !change.restartsLocation)
        #expect(change.words(for: "c.yaml") == ["c.yaml was applied; no condition has changed"])
    }

    @Test func `what a running gateway can't change is refused, each by its name, and stays`() throws {
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

    @Test func `conditions that came, went and changed are named; twenty of them at most`() throws {
        let old = try configuration(conditions: ["staff", "gone"])
        let new = try configuration(conditions: ["staff"] + (10..<35).map { "new\($0)" }, changed: "staff")
        let words = try change(old, new).words(for: "c.yaml")
        let added = (10..<30).map { "new\($0)" }.joined(separator: ", ")
        #expect(
            words == ["c.yaml was applied; conditions added: \(added) and 5 more; changed: staff; removed: gone"])
    }

    @Test func `each part starts anew where its own settings changed, and no other`() throws {
        let old = try configuration()
        let scanner = try change(old, try configuration("scanner: {backend: dbus}"))
        #expect(scanner.restartsScanning && !scanner.restartsLocation && !scanner.needsNewEngine)
        let location = try change(old, try configuration("location: {source: gpsd}"))
        #expect(location.restartsLocation && location.needsNewEngine && !location.restartsScanning)
        let bounds = try change(old, try configuration("monitor: {max_beacons: 77}"))
        #expect(bounds.needsNewEngine)
    }

    @Test func `where the scan can't be begun anew it stays, and what has to wait is said with its reason`() throws {
        let old = try configuration()
        let change = ConfigurationChange(
            from: old, to: try configuration("scanner: {backend: dbus}"), gateway: try Identifier("lobby"),
            scanningStaysBecause: "management can't be opened anew")
        #expect(change.refusals.isEmpty && !change.restartsScanning)
        #expect(change.wanted.scanner == old.scanner)
        #expect(
            change.postponed == [
                """
                scanner changed in the file; management can't be opened anew: it takes effect with \
                `systemctl restart beacon-gateway`
                """
            ])
    }
}
