// As the lines of a gateway have them: texts for what is written as text, numbers for numbers.

extension ProximityUUID: Codable {
    /// Reads its text, with or without hyphens.
    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let uuid = ProximityUUID(text) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "“\(text)” is not a UUID"))
        }
        self = uuid
    }

    /// Writes ``description``.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

extension BeaconIdentity: Codable {
    private enum CodingKeys: String, CodingKey { case uuid, major, minor }

    /// Reads `uuid`, `major` and `minor`.
    public init(from decoder: any Decoder) throws {
        let keys = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            uuid: try keys.decode(ProximityUUID.self, forKey: .uuid),
            major: try keys.decode(UInt16.self, forKey: .major), minor: try keys.decode(UInt16.self, forKey: .minor))
    }

    /// Writes `uuid`, `major` and `minor`.
    public func encode(to encoder: any Encoder) throws {
        var keys = encoder.container(keyedBy: CodingKeys.self)
        try keys.encode(uuid, forKey: .uuid)
        try keys.encode(major, forKey: .major)
        try keys.encode(minor, forKey: .minor)
    }
}

extension RSSI: Codable {
    /// Reads dBm.
    public init(from decoder: any Decoder) throws {
        self.init(dBm: try decoder.singleValueContainer().decode(Int8.self))
    }

    /// Writes dBm.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(dBm)
    }
}
