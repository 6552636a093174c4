import BrokerSupport
import Foundation
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// `run` and the process that ships for it. `BEACON_CHILD_KILLS` sets how often that one is killed.
@Suite(
    .enabled(if: LiveWorld.canRun, LiveWorld.reason), .enabled(if: LocalBroker.isThere, LocalBroker.reason))
struct PublishingProcessTests {
    private func mqtt(_ status: [String: Any]) -> [String: Any] { status["mqtt"] as? [String: Any] ?? [:] }
    private func process(_ status: [String: Any]) -> [String: Any] {
        mqtt(status)["process"] as? [String: Any] ?? [:]
    }
    // bluetoothd tells of a device that is new, or whose strength has changed.
    private static func address(_ number: Int) -> String {
        String(format: "C0:00:00:00:%02X:%02X", number >> 8, number & 255)
    }
    private func sightings(_ status: [String: Any]) -> Int {
        (status["counters"] as? [String: Any])?["sightings"] as? Int ?? 0
    }

    @Test func `its publisher killed while beacons are heard, it misses no report and no event, and says it once`()
        throws
    {
        let kills = environment("BEACON_CHILD_KILLS", default: 6)
        let world = try LiveWorld()
        let broker = try LocalBroker()
        try broker.start()
        let file = try world.write(
            "g.yaml", world.configuration("mqtt: {host: 127.0.0.1, port: \(broker.port), keep_alive: 5s}"))
        // A session that is there before the first line.
        let session = ["-h", "127.0.0.1", "-p", "\(broker.port)", "-i", "s", "-c", "-q", "1"]
        let topics = ["event", "visit", "condition", "adapter"].flatMap { ["-t", "beacons/lobby/\($0)/#"] }
        #expect(try run(LocalBroker.subscriber, session + topics + ["-t", "beacons/lobby/clock", "-E"]).status == 0)
        let gateway = try RunningGateway(world, configuration: file)
        try gateway.log.line(with: "hci0 is listening")
        // Neither the library nor what it brings is where hearing is.
        let maps = try String(contentsOfFile: "/proc/\(gateway.processID)/maps", encoding: .utf8)
        for library in ["libmosquitto", "libssl", "libcrypto"] { #expect(!maps.contains(library)) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: "/proc/\(gateway.processID)/task").count == 1)
        var heard = 0
        for round in 0..<kills {
            var id: Int?
            try gateway.until("a publisher runs") {
                id = process($0)["id"] as? Int
                return id != nil
            }
            heard += 1
            world.advertise(Self.address(heard))
            try gateway.until("it hears") { sightings($0) >= heard }
            kill(Int32(try #require(id)), SIGKILL)
            heard += 1
            world.advertise(Self.address(heard))
            try gateway.until("it hears while none ships") { sightings($0) >= heard }
            try gateway.until("another publisher has come, after kill \(round)") {
                (process($0)["starts"] as? Int ?? 0) > round + 1 && process($0)["trouble"] != nil
            }
        }
        try gateway.until("all is shipped") {
            mqtt($0)["state"] as? String == "connected" && mqtt($0)["backlog"] as? Int == 0
        }
        let status = try gateway.status()
        #expect(sightings(status) == heard)
        #expect(try Gateway.run("status", "--config", file).text.contains("the publisher's process ended"))
        if Tool.hasSchemaValidator {
            let said = try Gateway.run("status", "--json", "--config", file)
            let validator = Fixtures.tests.appendingPathComponent("Schema/validate.py").path
            let ending = try run(Tool.python, [validator, "--kind", "status"], input: said.output)
            #expect(ending.status == 0, "\(ending.errors)")
        }
        #expect(gateway.end() == 0)
        while try gateway.log.next() != nil {}
        #expect(gateway.log.lines.count { $0.contains("mqtt: the publisher's process") } == 1, "\(gateway.log.lines)")
        let numbers = try world.lines().compactMap { try object($0)["payload"] as? [String: Any] }
            .compactMap { $0["sequence"] as? Int }
        #expect(numbers == Array(1...numbers.count))
        // Behind all that waits for the session comes a mark.
        let mark = [
            "-h", "127.0.0.1", "-p", "\(broker.port)", "-q", "1", "-t", "beacons/lobby/event/mark", "-m", "the end",
        ]
        #expect(try run(BrokerTools.publish, mark).status == 0)
        let subscriber = try Child(LocalBroker.subscriber, session + topics + ["-t", "beacons/lobby/clock"])
        try subscriber.line(with: "the end")
        subscriber.end(SIGKILL)
        let came = subscriber.said.compactMap { try? object($0)["sequence"] as? Int }
        #expect(Set(came) == Set(numbers))
    }

    @Test func `the first status at a broker is that it listens, and each change of that is told at once`() throws {
        let world = try LiveWorld()
        let broker = try LocalBroker()
        try broker.start()
        let file = try world.write(
            "g.yaml", world.configuration("mqtt: {host: 127.0.0.1, port: \(broker.port), keep_alive: 5s}"))
        let session = [
            "-h", "127.0.0.1", "-p", "\(broker.port)", "-i", "s", "-c", "-q", "1", "-t", "beacons/lobby/status",
        ]
        #expect(try run(LocalBroker.subscriber, session + ["-E"]).status == 0)
        let gateway = try RunningGateway(world, configuration: file)
        try gateway.log.line(with: "hci0 is listening")
        let first = try run(LocalBroker.subscriber, session + ["-C", "1", "-W", "30"])
        #expect(try object(try #require(first.lines.first))["state"] as? String == "listening")
        world.tell(#"{"do":"remove","index":0}"#)
        try gateway.log.line(with: "waits for")
        // Not with the next minute's: what is retained says so soon.
        let end = Date(timeIntervalSinceNow: 20)
        var state = ""
        while state != "waiting", Date() < end {
            let message = try #require(try broker.messages(1, of: "beacons/lobby/status").first)
            state = try object(String(message.dropFirst("beacons/lobby/status ".count)))["state"] as? String ?? ""
        }
        #expect(state == "waiting")
        #expect(gateway.end() == 0)
    }

    @Test func `a status of many conditions with long names fits into what brokers take, and says what it left out`()
        throws
    {
        let world = try LiveWorld()
        let broker = try LocalBroker()
        try broker.start()
        let conditions = (0..<900).map { number in
            "- {identifier: \(String(repeating: "long-", count: 24))\(number), uuid: \(LiveWorld.uuid), major: \(number)}"
        }
        let file = try world.write(
            "g.yaml",
            world.configuration(
                "mqtt: {host: 127.0.0.1, port: \(broker.port), keep_alive: 5s}",
                conditions: conditions.joined(separator: "\n")
            ))
        let gateway = try RunningGateway(world, configuration: file)
        try gateway.log.line(with: "hci0 is listening")
        let text = try #require(try broker.messages(1, of: "beacons/lobby/status").first)
            .dropFirst("beacons/lobby/status ".count)
        #expect(text.utf8.count <= 128_000)
        let status = try object(String(text))
        #expect(status["shortened"] as? [String] == ["conditions"])
        // Whoever asks here gets all of it.
        let whole = try gateway.status()
        #expect(whole["shortened"] == nil)
        let monitors = whole["monitors"] as? [[String: Any]] ?? []
        #expect(monitors.flatMap { $0["conditions"] as? [Any] ?? [] }.count == 900)
        #expect(try Gateway.run("status", "--json", "--config", file).output.count > 128_000)
        #expect(gateway.end() == 0)
    }
}
