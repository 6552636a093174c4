// Lines and encoded values use the names of the cases.

extension Decoder {
    /// Decodes the name of a case.
    ///
    /// - Throws: `DecodingError.dataCorrupted` with the valid names if the text is not one of them.
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
    /// Decodes the name of a state: `satisfied`, `unsatisfied`, `unknown` or `unmonitored`.
    public init(from decoder: any Decoder) throws { self = try decoder.word(Self.self) }
    /// Encodes the name of the state.
    public func encode(to encoder: any Encoder) throws { try encoder.write(word: self) }
}

extension Scope: Codable {
    /// Decodes `condition` or `beacon`.
    public init(from decoder: any Decoder) throws { self = try decoder.word(Self.self) }
    /// Encodes `condition` or `beacon`.
    public func encode(to encoder: any Encoder) throws { try encoder.write(word: self) }
}

extension Visit.Reason: Codable {
    /// Decodes the name of a reason, such as `exitTimeout`.
    public init(from decoder: any Decoder) throws { self = try decoder.word(Self.self) }
    /// Encodes the name of the reason.
    public func encode(to encoder: any Encoder) throws { try encoder.write(word: self) }
}

extension Diagnostics: Codable {
    /// Decodes an array with the names of flags. Unknown names are ignored, because later versions can add flags.
    public init(from decoder: any Decoder) throws {
        var flags: Diagnostics = []
        for name in try decoder.singleValueContainer().decode([String].self) {
            guard let bit = Self.names.firstIndex(of: name) else { continue }
            flags.insert(Diagnostics(rawValue: 1 << UInt32(bit)))
        }
        self = flags
    }

    /// Encodes an array with the names of the flags, in the order of their bits.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(listed)
    }
}

extension WallDate: Codable {
    /// Decodes a date in the form of RFC 3339.
    ///
    /// - Throws: `DecodingError.dataCorrupted` if the text is not such a date in UTC.
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

    /// Encodes ``description``.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
