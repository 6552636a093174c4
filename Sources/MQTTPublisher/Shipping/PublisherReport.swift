import BaseTypes
import PublisherProtocol

/// How a publisher stands, and what it says to the operator: a trouble with the broker once an hour at most, what is wrong
/// with files here once until it is over, and what is set aside some times an hour.
final class PublisherReport {
    /// What is read and written here.
    enum Place: Int, CaseIterable {
        case events, checkpoint, state
    }

    // What goes on for days should be found in each log that is looked at, and not fill it.
    private static let saysAgainAfter: Duration = .seconds(3600)
    private static let saidMax = 16
    // A condition whose name no topic can have would have each of its lines said.
    private static let setAsideSaidMax = 10

    /// What the publisher tells of its broker and its lines, up to date after each turn.
    var status: PublisherStatus

    /// What was said of the broker lately, and when: what comes and goes is not said each time.
    private var said: [BrokerTrouble: Instant] = [:]
    /// Whether it was said that something is in the way, and not yet that it is over. It is, before the first connection.
    private var isInTrouble = true
    private var localTroubles: [Place: String] = [:]
    private var saidSetAside: [Instant] = []
    /// What is to be said once the status tells it too.
    private var remarks: [PublisherRemark] = []

    /// One of a publisher that begins.
    init(at now: Instant) { status = PublisherStatus(since: now) }

    /// Notes what the publisher does about the broker, and since when.
    func set(_ state: PublisherStatus.State, at now: Instant) {
        guard status.state != state else { return }
        status.state = state
        status.since = now
    }

    /// Has something said at the end of the turn.
    func note(_ isTrouble: Bool, _ text: String) {
        remarks.append(PublisherRemark(isTrouble: isTrouble, text: text))
    }

    /// What is to be said since this was asked last.
    func takeRemarks() -> [PublisherRemark] {
        defer { remarks.removeAll() }
        return remarks
    }

    // MARK: The broker

    /// Says what the matter is, once an hour at most.
    func say(_ trouble: BrokerTrouble, at now: Instant) {
        let text = trouble.remedy.map { "\(trouble); \($0)" } ?? trouble.description
        status.trouble = text
        guard isDue(trouble, at: now) else { return }
        isInTrouble = true
        note(true, "\(text); nothing is lost, lines wait in the files")
    }

    /// Says what a trouble costs in words of its own, once an hour at most.
    func say(_ text: String, of trouble: BrokerTrouble, at now: Instant) {
        if isDue(trouble, at: now) { note(true, text) }
    }

    /// Says that nothing is in the way any more, where it was said that something is.
    func recovered(_ text: String) {
        status.trouble = nil
        guard isInTrouble else { return }
        isInTrouble = false
        note(false, text)
    }

    /// Says that what the broker had refused it takes: whatever comes now is said again.
    func refusalIsOver(_ text: String) {
        status.trouble = nil
        said = [:]
        isInTrouble = false
        note(false, text)
    }

    private func isDue(_ trouble: BrokerTrouble, at now: Instant) -> Bool {
        guard said[trouble].map({ now - $0 >= Self.saysAgainAfter }) ?? true else { return false }
        if said.count >= Self.saidMax { said = [:] }
        said[trouble] = now
        return true
    }

    // MARK: Files here

    /// Notes what is wrong with files here, or that nothing is any more, and says it once.
    func note(_ place: Place, _ trouble: String?) {
        guard localTroubles[place] != trouble else { return }
        if let trouble {
            note(true, trouble)
        } else if let before = localTroubles[place] {
            note(false, "over: \(before)")
        }
        localTroubles[place] = trouble
    }

    /// What is wrong with files here, the lines first.
    var localTrouble: String? { Place.allCases.lazy.compactMap { self.localTroubles[$0] }.first }

    /// Whether something is wrong there.
    func hasTrouble(with place: Place) -> Bool { localTroubles[place] != nil }

    /// Counts what can't be published to any broker, and says it, some times an hour.
    func noteSetAside(_ text: String, at now: Instant) {
        status.setAside += 1
        saidSetAside.removeAll { now - $0 >= Self.saysAgainAfter }
        guard saidSetAside.count < Self.setAsideSaidMax else { return }
        saidSetAside.append(now)
        note(true, "\(text); it stays in the files, and status counts such lines (\(status.setAside))")
    }
}
