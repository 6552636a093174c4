import BrokerSupport
import Foundation
import Glibc
import TestSupport
import Testing

/// What brokers do that are broken, or want to do harm: against the program that ships, as a process of its own. Whatever
/// they do, a good broker at the same place gets every line afterwards, in order.
///
/// `BEACON_SESSIONS` sets how many sessions there are by chance, `BEACON_SEED` which.
@Suite struct HostileBrokerTests {
    private static let lines = 30
    // Its text and libraries, and the greatest packet that MQTT has: the library takes in whole what comes at one time.
    private static let residentMiBMax = 320
    private static let processorSecondsMax = 5.0

    /// A broker that plays a mode for a while, and then is a good one.
    private final class World {
        let folder: TestFolder
        let broker: ScriptedBroker
        /// How many sessions were played to their end.
        let played = Announced(0)
        let isGood = Announced(false)
        private(set) var gateway: SpawnedProcess
        /// What should not be.
        private(set) var problems: [String] = []

        init(_ modes: [HostileMode]) throws {
            folder = try TestFolder()
            try EventFiles(folder.file("events")).append(HostileBrokerTests.lines)
            let (played, isGood) = (played, isGood)
            broker = ScriptedBroker { link, _ in
                if isGood.now { return link.serve() }
                let mode = modes[min(played.now, modes.count - 1)]
                mode.play(link)
                played.change { $0 += 1 }
            }
            gateway = try Self.start(folder, broker.port)
        }

        private static func start(_ folder: TestFolder, _ port: UInt16) throws -> SpawnedProcess {
            try folder.write(
                "g.yaml",
                """
                gateway: {name: lobby}
                mqtt: {host: 127.0.0.1, port: \(port), keep_alive: 5s}
                conditions: [{identifier: staff, uuid: F7826DA6-4FA2-4E98-8024-BC5B71E0893E}]

                """)
            // Swift's handler would print where it was, and end it by another signal than the one that came.
            let quiet = ["SWIFT_BACKTRACE": "enable=no"]
            return try SpawnedProcess(
                FaultTests.gateway,
                [
                    "publish", folder.file("events"), "--config", folder.file("g.yaml"), "--checkpoint",
                    folder.file("mqtt.json"), "--follow",
                ], environment: ProcessInfo.processInfo.environment.merging(quiet) { $1 },
                output: .file(folder.file("log")), errors: .output)
        }

        /// All lines that its processes have written.
        private var said: [String] {
            ((try? String(contentsOfFile: folder.file("log"), encoding: .utf8)) ?? "").split(separator: "\n")
                .map(String.init)
        }

        /// Ends it in order, and gives its exit status or the negative signal number.
        private func end() -> Int32 {
            gateway.waitUntilItHandles(SIGTERM)
            return gateway.end()
        }

        /// Starts it again where it has ended, or waits long before it tries again.
        func startAgain() throws {
            check()
            gateway.end(SIGKILL)
            gateway = try Self.start(folder, broker.port)
        }

        /// What it took up to now; and that it has not ended by a mistake of ours.
        func check() {
            if gateway.isRunning {
                for process in gateway.family {
                    guard let (resident, processor) = Self.use(process) else { continue }
                    if resident > HostileBrokerTests.residentMiBMax { problems.append("it took \(resident) MiB") }
                    if processor > HostileBrokerTests.processorSecondsMax { problems.append("it took \(processor) s") }
                }
                return
            }
            // Debian's libmosquitto ends the process by an assertion where a broker sends a property that it does not know.
            // Swift ends one by SIGILL or SIGTRAP.
            let status = gateway.wait()
            let isLibrary = status == -SIGABRT && said.contains { $0.contains("Assertion") }
            if status != 0, !isLibrary { problems.append("it ended with \(status): \(said.suffix(20))") }
        }

        /// How many MiB it held at most (VmHWM, proc(5)), and how many seconds it used.
        private static func use(_ process: pid_t) -> (Int, Double)? {
            guard let status = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8),
                let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM") }),
                let size = line.split(whereSeparator: { !$0.isNumber }).first.flatMap({ Int($0) }),
                let stat = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
                let fields = stat.split(separator: ")").last?.split(separator: " "), fields.count > 13,
                let user = Double(fields[11]), let system = Double(fields[12])
            else { return nil }
            return (size / 1024, (user + system) / Double(sysconf(Int32(_SC_CLK_TCK))))
        }

        /// Waits until so many sessions were played.
        func plays(_ count: Int, seconds: TimeInterval) -> Bool {
            played.wait(until: Date(timeIntervalSinceNow: seconds)) { $0 >= count ? true : nil } ?? false
        }

        /// Waits until so many sessions were played. A gateway that waits long before it connects again is started again, at
        /// most twenty times, each time with more patience.
        func plays(_ count: Int) throws {
            for attempt in 1...20 {
                if plays(count, seconds: 1.2 * Double(attempt)) { return }
                if attempt < 20 { try startAgain() }
            }
            problems.append("session \(count) was not played in 20 attempts: \(said.suffix(5))")
        }

        /// From now on it is a good broker: it has everything, in order.
        func recovers() throws {
            isGood.change { $0 = true }
            let all = Array(1...HostileBrokerTests.lines)
            var hasAll = comes(all.count, seconds: 2)
            // What waits for somebody waits longer than a test: it is started again.
            if !hasAll { try startAgain() }
            hasAll = hasAll || comes(all.count, seconds: 300)
            // Each at its first time, in order: what a session took before, it has.
            let came = Subscriber.distinct(broker.came.now.numbers)
            if !hasAll || came != all { problems.append("\(came) came; \(said.suffix(5))") }
            check()
            let status = end()
            if status != 0 { problems.append("it ended with \(status): \(said.suffix(5))") }
            broker.close()
        }

        private func comes(_ count: Int, seconds: TimeInterval) -> Bool {
            broker.came.wait(until: Date(timeIntervalSinceNow: seconds)) { Set($0.numbers).count >= count ? true : nil }
                ?? false
        }
    }

    @Test func `there are fifty modes and more, each with a name of its own`() {
        #expect(Set(HostileMode.all.map(\.name)).count == HostileMode.all.count)
        #expect(HostileMode.all.count >= 50)
    }

    @Test(arguments: HostileMode.all)
    func `a hostile broker costs no line`(mode: HostileMode) async throws {
        let problems = try await BlockingThreads.shared.run {
            let world = try World([mode])
            let isPlayed = world.plays(1, seconds: 300)
            try world.recovers()
            return (isPlayed ? [] : ["it was not played"]) + world.problems
        }
        #expect(problems == [])
    }

    @Test func `sessions by chance cost no line`() async throws {
        let count = environment("BEACON_SESSIONS", default: 24)
        let seed = SeededGenerator.seed
        // Each process meets so many; then a good broker. They mostly wait: for what would have come, and for the next try.
        let each = 8
        let problems = try await BlockingThreads.shared.map((count + each - 1) / each) { group in
            let first = group * each
            let modes = (first..<min(first + each, count)).map {
                HostileMode.random(seed &* 1_000_003 &+ UInt64($0))
            }
            let world = try World(modes)
            for session in 1...modes.count {
                try world.plays(session)
            }
            try world.recovers()
            return world.problems.map { "seed \(seed), sessions from \(first): \($0)" }
        }
        #expect(problems.joined().isEmpty, "\(problems.joined().joined(separator: "\n"))")
        #expect(problems.count == (count + each - 1) / each)
    }
}
