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
        for (_, line) in lines.sorted(by: { $0.key < $1.key }) {
            var parser = LineParser()
            parser.text = JSONText(Array(line.utf8.dropLast()))
            guard parser.parse() else { continue }
            if let event = parser.event(), parser.head.kind == .event, event.scope == .condition {
                last[Identifier(lookup: event.identifier)] = Self.text(event)
            } else if let change = parser.conditionChange(), change.kind != .changed {
                last[Identifier(lookup: change.identifier)] =
                    change.kind == .removed ? nil : Self.text(BeaconMonitor.Record(beginning: change).lastEvent)
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
