// Lines spell these as their cases are called.

extension Decoder {
    /// One of a few words.
    func word<Value: CaseIterable>(_ type: Value.Type) throws -> Value {
        let text = try singleValueContainer().decode(String.self)
        if let value = Value.allCases.first(where: { "\($0)" == text }) { return value }
        let known = Value.allCases.map { "\($0)" }.joined(separator: ", ")
        throw DecodingError.dataCorrupted(
            .init(codingPath: codingPath, debugDescription: "“\(text)” must be one of \(known)"))
    }
}

extension Encoder {
    func write(word value: some CaseIterable) throws {
        var container = singleValueContainer()
        try container.encode("\(value)")
    }
}

extension BeaconMonitor.Event.State: Codable {
    /// Reads `satisfied`, and so on.
    public init(from decoder: any Decoder) throws { self = try decoder.word(Self.self) }
    /// Writes `satisfied`, and so on.
    public func encode(to encoder: any Encoder) throws { try encoder.write(word: self) }
}

extension Scope: Codable {
    /// Reads `condition` or `beacon`.
    public init(from decoder: any Decoder) throws { self = try decoder.word(Self.self) }
    /// Writes `condition` or `beacon`.
    public func encode(to encoder: any Encoder) throws { try encoder.write(word: self) }
}

extension Visit.Reason: Codable {
    /// Reads `exitTimeout`, and so on.
    public init(from decoder: any Decoder) throws { self = try decoder.word(Self.self) }
    /// Writes `exitTimeout`, and so on.
    public func encode(to encoder: any Encoder) throws { try encoder.write(word: self) }
}

extension Diagnostics: Codable {
    /// Reads the names of the flags that hold; one that this version does not know is passed over.
    public init(from decoder: any Decoder) throws {
        var flags: Diagnostics = []
        for name in try decoder.singleValueContainer().decode([String].self) {
            guard let bit = Self.names.firstIndex(of: name) else { continue }
            flags.insert(Diagnostics(rawValue: 1 << UInt32(bit)))
        }
        self = flags
    }

    /// Writes the names of the flags that hold, in the order of their bits.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(listed)
    }
}

extension WallDate: Codable {
    /// Reads a date as RFC 3339 has it.
    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let date = WallDate(text) else {
            throw DecodingError.dataCorrupted(
                .init(
                    codingPath: decoder.codingPath, debugDescription: "“\(text)” must be a date in UTC (RFC 3339)")
            )
        }
        self = date
    }

    /// Writes ``description``.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
