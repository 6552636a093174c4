package import BaseTypes
package import BeaconMonitoring
import BluetoothLE
package import JSON

/// Turns actions into lines: one JSON object each, keys in a fixed order, the same action to the same octets.
///
/// The lines are those of `docs/lines.schema.json`. `sequence` counts the lines of qos 1 from 1.
package struct LineEncoder: Sendable {
    /// What all lines of one gateway have in common.
    package struct Options: Sendable {
        /// The gateway's name: the second level of every topic.
        package var gateway: Identifier
        /// The first level of every topic.
        package var prefix = "beacons"
        /// The id of this start; absent in a replay.
        package var boot: String?
        /// Whether a line is an envelope with topic, qos and retain, or the payload alone.
        package var envelope = true

        /// The defaults, for a gateway.
        package init(gateway: Identifier) { self.gateway = gateway }
    }

    /// How many lines were numbered: the `sequence` of the last.
    package private(set) var sequence = 0
    // What every line has: a reference, so that the closures which write a line hold one thing and copy nothing.
    private let head: LineHead
    // The adapters' names, each at its place.
    private var adapterNames: [String] = []

    /// An encoder that begins with the number after `sequence`.
    package init(_ options: Options, after sequence: Int = 0) {
        head = LineHead(options)
        self.sequence = sequence
    }

    /// Says what lines call an adapter; an adapter without a name has none in a sighting.
    package mutating func name(_ adapter: AdapterID, _ name: String) {
        while adapterNames.count <= Int(adapter.index) { adapterNames.append("") }
        adapterNames[Int(adapter.index)] = name
    }

    /// The adapter that has a name; absent if none has it.
    func adapter(named name: String) -> AdapterID? {
        adapterNames.firstIndex { !name.isEmpty && $0.utf8.elementsEqual(name.utf8) }.map { AdapterID(index: $0) }
    }

    func adapterName(_ adapter: AdapterID) -> String {
        Int(adapter.index) < adapterNames.count ? adapterNames[Int(adapter.index)] : ""
    }

    /// Appends the line of an action, with its line end; an action that has no line appends nothing.
    package mutating func encode(_ action: Action, into buffer: inout LineBuffer) {
        switch action {
        case .event(let event): encode(event, into: &buffer)
        case .visit(let visit): encode(visit, into: &buffer)
        case .condition(let change): encode(change, into: &buffer)
        case .adapter(let change): encode(change, into: &buffer)
        case .adapterNamed(let adapter, let name): self.name(adapter, name)
        case .trackingLimitExceeded: break
        }
    }

    /// Appends a line of qos 1: the envelope, and in it the payload with the next number; `body` writes what is told. What
    /// is a beacon's own stands under a topic of its own, below its condition's.
    mutating func line(
        _ type: StaticString, _ name: String?, of beacon: BeaconIdentity? = nil, into buffer: inout LineBuffer,
        _ body: (inout LineBuffer) -> Void
    ) {
        sequence += 1
        let (head, sequence) = (head, sequence)
        head.envelope(type, name, of: beacon, qos: 1, into: &buffer) { buffer in
            head.write(type, into: &buffer)
            buffer.write("sequence", sequence)
            body(&buffer)
        }
    }

    /// Appends a line whose payload `payload` writes.
    func envelope(
        _ type: StaticString, _ name: String?, qos: Int, into buffer: inout LineBuffer,
        _ payload: (inout LineBuffer) -> Void
    ) {
        head.envelope(type, name, of: nil, qos: qos, into: &buffer, payload)
    }

    /// Writes what every payload begins with: the version, the type, the gateway and the boot.
    private func writeHead(_ type: StaticString, into buffer: inout LineBuffer) { head.write(type, into: &buffer) }

    // MARK: The gateway

    /// Appends the line of a start or a stop.
    mutating func encode(_ change: GatewayChange, into buffer: inout LineBuffer) {
        line("gateway", nil, into: &buffer) { buffer in
            switch change.kind {
            case .started(let program, let configuration, let until):
                buffer.write("state", word: "started")
                buffer.write("program", program)
                buffer.write("configuration", configuration)
                if let until { buffer.write("until", WallDate(until, offset: change.clockOffset)) }
            case .stopped(let reason):
                buffer.write("state", word: "stopped")
                buffer.write("reason", reason)
            }
            buffer.write(change.time, change.clockOffset)
        }
    }

    /// Appends what the file `alive` holds: that the gateway was alive at `time`, with `sequence` the last line that was
    /// durable.
    func encodeAlive(
        after sequence: Int, at time: Instant, clockOffset: ClockOffset, into buffer: inout LineBuffer
    ) {
        buffer.object { buffer in
            writeHead("alive", into: &buffer)
            if sequence > 0 { buffer.write("sequence", sequence) }
            buffer.write(time, clockOffset)
        }
        buffer.append(octet: 0x0A)
    }

    // MARK: Adapters

    mutating func encode(_ change: AdapterChange, into buffer: inout LineBuffer) {
        line("adapter", Self.topicLevel(change.adapter), into: &buffer) { buffer in
            buffer.write("adapter", change.adapter)
            if let address = change.address { buffer.write("address", address) }
            buffer.write("state", word: change.state.word)
            buffer.write("since", WallDate(change.since, offset: change.clockOffset))
            buffer.write("reason", change.reason)
            buffer.write(change.time, change.clockOffset)
        }
    }

    /// The name as it may stand in a topic: a capture can name its adapters as it likes, and MQTT forbids wildcards and
    /// control characters there (MQTT 5.0 §4.7.1, §1.5.4).
    private static func topicLevel(_ name: String) -> String {
        let isSafe = name.utf8.allSatisfy {
            $0 > 0x1F && $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "#") && $0 < 0x7F
        }
        guard !isSafe else { return name }
        var safe = ""
        for scalar in name.unicodeScalars {
            let isForbidden = scalar == "+" || scalar == "#" || scalar.properties.generalCategory == .control
            safe.unicodeScalars.append(isForbidden ? "_" : scalar)
        }
        return safe
    }

    // MARK: The clock

    /// Appends the line of what became of the wall clock; its dates are of the new offset.
    mutating func encode(_ change: ClockChange, into buffer: inout LineBuffer) {
        line("clock", nil, into: &buffer) { buffer in
            buffer.write("offsetBefore", millionths: Self.microseconds(change.before))
            buffer.write("offsetAfter", millionths: Self.microseconds(change.after))
            buffer.write("synchronized", change.isSynchronized)
            buffer.write(change.time, change.after)
        }
    }

    private static func microseconds(_ offset: ClockOffset) -> Int64 {
        offset.nanoseconds / 1000 - (offset.nanoseconds % 1000 < 0 ? 1 : 0)
    }

    // MARK: Conditions and visits

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

    // MARK: Ranging

    // The line has QoS 0, so it has no number.

    // An octet of RSSI can't come to more: 10,000 km.
    private static let metresMax = 1e7

    /// Appends the line of who is in view of a condition.
    ///
    /// - Parameters:
    ///   - ranging: who is in view.
    ///   - monitor: the monitor's name.
    ///   - identifier: the condition's identifier.
    ///   - buffer: where it is appended.
    package func encode(
        _ ranging: Ranging, monitor: String, identifier: String, into buffer: inout LineBuffer
    ) {
        envelope("ranging", identifier, qos: 0, into: &buffer) { buffer in
            writeHead("ranging", into: &buffer)
            buffer.write("monitor", monitor)
            buffer.write("identifier", identifier)
            buffer.write(ranging.time, ranging.clockOffset)
            buffer.write(.beacon(ranging.condition))
            buffer.objects("beacons", ranging.beacons) { Self.write($1, into: &$0) }
        }
    }

    private static func write(_ ranged: RangedBeacon, into buffer: inout LineBuffer) {
        buffer.write(ranged.beacon)
        if let rssi = ranged.rssi {
            buffer.key("rssi")
            buffer.append(tenths: whole(rssi * 10, most: 10_000))
        }
        buffer.write("proximity", word: ranged.proximity.word)
        if let accuracy = ranged.accuracy {
            // Centimetres, as millionths of what is printed.
            let centimetres = whole(min(accuracy, metresMax) * 100, most: 2_000_000_000)
            buffer.write("accuracy", millionths: Int64(centimetres) * 10_000)
        }
        buffer.write("count", ranged.count)
    }

    /// The nearest whole number, half away from zero, and none where there is no number.
    private static func whole(_ number: Double, most: Double) -> Int {
        number.isNaN ? 0 : Int(min(max(number, -most), most).rounded())
    }

    // MARK: Evidence

    // The line is not published: it has no envelope and no number.

    /// Appends the line of what an exit rests on.
    package func encode(_ evidence: Evidence, into buffer: inout LineBuffer) {
        buffer.object { buffer in
            writeHead("evidence", into: &buffer)
            buffer.write("event", evidence.event)
            buffer.write("monitor", evidence.monitor)
            buffer.write("identifier", evidence.identifier)
            buffer.write("rule", evidence.rule)
            buffer.write(evidence.time, evidence.clockOffset)
            buffer.write(evidence) { WallDate($0, offset: evidence.clockOffset) }
        }
        buffer.append(octet: 0x0A)
    }

    /// Appends the lines of `actions`, and beside each exit what it rests on.
    package mutating func encode(
        _ actions: ActionBuffer, evidence recorder: inout EvidenceRecorder, into buffer: inout LineBuffer
    ) {
        for action in actions.actions {
            if let evidence = recorder.evidence(before: action) { encode(evidence, into: &buffer) }
            encode(action, into: &buffer)
            recorder.note(action, number: sequence)
        }
        if let evidence = recorder.evidence(before: nil) { encode(evidence, into: &buffer) }
    }

    // MARK: Erasures

    /// Appends the line that says that something was forgotten, and not what.
    mutating func encodeErased(at time: Instant, clockOffset: ClockOffset, into buffer: inout LineBuffer) {
        line("erased", nil, into: &buffer) { $0.write(time, clockOffset) }
    }
}

extension AdapterChange.State {
    /// The state as lines spell it.
    var word: StaticString {
        switch self {
        case .listening: "listening"
        case .deaf: "deaf"
        case .off: "off"
        case .gone: "gone"
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

extension Proximity {
    /// The word as lines spell it.
    var word: StaticString {
        switch self {
        case .immediate: "immediate"
        case .near: "near"
        case .far: "far"
        case .unknown: "unknown"
        }
    }
}

extension LineBuffer {
    /// Writes the observations of an exit. `date` dates an instant.
    package mutating func write(_ evidence: Evidence, date: (Instant) -> WallDate) {
        objects("holders", evidence.holders) { buffer, holder in
            buffer.write("adapter", holder.adapter)
            buffer.write("lastRefresh", date(holder.lastRefresh))
            buffer.write("listened", seconds: holder.listened)
        }
        objects("sightings", evidence.sightings) { buffer, heard in
            buffer.write("date", date(heard.time))
            buffer.write("adapter", heard.adapter)
            if let rssi = heard.rssi { buffer.write("rssi", rssi.dBm) }
        }
        object("gaps") { buffer in
            buffer.write("count", evidence.gaps.count)
            if let median = evidence.gaps.median { buffer.write("median", seconds: median) }
            if let p99 = evidence.gaps.p99 { buffer.write("p99", seconds: p99) }
            if let maximum = evidence.gaps.maximum { buffer.write("maximum", seconds: maximum) }
            if let share = evidence.gaps.longerThanTimeout { buffer.write("longerThanTimeout", share) }
        }
    }

    /// Writes a part of the silences: how many belong to it, and how many were compared.
    package mutating func write(_ key: StaticString, _ share: Evidence.Share) {
        object(key) { buffer in
            buffer.write("count", share.count)
            buffer.write("total", share.total)
        }
    }
}
