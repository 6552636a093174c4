import BluetoothLE
import BrokerSupport
import SiteLog
import SiteLogNATS
import TestSupport

/// A gateway and a publisher in one, who go on whatever becomes of the servers: what was not acknowledged is sent again, and who
/// was told that his event does not follow the last one looks whether it is there.
final class StubbornWriter {
    /// At which offset a batch is, by its sequence, as it was acknowledged.
    private(set) var acknowledged: [UInt64: UInt64] = [:]
    /// The last event that is known to be in the log.
    private(set) var lastEvent: UInt64 = 0
    /// How often something was sent again, and an event refused that was not there.
    private(set) var repetitions = 0
    private(set) var refusals = 0
    /// What no log may answer.
    private(set) var wrong: [String] = []

    /// The longest time without an acknowledgement since ``begin(batches:events:)``.
    private(set) var stall = Duration.zero

    private static let window = 64
    // A leader that is about to lose does so some hundred times; one that has lost what it acknowledged, for ever.
    private static let refusalsMax = 10_000

    private let world: NATSWorld
    private let log: NATSLog
    private let gateway: LogName
    private var lastProgress = Instant.earliest
    private var wantedBatches: UInt64 = 0
    private var wantedEvents: UInt64 = 0
    private var next: UInt64 = 1
    private var again: [UInt64] = []
    private var underWay: [LogTicket: UInt64] = [:]
    private var event: LogTicket?
    // As a gateway does it: what is refused because nobody leads is not sent again at once.
    private var backOff = BackOff(first: .milliseconds(10), most: .milliseconds(500))
    private var restsUntil = Instant.earliest
    private var looks = 0
    private var lookTickets: Set<LogTicket> = []

    init(_ world: NATSWorld, _ log: NATSLog) throws {
        self.world = world
        self.log = log
        gateway = try LogName("lobby")
    }

    static func batch(_ sequence: UInt64) -> [UInt8] {
        Array("batch \(sequence) ".utf8) + Array(repeating: 7, count: 200)
    }
    static func event(_ number: UInt64) -> [UInt8] { Array("event \(number)".utf8) }

    /// Until so many more are acknowledged: batches, and events.
    func goOn(batches: UInt64, events: UInt64) async throws {
        wantedBatches += batches
        wantedEvents += events
        try await until("\(wantedBatches) batches and \(wantedEvents) events are acknowledged", saw: progress) {
            try turn()
            return acknowledged.count >= wantedBatches && lastEvent >= wantedEvents
        }
    }

    /// Sends so many more, whose answers are not waited for.
    func begin(batches: UInt64, events: UInt64) throws {
        lastProgress = world.now
        stall = .zero
        wantedBatches += batches
        wantedEvents += events
        try turn()
    }

    /// Until nothing that was sent is without an answer.
    private var progress: String { "\(acknowledged.count) batches, event \(lastEvent), \(underWay.count) under way" }

    func finish() async throws {
        try await until("everything sent is acknowledged", saw: progress) {
            try turn()
            return underWay.isEmpty && again.isEmpty && event == nil
        }
    }

    /// How the stream of batches stands, asked anew until it is as it is wanted.
    func state(_ isWanted: (StreamState) -> Bool) async throws -> StreamState {
        var found: StreamState?
        try await until("the stream of batches is as it is wanted", saw: "\(String(describing: found))") {
            let before = looks
            if lookTickets.isEmpty { lookTickets = Set(log.look(at: world.now)) }
            try turn()
            if looks > before, let state = log.streamStates["batches"], isWanted(state) { found = state }
            return found != nil
        }
        guard let found else { throw NothingCame(description: "no state") }
        return found
    }

    /// Sends what is wanted, as far as there is room, and takes what is answered.
    private func turn() throws {
        if log.isConnected, restsUntil <= world.now {
            while underWay.count < Self.window, !again.isEmpty || next <= wantedBatches {
                let sequence = again.popLast() ?? next
                if sequence == next { next += 1 } else { repetitions += 1 }
                let key = BatchKey(gateway: gateway, boot: 1, sequence: sequence)
                underWay[try log.send(.append(key, Self.batch(sequence)), at: world.now)] = sequence
            }
            if event == nil, lastEvent < wantedEvents { try publish() }
        }
        world.turn(log)
        for answer in log.answers(at: world.now) {
            if case .failure = answer.result { restsUntil = world.now + backOff.next() } else { backOff.reset() }
            if let sequence = underWay.removeValue(forKey: answer.ticket) {
                take(answer.result, sequence)
            } else if answer.ticket == event {
                event = nil
                try takeEvent(answer.result)
            } else if lookTickets.remove(answer.ticket) != nil {
                if lookTickets.isEmpty { looks += 1 }
            }
        }
    }

    private func publish() throws {
        event = try log.send(.publish([Self.event(lastEvent + 1)], after: lastEvent), at: world.now)
    }

    private func take(_ result: Result<LogResponse, LogTrouble>, _ sequence: UInt64) {
        switch result {
        case .success(.appended(let offset, isRepeat: _)):
            acknowledged[sequence] = offset
            stall = max(stall, world.now - lastProgress)
            lastProgress = world.now
        case .failure(let trouble) where trouble.mayPass: again.append(sequence)
        default: wrong.append("batch \(sequence): \(result)")
        }
    }

    private func takeEvent(_ result: Result<LogResponse, LogTrouble>) throws {
        let number = lastEvent + 1
        switch result {
        case .success(.published(last: number)): lastEvent = number
        // Whether it is his own that is there, its text tells: a leader that is about to lose may count what it never stores.
        case .success(.fenced):
            event = try log.send(.readEvents(LogRange(from: number, countMax: 1)), at: world.now)
        case .success(.events(let page)):
            guard let entry = page.entries.first else {
                refusals += 1
                guard refusals < Self.refusalsMax else {
                    throw NothingCame(description: "event \(number) is refused, and not there: \(page)")
                }
                return
            }
            if entry.number == number, entry.octets == Self.event(number) {
                lastEvent = number
            } else {
                wrong.append("event \(entry.number) where \(number) was to be")
            }
        case .failure(let trouble) where trouble.mayPass || trouble == .missing("hq-events"): repetitions += 1
        default: wrong.append("event \(number): \(result)")
        }
    }
}
