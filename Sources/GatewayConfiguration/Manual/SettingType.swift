import BaseTypes
internal import BeaconMonitoring

/// What may stand as a setting's value. The bounds are those that ``Reader`` holds it to.
package enum SettingType: Sendable {
    case flag
    /// A number and a unit; with `isWhole` whole seconds alone, with `word` that word as well.
    case duration(ClosedRange<Duration>, isWhole: Bool = false, word: String? = nil)
    /// A number and a unit, in octets.
    case size(ClosedRange<Int64>)
    /// A whole number, and of what.
    case integer(ClosedRange<Int>, unit: String = "")
    /// A decimal number, and of what.
    case number(ClosedRange<Double>, unit: String = "")
    /// One of these words.
    case choice([String])
    /// Text, and which.
    case text(String)
    /// An absolute path of so many octets at most.
    case path(lengthMost: Int)
    /// A map, a list or what else is no single value, in words.
    case structure(String)

    /// The type in words, as in `duration, 1ms…30d`.
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
        case .path(let most): most == SettingLimits.pathOctets ? "path" : "path of at most \(most) bytes"
        }
    }

    /// The least and the most as a file has them; absent where there are none.
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

/// The bounds that belong to the file's schema; what a rule bounds is `SettingBounds`'.
package enum SettingLimits {
    static let rotateSize: ClosedRange<Int64> = (4 << 10)...(1 << 40)
    static let rotateInterval: ClosedRange<Duration> = .seconds(60)...(.seconds(366 * 86_400))
    static let retain: ClosedRange<Duration> = .seconds(3600)...(.seconds(3660 * 86_400))
    static let retainSize: ClosedRange<Int64> = (4 << 10)...(1 << 50)
    static let durability: ClosedRange<Duration> = .milliseconds(10)...(.seconds(3600))
    // MQTT 3.1.1 §3.1.2.10: two octets of seconds; a broker may be slower than one that has 5.
    static let keepAlive: ClosedRange<Duration> = .seconds(5)...(.seconds(65_535))
    static let messageExpiry: ClosedRange<Duration> = .seconds(1)...(.seconds(3660 * 86_400))
    static let port: ClosedRange<Int> = 1...65_535
    static let major: ClosedRange<Int> = 0...65_535
    static let conditionLimit: ClosedRange<Int> = 0...1_000_000
    static let maxBeacons: ClosedRange<Int> = 1...1_000_000
    static let maxNewBeacons: ClosedRange<Int> = 0...1_000_000
    // What is slower or faster is hardly meant.
    static let factor: ClosedRange<Double> = 0.01...1000
    static let dutyCycle: ClosedRange<Double> = 0.01...1
    static let latency: ClosedRange<Duration> = .milliseconds(10)...(.seconds(1))
    // Linux's PATH_MAX without its final zero.
    static let pathOctets = 4095
    // What fits the kernel's address (unix(7)).
    static let socketPathOctets = 107
    // More than any machine has ports for; the engine's own bound lies above.
    static let adaptersMost = 64
}
