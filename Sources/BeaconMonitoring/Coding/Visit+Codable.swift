import BaseTypes
import BluetoothLE

extension Visit: Codable {
    private enum CodingKeys: String, CodingKey {
        case monitor, identifier, scope, date, monotonic, condition, refinement, arrival, departure, sightings, rssi
        case reason, exact
    }

    /// Decodes an encoded visit, or the payload of a `visit` line from a gateway, which has the same keys.
    ///
    /// The dates of a line are cut to microseconds, and its mean RSSI is rounded to 0.1 dBm.
    public init(from decoder: any Decoder) throws {
        let keys = try decoder.container(keyedBy: CodingKeys.self)
        let exact = try keys.decodeIfPresent(ExactTimes.self, forKey: .exact)
        let (time, offset) = ExactTimes.read(
            exact, date: try keys.decode(WallDate.self, forKey: .date),
            monotonic: try keys.decode(Int64.self, forKey: .monotonic))
        let sightings = try keys.decode(Int.self, forKey: .sightings)
        self.init(
            monitor: try keys.decode(String.self, forKey: .monitor),
            identifier: try keys.decode(String.self, forKey: .identifier),
            scope: try keys.decode(Scope.self, forKey: .scope), time: time, clockOffset: offset,
            condition: try keys.decode(Condition.self, forKey: .condition),
            refinement: try keys.decodeIfPresent(BeaconIdentity.self, forKey: .refinement),
            arrival: ExactTimes.read(
                exact, "arrival", date: try keys.decodeIfPresent(WallDate.self, forKey: .arrival), offset: offset),
            departure: ExactTimes.read(
                exact, "departure", date: try keys.decodeIfPresent(WallDate.self, forKey: .departure), offset: offset),
            sightings: sightings,
            strength: try keys.decodeIfPresent(CodedStrength.self, forKey: .rssi)?.strength(of: sightings),
            reason: try keys.decode(Reason.self, forKey: .reason))
    }

    /// Encodes the keys of a `visit` line except its duration, and `exact`, which has the nanoseconds that the dates of
    /// the line cut off.
    public func encode(to encoder: any Encoder) throws {
        var keys = encoder.container(keyedBy: CodingKeys.self)
        try keys.encode(monitor, forKey: .monitor)
        try keys.encode(identifier, forKey: .identifier)
        try keys.encode(scope, forKey: .scope)
        try keys.encode(date, forKey: .date)
        try keys.encode(time.nanoseconds / 1000, forKey: .monotonic)
        try keys.encode(condition, forKey: .condition)
        try keys.encodeIfPresent(refinement, forKey: .refinement)
        try keys.encodeIfPresent(arrival.map { WallDate($0, offset: clockOffset) }, forKey: .arrival)
        try keys.encodeIfPresent(departure.map { WallDate($0, offset: clockOffset) }, forKey: .departure)
        try keys.encode(sightings, forKey: .sightings)
        try keys.encodeIfPresent(strength.map { CodedStrength($0) }, forKey: .rssi)
        try keys.encode(reason, forKey: .reason)
        var exact = ExactTimes(time, clockOffset)
        exact.others["arrival"] = arrival?.nanoseconds
        exact.others["departure"] = departure?.nanoseconds
        try keys.encode(exact, forKey: .exact)
    }
}

/// The RSSI values of a visit in the form of a visit line, with the exact sum and count of the mean.
private struct CodedStrength: Codable {
    var minimum: Int8
    var mean: Double
    var maximum: Int8
    var sum: Int64?
    var count: Int?

    init(_ strength: Visit.Strength) {
        minimum = strength.minimum
        mean = (Double(strength.sum) / Double(strength.count) * 10).rounded() / 10
        maximum = strength.maximum
        sum = strength.sum
        count = strength.count
    }

    func strength(of sightings: Int) -> Visit.Strength? {
        let count = count ?? sightings
        guard count > 0 else { return nil }
        if let sum { return Visit.Strength(minimum: minimum, sum: sum, count: count, maximum: maximum) }
        guard (-128...127).contains(mean), let sum = Int64(exactly: (mean * Double(count)).rounded()) else {
            return nil
        }
        return Visit.Strength(minimum: minimum, sum: sum, count: count, maximum: maximum)
    }
}

extension VisitUpdate: Codable {
    private enum CodingKeys: String, CodingKey {
        case monitor, identifier, scope, condition, refinement, arrival, departure, ended, exact
    }

    /// Decodes an encoded update.
    public init(from decoder: any Decoder) throws {
        let keys = try decoder.container(keyedBy: CodingKeys.self)
        let exact = try keys.decode(ExactTimes.self, forKey: .exact)
        self.init(
            monitor: try keys.decode(String.self, forKey: .monitor),
            identifier: try keys.decode(String.self, forKey: .identifier),
            scope: try keys.decode(Scope.self, forKey: .scope),
            condition: try keys.decode(Condition.self, forKey: .condition),
            refinement: try keys.decodeIfPresent(BeaconIdentity.self, forKey: .refinement),
            arrival: exact.others["arrival"].map { Instant(remembered: $0) },
            departure: exact.others["departure"].map { Instant(remembered: $0) },
            ended: try keys.decodeIfPresent(Visit.self, forKey: .ended),
            clockOffset: ClockOffset(nanoseconds: exact.offset))
    }

    /// Encodes the keys of a visit line that are known so far, and ``ended`` as a visit.
    public func encode(to encoder: any Encoder) throws {
        var keys = encoder.container(keyedBy: CodingKeys.self)
        try keys.encode(monitor, forKey: .monitor)
        try keys.encode(identifier, forKey: .identifier)
        try keys.encode(scope, forKey: .scope)
        try keys.encode(condition, forKey: .condition)
        try keys.encodeIfPresent(refinement, forKey: .refinement)
        try keys.encodeIfPresent(arrivalDate, forKey: .arrival)
        try keys.encodeIfPresent(departureDate, forKey: .departure)
        try keys.encodeIfPresent(ended, forKey: .ended)
        var exact = ExactTimes(arrival ?? .earliest, clockOffset)
        exact.others["arrival"] = arrival?.nanoseconds
        exact.others["departure"] = departure?.nanoseconds
        try keys.encode(exact, forKey: .exact)
    }
}
