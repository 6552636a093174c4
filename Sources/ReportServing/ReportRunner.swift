import EventLoops

/// Has reports made: some at once, some that wait, and no more.
///
/// A report reads all event files, which takes seconds where they hold a year: a command of its own does it, so that nobody
/// else waits for it, and so that what is served is what the command tells.
final class ReportRunner {
    /// What it has done, and does.
    struct Counters: Hashable {
        /// Reports that were asked for.
        var asked = 0
        /// Those that were told to come back, since too many were waiting.
        var refused = 0
        /// The most commands that there were at once.
        var most = 0
    }

    static let atOnce = 2
    static let waitingMax = 16

    private(set) var counters = Counters()
    private let program: String
    private let loop: EventLoop
    private var running: [ObjectIdentifier: ReportJob] = [:]
    private var waiting: [ReportJob] = []

    /// One that has `program` make them.
    init(_ program: String, on loop: EventLoop) { (self.program, self.loop) = (program, loop) }

    /// How many commands there are.
    var runningCount: Int { running.count }

    /// Answers with a report, as soon as it is made.
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
        goOn()
        return .later(job.promise)
    }

    /// Ends all commands.
    func stop() {
        waiting = []
        for job in running.values { job.abandon() }
    }

    private func goOn() {
        while running.count < Self.atOnce, !waiting.isEmpty {
            let job = waiting.removeFirst()
            guard !job.isAbandoned else { continue }
            running[ObjectIdentifier(job)] = job
            counters.most = max(counters.most, running.count)
            job.over = { [unowned self, unowned job] in
                running[ObjectIdentifier(job)] = nil
                goOn()
            }
            job.begin(program)
        }
    }
}
