import BrokerSupport
import Foundation
import Glibc
import TestSupport
import Testing

/// Broken and hostile brokers against the publishing program, which is a separate process. After each of them, a
/// correct broker at the same address must receive every line, in order.
///
/// `BEACON_SESSIONS` sets the number of random sessions, `BEACON_SEED` the seed.
@Suite struct HostileBrokerTests {
    private static let lines = 30
    // The memory of the program with its libraries, plus one packet of the largest size of MQTT, because the library
    // holds a whole packet in memory.
    private static let residentMiBMax = 320
    private static let processorSecondsMax = 5.0

    /// A broker that plays hostile sessions, and is a correct broker after that.
    private final class Fixture {
        let folder: TestFolder
        let broker: ScriptedBroker
        /// The number of sessions that were played to their end.
        let played = Announced(0)
        let isGood = Announced(false)
        private(set) var gateway: SpawnedProcess
        /// Unexpected results.
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
            // Swift's crash handler would print a backtrace, and end the process with another signal than the one that
            // occurred.
            let quiet = ["SWIFT_BACKTRACE": "enable=no"]
            return try SpawnedProcess(
                FaultTests.gateway,
                [
                    "publish", folder.file("events"), "--config", folder.file("g.yaml"), "--checkpoint",
                    folder.file("mqtt.json"), "--follow",
                ], environment: ProcessInfo.processInfo.environment.merging(quiet) { $1 },
                output: .file(folder.file("log")), errors: .output)
        }

        /// All log lines of its processes.
        private var said: [String] {
            ((try? String(contentsOfFile: folder.file("log"), encoding: .utf8)) ?? "").split(separator: "\n")
                .map(String.init)
        }

        /// Stops the process normally, and returns its exit status or the negative signal number.
        private func end() -> Int32 {
            gateway.waitUntilItHandles(SIGTERM)
            return gateway.end()
        }

        /// Checks the process, kills it if it still runs, and starts it again. For a process that has ended, or that
        /// would wait for a long time before its next attempt.
        func startAgain() throws {
            check()
            gateway.end(SIGKILL)
            gateway = try Self.start(folder, broker.port)
        }

        /// Checks the memory and processor time that were used so far, and that the process has not ended because of an
        /// error in this project.
        func check() {
            if gateway.isRunning {
                for process in gateway.family {
                    guard let (resident, processor) = Self.use(process) else { continue }
                    if resident > HostileBrokerTests.residentMiBMax { problems.append("it took \(resident) MiB") }
                    if processor > HostileBrokerTests.processorSecondsMax { problems.append("it took \(processor) s") }
                }
                return
            }
            // Debian's libmosquitto ends the process with an assertion if a broker sends an unknown property. Swift
            // ends a process with SIGILL or SIGTRAP.
            let status = gateway.wait()
            let isLibrary = status == -SIGABRT && said.contains { $0.contains("Assertion") }
            if status != 0, !isLibrary { problems.append("it ended with \(status): \(said.suffix(20))") }
        }

        /// Returns the maximum resident size in MiB (VmHWM, proc(5)), and the processor time in seconds.
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

        /// Waits until this number of sessions was played, and returns whether it was in time.
        func plays(_ count: Int, seconds: TimeInterval) -> Bool {
            played.wait(until: Date(timeIntervalSinceNow: seconds)) { $0 >= count ? true : nil } ?? false
        }

        /// Waits until this number of sessions was played. If the gateway waits for a long time before it connects
        /// again, it is started again. There are at most 20 waits, each longer than the one before.
        func plays(_ count: Int) throws {
            for attempt in 1...20 {
                if plays(count, seconds: 1.2 * Double(attempt)) { return }
                if attempt < 20 { try startAgain() }
            }
            problems.append("session \(count) was not played in 20 attempts: \(said.suffix(5))")
        }

        /// Makes the broker correct, and checks that it receives all lines in order.
        func recovers() throws {
            isGood.change { $0 = true }
            let all = Array(1...HostileBrokerTests.lines)
            var hasAll = comes(all.count, seconds: 2)
            // After an error that an operator must fix, the gateway waits longer than a test should, so it is started
            // again.
            if !hasAll { try startAgain() }
            hasAll = hasAll || comes(all.count, seconds: 300)
            // The first arrival of each line, in order. Lines that arrived in a hostile session count too.
            let arrived = Subscriber.distinct(broker.arrived.now.numbers)
            if !hasAll || arrived != all { problems.append("\(arrived) arrived; \(said.suffix(5))") }
            check()
            let status = end()
            if status != 0 { problems.append("it ended with \(status): \(said.suffix(5))") }
            broker.close()
        }

        private func comes(_ count: Int, seconds: TimeInterval) -> Bool {
            broker.arrived.wait(until: Date(timeIntervalSinceNow: seconds)) {
                Set($0.numbers).count >= count ? true : nil
            }
                ?? false
        }
    }

    @Test func `there are at least 50 hostile modes with unique names`() {
        #expect(Set(HostileMode.all.map(\.name)).count == HostileMode.all.count)
        #expect(HostileMode.all.count >= 50)
    }

    @Test(arguments: HostileMode.all)
    func `no line is lost because of a hostile broker`(mode: HostileMode) async throws {
        let problems = try await BlockingThreads.shared.run {
            let fixture = try Fixture([mode])
            let isPlayed = fixture.plays(1, seconds: 300)
            try fixture.recovers()
            return (isPlayed ? [] : ["it was not played"]) + fixture.problems
        }
        #expect(problems == [])
    }

    @Test func `no line is lost because of random sessions`() async throws {
        let count = environment("BEACON_SESSIONS", default: 24)
        let seed = SeededGenerator.seed
        // The number of sessions of each process, before it gets a correct broker. Processes mostly wait, for data that
        // never arrives and for the next attempt.
        let each = 8
        let problems = try await BlockingThreads.shared.map((count + each - 1) / each) { group in
            let first = group * each
            let modes = (first..<min(first + each, count)).map {
                HostileMode.random(seed &* 1_000_003 &+ UInt64($0))
            }
            let fixture = try Fixture(modes)
            for session in 1...modes.count {
                try fixture.plays(session)
            }
            try fixture.recovers()
            return fixture.problems.map { "seed \(seed), sessions from \(first): \($0)" }
        }
        #expect(problems.joined().isEmpty, "\(problems.joined().joined(separator: "\n"))")
        #expect(problems.count == (count + each - 1) / each)
    }
}
