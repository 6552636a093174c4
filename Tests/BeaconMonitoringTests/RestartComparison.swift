import Foundation
import JSON
import SystemPackage
import TestSupport

@testable import BeaconMonitoring
@testable import EventLog

/// Compares the restored state after a start with the expected one.
enum RestartComparison {
    /// Checks that two snapshots lead to the same decisions.
    ///
    /// - Throws: ``RestartFixture/Failure`` with the first difference.
    static func check(_ found: MonitorSnapshot, _ expected: MonitorSnapshot) throws {
        let (left, right) = (Self.comparable(found), Self.comparable(expected))
        guard left.conditions == right.conditions else {
            let place = zip(left.conditions, right.conditions).first { $0 != $1 }
            throw RestartFixture.Failure(
                description: "remembered is\n  \(place.map { "\($0.0)" } ?? "\(left.conditions.map(\.identifier))")\n"
                    + "expected\n  \(place.map { "\($0.1)" } ?? "\(right.conditions.map(\.identifier))")")
        }
        guard left.adapters == right.adapters else {
            throw RestartFixture.Failure(description: "adapters are\n  \(left.adapters)\nexpected\n  \(right.adapters)")
        }
    }

    /// Returns only the data that affect decisions: the adapters that hold a subject, ordered by name; the last refresh
    /// of a condition without its beacon; no visit of a condition that is `unsatisfied`.
    private static func comparable(_ snapshot: MonitorSnapshot) -> MonitorSnapshot {
        var snapshot = snapshot
        var holders: Set<String> = []
        for index in snapshot.conditions.indices {
            for subject in [snapshot.conditions[index].own] + snapshot.conditions[index].beacons {
                holders.formUnion(subject.holders)
            }
            let condition = snapshot.conditions[index].condition
            snapshot.conditions[index].own.lastRefresh?.beacon = condition.anyBeacon
        }
        snapshot.endVisits()
        snapshot.adapters = snapshot.adapters.filter { holders.contains($0.name) }.sorted { $0.name < $1.name }
        return snapshot
    }

    /// Checks that `record(for:)` returns the event in the last line of the condition.
    static func checkRecords(of journal: Journal, after lines: [Int: String]) throws {
        var last: [Identifier: String] = [:]
        // The condition that each identifier has by the lines, and whether it has `per_beacon`, if that is known.
        var known: [Identifier: (condition: Condition, perBeacon: Bool?)] = [:]
        for (_, line) in lines.sorted(by: { $0.key < $1.key }) {
            var parser = LineParser()
            parser.text = JSONText(Array(line.utf8.dropLast()))
            guard parser.parse() else { continue }
            if parser.head.kind == .event, let event = parser.event() {
                let identifier = Identifier(lookup: event.identifier)
                if known[identifier]?.condition != event.condition {
                    known[identifier] = (event.condition, nil)
                    last[identifier] = Self.placeholder(
                        of: ConditionChange(
                            monitor: event.monitor, identifier: event.identifier, kind: .added, time: event.time,
                            clockOffset: event.clockOffset, condition: event.condition,
                            settings: ConditionSettings(), assumed: .unknown))
                }
                if event.scope == .condition { last[identifier] = Self.text(event) }
                if event.scope == .beacon, known[identifier]?.perBeacon == false {
                    known[identifier]?.perBeacon = true
                }
            } else if let change = parser.conditionChange() {
                let identifier = Identifier(lookup: change.identifier)
                let (old, perBeacon) = (known[identifier], change.settings.perBeacon)
                if change.kind == .changed {
                    guard let old else { continue }
                    if old.condition != change.condition || (old.perBeacon ?? perBeacon) != perBeacon {
                        last[identifier] = Self.placeholder(of: change)
                    }
                } else {
                    last[identifier] = change.kind == .removed ? nil : Self.placeholder(of: change)
                }
                known[identifier] = change.kind == .removed ? nil : (change.condition, perBeacon)
            }
        }
        for identifier in Set(last.keys).union(journal.recordIdentifiers) {
            let record = journal.record(for: identifier).map { Self.text($0.lastEvent) }
            guard record == last[identifier] else {
                throw RestartFixture.Failure(
                    description:
                        "the record of \(identifier) is \(record ?? "none"), expected \(last[identifier] ?? "none")")
            }
        }
    }

    private static func placeholder(of change: ConditionChange) -> String {
        text(BeaconMonitor.Record(beginning: change).lastEvent)
    }

    private static func text(_ event: BeaconMonitor.Event) -> String {
        var buffer = LineBuffer()
        buffer.write(event, adapter: "-")
        return String(decoding: buffer.bytes, as: UTF8.self)
    }
}

extension MonitorSnapshot {
    /// Ends the visits that an exit has ended, also if their lines were not written.
    mutating func endVisits() {
        for index in conditions.indices where conditions[index].own.state == .unsatisfied {
            conditions[index].own.visit = nil
        }
    }
}
