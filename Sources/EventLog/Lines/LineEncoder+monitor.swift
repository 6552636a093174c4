package import BeaconMonitoring
import JSON

// The lines of a monitor: `event`, `visit`, `condition`.
extension LineEncoder {
    mutating func encode(_ event: BeaconMonitor.Event, into buffer: inout LineBuffer) {
        let adapter = event.sighting.map { adapterName($0.adapter) } ?? ""
        let beacon = event.scope == .beacon ? event.refinement : nil
        line("event", event.identifier, of: beacon, into: &buffer) { $0.write(event, adapter: adapter) }
    }

    mutating func encode(_ visit: Visit, into buffer: inout LineBuffer) {
        let beacon = visit.scope == .beacon ? visit.refinement : nil
        line("visit", visit.identifier, of: beacon, into: &buffer) { $0.write(visit) }
    }

    mutating func encode(_ change: ConditionChange, into buffer: inout LineBuffer) {
        line("condition", change.identifier, into: &buffer) { buffer in
            buffer.write("monitor", change.monitor)
            buffer.write("identifier", change.identifier)
            buffer.write("change", word: change.kind.word)
            buffer.write(change.time, change.clockOffset)
            buffer.write(change.condition)
            buffer.write(change.settings, assumed: change.assumed)
        }
    }
}

extension LineBuffer {
    fileprivate mutating func write(_ visit: Visit) {
        write(visit.monitor, visit.identifier, visit.scope)
        write(visit.time, visit.clockOffset)
        write(visit.condition)
        if let refinement = visit.refinement { write(refinement: refinement) }
        let arrival = visit.arrival.map { WallDate($0, offset: visit.clockOffset) }
        let departure = visit.departure.map { WallDate($0, offset: visit.clockOffset) }
        if let arrival { write("arrival", arrival) }
        if let departure { write("departure", departure) }
        if let arrival, let departure {
            // Less than nothing: an arrival before the machine was started, and a clock that has not been set since.
            write("duration", millionths: max(0, departure.microseconds - arrival.microseconds))
        }
        write("sightings", visit.sightings)
        if let strength = visit.strength { write(strength) }
        write("reason", word: visit.reason.word)
    }
}

extension Visit.Strength {
    /// The mean in tenths of a decibel, half away from zero (rule P3).
    package var meanTenths: Int {
        let tenths = Int((sum.magnitude * 20 + UInt64(count)) / (2 * UInt64(count)))
        return sum < 0 ? -tenths : tenths
    }
}

extension Visit.Reason {
    /// The reason as lines spell it.
    var word: StaticString {
        switch self {
        case .exitTimeout: "exitTimeout"
        case .left: "left"
        case .removed: "removed"
        case .replaced: "replaced"
        case .displaced: "displaced"
        }
    }
}

extension ConditionChange.Kind {
    /// The change as lines spell it.
    var word: StaticString {
        switch self {
        case .added: "added"
        case .replaced: "replaced"
        case .changed: "changed"
        case .removed: "removed"
        }
    }
}
