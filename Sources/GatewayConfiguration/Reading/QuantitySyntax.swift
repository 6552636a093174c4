import BaseTypes
internal import BeaconMonitoring

extension ScalarSyntax {
    /// A unit with its size in the smallest unit.
    struct Unit: Sendable {
        let name: String
        let size: UInt64
    }

    // In nanoseconds, the resolution of the engine.
    private static let durationUnits = [
        Unit(name: "ms", size: 1_000_000), Unit(name: "s", size: 1_000_000_000),
        Unit(name: "m", size: 60_000_000_000), Unit(name: "h", size: 3_600_000_000_000),
        Unit(name: "d", size: 86_400_000_000_000),
    ]

    // In bytes. Binary units follow IEC 80000-13.
    private static let sizeUnits = [
        Unit(name: "B", size: 1), Unit(name: "kB", size: 1_000), Unit(name: "MB", size: 1_000_000),
        Unit(name: "GB", size: 1_000_000_000), Unit(name: "TB", size: 1_000_000_000_000),
        Unit(name: "KiB", size: 1 << 10), Unit(name: "MiB", size: 1 << 20), Unit(name: "GiB", size: 1 << 30),
        Unit(name: "TiB", size: 1 << 40),
    ]

    /// Reads a number and a unit: `30s`, `2m`, `500ms`, `1h`, `1d`, `1.5s`. The result must be a whole number of
    /// nanoseconds.
    static func duration(_ text: Text, in range: ClosedRange<Duration>) throws(ScalarProblem) -> Duration {
        func bounds() -> String { "expected \(range.lowerBound.setting)…\(range.upperBound.setting)" }
        let nanoseconds = try quantity(text, units: durationUnits, bounds: bounds, example: "30s", bare: "s")
        let duration = Duration.nanoseconds(nanoseconds)
        guard range.contains(duration) else { throw ScalarProblem(bounds()) }
        return duration
    }

    /// Reads a number and a unit: `64MiB`, `2GiB`, `500MB`. The result must be a whole number of bytes.
    static func size(_ text: Text, in range: ClosedRange<Int64>) throws(ScalarProblem) -> Int64 {
        func bounds() -> String { "expected \(sizeText(range.lowerBound))…\(sizeText(range.upperBound))" }
        let bytes = try quantity(text, units: sizeUnits, bounds: bounds, example: "64MiB", bare: "MiB")
        guard range.contains(bytes) else { throw ScalarProblem(bounds()) }
        return bytes
    }

    /// Returns a size in the largest binary unit that gives an integer.
    static func sizeText(_ bytes: Int64) -> String {
        for unit in sizeUnits.reversed() where unit.name.hasSuffix("iB") {
            let size = Int64(clamping: unit.size)
            if bytes != 0, bytes.isMultiple(of: size) { return "\(bytes / size)\(unit.name)" }
        }
        return "\(bytes)B"
    }

    private static func quantity(
        _ text: Text, units: [Unit], bounds: () -> String, example: String, bare: String
    ) throws(ScalarProblem) -> Int64 {
        let whole = text.prefix(while: isDigit)
        var rest = text[whole.endIndex...]
        var fraction: Text = []
        if rest.first == UInt8(ascii: ".") {
            fraction = rest.dropFirst().prefix(while: isDigit)
            guard !fraction.isEmpty else { throw ScalarProblem("\(bounds()), a number and a unit such as \(example)") }
            rest = rest[fraction.endIndex...]
        }
        guard !whole.isEmpty, text.count <= 64 else {
            throw ScalarProblem("\(bounds()), a number and a unit such as \(example)")
        }
        guard let unit = units.first(where: { rest.elementsEqual($0.name.utf8) }) else {
            let number = String(decoding: text[..<rest.startIndex], as: UTF8.self)
            throw ScalarProblem(unitHint(number, rest, units: units, example: example, bare: bare))
        }
        // Twelve digits before the point and twelve after it, times a unit, are below 2¹²⁸.
        let digits = whole.drop { $0 == 0x30 }
        let decimals = Array(fraction.reversed().drop { $0 == 0x30 }.reversed())
        guard digits.count <= 12 else { throw ScalarProblem(bounds()) }
        guard decimals.count <= 12 else { throw ScalarProblem("expected fewer decimals") }
        var value: UInt128 = 0
        for digit in digits { value = value * 10 + UInt128(digit - 0x30) }
        var scale: UInt128 = 1
        for digit in decimals {
            value = value * 10 + UInt128(digit - 0x30)
            scale *= 10
        }
        value *= UInt128(unit.size)
        guard value.isMultiple(of: scale) else { throw ScalarProblem("expected fewer decimals") }
        guard let exact = Int64(exactly: value / scale) else { throw ScalarProblem(bounds()) }
        return exact
    }

    private static func unitHint(
        _ number: String, _ rest: Text, units: [Unit], example: String, bare: String
    ) -> String {
        guard !rest.isEmpty else { return "the unit is missing: write \(number)\(bare) if this is the intended unit" }
        let given = rest.count <= 8 ? String(decoding: rest, as: UTF8.self).lowercased() : ""
        let trimmed = given.drop { $0 == " " }
        let names = units.map(\.name)
        if let name = names.first(where: { $0.lowercased() == trimmed }) { return "write \(number)\(name)" }
        return "expected one number and one unit (\(Schema.list(names))), such as \(example)"
    }
}

extension Duration {
    /// Creates a duration from a text in the syntax of settings (`30s`, `1.5s`, `500ms`, `2m`, `1h`, `1d`), within the
    /// bounds of rule C7.
    ///
    /// - Throws: ``DurationProblem`` if the text is not such a duration.
    package init(setting text: String) throws(DurationProblem) {
        do throws(ScalarProblem) {
            self = try ScalarSyntax.duration(Array(text.utf8)[...], in: SettingBounds.duration)
        } catch {
            throw DurationProblem(description: error.expected)
        }
    }
}

/// A text is not a duration.
package struct DurationProblem: Error, Sendable, Hashable, CustomStringConvertible {
    /// The expected text.
    package let description: String
}
