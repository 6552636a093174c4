import BaseTypes
import Glibc
import SiteLogNATS
import SiteLogSupport
import SiteMonitoring
import TestSupport

/// A site of its own on real servers, in real time.
final class NATSWorld: LogWorld {
    /// As whom its clients connect.
    var options: NATSOptions
    /// How much its streams keep.
    var bounds: StreamBounds
    private let site: LogName
    private var limits = LogLimits()
    private var isMade = false

    /// A site that no other test has.
    ///
    /// - Parameters:
    ///   - servers: their addresses.
    ///   - replicas: on how many of them each message is kept.
    ///   - site: its name.
    ///   - lease: the time of its lease, which the servers keep by their own clock. No test lasts an hour.
    ///   - answerTime: after how long without an answer there is none.
    /// - Throws: ``LogTrouble`` of a name that none can have.
    init(
        _ servers: [String], replicas: Int, site: String, lease: Duration = .seconds(3600),
        answerTime: Duration = .seconds(120)
    ) throws {
        bounds = StreamBounds(replicas: replicas)
        self.site = try LogName(site)
        options = NATSOptions(servers: servers, name: self.site)
        limits.leaseTime = lease
        limits.answerTime = answerTime
        limits.patienceMax = untilLimit
    }

    var now: Instant {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// A client that has reached nobody yet.
    func newLog() throws -> NATSLog { try NATSLog(options, site: site, limits: limits) }

    func client() async throws -> any SightingLog {
        if !isMade { try await make() }
        return try await connected(limits)
    }

    private func connected(_ limits: LogLimits) async throws -> NATSLog {
        let log = try NATSLog(options, site: site, limits: limits)
        try await until("a server is reached", saw: "\(String(describing: log.trouble))") {
            turn(log)
            _ = log.answers(at: now)
            return log.isConnected
        }
        return log
    }

    /// Has the streams made. A cluster that has no leader yet does not answer at all: it is asked again, which changes nothing.
    private func make() async throws {
        var impatient = limits
        impatient.answerTime = .seconds(2)
        let log = try await connected(impatient)
        try await until("the streams are made", saw: "\(String(describing: log.trouble))") {
            let tickets = log.make(bounds, at: now)
            var answers: [LogAnswer] = []
            try await until("the servers answer", saw: "\(answers)") {
                turn(log)
                answers += log.answers(at: now)
                return answers.count >= tickets.count
            }
            isMade = answers.allSatisfy { $0.result == .success(.stored) }
            return isMade
        }
    }

    func turn(_ log: any SightingLog) {
        guard let log = log as? NATSLog else { return }
        let wait = log.nextDeadline.map { ($0 - now).nanoseconds / 1_000_000 } ?? 10
        var descriptor = pollfd(fd: log.descriptor.rawValue, events: Int16(POLLIN), revents: 0)
        poll(&descriptor, 1, Int32(max(0, min(10, wait))))
    }
}
