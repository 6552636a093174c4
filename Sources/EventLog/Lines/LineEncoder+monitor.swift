package import BeaconMonitoring
package import BluetoothLE

// The lines of a monitor: `event`, `visit`, `condition`.
extension LineEncoder {
    mutating func encode(_ event: BeaconMonitor.Event, into buffer: inout LineBuffer) {
        begin("event", event.identifier, of: event.scope == .beacon ? event.refinement : nil, into: &buffer)
        appendBody(of: event, adapter: event.sighting.map { adapterName($0.adapter) } ?? "", into: &buffer)
        end(&buffer)
    }

    /// What a line says of an event after its number; `adapter` is the one that heard its sighting. Without `time` it
    /// can stand where there is one of another meaning.
    func appendBody(
        of event: BeaconMonitor.Event, adapter: String, withTime: Bool = true, into buffer: inout LineBuffer
    ) {
        appendSubject(event.monitor, event.identifier, event.scope, into: &buffer)
        buffer.append("\",\"state\":\"")
        buffer.append(event.state.word)
        buffer.append(octet: UInt8(ascii: "\""))
        appendTime(event.time, event.clockOffset, withTime: withTime, into: &buffer)
        append(event.condition, into: &buffer)
        if let refinement = event.refinement { append(refinement, into: &buffer) }
        if let previous = event.previous {
            buffer.append(",\"previous\":{\"state\":\"")
            buffer.append(previous.state.word)
            buffer.append("\",\"date\":\"")
            buffer.append(previous.date)
            buffer.append("\"}")
        }
        if let sighting = event.sighting { append(sighting, adapter: adapter, into: &buffer) }
        if let lastSeen = event.lastSeen {
            buffer.append(",\"lastSeen\":\"")
            buffer.append(WallDate(lastSeen, offset: event.clockOffset))
            buffer.append(octet: UInt8(ascii: "\""))
        }
        append(event.diagnostics, into: &buffer)
    }

    mutating func encode(_ visit: Visit, into buffer: inout LineBuffer) {
        begin("visit", visit.identifier, of: visit.scope == .beacon ? visit.refinement : nil, into: &buffer)
        appendSubject(visit.monitor, visit.identifier, visit.scope, into: &buffer)
        buffer.append(octet: UInt8(ascii: "\""))
        appendTime(visit.time, visit.clockOffset, into: &buffer)
        append(visit.condition, into: &buffer)
        if let refinement = visit.refinement { append(refinement, into: &buffer) }
        if let arrival = visit.arrival {
            buffer.append(",\"arrival\":\"")
            buffer.append(WallDate(arrival, offset: visit.clockOffset))
            buffer.append(octet: UInt8(ascii: "\""))
        }
        if let departure = visit.departure {
            buffer.append(",\"departure\":\"")
            buffer.append(WallDate(departure, offset: visit.clockOffset))
            buffer.append(octet: UInt8(ascii: "\""))
        }
        if let arrival = visit.arrival, let departure = visit.departure {
            buffer.append(",\"duration\":")
            let offset = visit.clockOffset
            buffer.append(
                // An arrival before the machine was started, and a clock that has not been set since.
                seconds: max(
                    0,
                    WallDate(departure, offset: offset).microseconds
                        - WallDate(arrival, offset: offset).microseconds))
        }
        buffer.append(",\"sightings\":")
        buffer.append(visit.sightings)
        if let strength = visit.strength { append(strength, into: &buffer) }
        buffer.append(",\"reason\":\"")
        buffer.append(visit.reason.word)
        buffer.append(octet: UInt8(ascii: "\""))
        end(&buffer)
    }

    mutating func encode(_ change: ConditionChange, into buffer: inout LineBuffer) {
        begin("condition", change.identifier, into: &buffer)
        buffer.append(",\"monitor\":\"")
        buffer.append(escaped: change.monitor)
        buffer.append("\",\"identifier\":\"")
        buffer.append(escaped: change.identifier)
        buffer.append("\",\"change\":\"")
        buffer.append(change.kind.word)
        buffer.append(octet: UInt8(ascii: "\""))
        appendTime(change.time, change.clockOffset, into: &buffer)
        append(change.condition, into: &buffer)
        append(change.settings, assumed: change.assumed, into: &buffer)
        end(&buffer)
    }

    private func appendSubject(
        _ monitor: String, _ identifier: String, _ scope: Scope, into buffer: inout LineBuffer
    ) {
        buffer.append(",\"monitor\":\"")
        buffer.append(escaped: monitor)
        buffer.append("\",\"identifier\":\"")
        buffer.append(escaped: identifier)
        buffer.append("\",\"scope\":\"")
        buffer.append(scope == .beacon ? "beacon" : "condition")
    }

    func appendTime(
        _ time: Instant, _ offset: ClockOffset, withTime: Bool = true, into buffer: inout LineBuffer
    ) {
        let date = WallDate(time, offset: offset)
        buffer.append(",\"date\":\"")
        buffer.append(date)
        buffer.append(octet: UInt8(ascii: "\""))
        if withTime { buffer.append(timeOf: date) }
        buffer.append(",\"monotonic\":")
        buffer.append(Int(time.nanoseconds / 1000))
    }

    /// Appends what is monitored as lines have it, its key and the comma before it included.
    package func append(_ condition: Condition, into buffer: inout LineBuffer) {
        switch condition {
        case .beacon(let identity):
            buffer.append(",\"condition\":{\"uuid\":\"")
            buffer.append(identity.uuid)
            buffer.append(octet: UInt8(ascii: "\""))
            if let major = identity.major {
                buffer.append(",\"major\":")
                buffer.append(Int(major))
            }
            if let minor = identity.minor {
                buffer.append(",\"minor\":")
                buffer.append(Int(minor))
            }
        case .circle(let circle):
            // A Double's description is the shortest text that reads back as the same value.
            buffer.append(",\"condition\":{\"center\":[")
            buffer.append(escaped: circle.latitude.description)
            buffer.append(octet: UInt8(ascii: ","))
            buffer.append(escaped: circle.longitude.description)
            buffer.append("],\"radius\":")
            buffer.append(escaped: circle.radius.description)
        }
        buffer.append(octet: UInt8(ascii: "}"))
    }

    /// Appends a beacon as lines have it, its key and the comma before it included.
    package func append(_ refinement: BeaconIdentity, into buffer: inout LineBuffer) {
        buffer.append(",\"refinement\":{\"uuid\":\"")
        buffer.append(refinement.uuid)
        buffer.append("\",\"major\":")
        buffer.append(Int(refinement.major))
        buffer.append(",\"minor\":")
        buffer.append(Int(refinement.minor))
        buffer.append(octet: UInt8(ascii: "}"))
    }

    private func append(_ strength: Visit.Strength, into buffer: inout LineBuffer) {
        buffer.append(",\"rssi\":{\"minimum\":")
        buffer.append(Int(strength.minimum))
        buffer.append(",\"mean\":")
        // In tenths, half away from zero (rule P3).
        let tenths = (strength.sum.magnitude * 20 + UInt64(strength.count)) / (2 * UInt64(strength.count))
        if strength.sum < 0, tenths > 0 { buffer.append(octet: UInt8(ascii: "-")) }
        buffer.append(Int(tenths / 10))
        buffer.append(octet: UInt8(ascii: "."))
        buffer.append(Int(tenths % 10))
        buffer.append(",\"maximum\":")
        buffer.append(Int(strength.maximum))
        buffer.append(octet: UInt8(ascii: "}"))
    }

    func append(_ settings: ConditionSettings, assumed: BeaconMonitor.Event.State?, into buffer: inout LineBuffer) {
        buffer.append(",\"settings\":{")
        if let assumed {
            buffer.append("\"assuming\":\"")
            buffer.append(assumed.word)
            buffer.append("\",")
        }
        buffer.append("\"perBeacon\":")
        buffer.append(settings.perBeacon ? "true" : "false")
        if settings.strangers != .track {
            buffer.append(",\"strangers\":\"")
            buffer.append(escaped: settings.strangers.rawValue)
            buffer.append(octet: UInt8(ascii: "\""))
        }
        buffer.append(",\"enterCount\":")
        buffer.append(settings.enterCount)
        buffer.append(",\"enterWindow\":")
        buffer.append(seconds: settings.enterWindow.nanoseconds / 1000)
        if let rssi = settings.enterRSSI {
            buffer.append(",\"enterRSSI\":")
            buffer.append(Int(rssi.dBm))
        }
        if let rssi = settings.exitRSSI {
            buffer.append(",\"exitRSSI\":")
            buffer.append(Int(rssi.dBm))
        }
        buffer.append(",\"exitTimeout\":")
        buffer.append(seconds: settings.exitTimeout.nanoseconds / 1000)
        buffer.append(octet: UInt8(ascii: "}"))
    }

    /// Appends the flags as lines have them, the key and the comma before it included.
    package func append(_ diagnostics: Diagnostics, into buffer: inout LineBuffer) {
        buffer.append(",\"diagnostics\":[")
        var isFirst = true
        for (bit, name) in Diagnostics.names.enumerated()
        where diagnostics.contains(Diagnostics(rawValue: 1 << UInt32(bit))) {
            buffer.append(isFirst ? "\"" : ",\"")
            buffer.append(escaped: name)
            buffer.append(octet: UInt8(ascii: "\""))
            isFirst = false
        }
        buffer.append(octet: UInt8(ascii: "]"))
    }

    private func append(_ sighting: Sighting, adapter: String, into buffer: inout LineBuffer) {
        buffer.append(",\"sighting\":{")
        if let rssi = sighting.rssi {
            buffer.append("\"rssi\":")
            buffer.append(Int(rssi.dBm))
            buffer.append(octet: UInt8(ascii: ","))
        }
        buffer.append("\"measuredPower\":")
        buffer.append(Int(sighting.measuredPower))
        if let address = sighting.address {
            buffer.append(",\"address\":\"")
            buffer.append(address)
            buffer.append(octet: UInt8(ascii: "\""))
        }
        buffer.append(",\"adapter\":\"")
        buffer.append(escaped: adapter)
        buffer.append("\"}")
    }
}

extension BeaconMonitor.Event.State {
    /// The state as lines spell it.
    package var word: StaticString {
        switch self {
        case .unknown: "unknown"
        case .satisfied: "satisfied"
        case .unsatisfied: "unsatisfied"
        case .unmonitored: "unmonitored"
        }
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
