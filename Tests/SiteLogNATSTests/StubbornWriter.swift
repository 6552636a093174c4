import BaseTypes
import BrokerSupport
import SiteLogNATS
import SiteMonitoring
import TestSupport

/// A gateway that sends batches while servers are killed and suspended. Batches that were not acknowledged are sent
/// again.
final class StubbornWriter {
    /// The offset of each acknowledged batch, by its sequence.
    private(set) var acknowledged: [UInt64: UInt64] = [:]
    /// The number of batches that were sent again.
    private(set) var repetitions = 0
    /// Answers that no log may give.
    private(set) var wrong: [String] = []

    /// The longest time without an acknowledgement since ``begin(batches:)``.
    private(set) var stall = Duration.zero

    private static let window = 64

    private let fixture: NATSFixture
    private let log: NATSLog
    private let gateway: LogName
    private var lastProgress = Instant.earliest
    private var wantedBatches: UInt64 = 0
    private var next: UInt64 = 1
    private var again: [UInt64] = []
    private var underWay: [LogTicket: UInt64] = [:]
    // As in a gateway: if a batch is refused because there is no leader, it is not sent again immediately.
    private var backOff = BackOff(first: .milliseconds(10), most: .milliseconds(500))
    private var restsUntil = Instant.earliest
    private var looks = 0
    private var lookTickets: Set<LogTicket> = []

    init(_ fixture: NATSFixture, _ log: NATSLog) throws {
        self.fixture = fixture
        self.log = log
        gateway = try LogName("lobby")
    }

    static func batch(_ sequence: UInt64) -> [UInt8] {
        Array("batch \(sequence) ".utf8) + Array(repeating: 7, count: 200)
    }

    /// Sends more batches and returns when they are acknowledged.
    func proceed(batches: UInt64) async throws {
        wantedBatches += batches
        try await until("\(wantedBatches) batches are acknowledged", saw: progress) {
            try turn()
            return acknowledged.count >= wantedBatches
        }
    }

    /// Starts to send this number of further batches, and does not wait for the answers.
    func begin(batches: UInt64) throws {
        lastProgress = fixture.now
        stall = .zero
        wantedBatches += batches
        try turn()
    }

    private var progress: String { "\(acknowledged.count) batches acknowledged, \(underWay.count) in flight" }

    /// Returns when everything that was sent is acknowledged.
    func finish() async throws {
        try await until("everything sent is acknowledged", saw: progress) {
            try turn()
            return underWay.isEmpty && again.isEmpty
        }
    }

    /// Reads the state of the stream of batches repeatedly until it is as wanted, and returns it.
    func state(_ isWanted: (StreamState) -> Bool) async throws -> StreamState {
        var found: StreamState?
        try await until("the stream of batches has the wanted state", saw: "\(String(describing: found))") {
            let before = looks
            if lookTickets.isEmpty { lookTickets = Set(log.look(at: fixture.now)) }
            try turn()
            if looks > before, let state = log.streamStates["batches"], isWanted(state) { found = state }
            return found != nil
        }
        guard let found else { throw TimeoutError(description: "no state") }
        return found
    }

    /// Sends the wanted batches as far as there is room, and takes the answers.
    private func turn() throws {
        if log.isConnected, restsUntil <= fixture.now {
            while underWay.count < Self.window, !again.isEmpty || next <= wantedBatches {
                let sequence = again.popLast() ?? next
                if sequence == next { next += 1 } else { repetitions += 1 }
                let key = BatchKey(gateway: gateway, boot: 1, sequence: sequence)
                underWay[try log.send(.append(key, Self.batch(sequence)), at: fixture.now)] = sequence
            }
        }
        fixture.turn(log)
        for answer in log.answers(at: fixture.now) {
            if case .failure = answer.result { restsUntil = fixture.now + backOff.next() } else { backOff.reset() }
            if let sequence = underWay.removeValue(forKey: answer.ticket) {
                take(answer.result, sequence)
            } else if lookTickets.remove(answer.ticket) != nil {
                if lookTickets.isEmpty { looks += 1 }
            }
        }
    }

    private func take(_ result: Result<LogResponse, SiteLogError>, _ sequence: UInt64) {
        switch result {
        case .success(.appended(let offset, isRepeat: _)):
            acknowledged[sequence] = offset
            stall = max(stall, fixture.now - lastProgress)
            lastProgress = fixture.now
        case .failure(let siteError) where siteError.mayPass: again.append(sequence)
        default: wrong.append("batch \(sequence): \(result)")
        }
    }
}
