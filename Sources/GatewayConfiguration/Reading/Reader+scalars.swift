/// What several sections share beyond numbers and durations.
extension Reader {
    /// One of the words of an enumeration.
    static func choice<Value: CaseIterable & RawRepresentable>(
        _ values: Value.Type
    ) -> (ArraySlice<UInt8>) throws(ScalarProblem) -> Value where Value.RawValue == String {
        { (text) throws(ScalarProblem) in
            guard let value = Value.allCases.first(where: { ScalarSyntax.matches(text, $0.rawValue) }) else {
                throw ScalarProblem("expected \(Schema.list(Value.allCases.map(\.rawValue)))")
            }
            return value
        }
    }

    /// A whole number in a range.
    static func integer(in range: ClosedRange<Int>) -> (ArraySlice<UInt8>) throws(ScalarProblem) -> Int {
        { (text) throws(ScalarProblem) in try ScalarSyntax.integer(text, in: range) }
    }

    /// A TCP port.
    static func port(_ text: ArraySlice<UInt8>) throws(ScalarProblem) -> UInt16 {
        UInt16(clamping: try ScalarSyntax.integer(text, in: SettingLimits.port))
    }

    /// A duration in a range.
    static func duration(in range: ClosedRange<Duration>) -> (ArraySlice<UInt8>) throws(ScalarProblem) -> Duration {
        { (text) throws(ScalarProblem) in try ScalarSyntax.duration(text, in: range) }
    }

    /// A size in a range, in octets.
    static func size(in range: ClosedRange<Int64>) -> (ArraySlice<UInt8>) throws(ScalarProblem) -> Int64 {
        { (text) throws(ScalarProblem) in try ScalarSyntax.size(text, in: range) }
    }

    /// An absolute path: a service's working directory is not its configuration's.
    static func path(_ text: ArraySlice<UInt8>) throws(ScalarProblem) -> String {
        try path(text, lengthMost: SettingLimits.pathOctets)
    }

    /// The path of a socket.
    static func socketPath(_ text: ArraySlice<UInt8>) throws(ScalarProblem) -> String {
        try path(text, lengthMost: SettingLimits.socketPathOctets)
    }

    private static func path(_ text: ArraySlice<UInt8>, lengthMost: Int) throws(ScalarProblem) -> String {
        guard text.first == UInt8(ascii: "/"), text.count <= lengthMost, text.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
        else { throw ScalarProblem("expected an absolute path of at most \(lengthMost) octets, such as /var/lib/…") }
        return String(decoding: text, as: UTF8.self)
    }

    /// A host's name or address, and nothing besides.
    static func host(_ text: ArraySlice<UInt8>) throws(ScalarProblem) -> String {
        let host = String(decoding: text, as: UTF8.self)
        guard !host.contains("://") else { throw ScalarProblem("expected the host alone, without a scheme and a port") }
        // RFC 1035 §2.3.4: a name has at most 255 octets.
        guard (1...255).contains(text.count), text.allSatisfy({ $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "/") })
        else { throw ScalarProblem("expected a host's name or address") }
        let colons = text.count { $0 == UInt8(ascii: ":") }
        guard colons != 1 else { throw ScalarProblem("expected the host alone; its port is a setting of its own") }
        return host
    }

    /// A word of 1 to 255 octets without control characters.
    static func word(_ text: ArraySlice<UInt8>) throws(ScalarProblem) -> String {
        guard (1...255).contains(text.count), text.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw ScalarProblem("expected 1 to 255 octets without control characters")
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The first levels of topics (MQTT 3.1.1 §4.7).
    static func topicPrefix(_ text: ArraySlice<UInt8>) throws(ScalarProblem) -> String {
        let levels = text.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let isValid =
            (1...255).contains(text.count) && text.first != UInt8(ascii: "$") && !levels.contains { $0.isEmpty }
            && text.allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "#") }
        guard isValid else {
            throw ScalarProblem(
                "expected one or more levels with / between them, without + and #, not beginning with $")
        }
        return String(decoding: text, as: UTF8.self)
    }
}
