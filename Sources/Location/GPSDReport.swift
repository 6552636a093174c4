import JSON

/// One report of gpsd: the scalars of a JSON object's first level (gpsd_json(5)).
///
/// A line that is not such an object is not a report.
struct GPSDReport {
    /// A value on the first level.
    enum Value: Equatable {
        case number(Double)
        case text(String)
        case bool(Bool)
        /// The number of elements of an array, or of members of an object.
        case nested(count: Int)
        case null
    }

    /// The maximum number of keys; no class of gpsd has as many. Further keys are ignored.
    static let keysMax = 128

    private(set) var values: [String: Value] = [:]

    /// Reads a line; `nil` if it is not a report.
    init?(_ line: some Collection<UInt8>) {
        var text = JSONText(Array(line))
        guard text.parse(), text.values[0].kind == .object else { return nil }
        var isValid = true
        text.eachMember(of: 0) { key, place in
            guard let key = text.string(key), let value = Self.value(place, of: text) else {
                isValid = false
                return
            }
            if values.count < Self.keysMax || values[key] != nil { values[key] = value }
        }
        guard isValid else { return nil }
    }

    /// Returns the value at a place of the text; `nil` for a number beyond the range of `Double`.
    private static func value(_ place: Int, of text: JSONText) -> Value? {
        switch text.values[place].kind {
        case .string: text.string(place).map { .text($0) }
        case .number: text.double(place).flatMap { $0.isFinite ? .number($0) : nil }
        case .yes, .no: .bool(text.values[place].kind == .yes)
        case .null: .null
        case .array: .nested(count: text.elements(of: place).count)
        case .object: .nested(count: text.memberCount(of: place))
        }
    }

    func number(_ key: String) -> Double? {
        if case .number(let number)? = values[key] { number } else { nil }
    }

    func text(_ key: String) -> String? {
        if case .text(let text)? = values[key] { text } else { nil }
    }

    func count(_ key: String) -> Int? {
        if case .nested(let count)? = values[key] { count } else { nil }
    }
}
