import BaseTypes
import BeaconMonitoring

/// A second and very simple implementation of the rules, for conditions on one beacon each and one adapter that scans.
/// It computes the events and visits that result from each input.
struct Expectation {
    struct Stand {
        var minor: UInt16
        /// The position in the order in which conditions were added. A condition that replaces this one keeps it.
        let place: Int
        var state: BeaconMonitor.Event.State
        /// When the condition becomes `unsatisfied` if no further sighting arrives.
        var deadline: Instant
        var arrival: Instant?
        var lastSeen: Instant?
    }

    static let exitTimeout: Duration = .seconds(30)

    private(set) var stands: [String: Stand] = [:]
    private var placesGiven = 0
    private(set) var events: [Ledger.Entry] = []
    private(set) var visits: [Ledger.Entry] = []

    /// Returns the events and visits that result from the inputs since the last call.
    mutating func take() -> (events: [Ledger.Entry], visits: [Ledger.Entry]) {
        defer {
            events.removeAll(keepingCapacity: true)
            visits.removeAll(keepingCapacity: true)
        }
        return (events, visits)
    }

    mutating func advance(to time: Instant) {
        let due = stands.filter { $0.value.state != .unsatisfied && $0.value.deadline <= time }
            .sorted { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) }
        for (identifier, stand) in due {
            events.append(.event(identifier, .unsatisfied, stand.deadline))
            end(identifier)
            stands[identifier]?.state = .unsatisfied
        }
    }

    mutating func add(_ identifier: String, minor: UInt16, at time: Instant) {
        advance(to: time)
        guard stands[identifier]?.minor != minor else { return }
        end(identifier)
        placesGiven += 1
        stands[identifier] = Stand(
            minor: minor, place: stands[identifier]?.place ?? placesGiven, state: .unknown,
            deadline: time + Self.exitTimeout)
    }

    mutating func remove(_ identifier: String, at time: Instant) {
        advance(to: time)
        end(identifier)
        stands[identifier] = nil
    }

    mutating func sighted(_ minor: UInt16, at time: Instant) {
        advance(to: time)
        for identifier in stands.filter({ $0.value.minor == minor }).keys.sorted() {
            if stands[identifier]?.state != .satisfied {
                events.append(.event(identifier, .satisfied, time))
                visits.append(.visit(identifier, arrival: time, departure: nil))
                stands[identifier]?.state = .satisfied
                stands[identifier]?.arrival = time
            }
            stands[identifier]?.lastSeen = time
            stands[identifier]?.deadline = time + Self.exitTimeout
        }
    }

    private mutating func end(_ identifier: String) {
        guard let stand = stands[identifier], stand.state == .satisfied else { return }
        visits.append(.visit(identifier, arrival: stand.arrival, departure: stand.lastSeen))
    }
}
