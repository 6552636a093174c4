import BluetoothLE

extension Condition: Codable {
    private enum CodingKeys: String, CodingKey { case uuid, major, minor, center, radius }

    /// Decodes a condition: either `uuid` with optional `major` and `minor`, or `center` (latitude, longitude) and
    /// `radius`.
    ///
    /// - Throws: `DecodingError` if a key is missing or invalid, for example a minor without a major.
    public init(from decoder: any Decoder) throws {
        let keys = try decoder.container(keyedBy: CodingKeys.self)
        guard keys.contains(.uuid) else {
            let center = try keys.decode([Double].self, forKey: .center)
            let radius = try keys.decode(Double.self, forKey: .radius)
            guard center.count == 2 else {
                throw DecodingError.dataCorruptedError(
                    forKey: .center, in: keys, debugDescription: "expected a latitude and a longitude")
            }
            do throws(MonitorError) {
                self = try .circle(latitude: center[0], longitude: center[1], radius: radius)
            } catch {
                throw DecodingError.dataCorruptedError(
                    forKey: .center, in: keys, debugDescription: error.description)
            }
            return
        }
        let uuid = try keys.decode(ProximityUUID.self, forKey: .uuid)
        let major = try keys.decodeIfPresent(UInt16.self, forKey: .major)
        let minor = try keys.decodeIfPresent(UInt16.self, forKey: .minor)
        switch (major, minor) {
        case (nil, nil): self = .beacon(uuid: uuid)
        case (let major?, nil): self = .beacon(uuid: uuid, major: major)
        case (let major?, let minor?): self = .beacon(uuid: uuid, major: major, minor: minor)
        case (nil, _):
            throw DecodingError.dataCorruptedError(
                forKey: .minor, in: keys, debugDescription: "a minor needs a major")
        }
    }

    /// Encodes the keys that ``init(from:)`` decodes.
    public func encode(to encoder: any Encoder) throws {
        var keys = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .beacon(let beacons):
            try keys.encode(beacons.uuid, forKey: .uuid)
            try keys.encodeIfPresent(beacons.major, forKey: .major)
            try keys.encodeIfPresent(beacons.minor, forKey: .minor)
        case .circle(let circle):
            try keys.encode([circle.latitude, circle.longitude], forKey: .center)
            try keys.encode(circle.radius, forKey: .radius)
        }
    }
}
