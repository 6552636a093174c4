import BeaconMonitoringFoundation
import BeaconScanning
import Foundation

/// The people and their states, for a screen. The name of a person is the identifier of a condition.
struct Board {
    private var last: [String: BeaconMonitor.Event]
    private let zone: TimeZone
    /// The diagnostics of the machine, which can explain why a state is unknown.
    var diagnostics: Diagnostics = []

    /// Creates a board with the records of a monitor.
    init(_ records: [BeaconMonitor.Record], zone: TimeZone = .current) {
        last = Dictionary(uniqueKeysWithValues: records.map { ($0.lastEvent.identifier, $0.lastEvent) })
        self.zone = zone
    }

    /// Shows the state of an event. A store can deliver an event of a badge that is not monitored any more.
    mutating func show(_ event: BeaconMonitor.Event) {
        guard last[event.identifier] != nil else { return }
        last[event.identifier] = event
    }

    /// The lines of the board: the number of present people, a line for each person, and the diagnostics.
    var lines: [String] {
        let people = last.sorted { $0.key.localizedStandardCompare($1.key) == .orderedAscending }
        let present = people.count { $0.value.state == .satisfied }
        let width = people.map(\.key.count).max() ?? 0
        return ["\(present) of \(people.count) present"]
            + people.map { name, event in
                name + String(repeating: " ", count: width - name.count) + "  " + text(of: event)
            } + (diagnostics.isEmpty ? [] : ["Diagnostics: \(diagnostics)"])
    }

    private func text(of event: BeaconMonitor.Event) -> String {
        let time = Self.time(event.date, in: zone)
        switch event.state {
        case .satisfied: return "present since \(time)"
        case .unsatisfied: return "absent since \(time)"
        case .unknown:
            // Unknown is not absent: no adapter scanned long enough to decide.
            return "unknown since \(time)" + (event.previous?.state == .satisfied ? ", was present" : "")
        case .unmonitored: return "not monitored"
        }
    }

    private static func time(_ date: WallDate, in zone: TimeZone) -> String {
        Date(date).formatted(
            Date.VerbatimFormatStyle(
                format: """
                    \(year: .defaultDigits)-\(month: .twoDigits)-\(day: .twoDigits) \
                    \(hour: .twoDigits(clock: .twentyFourHour, hourCycle: .zeroBased)):\(minute: .twoDigits)
                    """, timeZone: zone, calendar: Calendar(identifier: .gregorian)))
    }
}
