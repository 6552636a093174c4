import BrokerSupport
import Foundation
import Glibc
import ProgramSupport
import TestSupport
import Testing

/// `run` and its publisher process. `BEACON_GATEWAY_CHILD_KILLS` sets how often the publisher is killed.
@Suite struct PublishingProcessTests {
    /// The maximum number of kills of one gateway. If there are more, other gateways run at the same time.
    private static let killsEach = 12

    @Test func `if the publisher is killed repeatedly, no report or event is lost, and each episode is logged once`()
        async throws
    {
        let kills = environment("BEACON_GATEWAY_CHILD_KILLS", default: 6)
        let gateways = (kills + Self.killsEach - 1) / Self.killsEach
        let killed = try await BlockingThreads.shared.map(gateways) { number in
            let kills = min(Self.killsEach, kills - number * Self.killsEach)
            var one = try PublisherKills()
            try one.run(kills)
            return kills
        }
        #expect(killed.reduce(0, +) == kills)
    }

    @Test func `the first status at a broker is listening, and a change of the state is published at once`() throws {
        let fixture = try LiveFixture()
        let broker = try LocalBroker()
        try broker.start()
        let file = try fixture.write(
            "g.yaml", fixture.configuration("mqtt: {host: 127.0.0.1, port: \(broker.port), keep_alive: 5s}"))
        let session = [
            "-h", "127.0.0.1", "-p", "\(broker.port)", "-i", "s", "-c", "-q", "1", "-t", "beacons/lobby/status",
        ]
        #expect(try run(LocalBroker.subscriber, session + ["-E"]).status == 0)
        let gateway = try RunningGateway(fixture, configuration: file)
        try gateway.log.line(with: "hci0 is listening")
        let subscriber = try Child(LocalBroker.subscriber, session)
        var last = try object(subscriber.line(with: #""type":"status""#))
        #expect(last["state"] as? String == "listening")
        fixture.send(#"{"do":"remove","index":0}"#)
        try gateway.log.line(with: "waits for")
        var uptime = 0.0
        for _ in 0..<9 where last["state"] as? String != "waiting" {
            uptime = try #require(last["uptime"] as? Double)
            last = try object(subscriber.line(with: #""type":"status""#))
        }
        subscriber.end(SIGKILL)
        #expect(last["state"] as? String == "waiting")
        // If the state does not change, the gateway publishes the next status after 60 s of its own time.
        #expect(try #require(last["uptime"] as? Double) - uptime < 60)
        #expect(gateway.end() == 0)
    }

    @Test func `at a broker, a status with many conditions has at most 128,000 bytes and lists the omitted parts`()
        throws
    {
        let fixture = try LiveFixture()
        let broker = try LocalBroker()
        try broker.start()
        let conditions = (0..<900).map { number in
            "- {identifier: \(String(repeating: "long-", count: 24))\(number), uuid: \(LiveFixture.uuid), major: \(number)}"
        }
        let file = try fixture.write(
            "g.yaml",
            fixture.configuration(
                "mqtt: {host: 127.0.0.1, port: \(broker.port), keep_alive: 5s}",
                conditions: conditions.joined(separator: "\n")
            ))
        let gateway = try RunningGateway(fixture, configuration: file)
        try gateway.log.line(with: "hci0 is listening")
        let text = try #require(try broker.messages(1, of: "beacons/lobby/status").first)
            .dropFirst("beacons/lobby/status ".count)
        #expect(text.utf8.count <= 128_000)
        let status = try object(String(text))
        #expect(status["shortened"] as? [String] == ["conditions"])
        // A local client gets the complete status.
        let whole = try gateway.status()
        #expect(whole["shortened"] == nil)
        let monitors = whole["monitors"] as? [[String: Any]] ?? []
        #expect(monitors.flatMap { $0["conditions"] as? [Any] ?? [] }.count == 900)
        #expect(try Gateway.run("status", "--json", "--config", file).output.count > 128_000)
        #expect(gateway.end() == 0)
    }
}
