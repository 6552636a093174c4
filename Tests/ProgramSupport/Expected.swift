import Foundation
import Testing

/// A sighting of the expected results or of `--sightings`, independent of their formats.
package struct ExpectedSighting: Hashable {
    /// Microseconds since 1970; `nil` if the capture has no times.
    package var time: Int64?
    package var uuid: String
    package var major: Int
    package var minor: Int
    package var measuredPower: Int
    package var rssi: Int?
    package var address: String?

    /// Reads a line of `*.expected.jsonl`.
    package init(expected line: String) throws {
        try self.init(object(line)) { object in
            (object["t"] as? NSNumber).map { Int64(($0.doubleValue * 1_000_000).rounded()) }
        }
    }

    /// Reads a line of `--sightings`, which must have an adapter.
    package init(line: String) throws {
        let object = try object(line)
        _ = try #require(object["adapter"] as? String)
        #expect(!object.values.contains { $0 is NSNull }, "an absent value must have no key")
        try self.init(object) { try ($0["time"] as? String).map(microseconds(of:)) }
    }

    private init(_ object: [String: Any], time: ([String: Any]) throws -> Int64?) throws {
        self.time = try time(object)
        uuid = try #require(object["uuid"] as? String)
        major = try #require(object["major"] as? Int)
        minor = try #require(object["minor"] as? Int)
        measuredPower = try #require(object["measuredPower"] as? Int)
        rssi = object["rssi"] as? Int
        address = object["address"] as? String
    }
}

/// Returns the microseconds since 1970 of a date such as `2026-11-21T07:46:27.123456Z`. Further decimals are cut.
package func microseconds(of text: String) throws -> Int64 {
    let parts = text.split(whereSeparator: { "-T:.Z".contains($0) })
    try #require(parts.count == 7 && text.hasSuffix("Z"), "\(text)")
    var components = DateComponents()
    components.year = Int(parts[0])
    components.month = Int(parts[1])
    components.day = Int(parts[2])
    components.hour = Int(parts[3])
    components.minute = Int(parts[4])
    components.second = Int(parts[5])
    let date = try #require(utc.date(from: components))
    return Int64(date.timeIntervalSince1970) * 1_000_000 + (try #require(Int64(parts[6].prefix(6))))
}

private let utc: Calendar = {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = TimeZone(secondsFromGMT: 0) ?? calendar.timeZone
    return calendar
}()

/// An entry or an exit.
package struct Change: Hashable, Comparable, CustomStringConvertible {
    /// The time in microseconds.
    package var time: Int64
    package var isEnter: Bool
    package var identifier: String

    package init(time: Int64, isEnter: Bool, identifier: String) {
        self.time = time
        self.isEnter = isEnter
        self.identifier = identifier
    }

    package static func < (left: Change, right: Change) -> Bool {
        if left.time != right.time { return left.time < right.time }
        if left.isEnter != right.isEnter { return right.isEnter }
        return left.identifier.utf8.lexicographicallyPrecedes(right.identifier.utf8)
    }

    package var description: String { "\(time) \(isEnter ? "enter" : "exit") \(identifier)" }

    /// Returns the entries and exits among the lines of a replay.
    package static func events(of lines: [String]) throws -> [Change] {
        try payloads(lines, type: "event").map { payload in
            let state = try #require(payload["state"] as? String)
            try #require(["satisfied", "unsatisfied"].contains(state))
            return Change(
                time: try #require(payload["monotonic"] as? Int64), isEnter: state == "satisfied",
                identifier: try #require(payload["identifier"] as? String))
        }
    }
}

/// Returns the payloads of lines, only of one type if it is given.
package func payloads(_ lines: [String], type: String? = nil) throws -> [[String: Any]] {
    try lines.map { try #require(try object($0)["payload"] as? [String: Any]) }
        .filter { type == nil || $0["type"] as? String == type }
}

/// A condition of the expected results.
package struct ExpectedCondition: Hashable, Comparable {
    package var identifier: String
    package var uuid: String
    package var major: Int?
    package var minor: Int?

    package static func < (left: ExpectedCondition, right: ExpectedCondition) -> Bool {
        left.identifier < right.identifier
    }

    /// Reads a condition from an object. Without an `id`, its identifier consists of its UUID, major and minor.
    package init(_ object: [String: Any]) throws {
        uuid = try #require(object["uuid"] as? String)
        major = object["major"] as? Int
        minor = object["minor"] as? Int
        identifier =
            object["id"] as? String
            ?? ([uuid] + [major, minor].compactMap { $0.map(String.init) }).joined(separator: "-")
    }

    /// Returns a configuration of conditions, each initially `unsatisfied`.
    package static func configuration(_ conditions: [ExpectedCondition], exitTimeout: String) -> String {
        var text = "monitor:\n  exit_timeout: \(exitTimeout)\nconditions:\n"
        for condition in conditions {
            text += "  - identifier: \(condition.identifier)\n    uuid: \(condition.uuid)\n    assuming: unsatisfied\n"
            if let major = condition.major { text += "    major: \(major)\n" }
            if let minor = condition.minor { text += "    minor: \(minor)\n" }
        }
        return text
    }
}

/// Returns a readable description of the first difference between two lists; `nil` if they are equal.
package func difference<Element: Equatable>(_ found: [Element], _ expected: [Element]) -> String? {
    guard found != expected else { return nil }
    let place = zip(found, expected).enumerated().first { $0.element.0 != $0.element.1 }?.offset
    guard let place else { return "\(found.count) are there, expected \(expected.count)" }
    return "at \(place) of \(found.count): \(found[place]), expected \(expected[place])"
}
