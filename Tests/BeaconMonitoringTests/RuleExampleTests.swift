import BaseTypes
import BluetoothLE
import Foundation
import Testing

@testable import BeaconMonitoring

/// Runs the examples of `docs/monitor.md` as they are printed.
@Suite struct RuleExampleTests {
    @Test(arguments: Implementation.allCases)
    func `each example of the rules has the results that are printed with it`(_ implementation: Implementation) throws {
        let examples = try RuleExample.all()
        #expect(examples.count >= 50)
        for example in examples {
            let differences = try example.differences(implementation)
            #expect(differences == [], "docs/monitor.md:\(example.line) has \(differences)")
        }
    }

    @Test func `a result that is missing, wrong or at another time in an example is reported`() throws {
        for example in try RuleExample.all() {
            var damaged: [RuleExample] = []
            for (entry, index) in example.steps.enumerated().flatMap({ step in
                step.element.results.indices.map { (step.offset, $0) }
            }) {
                var (missing, wrong, late) = (example, example, example)
                missing.steps[entry].results.remove(at: index)
                wrong.steps[entry].results[index] += "x"
                let result = late.steps[entry].results.remove(at: index)
                late.steps.append(RuleExample.Step(time: .seconds(100_000), input: "", results: [result]))
                damaged += [missing, wrong, late]
            }
            #expect(!damaged.isEmpty)
            for example in damaged {
                #expect(try example.differences(.model) != [], "line \(example.line): \(example.steps)")
            }
        }
    }

    @Test(arguments: [
        "settings: {exit_timeot: 5s}\n0 s  hci0: badge 1", "settings: {exit_timeout: 5 h}\n0 s  hci0: badge 1",
        "0 s  hci0: bage 1", "0 s  hci0: badge 1 at 5 km", "0 s  hci0: badge 70000", "0 m  hci0: badge 1",
        "0 s hci0: badge 1 -> staff satisfied", "  → staff satisfied", "staff {}", "0 s  add staff",
        "0 s  hci0: data 0",
        "settings: {show: everything}\n0 s  hci0: badge 1", "staff: {uuid: C}\n0 s  hci0: badge 1",
    ])
    func `an example that cannot be read is an error`(_ text: String) {
        #expect(throws: RuleExample.Unreadable.self) {
            _ = try RuleExample(text.split(separator: "\n").map(String.init), line: 1).differences(.engine)
        }
    }

    @Test func `each rule has its number, a title and an example`() throws {
        let groups = [("B", 5), ("T", 5), ("L", 7), ("E", 4), ("X", 3), ("C", 7), ("P", 5), ("G", 3), ("N", 5)]
        let sections = try RuleExample.document().components(separatedBy: "\n### ").dropFirst()
            .filter { $0.prefix { $0 != "\n" }.contains(": ") }
        #expect(
            sections.map { String($0.prefix { $0 != ":" }) }
                == groups.flatMap { group in
                    (1...group.1).map { "\(group.0)\($0)" }
                })
        for section in sections {
            let hasExample = ["```timeline", "\nExample: ", "| result |"].contains { section.contains($0) }
            #expect(hasExample, "\(section.prefix { $0 != "\n" })")
        }
    }
}

/// One example: settings, then times with inputs and their results. `docs/monitor.md` describes the notation.
struct RuleExample {
    struct Step {
        var time: Duration
        var input: String
        var results: [String]
    }

    /// The error for a line of an example that is not in the notation.
    struct Unreadable: Error, CustomStringConvertible {
        var description: String
    }

    /// The number of the first line of the example in the document.
    let line: Int
    private(set) var settings: [String: String] = [:]
    private(set) var conditions: [(identifier: String, settings: [String: String])] = []
    var steps: [Step] = []

    static func document() throws -> String {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appendingPathComponent("docs/monitor.md"), encoding: .utf8)
    }

    static func all() throws -> [RuleExample] {
        var examples: [RuleExample] = []
        var block: (line: Int, lines: [String])?
        for (index, text) in try document().components(separatedBy: "\n").enumerated() {
            switch (text, block) {
            case ("```timeline", _): block = (index + 2, [])
            case ("```", let found?):
                examples.append(try RuleExample(found.lines, line: found.line))
                block = nil
            default: block?.lines.append(text)
            }
        }
        return examples
    }

    init(_ lines: [String], line: Int) throws(Unreadable) {
        self.line = line
        for text in lines {
            if let colon = text.range(of: ": {"), text.first?.isLetter == true {
                let name = String(text[..<colon.lowerBound])
                let map = try Self.map(text[colon.lowerBound...].dropFirst(2))
                if name == "settings" { settings = map } else { conditions.append((name, map)) }
            } else {
                steps.append(try Self.step(text))
            }
        }
        if conditions.isEmpty, settings["conditions"] != "none" { conditions = [("staff", [:])] }
    }

    /// Reads `{key: value, key: value}`.
    private static func map(_ text: Substring) throws(Unreadable) -> [String: String] {
        guard text.hasPrefix("{"), text.hasSuffix("}") else { throw Unreadable(description: "no settings: \(text)") }
        var map: [String: String] = [:]
        for pair in text.dropFirst().dropLast().components(separatedBy: ", ") where !pair.isEmpty {
            let parts = pair.components(separatedBy: ": ")
            guard parts.count == 2 else { throw Unreadable(description: "no setting: \(pair)") }
            map[parts[0]] = parts[1]
        }
        return map
    }

    /// Reads `10.5 s  input  → result; result`.
    private static func step(_ text: String) throws(Unreadable) -> Step {
        let sides = text.components(separatedBy: "→").map { $0.trimmingCharacters(in: .whitespaces) }
        guard sides.count <= 2, let unit = (sides[0] + "  ").range(of: " s  "),
            let time = try? seconds(sides[0][..<unit.lowerBound])
        else { throw Unreadable(description: "no time, input and results: \(text)") }
        return Step(
            time: time, input: (sides[0] + "  ")[unit.upperBound...].trimmingCharacters(in: .whitespaces),
            results: sides.count == 1 ? [] : sides[1].components(separatedBy: "; "))
    }

    static func seconds(_ text: some StringProtocol) throws(Unreadable) -> Duration {
        let parts = text.split(separator: ".")
        guard (1...2).contains(parts.count), let whole = Int64(parts[0]) else {
            throw Unreadable(description: "not a number of seconds: \(text)")
        }
        let fraction = parts.count == 1 ? "" : String(parts[1])
        guard let nanoseconds = Int64((fraction + "000000000").prefix(9)) else {
            throw Unreadable(description: "not a number of seconds: \(text)")
        }
        return .seconds(whole) + .nanoseconds(nanoseconds)
    }
}

// MARK: Running an example

extension RuleExample {
    /// Returns the lines whose results differ from those of an implementation.
    func differences(_ implementation: Implementation) throws -> [String] {
        var run = try Run(self, implementation)
        var differences: [String] = []
        for step in steps {
            let results = try run.perform(step)
            if results != step.results { differences.append("\(step.time) \(step.input): \(results)") }
        }
        return differences
    }

    private struct Run {
        private let example: RuleExample
        private let implementation: Implementation
        private let settings: EngineSettings
        private let setup: MonitorSetup
        private let named: Set<BeaconIdentity>
        private let adapters: [String]
        private let shown: Set<String>
        private var monitoring: any Monitoring
        private var memory: MonitorSnapshot?
        private static let site = ScriptGenerator.identifier("site")

        init(_ example: RuleExample, _ implementation: Implementation) throws {
            (self.example, self.implementation) = (example, implementation)
            let given = example.settings
            var settings = EngineSettings()
            var monitor = MonitorSettings()
            var conditions: [MonitorSetup.Condition] = []
            if let text = given["deaf_after"] { settings.deafAfter = try Self.duration(text) }
            if let text = given["condition_limit"] { settings.conditionLimit = try Self.number(text) }
            if let text = given["max_beacons"] { settings.maxBeacons = try Self.number(text) }
            if let text = given["max_new_beacons"] { settings.maxNewBeacons = try Self.number(text) }
            if given["location"] == "true" { settings.locationSource = "location" }
            if let text = given["outage_timeout"] { monitor.outageTimeout = try Self.duration(text) }
            if let text = given["forget_after"] { monitor.forgetAfter = try Self.duration(text) }
            for condition in example.conditions {
                conditions.append(
                    try Self.condition(
                        condition.identifier, given.merging(condition.settings) { $1 }, assuming: .unsatisfied))
            }
            shown = Set((given["show"] ?? "").split(separator: " ").map(String.init))
            guard shown.isSubset(of: ["visits", "rssi", "refinements", "adapters"]) else {
                throw Unreadable(description: "show is \(shown)")
            }
            adapters = given["adapters"] == "none" ? [] : (given["adapters"] ?? "hci0").components(separatedBy: " ")
            named = Set(try (given["named"] ?? "").split(separator: " ").map { try Self.beacon($0) })
            setup = MonitorSetup(name: Self.site, settings: monitor, conditions: conditions)
            self.settings = settings
            monitoring = implementation.make(settings, start: Fixture.start, clockOffset: .zero)
            try monitoring.addMonitor(Self.site, settings: monitor)
            for adapter in adapters { _ = try act(.listening(.started, adapter, reason: nil, at: Fixture.start)) }
            _ = try act(.name(named, at: Fixture.start))
            for condition in conditions { _ = try act(Self.add(condition, at: Fixture.start)) }
        }

        /// Performs the input of a line and returns its results.
        mutating func perform(_ step: RuleExample.Step) throws -> [String] {
            let time = Fixture.start + step.time
            if memory != nil, step.input != "process starts" { return [] }
            var actions: [Action] = []
            switch step.input {
            case "": actions = try act(.advance(to: time))
            case "suspended": for adapter in adapters { actions += try act(Self.stop(adapter, at: time)) }
            case "resumed":
                for adapter in adapters {
                    actions += try act(.listening(.started, adapter, reason: nil, at: time))
                }
            case "location stops": actions = try act(.source(.stopped(since: nil), reason: nil, at: time))
            case "wall clock is set 1 h forward":
                actions = try act(.advance(to: time))
                monitoring.clockOffset = ClockOffset(nanoseconds: 3_600_000_000_000)
            case "process stops":
                actions = try act(.advance(to: time))
                memory = (monitoring as? MonitorEngine)?.snapshot ?? (monitoring as? ReferenceMonitor)?.memory
            case "process starts": actions = try restart(at: time)
            default: for input in try inputs(step.input, at: time) { actions += try act(input) }
            }
            return actions.compactMap { text($0, at: time) }
        }

        private mutating func act(_ step: BeaconMonitoringTests.Step) throws -> [Action] {
            let (actions, refusal) = monitoring.perform(step)
            if let refusal { throw refusal }
            return actions
        }

        private mutating func restart(at time: Instant) throws -> [Action] {
            guard let memory else { throw Unreadable(description: "the process has not stopped") }
            self.memory = nil
            var buffer = ActionBuffer()
            switch implementation {
            case .engine:
                var engine = MonitorEngine(settings: settings, start: time)
                try engine.begin([setup], naming: named, from: memory, at: time, into: &buffer)
                monitoring = engine
            case .model:
                let model = ReferenceMonitor(settings: settings, start: time, clockOffset: .zero)
                model.named = named
                try model.addMonitor(Self.site, settings: setup.settings)
                try model.restore(memory, into: &buffer)
                monitoring = model
            }
            return Array(buffer.actions)
        }

        // MARK: Inputs

        private func inputs(_ text: String, at time: Instant) throws -> [BeaconMonitoringTests.Step] {
            let words = text.components(separatedBy: " ")
            if words[0] == "fix", words.count == 7, let distance = Double(words[1]), let accuracy = Double(words[5]) {
                return [.located(north: distance, accuracy: accuracy, at: time)]
            }
            if words[0] == "remove", words.count == 2 {
                return [.remove(ScriptGenerator.identifier(words[1]), at: time)]
            }
            if words[0] == "add", words.count > 2 {
                let given = try RuleExample.map(words[2...].joined(separator: " ")[...])
                let condition = try Self.condition(
                    words[1], example.settings.merging(given) { $1 }, assuming: .unknown)
                return [Self.add(condition, at: time)]
            }
            guard words[0].hasSuffix(":") else { throw Unreadable(description: "no input: \(text)") }
            let adapter = String(words[0].dropLast())
            switch words.dropFirst().joined(separator: " ") {
            case "starts": return [.listening(.started, adapter, reason: nil, at: time)]
            case "stops": return [Self.stop(adapter, at: time)]
            case "removed": return [.listening(.removed, adapter, reason: nil, at: time)]
            case "other report": return [.received(adapter, at: time)]
            default: break
            }
            switch words[1] {
            case "badge" where words.count >= 3:
                return [.sighted(adapter, try Self.beacon(words[2]), try Self.rssi(Array(words[3...])), at: time)]
            case "stops" where words.count == 5 && words[2] == "since":
                let since = Fixture.start + (try RuleExample.seconds(words[3]))
                return [.listening(.stopped(since: since), adapter, reason: nil, at: time)]
            case "data" where words.count >= 3:
                let beacons = try Self.beacons(words[2...].joined())
                return beacons.isEmpty
                    ? [.received(adapter, at: time)]
                    : beacons.map { .sighted(adapter, $0, RSSI(dBm: -60), at: time) }
            default: throw Unreadable(description: "no input: \(text)")
            }
        }

        private static func stop(_ adapter: String, at time: Instant) -> BeaconMonitoringTests.Step {
            .listening(.stopped(since: nil), adapter, reason: nil, at: time)
        }

        private static func add(_ condition: MonitorSetup.Condition, at time: Instant) -> BeaconMonitoringTests.Step {
            .add(
                condition.condition, condition.identifier, monitor: site, assuming: condition.assuming,
                condition.settings, at: time)
        }

        private static func rssi(_ words: [String]) throws -> RSSI? {
            switch words.count {
            case 0: return RSSI(dBm: -60)
            case 2 where words == ["without", "RSSI"]: return nil
            case 3 where words[0] == "at" && words[2] == "dBm":
                return RSSI(dBm: Int8(try number(words[1].replacingOccurrences(of: "−", with: "-"))))
            default: throw Unreadable(description: "no RSSI: \(words)")
            }
        }

        /// Returns the beacons of a report with these data. Reading ends at a malformed structure.
        private static func beacons(_ hex: String) throws -> [BeaconIdentity] {
            let digits = try hex.map { digit throws(Unreadable) -> UInt8 in
                guard let value = digit.hexDigitValue else { throw Unreadable(description: "not hexadecimal: \(hex)") }
                return UInt8(value)
            }
            guard digits.count.isMultiple(of: 2) else { throw Unreadable(description: "half a byte: \(hex)") }
            let bytes = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
            var structures = ADStructures()
            var beacons: [BeaconIdentity] = []
            while let beacon = try? structures.nextBeacon(in: bytes.span) { beacons.append(beacon.identity) }
            return beacons
        }

        /// Reads a badge: `7` is its minor; `B7` has the other UUID.
        private static func beacon(_ text: some StringProtocol) throws -> BeaconIdentity {
            let isB = text.hasPrefix("B")
            guard let minor = UInt16(isB ? String(text.dropFirst()) : String(text)) else {
                throw Unreadable(description: "not a badge: \(text)")
            }
            return BeaconIdentity(uuid: isB ? .b : .a, major: 1, minor: minor)
        }

        // MARK: Settings

        private static let conditionKeys: Set<String> = [
            "uuid", "minor", "circle", "assuming", "enter_count", "enter_window", "enter_rssi", "exit_rssi",
            "exit_timeout", "per_beacon", "unnamed",
        ]
        private static let keys: Set<String> = [
            "deaf_after", "condition_limit", "max_beacons", "max_new_beacons", "location", "outage_timeout",
            "forget_after", "show", "adapters", "named", "conditions",
        ]

        private static func condition(
            _ identifier: String, _ given: [String: String], assuming: BeaconMonitor.Event.State
        ) throws -> MonitorSetup.Condition {
            let unknown = Set(given.keys).subtracting(conditionKeys).subtracting(keys)
            guard unknown.isEmpty else { throw Unreadable(description: "no such setting: \(unknown)") }
            var settings = ConditionSettings()
            if let text = given["enter_count"] { settings.enterCount = try number(text) }
            if let text = given["enter_window"] { settings.enterWindow = try duration(text) }
            if let text = given["exit_timeout"] { settings.exitTimeout = try duration(text) }
            if let text = given["enter_rssi"] { settings.enterRSSI = RSSI(dBm: Int8(try number(text))) }
            if let text = given["exit_rssi"] { settings.exitRSSI = RSSI(dBm: Int8(try number(text))) }
            settings.perBeacon = given["per_beacon"] == "true"
            settings.unnamed = try value(given["unnamed"], UnnamedBeacons.init(rawValue:), .track)
            let uuid = try value(given["uuid"], { ["A": ProximityUUID.a, "B": .b][$0] }, .a)
            var condition = Condition.beacon(BeaconMonitor.BeaconIdentityCondition(uuid: uuid))
            if let text = given["minor"] { condition = .a(UInt16(try number(text))) }
            if let text = given["circle"] {
                condition = .circle(
                    try BeaconMonitor.CircularGeographicCondition(
                        latitude: BeaconMonitoringTests.Step.latitude, longitude: BeaconMonitoringTests.Step.longitude,
                        radius: Double(try number(text))))
            }
            let states: [String: BeaconMonitor.Event.State] = [
                "unknown": .unknown, "satisfied": .satisfied, "unsatisfied": .unsatisfied,
            ]
            return MonitorSetup.Condition(
                identifier: ScriptGenerator.identifier(identifier), condition: condition,
                assuming: try value(given["assuming"], { states[$0] }, assuming), settings: settings)
        }

        private static func value<Value>(_ text: String?, _ read: (String) -> Value?, _ other: Value) throws -> Value {
            guard let text else { return other }
            guard let value = read(text) else { throw Unreadable(description: "not a value: \(text)") }
            return value
        }

        private static func number(_ text: String) throws -> Int {
            guard let number = Int(text) else { throw Unreadable(description: "not a number: \(text)") }
            return number
        }

        private static func duration(_ text: String) throws -> Duration {
            guard text.hasSuffix("s") else { throw Unreadable(description: "not a duration: \(text)") }
            return try RuleExample.seconds(text.dropLast())
        }

        // MARK: Results

        private func text(_ action: Action, at line: Instant) -> String? {
            switch action {
            case .event(let event):
                let scope = event.scope == .beacon ? event.refinement : nil
                var text = subject(event.identifier, scope) + " \(event.state)"
                if shown.contains("refinements"), scope == nil, let beacon = event.refinement {
                    text += " by \(name(beacon))"
                }
                if event.time != line { text += " at \(seconds(event.time))" }
                return event.diagnostics.isEmpty ? text : "\(text) \(event.diagnostics)"
            case .visit(let visit): return shown.contains("visits") ? self.text(visit) : nil
            case .adapter(let change):
                guard shown.contains("adapters") else { return nil }
                return "\(change.adapter) \(change.state) since \(seconds(change.since))"
                    + (change.time == line ? "" : " at \(seconds(change.time))")
            case .condition, .adapterNamed, .trackingLimitExceeded: return nil
            }
        }

        private func text(_ visit: Visit) -> String {
            var text = "visit of \(subject(visit.identifier, visit.scope == .beacon ? visit.refinement : nil))"
            if visit.reason != .exitTimeout { text += " \(visit.reason)" }
            let (arrival, departure) = (visit.arrival.map(seconds), visit.departure.map(seconds))
            text += ": \(arrival ?? "unknown") to \(departure ?? "unknown"), \(visit.sightings) sighting"
            if visit.sightings != 1 { text += "s" }
            if shown.contains("rssi"), let strength = visit.strength {
                let mean = String(format: "%.1f", Double(strength.sum) / Double(strength.count))
                text += ", RSSI \(strength.minimum), \(mean), \(strength.maximum)".replacingOccurrences(
                    of: "-", with: "−")
            }
            return text
        }

        private func subject(_ identifier: String, _ beacon: BeaconIdentity?) -> String {
            identifier + (beacon.map { "/\(name($0))" } ?? "")
        }

        private func name(_ beacon: BeaconIdentity) -> String { (beacon.uuid == .b ? "B" : "") + "\(beacon.minor)" }

        private func seconds(_ time: Instant) -> String {
            let (seconds, rest) = (time - Fixture.start).nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
            guard rest != 0 else { return "\(seconds) s" }
            let digits = String(String(rest + 1_000_000_000).dropFirst())
            return "\(seconds).\(digits.reversed().drop { $0 == "0" }.reversed().map(String.init).joined()) s"
        }
    }
}
