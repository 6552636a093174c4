import BaseTypes
import BeaconMonitoring
import BluetoothLE
import JSON

// How it is read: by whom did not write it, perhaps.
extension StateFile {
    enum Problem: Error {
        /// It is not one, or not whole.
        case damaged
        /// A later version of the program wrote it.
        case newer(Int)
        /// It says that lines were written whose numbers are greater than any can be.
        case numberTooGreat
    }

    init(parsing bytes: [UInt8]) throws(Problem) {
        var parser = LineParser()
        parser.text = JSONText(bytes)
        guard parser.text.parse(), let version = parser.text.integer(parser.text.find("version", in: 0)), version > 0
        else { throw .damaged }
        guard version <= Self.version else { throw .newer(version) }
        guard let sequence = parser.text.integer(parser.text.find("sequence", in: 0)), sequence >= 0,
            let offset = parser.text.integer(parser.text.find("offset", in: 0), as: Int64.self)
        else { throw .damaged }
        let reserved = parser.text.integer(parser.text.find("reserved", in: 0))
        guard max(sequence, reserved ?? 0) <= LinePosition.sequenceMax else {
            throw .numberTooGreat
        }
        self.sequence = sequence
        self.reserved = reserved.map { max($0, sequence) }
        self.offset = ClockOffset(nanoseconds: offset)
        boot = parser.text.string(parser.text.find("boot", in: 0)) ?? ""
        isSynchronized = parser.text.bool(parser.text.find("synchronized", in: 0))
        snapshot.monitors = parser.text.elements(of: parser.text.find("monitors", in: 0)).compactMap {
            Self.monitor(parser.text, $0)
        }
        snapshot.adapters = parser.text.elements(of: parser.text.find("adapters", in: 0)).compactMap { place in
            parser.text.string(parser.text.find("name", in: place)).map {
                MonitorSnapshot.Adapter(
                    name: $0,
                    address: parser.text.string(parser.text.find("address", in: place)).flatMap {
                        DeviceAddress($0, kind: .unspecified)
                    },
                    stopped: Self.moment(parser.text, parser.text.find("stopped", in: place)))
            }
        }
        for place in parser.text.elements(of: parser.text.find("conditions", in: 0)) {
            guard let condition = Self.condition(parser.text, place) else { throw .damaged }
            snapshot.conditions.append(condition)
            guard let object = parser.text.find("lastEvent", in: place),
                let time = parser.text.integer(parser.text.find("time", in: object), as: Int64.self),
                let offset = parser.text.integer(parser.text.find("offset", in: object), as: Int64.self),
                let event = parser.event(
                    in: object, time: Instant(nanoseconds: time), offset: ClockOffset(nanoseconds: offset))
            else { continue }
            records[Identifier(lookup: condition.identifier)] = RecordBuilder.StoredRecord(
                event: event, adapter: event.sighting.map { parser.adapters.name(of: $0.adapter) } ?? "",
                isPlaceholder: parser.text.bool(parser.text.find("placeholder", in: object)) ?? false)
        }
    }

    private static func monitor(_ text: JSONText, _ place: Int) -> MonitorSnapshot.Monitor? {
        guard let name = text.string(text.find("name", in: place)),
            let outage = text.microseconds(text.find("outageTimeout", in: place)),
            let forget = text.microseconds(text.find("forgetAfter", in: place))
        else { return nil }
        var settings = MonitorSettings()
        settings.outageTimeout = .microseconds(outage)
        settings.forgetAfter = .microseconds(forget)
        return MonitorSnapshot.Monitor(name: name, settings: settings)
    }

    private static func moment(_ text: JSONText, _ place: Int?) -> PastMoment? {
        if let nanoseconds = text.integer(place, as: Int64.self) {
            return .timeline(Instant(nanoseconds: nanoseconds))
        }
        return text.date(place).map { .date($0) }
    }

    private static func condition(_ text: JSONText, _ place: Int) -> MonitorSnapshot.Condition? {
        guard let monitor = text.string(text.find("monitor", in: place)),
            let identifier = text.string(text.find("identifier", in: place)),
            let condition = text.condition(text.find("condition", in: place)),
            let object = text.find("own", in: place), let own = subject(text, object)
        else { return nil }
        var saved = MonitorSnapshot.Condition(
            monitor: monitor, identifier: identifier, condition: condition,
            settings: text.settings(text.find("settings", in: place)), own: own)
        saved.beacons = text.elements(of: text.find("beacons", in: place)).compactMap { subject(text, $0) }
        return saved
    }

    private static func subject(_ text: JSONText, _ place: Int) -> MonitorSnapshot.Subject? {
        guard let state = text.state(text.find("state", in: place)) else { return nil }
        var subject = MonitorSnapshot.Subject(beacon: text.beacon(text.find("refinement", in: place)), state: state)
        subject.wasSatisfied = text.bool(text.find("wasSatisfied", in: place)) ?? false
        if let object = text.find("previous", in: place), let state = text.state(text.find("state", in: object)),
            let date = text.date(text.find("date", in: object))
        {
            subject.previous = BeaconMonitor.Event.Previous(state: state, date: date)
        }
        subject.lastRefresh = text.find("lastRefresh", in: place).flatMap { refresh(text, $0) }
        subject.lastSeen = moment(text, text.find("lastSeen", in: place))
        subject.holders = text.elements(of: text.find("holders", in: place)).compactMap { text.string($0) }
        subject.visit = text.find("visit", in: place).flatMap { visit(text, $0) }
        return subject
    }

    private static func refresh(_ text: JSONText, _ place: Int) -> MonitorSnapshot.Refresh? {
        guard let adapter = text.string(text.find("adapter", in: place)),
            let time = moment(text, text.find("time", in: place)),
            let beacon = text.beacon(text.find("refinement", in: place)),
            let power = text.integer(text.find("measuredPower", in: place), as: Int8.self)
        else { return nil }
        let kind = text.integer(text.find("addressKind", in: place), as: UInt8.self)
            .flatMap { DeviceAddress.Kind(rawValue: $0) }
        return MonitorSnapshot.Refresh(
            time: time, beacon: beacon, measuredPower: power, rssi: text.rssi(text.find("rssi", in: place)),
            address: text.string(text.find("address", in: place)).flatMap {
                DeviceAddress($0, kind: kind ?? .unspecified)
            },
            adapter: adapter)
    }

    private static func visit(_ text: JSONText, _ place: Int) -> MonitorSnapshot.OpenVisit? {
        guard let refreshes = text.integer(text.find("refreshes", in: place)), refreshes >= 0 else { return nil }
        var visit = MonitorSnapshot.OpenVisit(
            arrival: moment(text, text.find("arrival", in: place)), refreshes: refreshes, strength: nil)
        if let object = text.find("rssi", in: place),
            let minimum = text.integer(text.find("minimum", in: object), as: Int8.self),
            let maximum = text.integer(text.find("maximum", in: object), as: Int8.self),
            let sum = text.integer(text.find("sum", in: object), as: Int64.self),
            let count = text.integer(text.find("count", in: object)), count > 0, count <= refreshes,
            // What a sum can be of so many octets: no mean made of it is out of its bounds.
            (Int64(minimum)...max(Int64(maximum), Int64(minimum))).contains(sum / Int64(count))
        {
            visit.strength = Visit.Strength(minimum: minimum, sum: sum, count: count, maximum: maximum)
        }
        return visit
    }
}
