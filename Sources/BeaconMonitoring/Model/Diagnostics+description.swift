extension Diagnostics: Diagnosed {
    /// The flags themselves, so that each can be asked for by its name: `diagnostics.scannerUnavailable`.
    public var diagnostics: Diagnostics { self }
}

extension Diagnostics: CustomStringConvertible {
    /// The names of the flags that hold, in the order in which a line lists them: `[scannerUnavailable, accuracyLimited]`;
    /// `[]` where none does.
    public var description: String {
        var words = Self.names.indices.filter { rawValue >> UInt32($0) & 1 == 1 }.map { Self.names[$0] }
        let unnamed = (rawValue >> UInt32(Self.names.count)) << UInt32(Self.names.count)
        if unnamed != 0 { words.append("0x\(String(unnamed, radix: 16))") }
        return "[\(words.joined(separator: ", "))]"
    }
}
