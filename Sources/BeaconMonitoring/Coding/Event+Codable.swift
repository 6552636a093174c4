import BaseTypes
import BluetoothLE

extension BeaconMonitor.Event: Codable {
    private enum CodingKeys: String, CodingKey {
        case monitor, identifier, scope, state, date, monotonic, condition, refinement, previous, sighting, lastSeen
        case diagnostics, exact
    }

    /// Decodes an encoded event, or the payload of an `event` line from a gateway, which has the same keys.
    ///
    /// The dates of a line are cut to microseconds. `sighting.adapter` is meaningless after decoding: an encoded event
    /// omits it, and a line has the name of the adapter instead.
    public init(from decoder: any Decoder) throws {
        let keys = try decoder.container(keyedBy: CodingKeys.self)
        let exact = try keys.decodeIfPresent(ExactTimes.self, forKey: .exact)
        let (time, offset) = ExactTimes.read(
            exact, date: try keys.decode(WallDate.self, forKey: .date),
            monotonic: try keys.decode(Int64.self, forKey: .monotonic))
        let condition = try keys.decode(Condition.self, forKey: .condition)
        let refinement = try keys.decodeIfPresent(BeaconIdentity.self, forKey: .refinement)
        let lastSeen = ExactTimes.read(
            exact, "lastSeen", date: try keys.decodeIfPresent(WallDate.self, forKey: .lastSeen), offset: offset)
        let coded = try keys.decodeIfPresent(CodedSighting.self, forKey: .sighting)
        let sightingTime = ExactTimes.read(exact, "sighting", date: nil, offset: offset) ?? lastSeen ?? time
        self.init(
            monitor: try keys.decode(String.self, forKey: .monitor),
            identifier: try keys.decode(String.self, forKey: .identifier),
            scope: try keys.decode(Scope.self, forKey: .scope), state: try keys.decode(State.self, forKey: .state),
            time: time, clockOffset: offset, condition: condition, refinement: refinement,
            previous: try keys.decodeIfPresent(Previous.self, forKey: .previous),
            sighting: coded?.sighting(of: refinement, under: condition, at: sightingTime), lastSeen: lastSeen,
            diagnostics: try keys.decode(Diagnostics.self, forKey: .diagnostics))
    }

    /// Encodes the keys of an `event` line, and `exact`, which has the nanoseconds that the dates of the line cut off.
    ///
    /// The adapter of the sighting is not encoded, because its index has a meaning only in the monitor of the event.
    public func encode(to encoder: any Encoder) throws {
        var keys = encoder.container(keyedBy: CodingKeys.self)
        try keys.encode(monitor, forKey: .monitor)
        try keys.encode(identifier, forKey: .identifier)
        try keys.encode(scope, forKey: .scope)
        try keys.encode(state, forKey: .state)
        try keys.encode(date, forKey: .date)
        try keys.encode(time.nanoseconds / 1000, forKey: .monotonic)
        try keys.encode(condition, forKey: .condition)
        try keys.encodeIfPresent(refinement, forKey: .refinement)
        try keys.encodeIfPresent(previous, forKey: .previous)
        try keys.encodeIfPresent(sighting.map { CodedSighting($0) }, forKey: .sighting)
        try keys.encodeIfPresent(lastSeen.map { WallDate($0, offset: clockOffset) }, forKey: .lastSeen)
        try keys.encode(diagnostics, forKey: .diagnostics)
        var exact = ExactTimes(time, clockOffset)
        exact.others["lastSeen"] = lastSeen?.nanoseconds
        exact.others["sighting"] = sighting?.time.nanoseconds
        try keys.encode(exact, forKey: .exact)
    }
}

/// A sighting in the form of an event line.
private struct CodedSighting: Codable {
    var rssi: RSSI?
    var measuredPower: Int8?
    var address: String?
    /// The type of the address; not in lines.
    var addressType: UInt8?
    /// The beacon, so that a condition's event without a refinement has it; not in lines.
    var beacon: BeaconIdentity?

    init(_ sighting: Sighting) {
        rssi = sighting.rssi
        measuredPower = sighting.measuredPower
        address = sighting.address?.description
        addressType = sighting.address?.kind.rawValue
        beacon = sighting.beacon
    }

    func sighting(of refinement: BeaconIdentity?, under condition: Condition, at time: Instant) -> Sighting? {
        guard let beacon = beacon ?? refinement ?? condition.anyBeacon else { return nil }
        let kind = addressType.flatMap { DeviceAddress.Kind(rawValue: $0) } ?? .unspecified
        return Sighting(
            time: time, adapter: AdapterID(index: 0), beacon: beacon, measuredPower: measuredPower, rssi: rssi,
            address: address.flatMap { DeviceAddress($0, kind: kind) })
    }
}

extension Condition {
    /// A beacon that matches the condition, for lines that do not name the beacon.
    fileprivate var anyBeacon: BeaconIdentity? {
        guard case .beacon(let identity) = self else { return nil }
        return BeaconIdentity(uuid: identity.uuid, major: identity.major ?? 0, minor: identity.minor ?? 0)
    }
}
