import BaseTypes
package import BeaconMonitoring
package import BluetoothLE
package import JSON

// Parts that lines, `state.json` and present states have in common.
extension LineBuffer {
    /// Appends a date as text, as ``append(date:)`` does.
    package mutating func append(_ date: WallDate) { append(date: date.microseconds) }

    /// Writes a date.
    package mutating func write(_ key: StaticString, _ date: WallDate) { write(key, date: date.microseconds) }

    /// Writes a date; nothing if it is `nil`.
    package mutating func write(_ key: StaticString, _ date: WallDate?) {
        if let date { write(key, date) }
    }

    /// Writes a date as `time`: whole milliseconds since the start of 1970, rounded down. Every JSON reader can store
    /// this number exactly.
    package mutating func write(timeOf date: WallDate) { write("time", Self.split(date.microseconds, by: 1000).0) }

    /// Writes a time as `date`, `time` and `monotonic`. Pass `withTime: false` if the object has a `time` of another
    /// meaning.
    mutating func write(_ time: Instant, _ offset: ClockOffset, withTime: Bool = true) {
        let date = WallDate(time, offset: offset)
        write("date", date)
        if withTime { write(timeOf: date) }
        write("monotonic", time.nanoseconds / 1000)
    }

    /// Writes `condition`: the condition that is monitored.
    package mutating func write(_ condition: Condition) {
        object("condition") { buffer in
            switch condition {
            case .beacon(let identity):
                buffer.write(BeaconIdentity.Part.uuid.key, identity.uuid)
                if let major = identity.major { buffer.write(BeaconIdentity.Part.major.key, major) }
                if let minor = identity.minor { buffer.write(BeaconIdentity.Part.minor.key, minor) }
            case .circle(let circle):
                // The description of a `Double` is the shortest text that gives the same value when read.
                buffer.array("center", [circle.latitude, circle.longitude]) { $0.append(text: $1.description) }
                buffer.key("radius")
                buffer.append(text: circle.radius.description)
            }
        }
    }

    /// Writes `refinement`: a beacon.
    package mutating func write(refinement beacon: BeaconIdentity) { object("refinement") { $0.write(beacon) } }

    /// Writes `diagnostics`: the names of the flags.
    package mutating func write(_ diagnostics: Diagnostics) {
        // Nearly all lines have no flags.
        guard !diagnostics.isEmpty else { return array("diagnostics", EmptyCollection<String>()) { $0.string($1) } }
        let names = Diagnostics.names.enumerated().lazy.filter { bit, _ in
            diagnostics.contains(Diagnostics(rawValue: 1 << UInt32(bit)))
        }
        array("diagnostics", names) { $0.string($1.element) }
    }

    /// Writes `settings`, and the assumed state of the condition if it is known.
    mutating func write(_ settings: ConditionSettings, assumed: BeaconMonitor.Event.State?) {
        object("settings") { buffer in
            if let assumed { buffer.write("assuming", word: assumed.word) }
            buffer.write("perBeacon", settings.perBeacon)
            if settings.unnamed != .track { buffer.write("strangers", settings.unnamed.rawValue) }
            buffer.write("enterCount", settings.enterCount)
            buffer.write("enterWindow", seconds: settings.enterWindow)
            if let rssi = settings.enterRSSI { buffer.write("enterRSSI", rssi.dBm) }
            if let rssi = settings.exitRSSI { buffer.write("exitRSSI", rssi.dBm) }
            buffer.write("exitTimeout", seconds: settings.exitTimeout)
        }
    }

    /// Writes `rssi`: the signal strength during a visit.
    package mutating func write(_ strength: Visit.Strength) {
        object("rssi") { buffer in
            buffer.write("minimum", strength.minimum)
            buffer.key("mean")
            buffer.append(tenths: strength.meanTenths)
            buffer.write("maximum", strength.maximum)
        }
    }

    /// Writes the part of an event line that follows its number.
    ///
    /// - Parameters:
    ///   - event: the event.
    ///   - adapter: the name of the adapter that received its sighting.
    ///   - withTime: whether to write `time`.
    mutating func write(_ event: BeaconMonitor.Event, adapter: String, withTime: Bool = true) {
        write(event.monitor, event.identifier, event.scope)
        write("state", word: event.state.word)
        write(event.time, event.clockOffset, withTime: withTime)
        write(event.condition)
        if let refinement = event.refinement { write(refinement: refinement) }
        if let previous = event.previous {
            object("previous") { buffer in
                buffer.write("state", word: previous.state.word)
                buffer.write("date", previous.date)
            }
        }
        if let sighting = event.sighting {
            object("sighting") { buffer in
                if let rssi = sighting.rssi { buffer.write("rssi", rssi.dBm) }
                if let power = sighting.measuredPower { buffer.write("measuredPower", power) }
                if let address = sighting.address { buffer.write("address", address) }
                buffer.write("adapter", adapter)
            }
        }
        if let lastSeen = event.lastSeen { write("lastSeen", WallDate(lastSeen, offset: event.clockOffset)) }
        write(event.diagnostics)
    }

    /// Writes the condition or beacon that a line is about.
    mutating func write(_ monitor: String, _ identifier: String, _ scope: Scope) {
        write("monitor", monitor)
        write("identifier", identifier)
        write("scope", word: scope == .beacon ? "beacon" : "condition")
    }
}

extension BeaconMonitor.Event.State {
    /// The state as spelled in lines.
    package var word: StaticString {
        switch self {
        case .unknown: "unknown"
        case .satisfied: "satisfied"
        case .unsatisfied: "unsatisfied"
        case .unmonitored: "unmonitored"
        }
    }
}
