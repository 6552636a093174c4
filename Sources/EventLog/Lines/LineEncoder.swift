package import BaseTypes
package import BeaconMonitoring
import BluetoothLE
package import JSON

/// Encodes actions as lines: one JSON object each, with the keys in a fixed order. The same action gives the same
/// bytes.
///
/// `docs/lines.schema.json` describes the lines. `sequence` counts the lines with QoS 1, starting at 1.
package struct LineEncoder: Sendable {
    /// The values that all lines of a gateway have in common.
    package struct Options: Sendable {
        /// The name of the gateway: the level after the prefix in every topic.
        package var gateway: Identifier
        /// The first level or levels of every topic.
        package var prefix = "beacons"
        /// The ID of this start; `nil` in a replay.
        package var boot: String?
        /// True if a line is an envelope with topic, QoS and retain; false if it is only the payload.
        package var envelope = true

        /// Creates the default options for a gateway.
        package init(gateway: Identifier) { self.gateway = gateway }
    }

    /// The `sequence` of the last numbered line.
    package private(set) var sequence = 0
    // The parts that every line has. It is a class, so that closures which write a line copy only a reference.
    private let head: LineHead
    // The names of the adapters, at their indices.
    private var adapterNames: [String] = []

    /// Creates an encoder whose first line has the number after `sequence`.
    package init(_ options: Options, after sequence: Int = 0) {
        head = LineHead(options)
        self.sequence = sequence
    }

    /// Sets the name of an adapter in lines. A sighting by an adapter without a name has an empty name.
    package mutating func name(_ adapter: AdapterID, _ name: String) {
        while adapterNames.count <= Int(adapter.index) { adapterNames.append("") }
        adapterNames[Int(adapter.index)] = name
    }

    /// Returns the adapter with a name; `nil` if there is none.
    func adapter(named name: String) -> AdapterID? {
        adapterNames.firstIndex { !name.isEmpty && $0.utf8.elementsEqual(name.utf8) }.map { AdapterID(index: $0) }
    }

    func adapterName(_ adapter: AdapterID) -> String {
        Int(adapter.index) < adapterNames.count ? adapterNames[Int(adapter.index)] : ""
    }

    /// Appends the line of an action with its line end; nothing if the action has no line.
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

    /// Appends a line with QoS 1: the envelope with the next number in its payload. `body` writes the rest of the
    /// payload. If `beacon` is set, the topic ends with the beacon, below the topic of its condition.
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

    /// Appends a line. `payload` writes its payload.
    func envelope(
        _ type: StaticString, _ name: String?, qos: Int, into buffer: inout LineBuffer,
        _ payload: (inout LineBuffer) -> Void
    ) {
        head.envelope(type, name, of: nil, qos: qos, into: &buffer, payload)
    }

    /// Writes the start of every payload: the version, the type, the gateway and the boot ID.
    private func writeHead(_ type: StaticString, into buffer: inout LineBuffer) { head.write(type, into: &buffer) }

    // MARK: Gateway

    /// Appends the line of a start or stop.
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

    /// Appends the content of the file `alive`: the gateway was alive at `time`, and `sequence` was the last durable
    /// line.
    func encodeAlive(
        after sequence: Int, at time: Instant, clockOffset: ClockOffset, into buffer: inout LineBuffer
    ) {
        buffer.object { buffer in
            writeHead("alive", into: &buffer)
            if sequence > 0 { buffer.write("sequence", sequence) }
            buffer.write(time, clockOffset)
        }
        buffer.append(byte: 0x0A)
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

    /// Returns the name as it can be used in a topic. A capture can use any name for an adapter, but MQTT forbids
    /// wildcards and control characters in topics (MQTT 5.0 §4.7.1, §1.5.4).
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

    // MARK: Clock

    /// Appends the line of a change of the wall clock. Its dates use the new offset.
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

    // The distance from an RSSI of one byte cannot be greater: 10,000 km.
    private static let metresMax = 1e7

    /// Appends the line with the beacons in range of a condition.
    ///
    /// - Parameters:
    ///   - ranging: the beacons in range.
    ///   - monitor: the name of the monitor.
    ///   - identifier: the identifier of the condition.
    ///   - buffer: the buffer to append to.
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
            // Centimetres, as millionths of the printed number.
            let centimetres = whole(min(accuracy, metresMax) * 100, most: 2_000_000_000)
            buffer.write("accuracy", millionths: Int64(centimetres) * 10_000)
        }
        buffer.write("count", ranged.count)
    }

    /// Returns the nearest integer, with halves rounded away from zero; 0 for NaN.
    private static func whole(_ number: Double, most: Double) -> Int {
        number.isNaN ? 0 : Int(min(max(number, -most), most).rounded())
    }

    // MARK: Evidence

    // The line is not published: it has no envelope and no number.

    /// Appends the line with the evidence of an exit.
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
        buffer.append(byte: 0x0A)
    }

    /// Appends the lines of `actions`, and the evidence of each exit.
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

    /// Appends the line that reports an erasure, without its subject.
    mutating func encodeErased(at time: Instant, clockOffset: ClockOffset, into buffer: inout LineBuffer) {
        line("erased", nil, into: &buffer) { $0.write(time, clockOffset) }
    }
}

extension AdapterChange.State {
    /// The state as spelled in lines.
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
            // A negative duration: the arrival was before the start of the machine, and the clock has not been set
            // since.
            write("duration", millionths: max(0, departure.microseconds - arrival.microseconds))
        }
        write("sightings", visit.sightings)
        if let strength = visit.strength { write(strength) }
        write("reason", word: visit.reason.word)
    }
}

extension Visit.Strength {
    /// The mean in tenths of a decibel, with halves rounded away from zero (rule P3).
    package var meanTenths: Int {
        let tenths = Int((sum.magnitude * 20 + UInt64(count)) / (2 * UInt64(count)))
        return sum < 0 ? -tenths : tenths
    }
}

extension Visit.Reason {
    /// The reason as spelled in lines.
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
    /// The change as spelled in lines.
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
    /// The proximity as spelled in lines.
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
    /// Writes the observations of an exit. `date` converts an instant to a date.
    package mutating func write(_ evidence: Evidence, date: (Instant) -> WallDate) {
        objects("holders", evidence.holders) { buffer, holder in
            buffer.write("adapter", holder.adapter)
            buffer.write("lastRefresh", date(holder.lastRefresh))
            buffer.write("listened", seconds: holder.listened)
        }
        objects("sightings", evidence.sightings) { buffer, sighting in
            buffer.write("date", date(sighting.time))
            buffer.write("adapter", sighting.adapter)
            if let rssi = sighting.rssi { buffer.write("rssi", rssi.dBm) }
        }
        object("gaps") { buffer in
            buffer.write("count", evidence.gaps.count)
            if let median = evidence.gaps.median { buffer.write("median", seconds: median) }
            if let p99 = evidence.gaps.p99 { buffer.write("p99", seconds: p99) }
            if let maximum = evidence.gaps.maximum { buffer.write("maximum", seconds: maximum) }
            if let share = evidence.gaps.longerThanTimeout { buffer.write("longerThanTimeout", share) }
        }
    }

    /// Writes how many of the gaps have a property.
    package mutating func write(_ key: StaticString, _ share: Evidence.Share) {
        object(key) { buffer in
            buffer.write("count", share.count)
            buffer.write("total", share.total)
        }
    }
}
