import BrokerSupport
import Foundation
import Glibc
import SiteLogNATS
import SiteLogSupport
import SiteMonitoring
import TestSupport
import Testing

/// Three servers, some of which are killed or suspended while batches are written.
@Suite(.serialized) struct ChaosTests {
    enum Fault: CaseIterable { case leaderKilled, followerKilled, leaderStopped, allKilled }

    /// The seeds; `make verify STEP=site-chaos` sets their number.
    static let seeds = SeededGenerator.seeds(environment("BEACON_CHAOS_RUNS", default: 1))
    /// The maximum time without an acknowledgement after one server was killed, in seconds from `BEACON_SITE_STALL`. It
    /// is a wall-clock time, so the normal suite does not check it.
    static let stallMax = Int(ProcessInfo.processInfo.environment["BEACON_SITE_STALL"] ?? "").map {
        Duration.seconds($0)
    }
    /// The number of batches that are written between faults, and during each one.
    static let batches: UInt64 = 200

    @Test(arguments: NATSServers.Setup.clusters, seeds)
    func `acknowledged batches are in the log, whichever servers are killed or suspended`(
        _ setup: NATSServers.Setup, _ seed: UInt64
    ) async throws {
        let servers = try await NATSServers(setup.program, setup.count)
        let fixture = try NATSFixture(servers.addresses, replicas: 3, site: "hq", answerTime: .seconds(5))
        let log = try #require(try await fixture.client() as? NATSLog)
        let writer = try StubbornWriter(fixture, log)
        var generator = SeededGenerator(state: seed)
        var stalls: [Fault: Duration] = [:]
        for fault in Fault.allCases.shuffled(using: &generator) {
            try await writer.proceed(batches: Self.batches)
            let state = try await writer.state { $0.leader != nil && $0.copies == 3 }
            let leader = try #require(Int(state.leader?.dropFirst() ?? ""))
            let other = (leader + Int.random(in: 1...2, using: &generator)) % 3
            // These batches are in flight when the fault occurs.
            try writer.begin(batches: Self.batches)
            switch fault {
            case .leaderKilled, .followerKilled:
                let victim = fault == .leaderKilled ? leader : other
                servers.kill(victim)
                // Two of three servers are enough to continue.
                try await writer.proceed(batches: Self.batches)
                stalls[fault] = writer.stall
                try servers.restart(victim)
            case .leaderStopped:
                servers.signal(leader, SIGSTOP)
                try await writer.proceed(batches: Self.batches)
                stalls[fault] = writer.stall
                servers.signal(leader, SIGCONT)
            case .allKilled:
                for index in 0..<3 { servers.kill(index) }
                for index in 0..<3 { try servers.restart(index) }
                try await writer.proceed(batches: Self.batches)
                stalls[fault] = writer.stall
            }
            if let most = Self.stallMax, fault == .leaderKilled || fault == .followerKilled {
                #expect(stalls[fault] ?? .zero <= most, "\(fault)")
            }
        }
        try await writer.proceed(batches: Self.batches)
        try await writer.finish()
        #expect(writer.wrong == [])
        try await compare(writer, LogDriver(fixture))
        print(
            "\(setup), seed \(seed): \(writer.acknowledged.count) batches acknowledged,",
            "\(writer.repetitions) sent again; nothing acknowledged for at most",
            stalls.map { "\($0) \($1)" }.sorted().joined(separator: ", "))
    }

    /// Checks that another client finds, at each offset, the batch that was acknowledged with it.
    private func compare(_ writer: StubbornWriter, _ reader: LogDriver) async throws {
        var batches: [UInt64: [UInt8]] = [:]
        let last = writer.acknowledged.values.max() ?? 0
        var readings = 0
        try await until("\(last) batches are read", saw: "\(batches.count) batches") {
            let from = (batches.keys.max() ?? 0) + 1
            readings += 1
            guard readings < 10_000 else {
                throw TimeoutError(
                    description: "batch \(from) was acknowledged, but is missing; expected up to \(last)")
            }
            for entry in try await page(reader, .readBatches(LogRange(from: from))) {
                batches[entry.number] = entry.bytes
            }
            return (batches.keys.max() ?? 0) >= last
        }
        for (sequence, offset) in writer.acknowledged {
            #expect(batches[offset] == StubbornWriter.batch(sequence), "batch \(sequence) at \(offset)")
        }
    }

    private func page(_ reader: LogDriver, _ request: LogRequest) async throws -> [LogEntry] {
        switch try await reader.result(reader.send(request)) {
        case .success(.batches(let page)): return page.entries
        case .failure(let siteError) where siteError.mayPass: return []
        case let other: throw TimeoutError(description: "\(other)")
        }
    }
}
