// Codable with the same forms as the lines of an event file: UUIDs as texts, numbers as numbers.

extension ProximityUUID: Codable {
    /// Decodes a UUID from its text, with or without hyphens.
    ///
    /// - Throws: `DecodingError.dataCorrupted` if the text is not a UUID.
    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let uuid = ProximityUUID(text) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "“\(text)” is not a UUID"))
        }
        self = uuid
    }

    /// Encodes ``description``.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

extension BeaconIdentity: Codable {
    private enum CodingKeys: String, CodingKey { case uuid, major, minor }

    /// Decodes an object with `uuid`, `major` and `minor`.
    public init(from decoder: any Decoder) throws {
        let keys = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            uuid: try keys.decode(ProximityUUID.self, forKey: .uuid),
            major: try keys.decode(UInt16.self, forKey: .major), minor: try keys.decode(UInt16.self, forKey: .minor))
    }

    /// Encodes an object with `uuid`, `major` and `minor`.
    public func encode(to encoder: any Encoder) throws {
        var keys = encoder.container(keyedBy: CodingKeys.self)
        try keys.encode(uuid, forKey: .uuid)
        try keys.encode(major, forKey: .major)
        try keys.encode(minor, forKey: .minor)
    }
}

extension RSSI: Codable {
    /// Decodes a number of dBm, −128 … 127.
    public init(from decoder: any Decoder) throws {
        self.init(dBm: try decoder.singleValueContainer().decode(Int8.self))
    }

    /// Encodes a number of dBm.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(dBm)
    }
}
