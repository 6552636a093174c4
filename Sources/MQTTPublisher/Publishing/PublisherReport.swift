import BaseTypes
import PublisherProtocol

/// The status of a publisher, and its lines for the log.
///
/// An error of the broker is logged at most once an hour. An error of local files is logged once until it is fixed.
/// Lines that are set aside are logged at most ten times an hour.
final class PublisherReport {
    /// The local files that a publisher reads or writes.
    enum Place: Int, CaseIterable {
        case events, checkpoint, state
    }

    // An error that lasts for days should be in each log that an operator reads, without filling it.
    private static let repeatsAfter: Duration = .seconds(3600)
    private static let reportedMax = 16
    // The maximum per hour. If a condition has a name that no topic can have, each of its lines would be logged.
    private static let setAsideReportedMax = 10

    /// The status of the broker and the lines, which is up to date after each turn.
    var status: PublisherStatus

    /// The errors of the broker that were logged recently, and when. An error that appears repeatedly is not logged
    /// each time.
    private var reported: [BrokerError: Instant] = [:]
    /// Whether an error was logged, and its end was not. It starts as `true`, so that the first connection is logged.
    private var isFailing = true
    private var localFailures: [Place: String] = [:]
    private var reportedSetAside: [Instant] = []
    /// Lines for the log. They are sent after the status that contains the same problem.
    private var remarks: [PublisherRemark] = []

    /// Creates the report of a publisher that starts.
    init(at now: Instant) { status = PublisherStatus(since: now) }

    /// Sets the state of the publisher, and the time of the change.
    func set(_ state: PublisherStatus.State, at now: Instant) {
        guard status.state != state else { return }
        status.state = state
        status.since = now
    }

    /// Adds a line for the log, which is sent at the end of the turn.
    func note(_ isError: Bool, _ text: String) {
        remarks.append(PublisherRemark(isError: isError, text: text))
    }

    /// Returns the lines for the log since the last call.
    func takeRemarks() -> [PublisherRemark] {
        defer { remarks.removeAll() }
        return remarks
    }

    // MARK: The broker

    /// Sets the error of the broker in the status, and logs it at most once an hour.
    func say(_ failure: BrokerError, at now: Instant) {
        let text = failure.remedy.map { "\(failure); \($0)" } ?? failure.description
        status.brokerFailure = text
        guard isDue(failure, at: now) else { return }
        isFailing = true
        note(true, "\(text); nothing is lost, lines wait in the files")
    }

    /// Logs a text about the effect of an error, at most once an hour.
    func say(_ text: String, of failure: BrokerError, at now: Instant) {
        if isDue(failure, at: now) { note(true, text) }
    }

    /// Removes the error from the status, and logs its end if it was logged.
    func recovered(_ text: String) {
        status.brokerFailure = nil
        guard isFailing else { return }
        isFailing = false
        note(false, text)
    }

    /// Logs that the broker accepts a message that it had refused. After that, each new error is logged immediately.
    func refusalIsOver(_ text: String) {
        status.brokerFailure = nil
        reported = [:]
        isFailing = false
        note(false, text)
    }

    private func isDue(_ failure: BrokerError, at now: Instant) -> Bool {
        guard reported[failure].map({ now - $0 >= Self.repeatsAfter }) ?? true else { return false }
        if reported.count >= Self.reportedMax { reported = [:] }
        reported[failure] = now
        return true
    }

    // MARK: Local files

    /// Sets or removes the error of a local file, and logs each change once.
    func note(_ place: Place, _ failure: String?) {
        guard localFailures[place] != failure else { return }
        if let failure {
            note(true, failure)
        } else if let before = localFailures[place] {
            note(false, "over: \(before)")
        }
        localFailures[place] = failure
    }

    /// The current error of local files; that of the event files first.
    var localFailure: String? { Place.allCases.lazy.compactMap { self.localFailures[$0] }.first }

    /// Returns whether a local file has an error.
    func hasFailure(with place: Place) -> Bool { localFailures[place] != nil }

    /// Counts a line or message that cannot be published to any broker, and logs it at most ten times an hour.
    func noteSetAside(_ text: String, at now: Instant) {
        status.setAside += 1
        reportedSetAside.removeAll { now - $0 >= Self.repeatsAfter }
        guard reportedSetAside.count < Self.setAsideReportedMax else { return }
        reportedSetAside.append(now)
        note(true, "\(text); it stays in the files, and status counts such lines (\(status.setAside))")
    }
}
