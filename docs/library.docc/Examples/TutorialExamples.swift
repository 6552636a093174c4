import BeaconScanning
import EventLog
@preconcurrency import Glibc

/// The steps of the tutorial: compiled, but not run here, because they need a recording or an adapter.
enum TutorialExamples {
    static func step1() async throws {
        let staff = ProximityUUID(high: 0xF782_6DA6_4FA2_4E98, low: 0x8024_BC5B_71E0_893E)
        do {
            let monitor = try BeaconMonitor("lobby", scanning: .capture("lobby.btsnoop"))
            try await monitor.add(.beacon(uuid: staff), identifier: "badges")
        } catch {
            fputs("lobby: \(error)\n", stderr)
            exit(1)
        }
    }

    static func step2() async throws {
        let staff = ProximityUUID(high: 0xF782_6DA6_4FA2_4E98, low: 0x8024_BC5B_71E0_893E)
        do {
            let monitor = try BeaconMonitor("lobby", scanning: .capture("lobby.btsnoop"))
            try await monitor.add(.beacon(uuid: staff), identifier: "badges")
            try await monitor.run()
        } catch {
            fputs("lobby: \(error)\n", stderr)
            exit(1)
        }
    }

    static func step3() async throws {
        let staff = ProximityUUID(high: 0xF782_6DA6_4FA2_4E98, low: 0x8024_BC5B_71E0_893E)
        do {
            let monitor = try BeaconMonitor("lobby", scanning: .capture("lobby.btsnoop"))
            try await monitor.add(.beacon(uuid: staff), identifier: "badges")
            let events = monitor.subscribe()
            async let running: Void = monitor.run()
            for try await event in events { print(event.date, event.identifier, event.state) }
            try await running
        } catch {
            fputs("lobby: \(error)\n", stderr)
            exit(1)
        }
    }

    static func step4() async throws {
        let staff = ProximityUUID(high: 0xF782_6DA6_4FA2_4E98, low: 0x8024_BC5B_71E0_893E)
        do {
            let scanning = Scanning.automatic.logging { level, text in if level <= .notice { print(text) } }
            let monitor = try BeaconMonitor("lobby", scanning: scanning)
            try await monitor.add(.beacon(uuid: staff), identifier: "badges")
            let events = monitor.subscribe()
            async let running: Void = monitor.run()
            for try await event in events { print(event.date, event.identifier, event.state) }
            try await running
        } catch {
            fputs("lobby: \(error)\n", stderr)
            exit(1)
        }
    }

    static func step5() async throws {
        let staff = ProximityUUID(high: 0xF782_6DA6_4FA2_4E98, low: 0x8024_BC5B_71E0_893E)
        do {
            let store = FileRecordStore(directory: "/var/lib/lobby")
            let monitor = try BeaconMonitor("lobby", scanning: .automatic, store: store)
            var settings = ConditionSettings()
            settings.perBeacon = true
            settings.exitTimeout = .seconds(60)
            try await monitor.add(.beacon(uuid: staff), identifier: "badges", settings: settings)
            let events = monitor.subscribe()
            async let running: Void = monitor.run()
            for try await event in events where event.scope == .beacon {
                print(event.refinement?.minor ?? 0, event.state)
            }
            try await running
        } catch {
            fputs("lobby: \(error)\n", stderr)
            exit(1)
        }
    }
}
