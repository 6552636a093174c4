import BaseTypes
import BeaconMonitoring
import BluetoothLE
import JSON

/// What `state.json` says: a snapshot, and the number of the line that it stands at.
///
/// Places on the timeline are whole nanoseconds, moments of an earlier start of the machine are dates.
struct StateFile {
    /// The name of the file in the state directory.
    static let name = "state.json"
    /// Of the format. A reader refuses what is newer.
    static let version = 1
    /// The longest: readers hold its values by 32 bits.
    static let sizeMax = JSONText.sizeMax

    var sequence = 0
    /// No line after this number may stand anywhere; absent in files of earlier versions.
    var reserved: Int?
    var boot = ""
    var offset = ClockOffset.zero
    var isSynchronized: Bool?
    var snapshot = MonitorSnapshot()
    var records: [Identifier: RecordBuilder.StoredRecord] = [:]
}

// How it is written.
extension StateFile {
    /// Appends the file; the same state gives the same octets. Times that change by themselves stand before `monitors`.
    ///
    /// - Returns: how many octets stand before what changes only when something happens.
    func encode(gateway: String, now: Instant, into buffer: inout LineBuffer) -> Int {
        var varying = 0
        buffer.object { buffer in
            buffer.write("version", Self.version)
            buffer.write("gateway", gateway)
            buffer.write("boot", boot)
            buffer.write("date", WallDate(now, offset: offset))
            buffer.write("monotonic", now.nanoseconds / 1000)
            varying = buffer.count
            buffer.write("sequence", sequence)
            if let reserved { buffer.write("reserved", reserved) }
            buffer.write("offset", offset.nanoseconds)
            if let isSynchronized { buffer.write("synchronized", isSynchronized) }
            // A line each, for people.
            buffer.objects("monitors", snapshot.monitors, onLines: true) { buffer, monitor in
                buffer.write("name", monitor.name)
                buffer.write("outageTimeout", seconds: monitor.settings.outageTimeout)
                buffer.write("forgetAfter", seconds: monitor.settings.forgetAfter)
            }
            buffer.objects("adapters", snapshot.adapters, onLines: true) { buffer, adapter in
                buffer.write("name", adapter.name)
                if let address = adapter.address { buffer.write("address", address) }
                if let stopped = adapter.stopped { buffer.write("stopped", stopped) }
            }
            buffer.objects("conditions", snapshot.conditions, onLines: true) { write($1, into: &$0) }
        }
        buffer.append(octet: 0x0A)
        return varying
    }

    /// The text of a file with another reservation; `nil` where it is none.
    static func text(_ bytes: [UInt8], reserving number: Int) -> [UInt8]? {
        var text = JSONText(bytes)
        guard text.parse() else { return nil }
        if let place = text.find("reserved", in: 0) {
            let range = text.range(of: place)
            return Array(bytes[..<range.lowerBound]) + Array("\(number)".utf8) + Array(bytes[range.upperBound...])
        }
        guard let place = text.find("sequence", in: 0) else { return nil }
        let end = text.range(of: place).upperBound
        var buffer = LineBuffer(capacity: bytes.count + 64)
        buffer.append(Array(bytes[..<end]))
        buffer.write("reserved", number)
        buffer.append(Array(bytes[end...]))
        return buffer.bytes
    }

    /// The text of a file that reserves numbers and knows nothing else.
    static func text(reserving number: Int, _ options: JournalOptions) -> [UInt8] {
        var state = StateFile()
        var buffer = LineBuffer(capacity: 1024)
        state.reserved = number
        _ = state.encode(gateway: options.gateway.text, now: Instant(nanoseconds: 0), into: &buffer)
        return buffer.bytes
    }

    private func write(_ condition: MonitorSnapshot.Condition, into buffer: inout LineBuffer) {
        buffer.write("monitor", condition.monitor)
        buffer.write("identifier", condition.identifier)
        buffer.write(condition.condition)
        if let settings = condition.settings { buffer.write(settings, assumed: nil) }
        buffer.object("own") { $0.write(condition.own) }
        if !condition.beacons.isEmpty {
            buffer.objects("beacons", condition.beacons, onLines: true) { $0.write($1) }
        }
        guard let record = records[Identifier(lookup: condition.identifier)] else { return }
        buffer.object("lastEvent") { buffer in
            buffer.write("placeholder", record.isPlaceholder)
            buffer.write("time", record.event.time.nanoseconds)
            buffer.write("offset", record.event.clockOffset.nanoseconds)
            // Its `time` is the one above, of the timeline.
            buffer.write(record.event, adapter: record.adapter, withTime: false)
        }
    }
}

extension LineBuffer {
    /// Writes a moment: nanoseconds on the timeline, or a date.
    fileprivate mutating func write(_ key: StaticString, _ moment: PastMoment) {
        switch moment {
        case .timeline(let instant): write(key, instant.nanoseconds)
        case .date(let date): write(key, date)
        }
    }

    fileprivate mutating func write(_ subject: MonitorSnapshot.Subject) {
        write("state", word: subject.state.word)
        if let beacon = subject.beacon { write(refinement: beacon) }
        if subject.wasSatisfied { write("wasSatisfied", true) }
        if let previous = subject.previous {
            object("previous") { buffer in
                buffer.write("state", word: previous.state.word)
                buffer.write("date", previous.date)
            }
        }
        if let refresh = subject.lastRefresh { object("lastRefresh") { $0.write(refresh) } }
        if let seen = subject.lastSeen { write("lastSeen", seen) }
        if !subject.holders.isEmpty { write("holders", subject.holders) }
        if let visit = subject.visit { object("visit") { $0.write(visit) } }
    }

    private mutating func write(_ refresh: MonitorSnapshot.Refresh) {
        write("adapter", refresh.adapter)
        write("time", refresh.time)
        write(refinement: refresh.beacon)
        write("measuredPower", refresh.measuredPower)
        if let rssi = refresh.rssi { write("rssi", rssi.dBm) }
        if let address = refresh.address {
            write("address", address)
            write("addressKind", address.kind.rawValue)
        }
    }

    private mutating func write(_ visit: MonitorSnapshot.OpenVisit) {
        write("refreshes", visit.refreshes)
        if let arrival = visit.arrival { write("arrival", arrival) }
        guard let strength = visit.strength else { return }
        object("rssi") { buffer in
            buffer.write("minimum", strength.minimum)
            buffer.write("sum", strength.sum)
            buffer.write("count", strength.count)
            buffer.write("maximum", strength.maximum)
        }
    }
}
