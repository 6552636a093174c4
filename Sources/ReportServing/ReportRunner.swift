import EventLoops

/// Runs the commands that make reports: two at the same time, while up to 16 wait. Others are refused.
///
/// A report reads all event files, which takes seconds for a year of them. A separate process makes it, so that other
/// clients do not wait, and the server returns the same result as the command.
final class ReportRunner {
    /// The counters since the start.
    struct Counters: Hashable {
        /// The number of requested reports.
        var asked = 0
        /// The number of reports that were refused because too many were waiting.
        var refused = 0
        /// The maximum number of simultaneous commands so far.
        var most = 0
    }

    static let atOnce = 2
    static let waitingMax = 16

    private(set) var counters = Counters()
    private let program: String
    private let loop: EventLoop
    private var running: [ObjectIdentifier: ReportJob] = [:]
    private var waiting: [ReportJob] = []

    /// Creates a runner that starts the commands of `program`.
    init(_ program: String, on loop: EventLoop) { (self.program, self.loop) = (program, loop) }

    /// The number of running commands.
    var runningCount: Int { running.count }

    /// Returns a promise of the report, or a problem if too many are waiting.
    func answer(_ order: ReportJob.Order) -> HTTPAnswer {
        counters.asked += 1
        waiting.removeAll { $0.isAbandoned }
        guard waiting.count < Self.waitingMax else {
            counters.refused += 1
            return .problem(
                HTTPProblem(503, "too many reports are being created", hint: "try again in 5 s", retryAfter: 5))
        }
        let job = ReportJob(order, on: loop)
        waiting.append(job)
        proceed()
        return .later(job.promise)
    }

    /// Ends all commands.
    func stop() {
        waiting = []
        for job in running.values { job.abandon() }
    }

    private func proceed() {
        while running.count < Self.atOnce, !waiting.isEmpty {
            let job = waiting.removeFirst()
            guard !job.isAbandoned else { continue }
            running[ObjectIdentifier(job)] = job
            counters.most = max(counters.most, running.count)
            job.over = { [unowned self, unowned job] in
                running[ObjectIdentifier(job)] = nil
                proceed()
            }
            job.begin(program)
        }
    }
}
