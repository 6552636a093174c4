import BeaconMonitoring
import BluetoothLE

/// What `state.json` says: a snapshot, and the number of the line that it stands at.
///
/// Places on the timeline are whole nanoseconds, moments of an earlier start of the machine are dates.
struct StateFile {
    /// What it is called.
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
    func encode(_ encoder: LineEncoder, gateway: String, now: Instant, into buffer: inout LineBuffer) -> Int {
        buffer.append("{\"version\":")
        buffer.append(Self.version)
        buffer.append(",\"gateway\":\"")
        buffer.append(escaped: gateway)
        buffer.append("\",\"boot\":\"")
        buffer.append(escaped: boot)
        buffer.append("\",\"date\":\"")
        buffer.append(WallDate(now, offset: offset))
        buffer.append("\",\"monotonic\":")
        buffer.append(Int(now.nanoseconds / 1000))
        let varying = buffer.count
        buffer.append(",\"sequence\":")
        buffer.append(sequence)
        if let reserved {
            buffer.append(",\"reserved\":")
            buffer.append(reserved)
        }
        buffer.append(",\"offset\":")
        buffer.append(Int(offset.nanoseconds))
        if let isSynchronized {
            buffer.append(",\"synchronized\":")
            buffer.append(isSynchronized ? "true" : "false")
        }
        appendList("monitors", snapshot.monitors, into: &buffer) { monitor, buffer in
            buffer.append("{\"name\":\"")
            buffer.append(escaped: monitor.name)
            buffer.append("\",\"outageTimeout\":")
            buffer.append(seconds: monitor.settings.outageTimeout.nanoseconds / 1000)
            buffer.append(",\"forgetAfter\":")
            buffer.append(seconds: monitor.settings.forgetAfter.nanoseconds / 1000)
            buffer.append(octet: UInt8(ascii: "}"))
        }
        appendList("adapters", snapshot.adapters, into: &buffer) { adapter, buffer in
            buffer.append("{\"name\":\"")
            buffer.append(escaped: adapter.name)
            if let address = adapter.address {
                buffer.append("\",\"address\":\"")
                buffer.append(address)
            }
            buffer.append(octet: UInt8(ascii: "\""))
            if let stopped = adapter.stopped { append("stopped", stopped, into: &buffer) }
            buffer.append(octet: UInt8(ascii: "}"))
        }
        appendList("conditions", snapshot.conditions, into: &buffer) { condition, buffer in
            append(condition, encoder, into: &buffer)
        }
        buffer.append("}\n")
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
        return Array(bytes[..<end]) + Array(",\"reserved\":\(number)".utf8) + Array(bytes[end...])
    }

    /// The text of a file that reserves numbers and knows nothing else.
    static func text(reserving number: Int, _ encoder: LineEncoder, _ options: JournalOptions) -> [UInt8] {
        var state = StateFile()
        var buffer = LineBuffer(capacity: 1024)
        state.reserved = number
        _ = state.encode(encoder, gateway: options.gateway.text, now: Instant(nanoseconds: 0), into: &buffer)
        return buffer.bytes
    }

    private func appendList<Element>(
        _ key: StaticString, _ elements: [Element], into buffer: inout LineBuffer,
        _ body: (Element, inout LineBuffer) -> Void
    ) {
        buffer.append(",\"")
        buffer.append(key)
        buffer.append("\":[")
        for (index, element) in elements.enumerated() {
            // A line each, for people.
            buffer.append(index == 0 ? "\n" : ",\n")
            body(element, &buffer)
        }
        buffer.append(octet: UInt8(ascii: "]"))
    }

    private func append(_ key: StaticString, _ moment: PastMoment, into buffer: inout LineBuffer) {
        buffer.append(",\"")
        buffer.append(key)
        switch moment {
        case .timeline(let instant):
            buffer.append("\":")
            buffer.append(Int(instant.nanoseconds))
        case .date(let date):
            buffer.append("\":\"")
            buffer.append(date)
            buffer.append(octet: UInt8(ascii: "\""))
        }
    }

    private func append(
        _ condition: MonitorSnapshot.Condition, _ encoder: LineEncoder, into buffer: inout LineBuffer
    ) {
        buffer.append("{\"monitor\":\"")
        buffer.append(escaped: condition.monitor)
        buffer.append("\",\"identifier\":\"")
        buffer.append(escaped: condition.identifier)
        buffer.append(octet: UInt8(ascii: "\""))
        encoder.append(condition.condition, into: &buffer)
        if let settings = condition.settings { encoder.append(settings, assumed: nil, into: &buffer) }
        buffer.append(",\"own\":")
        append(condition.own, encoder, into: &buffer)
        if !condition.beacons.isEmpty {
            appendList("beacons", condition.beacons, into: &buffer) { append($0, encoder, into: &$1) }
        }
        if let record = records[Identifier(lookup: condition.identifier)] {
            buffer.append(",\"lastEvent\":{\"placeholder\":")
            buffer.append(record.isPlaceholder ? "true" : "false")
            buffer.append(",\"time\":")
            buffer.append(Int(record.event.time.nanoseconds))
            buffer.append(",\"offset\":")
            buffer.append(Int(record.event.clockOffset.nanoseconds))
            // Its `time` is the one above, of the timeline.
            encoder.appendBody(of: record.event, adapter: record.adapter, withTime: false, into: &buffer)
            buffer.append(octet: UInt8(ascii: "}"))
        }
        buffer.append(octet: UInt8(ascii: "}"))
    }

    private func append(_ subject: MonitorSnapshot.Subject, _ encoder: LineEncoder, into buffer: inout LineBuffer) {
        buffer.append("{\"state\":\"")
        buffer.append(subject.state.word)
        buffer.append(octet: UInt8(ascii: "\""))
        if let beacon = subject.beacon { encoder.append(beacon, into: &buffer) }
        if subject.wasSatisfied { buffer.append(",\"wasSatisfied\":true") }
        if let previous = subject.previous {
            buffer.append(",\"previous\":{\"state\":\"")
            buffer.append(previous.state.word)
            buffer.append("\",\"date\":\"")
            buffer.append(previous.date)
            buffer.append("\"}")
        }
        if let refresh = subject.lastRefresh {
            buffer.append(",\"lastRefresh\":{\"adapter\":\"")
            buffer.append(escaped: refresh.adapter)
            buffer.append(octet: UInt8(ascii: "\""))
            append("time", refresh.time, into: &buffer)
            encoder.append(refresh.beacon, into: &buffer)
            buffer.append(",\"measuredPower\":")
            buffer.append(Int(refresh.measuredPower))
            if let rssi = refresh.rssi {
                buffer.append(",\"rssi\":")
                buffer.append(Int(rssi.dBm))
            }
            if let address = refresh.address {
                buffer.append(",\"address\":\"")
                buffer.append(address)
                buffer.append("\",\"addressKind\":")
                buffer.append(Int(address.kind.rawValue))
            }
            buffer.append(octet: UInt8(ascii: "}"))
        }
        if let seen = subject.lastSeen { append("lastSeen", seen, into: &buffer) }
        if !subject.holders.isEmpty {
            buffer.append(",\"holders\":[")
            for (index, holder) in subject.holders.enumerated() {
                buffer.append(index == 0 ? "\"" : ",\"")
                buffer.append(escaped: holder)
                buffer.append(octet: UInt8(ascii: "\""))
            }
            buffer.append(octet: UInt8(ascii: "]"))
        }
        if let visit = subject.visit { append(visit, into: &buffer) }
        buffer.append(octet: UInt8(ascii: "}"))
    }

    private func append(_ visit: MonitorSnapshot.OpenVisit, into buffer: inout LineBuffer) {
        buffer.append(",\"visit\":{\"refreshes\":")
        buffer.append(visit.refreshes)
        if let arrival = visit.arrival { append("arrival", arrival, into: &buffer) }
        if let strength = visit.strength {
            buffer.append(",\"rssi\":{\"minimum\":")
            buffer.append(Int(strength.minimum))
            buffer.append(",\"sum\":")
            buffer.append(Int(strength.sum))
            buffer.append(",\"count\":")
            buffer.append(strength.count)
            buffer.append(",\"maximum\":")
            buffer.append(Int(strength.maximum))
            buffer.append(octet: UInt8(ascii: "}"))
        }
        buffer.append(octet: UInt8(ascii: "}"))
    }
}
