import BaseTypes
import BluetoothLE

@testable import BeaconMonitoring

/// A generated simulation run: its settings, its start and its steps.
struct Script {
    var seed: UInt64
    var settings: EngineSettings
    var start: Instant
    var clockOffset: ClockOffset
    var steps: [Step]
}

/// One step of a run. Times are absolute, so that a step can be left out without moving the others.
///
/// An adapter is a name. If its controller has an address, an at sign and a number follow: `hci0@2`.
enum Step {
    case monitor(Identifier, MonitorSettings)
    case adapter(String)
    /// No controller has this name any more (rule L7).
    case left(String)
    case add(
        Condition, Identifier, monitor: Identifier, assuming: BeaconMonitor.Event.State, ConditionSettings, at: Instant)
    case remove(Identifier, at: Instant)
    /// Sets the beacons that have a name from then on. All others have none.
    case name(Set<BeaconIdentity>, at: Instant)
    case received(String, at: Instant)
    case sighted(String, BeaconIdentity, RSSI?, at: Instant)
    case listening(ListeningChange.Kind, String, reason: String?, at: Instant)
    /// A fix about this many meters north of the center of the circles.
    case located(north: Double, accuracy: Double, at: Instant)
    /// A change of the location source. If there is none, only time advances.
    case source(ListeningChange.Kind, reason: String?, at: Instant)
    case advance(to: Instant)
    case clockOffset(ClockOffset)
    case ambient(Diagnostics)
    /// Whether L5 applies. A replay with `--settle` turns it off after the last record.
    case silenceMeansNotScanning(Bool)

    /// The time of the step; `nil` if it has none.
    var time: Instant? {
        switch self {
        case .monitor, .adapter, .left, .clockOffset, .ambient, .silenceMeansNotScanning: nil
        case .add(_, _, _, _, _, let time), .remove(_, let time), .received(_, let time), .sighted(_, _, _, let time),
            .listening(_, _, _, let time), .advance(let time), .located(_, _, let time), .source(_, _, let time),
            .name(_, let time):
            time
        }
    }
}

extension Step {
    /// Returns the name and the address in an adapter's key.
    static func controller(_ key: String) -> (name: String, address: DeviceAddress?) {
        guard let sign = key.utf8.lastIndex(of: UInt8(ascii: "@")) else { return (key, nil) }
        let number = UInt64(key[key.index(after: sign)...]) ?? 0
        return (String(key[..<sign]), DeviceAddress(number == 0 ? 0 : 0x00AA_0100_0000 + number, kind: .public))
    }

    /// The center of the circles in generated runs.
    static let latitude = 48.2
    static let longitude = 16.4
}

extension Monitoring {
    /// Returns the adapter of a step.
    mutating func adapter(
        _ key: String, at time: Instant, into actions: inout ActionBuffer
    ) throws(MonitorError) -> AdapterID {
        let (name, address) = Step.controller(key)
        return try adapter(named: name, address: address, at: time, into: &actions)
    }

    /// Performs a step.
    ///
    /// - Returns: the resulting actions, and the error; `nil` if the step was accepted.
    mutating func perform(_ step: Step) -> (actions: [Action], error: MonitorError?) {
        var buffer = ActionBuffer()
        var refusal: MonitorError?
        do throws(MonitorError) {
            switch step {
            case .monitor(let name, let settings): try addMonitor(name, settings: settings)
            case .adapter(let name): _ = try adapter(name, at: now, into: &buffer)
            case .left(let name): adapterLeft(named: name)
            case .add(let condition, let identifier, let monitor, let assuming, let settings, let time):
                try add(
                    condition, identifier: identifier, monitor: monitor, assuming: assuming, settings: settings,
                    at: time, into: &buffer)
            case .remove(let identifier, let time): try remove(identifier, at: time, into: &buffer)
            case .name(let beacons, let time): name(beacons, at: time, into: &buffer)
            case .received(let name, let time):
                received(by: try adapter(name, at: time, into: &buffer), at: time, into: &buffer)
            case .sighted(let name, let beacon, let rssi, let time):
                let adapter = try adapter(name, at: time, into: &buffer)
                sighted(
                    Sighting(time: time, adapter: adapter, beacon: beacon, measuredPower: -59, rssi: rssi),
                    into: &buffer)
            case .listening(let kind, let name, let reason, let time):
                let adapter = try adapter(name, at: time, into: &buffer)
                let change = ListeningChange(kind, adapter: adapter, reason: reason)
                listening(change, at: time, into: &buffer)
            case .located(let north, let accuracy, let time):
                let place = try Coordinate(latitude: Step.latitude + north / 111_200, longitude: Step.longitude)
                located(try LocationFix(time: time, coordinate: place, horizontalAccuracy: accuracy), into: &buffer)
            case .source(let kind, let reason, let time):
                guard let source = locationSource else {
                    advance(to: time, into: &buffer)
                    break
                }
                listening(ListeningChange(kind, adapter: source, reason: reason), at: time, into: &buffer)
            case .advance(let time): advance(to: time, into: &buffer)
            case .clockOffset(let offset): clockOffset = offset
            case .ambient(let flags): ambientDiagnostics = flags
            case .silenceMeansNotScanning(let isTaken): silenceMeansNotScanning = isTaken
            }
        } catch {
            refusal = error
        }
        return (Array(buffer.actions), refusal)
    }
}

// MARK: Text for failure messages

extension Instant {
    /// Seconds, and the nanoseconds that deviate from whole milliseconds: `12.5s-1ns`.
    var brief: String {
        let milliseconds = (nanoseconds + 500_000) / 1_000_000
        let rest = nanoseconds - milliseconds * 1_000_000
        let seconds = milliseconds % 1000 == 0 ? "\(milliseconds / 1000)s" : "\(Double(milliseconds) / 1000)s"
        return rest == 0 ? seconds : "\(seconds)\(rest > 0 ? "+" : "")\(rest)ns"
    }
}

extension BeaconIdentity {
    var brief: String { "\(String(uuid.low, radix: 16))/\(major)/\(minor)" }
}

extension Condition {
    var brief: String {
        switch self {
        case .circle(let circle): "circle r\(circle.radius)"
        case .beacon(let identity):
            [String(identity.uuid.low, radix: 16), identity.major.map(String.init), identity.minor.map(String.init)]
                .map { $0 ?? "*" }.joined(separator: "/")
        }
    }
}

extension ConditionSettings {
    var brief: String {
        var text = "enter \(enterCount) in \(enterWindow), exit \(exitTimeout)"
        if let enterRSSI { text += ", enter at \(enterRSSI.dBm)" }
        if let exitRSSI { text += ", exit at \(exitRSSI.dBm)" }
        return text + (perBeacon ? ", per beacon, unnamed \(unnamed)" : "")
    }
}

extension Step: CustomStringConvertible {
    var description: String {
        let what =
            switch self {
            case .monitor(let name, let settings):
                "monitor \(name): outage \(settings.outageTimeout), forget \(settings.forgetAfter)"
            case .adapter(let name): "adapter \(name)"
            case .left(let name): "the name \(name) is no longer used"
            case .add(let condition, let identifier, let monitor, let assuming, let settings, _):
                "add \(identifier) to \(monitor): \(condition.brief), assuming \(assuming), \(settings.brief)"
            case .remove(let identifier, _): "remove \(identifier)"
            case .name(let beacons, _): "named are \(beacons.sorted().map(\.brief).joined(separator: " "))"
            case .received(let name, _): "\(name) received a report"
            case .sighted(let name, let beacon, let rssi, _):
                "\(name) sighted \(beacon.brief) at \(rssi.map { "\($0.dBm)" } ?? "-") dBm"
            case .listening(.stopped(let since), let name, let reason, _):
                "\(name) stopped\(since.map { " since \($0.brief)" } ?? "")\(reason.map { " (\($0))" } ?? "")"
            case .listening(let kind, let name, let reason, _): "\(name) \(kind)\(reason.map { " (\($0))" } ?? "")"
            case .located(let north, let accuracy, _): "a fix \(north) m away, good to \(accuracy) m"
            case .source(let kind, let reason, _): "the location source \(kind)\(reason.map { " (\($0))" } ?? "")"
            case .advance: "advance"
            case .clockOffset(let offset): "clock offset \(offset.nanoseconds) ns"
            case .ambient(let flags): "ambient \(flags.rawValue)"
            case .silenceMeansNotScanning(let isTaken): "silence \(isTaken ? "means" : "does not mean") not scanning"
            }
        return (time.map { "\($0.brief): " } ?? "") + what
    }
}

extension Action {
    /// The action on one line, without the values that are equal in most cases.
    var brief: String {
        switch self {
        case .event(let event):
            "\(event.time.brief): \(event.identifier) \(event.refinement?.brief ?? "") \(event.scope) → \(event.state)"
                + ", previous \(event.previous.map { "\($0.state) \($0.date.microseconds)" } ?? "-")"
                + ", last seen \(event.lastSeen?.brief ?? "-"), flags \(event.diagnostics.rawValue)"
                + ", date \(event.date.microseconds)"
                + ", by \(event.sighting.map { "\($0.adapter.index):\($0.time.brief) \($0.rssi?.dBm ?? 127)" } ?? "-")"
        case .visit(let visit):
            "\(visit.time.brief): visit of \(visit.identifier) \(visit.refinement?.brief ?? ""), \(visit.reason): "
                + "\(visit.arrival?.brief ?? "-")…\(visit.departure?.brief ?? "-") × \(visit.sightings), "
                + "\(visit.strength.map { "\($0.minimum) \($0.sum)/\($0.count) \($0.maximum)" } ?? "-")"
        case .condition(let change):
            "\(change.time.brief): \(change.identifier) \(change.kind), assumed \(change.assumed.map { "\($0)" } ?? "-")"
        case .adapter(let change):
            "\(change.time.brief): \(change.adapter) \(change.state) since \(change.since.brief) (\(change.reason ?? "-"))"
        case .adapterNamed(let adapter, let name): "adapter \(adapter.index) is named \(name)"
        case .trackingLimitExceeded(let identifier, let limit): "too many beacons under \(identifier), \(limit)"
        }
    }
}
