import BrokerSupport
import Foundation
import Glibc
import ProgramSupport
import Testing

/// A gateway that scans while its publisher is killed repeatedly.
struct PublisherKills {
    /// The problems that were found. They are collected, because this runs in a thread that belongs to no test.
    private var problems: [String] = []
    private let fixture: LiveFixture
    private let broker: LocalBroker
    private let file: String
    private var received = 0
    // The arguments of a subscriber with a session that exists before the first line.
    private let session: [String]
    private static let topics =
        ["event", "visit", "condition", "adapter"].flatMap { ["-t", "beacons/lobby/\($0)/#"] }
        + ["clock", "gateway"].flatMap { ["-t", "beacons/lobby/\($0)"] }

    struct Found: Error, CustomStringConvertible {
        var description: String
    }

    init() throws {
        fixture = try LiveFixture()
        broker = try LocalBroker()
        try broker.start()
        file = try fixture.write(
            "g.yaml", fixture.configuration("mqtt: {host: 127.0.0.1, port: \(broker.port), keep_alive: 5s}"))
        session = ["-h", "127.0.0.1", "-p", "\(broker.port)", "-i", "s", "-c", "-q", "1"]
        let ending = try ProgramSupport.run(LocalBroker.subscriber, session + Self.topics + ["-E"])
        expect(ending.status == 0, "the session cannot be created: \(ending.errors)")
    }

    private mutating func expect(_ isSo: Bool, _ problem: String) {
        if !isSo { problems.append(problem) }
    }

    private func mqtt(_ status: [String: Any]) -> [String: Any] { status["mqtt"] as? [String: Any] ?? [:] }
    private func process(_ status: [String: Any]) -> [String: Any] { mqtt(status)["process"] as? [String: Any] ?? [:] }
    private func sightings(_ status: [String: Any]) -> Int {
        (status["counters"] as? [String: Any])?["sightings"] as? Int ?? 0
    }
    private func hasPublishedAll(_ status: [String: Any]) -> Bool {
        mqtt(status)["state"] as? String == "connected" && mqtt(status)["backlog"] as? Int == 0
    }

    /// Makes bluetoothd report a beacon that was not received before, so that there is an event.
    private mutating func advertise() {
        received += 1
        fixture.advertise(String(format: "C0:00:00:00:%02X:%02X", received >> 8, received & 255), minor: received)
    }

    /// Kills the publisher `kills` times.
    ///
    /// - Throws: ``Found`` with all problems.
    mutating func run(_ kills: Int) throws {
        let gateway = try RunningGateway(fixture, configuration: file)
        try gateway.log.line(with: "hci0 is listening")
        // The process that scans must load neither the library nor the libraries that it needs.
        let maps = try String(contentsOfFile: "/proc/\(gateway.processID)/maps", encoding: .utf8)
        for library in ["libmosquitto", "libssl", "libcrypto"] {
            expect(!maps.contains(library), "\(library) is mapped")
        }
        let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(gateway.processID)/task").count
        expect(threads == 1, "the gateway has \(threads) threads")
        for round in 0..<kills {
            advertise()
            let received = received
            var id: Int?
            // The publisher is killed while it works, or after it has published everything. Only in the second case it
            // is restarted without a longer pause.
            try gateway.until("a publisher runs, and sightings are received") {
                id = process($0)["id"] as? Int
                return id.map { gateway.family.contains(Int32($0)) } ?? false && sightings($0) >= received
                    && (round % 2 == 1 || hasPublishedAll($0))
            }
            guard let id else { throw Found(description: "no publisher") }
            kill(Int32(id), SIGKILL)
            advertise()
            try gateway.until(
                "sightings are received without a publisher, and another publisher started, after kill \(round)"
            ) {
                sightings($0) >= received + 1 && (process($0)["starts"] as? Int ?? 0) > round + 1
                    && process($0)["trouble"] != nil
            }
        }
        try gateway.until("all lines are published") { hasPublishedAll($0) }
        let status = try gateway.status()
        expect(sightings(status) == received, "\(sightings(status)) of \(received) sightings were counted")
        let page = try Gateway.run("status", "--config", file).text
        expect(page.contains("the publisher process ended"), "the page must report the end of the publisher: \(page)")
        let valid = try Schema.validate(Gateway.run("status", "--json", "--config", file).output, ["--kind", "status"])
        expect(valid.status == 0, valid.errors)
        let ending = gateway.end()
        expect(ending == 0, "the gateway ended with \(ending)")
        while try gateway.log.next() != nil {}
        let said = gateway.log.lines
        // There is one line when an episode starts. There is another when it ends: after a publisher has run for a
        // minute.
        let begun = said.count { $0.contains("mqtt: the publisher process") && $0.contains("it is restarted") }
        let over = said.count { $0.contains("mqtt: the publisher process runs again") }
        expect((over...over + 1).contains(begun) && begun > 0, "the log must have one line per episode: \(said)")
        try compare()
        guard problems.isEmpty else { throw Found(description: problems.joined(separator: "\n")) }
    }

    /// Compares the written lines with the received messages.
    private mutating func compare() throws {
        let lines = try fixture.lines().compactMap { try object($0)["payload"] as? [String: Any] }
        let numbers = lines.compactMap { $0["sequence"] as? Int }
        expect(numbers == Array(1...max(1, numbers.count)), "the written lines have the sequence numbers \(numbers)")
        // The beacons that entered first can have exited meanwhile.
        let entries = lines.count {
            $0["type"] as? String == "event" && $0["scope"] as? String == "beacon"
                && $0["state"] as? String == "satisfied"
        }
        expect(entries == received, "\(entries) of \(received) beacons entered")
        // A mark follows all messages that wait for the session.
        let mark = [
            "-h", "127.0.0.1", "-p", "\(broker.port)", "-q", "1", "-t", "beacons/lobby/event/mark", "-m", "the end",
        ]
        let ending = try ProgramSupport.run(BrokerTools.publish, mark)
        expect(ending.status == 0, ending.errors)
        let subscriber = try Child(LocalBroker.subscriber, session + Self.topics)
        try subscriber.line(with: "the end")
        subscriber.end(SIGKILL)
        let came = subscriber.said.compactMap { try? object($0)["sequence"] as? Int }
        expect(Set(came) == Set(numbers), "\(Set(numbers).subtracting(came).sorted()) were not received")
    }
}
