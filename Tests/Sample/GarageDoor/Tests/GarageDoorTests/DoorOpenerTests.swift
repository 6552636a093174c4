import BeaconMonitoringTesting
import BeaconScanning
import InMemoryLogging
import Logging
import ServiceLifecycle
import Synchronization
import Testing

@testable import GarageDoor

/// The tests run one after the other, because only one monitor at a time can have the name `garage`.
@Suite(.serialized, .timeLimit(.minutes(1))) struct DoorOpenerTests {
    private let badge = BeaconIdentity(uuid: staff, major: 1, minor: 7)
    private let script = ScriptedSightings()
    private let log = InMemoryLogHandler()

    private static let staff = ProximityUUID(high: 0xF782_6DA6_4FA2_4E98, low: 0x8024_BC5B_71E0_893E)

    /// Returns a program with this badge, script and log. As with adapters, silence is not absence.
    private func opener(_ open: @escaping @Sendable () async throws -> Void) async throws -> DoorOpener {
        try await DoorOpener(
            badge: badge, absence: .seconds(300), scanning: .scripted(script), engine: .live,
            logger: Logger(label: "test") { _ in log },
            open: open)
    }

    /// Performs the script, and returns how often the door opened after it did not open for the first `failures` times.
    private func openings(
        failures: Int = 0, _ perform: () async -> Void, end: ((ServiceGroup) async -> Void)? = nil
    ) async throws -> Int {
        struct Stuck: Error {}
        let attempts = Mutex(0)
        let opener = try await opener {
            let attempt = attempts.withLock { attempts in
                attempts += 1
                return attempts
            }
            if attempt <= failures { throw Stuck() }
        }
        let group = opener.serviceGroup()
        async let running: Void = group.run()
        await perform()
        if let end { await end(group) } else { script.finish() }
        try await running
        return attempts.withLock { $0 - failures }
    }

    @Test func `the door opens when the badge comes back after five minutes`() async throws {
        let openings = try await openings {
            await script.receive(badge)
            await script.wait(.seconds(300))
            await script.receive(badge)
        }
        #expect(openings == 1)
        let states = log.entries.compactMap { entry in entry.metadata["state"].map { ($0, entry.metadata["previous"]) }
        }
        #expect(states.map { "\($0.0)" } == ["satisfied", "unsatisfied", "satisfied"])
        #expect(states.compactMap { $0.1.map { "\($0)" } } == ["unknown", "satisfied", "unsatisfied"])
        let dates = log.entries.compactMap { $0.metadata["date"].map { "\($0)" } }
        #expect(dates == ["16:40", "21:40", "21:40", "21:40"].map { "1970-01-01T00:\($0).000000Z" })
    }

    @Test func `the door opens at the first arrival if the program has scanned for five minutes without the badge`()
        async throws
    {
        let openings = try await openings {
            await script.listen()
            await script.wait(.seconds(300))
            await script.receive(badge)
        }
        #expect(openings == 1)
    }

    @Test func `the door stays closed if the badge is there when the program starts`() async throws {
        let openings = try await openings {
            await script.listen()
            await script.wait(.seconds(299))
            await script.receive(badge)
            await script.wait(.seconds(299))
            await script.receive(badge)
        }
        #expect(openings == 0)
    }

    @Test func `the door stays closed after an outage of the adapter, because the badge was not seen to leave`()
        async throws
    {
        let openings = try await openings {
            await script.receive(badge)
            await script.stopListening(because: "unplugged")
            await script.waitInSilence(.seconds(3600))
            await script.listen()
            await script.receive(badge)
        }
        #expect(openings == 0)
    }

    @Test func `the door stays closed in a silent garage, because the adapter may not receive anything`() async throws {
        let openings = try await openings {
            await script.receive(badge)
            await script.waitInSilence(.seconds(3600))
            await script.receive(badge)
        }
        #expect(openings == 0)
    }

    @Test func `the door stays closed if the badge was there with a weak signal`() async throws {
        let openings = try await openings {
            await script.listen()
            for _ in 0..<2 {
                await script.wait(.seconds(299))
                await script.receive(badge, rssi: RSSI(dBm: -100))
            }
            await script.wait(.seconds(299))
            await script.receive(badge)
        }
        #expect(openings == 0)
    }

    @Test func `the door stays closed for another badge`() async throws {
        let openings = try await openings {
            await script.listen()
            await script.wait(.seconds(300))
            await script.receive(BeaconIdentity(uuid: Self.staff, major: 1, minor: 8))
        }
        #expect(openings == 0)
    }

    @Test func `if the door does not open once, the program continues`() async throws {
        let openings = try await openings(failures: 1) {
            await script.listen()
            for _ in 0..<2 {
                await script.wait(.seconds(300))
                await script.receive(badge)
            }
        }
        #expect(openings == 1)
        #expect(log.entries.map(\.level).filter { $0 > .info } == [.error, .notice])
    }

    @Test func `a graceful shutdown ends the program after the last event`() async throws {
        let openings = try await openings {
            await script.listen()
            await script.wait(.seconds(300))
            await script.receive(badge)
        } end: { group in
            await group.triggerGracefulShutdown()
        }
        #expect(openings == 1)
    }

    @Test func `if scanning fails, the program ends with the error`() async throws {
        struct Unplugged: Error {}
        let group = try await opener {}.serviceGroup()
        script.fail(Unplugged())
        await #expect(throws: MonitorError.sourceFailed("Unplugged()")) { try await group.run() }
    }

    @Test func `the messages of the monitor are in the log of the program`() async throws {
        let monitor = try await opener {}.monitor
        let adapter = try await monitor.adapter(named: "hci0")
        await monitor.sighted(
            Sighting(
                time: script.manualClock.now + .seconds(1), adapter: adapter, beacon: badge, measuredPower: nil,
                rssi: nil))
        await monitor.end()
        let entry = try #require(log.entries.first)
        #expect(log.entries.count == 1 && entry.level == .warning)
        #expect("\(entry.message)".hasPrefix("monitor “garage”: an input has a time that is 1.0 seconds after"))
        #expect(entry.metadata == ["monitor": "garage"])
    }
}
