import BaseTypes
internal import BeaconMonitoring

/// The type of a setting's value, with the bounds that ``Reader`` checks.
package enum SettingType: Sendable {
    case flag
    /// A number and a unit; if `isWhole`, only whole seconds; if `word` is set, that word is also accepted.
    case duration(ClosedRange<Duration>, isWhole: Bool = false, word: String? = nil)
    /// A number and a unit, in bytes.
    case size(ClosedRange<Int64>)
    /// An integer with its unit.
    case integer(ClosedRange<Int>, unit: String = "")
    /// A decimal number with its unit.
    case number(ClosedRange<Double>, unit: String = "")
    /// One of these words.
    case choice([String])
    /// A text with this description.
    case text(String)
    /// An absolute path of at most that many bytes.
    case path(lengthMost: Int)
    /// A map, a list or another structure with this description.
    case structure(String)

    /// The type as a text, such as `duration, 1ms…30d`.
    package var words: String {
        switch self {
        case .flag: "`true` or `false`"
        case .duration(let range, let isWhole, let word):
            (word.map { "`\($0)`, or a " } ?? "") + "duration, \(bounds(range))" + (isWhole ? ", whole seconds" : "")
        case .size(let range): "size, \(bounds(range))"
        case .integer(let range, let unit): bounds(range) + (unit.isEmpty ? "" : " \(unit)")
        case .number(let range, let unit): bounds(range) + (unit.isEmpty ? "" : " \(unit)")
        case .choice(let words): words.map { "`\($0)`" }.joined(separator: ", ")
        case .text(let words), .structure(let words): words
        case .path(let most): most == SettingLimits.pathBytes ? "path" : "path of at most \(most) bytes"
        }
    }

    /// The bounds as in the file; `nil` if there are none.
    package var bounds: (least: String, most: String)? {
        switch self {
        case .duration(let range, _, _): (range.lowerBound.setting, range.upperBound.setting)
        case .size(let range): (ScalarSyntax.sizeText(range.lowerBound), ScalarSyntax.sizeText(range.upperBound))
        case .integer(let range, _): ("\(range.lowerBound)", "\(range.upperBound)")
        case .number(let range, _): (shortest(range.lowerBound), shortest(range.upperBound))
        case .flag, .choice, .text, .path, .structure: nil
        }
    }

    private func bounds<Bound>(_ range: ClosedRange<Bound>) -> String {
        bounds.map { "\($0.least)…\($0.most)" } ?? ""
    }

    private func shortest(_ number: Double) -> String {
        number.rounded() == number ? "\(Int(number))" : "\(number)"
    }
}

/// The bounds of the schema. Bounds of rules are in `SettingBounds`.
package enum SettingLimits {
    static let rotateSize: ClosedRange<Int64> = (4 << 10)...(1 << 40)
    static let rotateInterval: ClosedRange<Duration> = .seconds(60)...(.seconds(366 * 86_400))
    static let retain: ClosedRange<Duration> = .seconds(3600)...(.seconds(3660 * 86_400))
    static let retainSize: ClosedRange<Int64> = (4 << 10)...(1 << 50)
    static let durability: ClosedRange<Duration> = .milliseconds(10)...(.seconds(3600))
    // MQTT 3.1.1 §3.1.2.10: two bytes of seconds. Below 5 s, a slow broker could miss the time.
    static let keepAlive: ClosedRange<Duration> = .seconds(5)...(.seconds(65_535))
    static let messageExpiry: ClosedRange<Duration> = .seconds(1)...(.seconds(3660 * 86_400))
    static let port: ClosedRange<Int> = 1...65_535
    static let major: ClosedRange<Int> = 0...65_535
    static let conditionLimit: ClosedRange<Int> = 0...1_000_000
    static let maxBeacons: ClosedRange<Int> = 1...1_000_000
    static let maxNewBeacons: ClosedRange<Int> = 0...1_000_000
    // A slower or faster speed is probably an error.
    static let factor: ClosedRange<Double> = 0.01...1000
    static let dutyCycle: ClosedRange<Double> = 0.01...1
    static let latency: ClosedRange<Duration> = .milliseconds(10)...(.seconds(1))
    // Linux's PATH_MAX without its final zero.
    static let pathBytes = 4095
    // The maximum length of a socket path in the kernel (unix(7)).
    static let socketPathBytes = 107
    // More than any machine has ports for; the limit of the engine is higher.
    static let adaptersMost = 64
}
