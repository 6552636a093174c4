import BaseTypes
package import BeaconMonitoring
package import BluetoothLE
package import JSON

// Decoding of the values in lines. A value out of its bounds counts as missing, because a file can contain anything.
extension JSONText {
    // Created once, not for each line.
    private static let states = Array(BeaconMonitor.Event.State.allCases)

    /// Decodes a date as used in lines: RFC 3339 in UTC with microseconds; `nil` if there is no such day.
    package func date(_ place: Int?) -> WallDate? {
        guard let place, values[place].kind == .string, values[place].end - values[place].start == 27 else {
            return nil
        }
        // The range of a string is always within the bytes of the text.
        let bytes = self.bytes.span.extracting(Int(values[place].start)..<Int(values[place].end))
        @inline(__always)
        func number(_ offset: Int, _ digits: Int) -> Int? {
            var number = 0
            for index in offset..<offset + digits {
                let digit = unsafe bytes[unchecked: index] &- 0x30
                guard digit < 10 else { return nil }
                number = number &* 10 &+ Int(digit)
            }
            return number
        }
        guard let year = number(0, 4), let month = number(5, 2), let day = number(8, 2), let hour = number(11, 2),
            let minute = number(14, 2), let second = number(17, 2), let fraction = number(20, 6),
            let days = CivilDate.existingDay(year: year, month: month, day: day), hour < 24, minute < 60, second < 61,
            bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
            bytes[10] | 0x20 == UInt8(ascii: "t"), bytes[13] == UInt8(ascii: ":"),
            bytes[16] == UInt8(ascii: ":"), bytes[19] == UInt8(ascii: "."),
            bytes[26] | 0x20 == UInt8(ascii: "z")
        else { return nil }
        let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second
        guard second < 60 || CivilDate.canFollowLeapSecond(seconds) else { return nil }
        return WallDate(microseconds: Int64(seconds) * 1_000_000 + Int64(fraction))
    }

    func uuid(_ place: Int?) -> ProximityUUID? {
        guard let place, values[place].kind == .string else { return nil }
        let text = bytes.span.extracting(Int(values[place].start)..<Int(values[place].end))
        // A text with escapes can contain a UUID too.
        return ProximityUUID(utf8: text) ?? string(place).flatMap { ProximityUUID($0) }
    }

    func rssi(_ place: Int?) -> RSSI? { integer(place, as: Int8.self).map { RSSI(dBm: $0) } }

    package func state(_ place: Int?) -> BeaconMonitor.Event.State? {
        Self.states.first { isText($0.word, at: place) }
    }

    /// Decodes a single beacon: `uuid`, `major`, `minor`.
    package func beacon(_ place: Int?) -> BeaconIdentity? {
        guard let place, let uuid = uuid(find(BeaconIdentity.Part.uuid.key, in: place)),
            let major = integer(find(BeaconIdentity.Part.major.key, in: place), as: UInt16.self),
            let minor = integer(find(BeaconIdentity.Part.minor.key, in: place), as: UInt16.self)
        else { return nil }
        return BeaconIdentity(uuid: uuid, major: major, minor: minor)
    }

    /// Decodes a condition.
    package func condition(_ place: Int?) -> Condition? {
        guard let place else { return nil }
        if let center = find("center", in: place) {
            let coordinates = elements(of: center).compactMap { double($0) }
            guard coordinates.count == 2, let radius = double(find("radius", in: place)) else { return nil }
            return
                (try? BeaconMonitor.CircularGeographicCondition(
                    latitude: coordinates[0], longitude: coordinates[1], radius: radius)).map { .circle($0) }
        }
        guard let uuid = uuid(find(BeaconIdentity.Part.uuid.key, in: place)) else { return nil }
        guard let majorPlace = find(BeaconIdentity.Part.major.key, in: place) else {
            return .beacon(BeaconMonitor.BeaconIdentityCondition(uuid: uuid))
        }
        guard let major = integer(majorPlace, as: UInt16.self) else { return nil }
        guard let minorPlace = find(BeaconIdentity.Part.minor.key, in: place) else {
            return .beacon(BeaconMonitor.BeaconIdentityCondition(uuid: uuid, major: major))
        }
        guard let minor = integer(minorPlace, as: UInt16.self) else { return nil }
        return .beacon(BeaconMonitor.BeaconIdentityCondition(uuid: uuid, major: major, minor: minor))
    }

    /// Decodes the settings of a condition. The assumed state in the same object is not read here.
    func settings(_ place: Int?) -> ConditionSettings? {
        guard let place, let perBeacon = bool(find("perBeacon", in: place)),
            let count = integer(find("enterCount", in: place)),
            let window = microseconds(find("enterWindow", in: place)),
            let timeout = microseconds(find("exitTimeout", in: place))
        else { return nil }
        var settings = ConditionSettings()
        settings.perBeacon = perBeacon
        settings.unnamed = string(find("strangers", in: place)).flatMap(UnnamedBeacons.init) ?? .track
        settings.enterCount = count
        settings.enterWindow = .microseconds(window)
        settings.exitTimeout = .microseconds(timeout)
        settings.enterRSSI = rssi(find("enterRSSI", in: place))
        settings.exitRSSI = rssi(find("exitRSSI", in: place))
        return (try? settings.validate()) == nil ? nil : settings
    }

    /// Decodes the RSSI statistics of a visit. If there are many refreshes, the sum computed from a mean with one
    /// decimal is not exact.
    func strength(_ place: Int?, count: Int) -> Visit.Strength? {
        guard let place, count > 0, let minimum = integer(find("minimum", in: place), as: Int8.self),
            let maximum = integer(find("maximum", in: place), as: Int8.self),
            let mean = double(find("mean", in: place)), (-128.0...127.0).contains(mean)
        else { return nil }
        let sum = (mean * Double(count)).rounded()
        return abs(sum) < 9e18
            ? Visit.Strength(minimum: minimum, sum: Int64(sum), count: count, maximum: maximum) : nil
    }

    package func diagnostics(_ place: Int?) -> Diagnostics {
        var diagnostics: Diagnostics = []
        for element in elements(of: place) {
            guard let name = string(element), let bit = Diagnostics.names.firstIndex(of: name) else { continue }
            diagnostics.insert(Diagnostics(rawValue: 1 << UInt32(bit)))
        }
        return diagnostics
    }
}
