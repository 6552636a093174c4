import BaseTypes
import Glibc
import SiteLogNATS
import SiteLogSupport
import SiteMonitoring
import TestSupport

/// A separate site on real servers, in real time.
final class NATSFixture: LogFixture {
    /// The options with which its clients connect.
    var options: NATSOptions
    /// The limits of its streams.
    var bounds: StreamBounds
    private let site: LogName
    private var limits = LogLimits()
    private var isMade = false

    /// Creates a site that no other test uses.
    ///
    /// - Parameters:
    ///   - servers: their addresses.
    ///   - replicas: the number of servers that store each message.
    ///   - site: its name.
    ///   - lease: the duration of its lease, which the servers measure by their own clock. No test lasts an hour.
    ///   - answerTime: the time after which a request counts as unanswered.
    /// - Throws: ``SiteLogError`` if a name is invalid.
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

    /// Returns a client that has not reached any server yet.
    func newLog() throws -> NATSLog { try NATSLog(options, site: site, limits: limits) }

    func client() async throws -> any SightingLog {
        if !isMade { try await make() }
        return try await connected(limits)
    }

    private func connected(_ limits: LogLimits) async throws -> NATSLog {
        let log = try NATSLog(options, site: site, limits: limits)
        try await until("a server is reached", saw: "\(String(describing: log.failure))") {
            turn(log)
            _ = log.answers(at: now)
            return log.isConnected
        }
        return log
    }

    /// Creates the streams. A cluster without a leader does not answer at all, so the requests are repeated, which
    /// changes nothing.
    private func make() async throws {
        var impatient = limits
        impatient.answerTime = .seconds(2)
        let log = try await connected(impatient)
        try await until("the streams are made", saw: "\(String(describing: log.failure))") {
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
