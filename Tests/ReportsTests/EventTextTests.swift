import BaseTypes
import BluetoothLE
import Testing

@testable import BeaconMonitoring
@testable import CommandSupport
@testable import GatewayConfiguration

/// The short lines for people about events.
@Suite struct EventTextTests {
    private static let uuid = ProximityUUID(high: 0xF782_6DA6_4FA2_4E98, low: 0x8024_BC5B_71E0_893E)
    private static let ada = BeaconIdentity(uuid: uuid, major: 1, minor: 17)
    private static let other = BeaconIdentity(uuid: uuid, major: 100, minor: 7)
    /// 2026-11-21T07:46:27.9Z
    private static let time = Instant(nanoseconds: 1_795_247_187_900_000_000)

    private var names = BeaconNames()
    init() { _ = names.add(NamedBeacon(Self.ada, name: "Ada Lovelace", group: "people")) }

    private static func event(
        _ state: BeaconMonitor.Event.State, after previous: BeaconMonitor.Event.State? = nil, scope: Scope = .beacon,
        _ condition: Condition = .beacon(uuid: uuid), _ beacon: BeaconIdentity? = ada,
        seen: Instant? = time - .seconds(30), rssi: Int8? = -61, _ diagnostics: Diagnostics = []
    ) -> Action {
        let sighting = seen.flatMap { seen in
            beacon.map {
                Sighting(
                    time: seen, adapter: AdapterID(index: 0), beacon: $0, measuredPower: -59,
                    rssi: rssi.map { RSSI(dBm: $0) })
            }
        }
        return .event(
            BeaconMonitor.Event(
                monitor: "site", identifier: "staff", scope: scope, state: state, time: time, clockOffset: .zero,
                condition: condition, refinement: beacon,
                previous: previous.map {
                    BeaconMonitor.Event.Previous(state: $0, date: WallDate(time - .seconds(60), offset: .zero))
                }, sighting: sighting, lastSeen: seen, diagnostics: diagnostics))
    }

    /// Returns the line of an action without the date before it and without the time.
    private func line(_ action: Action) throws -> String {
        var text = EventText(names, isUTC: true)
        let found = text.lines(of: action)
        let lines = try #require(found)
        let prefix = "2026-11-21 (UTC)\n07:46:27  "
        try #require(lines.hasPrefix(prefix) && lines.hasSuffix("\n"), "\(lines)")
        return String(lines.dropFirst(prefix.count).dropLast())
    }

    @Test func `a beacon arrives and leaves; after an unknown state it is present or absent`() throws {
        #expect(try line(Self.event(.satisfied)) == "Ada Lovelace arrived (staff)  −61 dBm")
        #expect(try line(Self.event(.satisfied, after: .unsatisfied)) == "Ada Lovelace arrived (staff)  −61 dBm")
        #expect(try line(Self.event(.satisfied, after: .unknown)) == "Ada Lovelace is present (staff)  −61 dBm")
        let exit = "last sighting 07:45:57, −61 dBm"
        #expect(try line(Self.event(.unsatisfied, after: .satisfied)) == "Ada Lovelace left (staff)  \(exit)")
        #expect(try line(Self.event(.unsatisfied, after: .unknown)) == "Ada Lovelace is absent (staff)  \(exit)")
        #expect(
            try line(Self.event(.unknown, after: .satisfied))
                == "Ada Lovelace is unknown (staff)  its adapters do not scan")
    }

    @Test func `a beacon without a name has its numbers, and names that two beacons have get theirs`() throws {
        #expect(
            try line(Self.event(.satisfied, .beacon(uuid: Self.uuid), Self.other)) == "100/7 arrived (staff)  −61 dBm")
        var two = self
        _ = two.names.add(NamedBeacon(Self.other, name: "Ada Lovelace"))
        #expect(try two.line(Self.event(.satisfied)) == "Ada Lovelace 1/17 arrived (staff)  −61 dBm")
    }

    @Test func `a condition is present and absent, with the beacon that decided`() throws {
        func line(_ state: BeaconMonitor.Event.State, after previous: BeaconMonitor.Event.State?) throws -> String {
            try self.line(Self.event(state, after: previous, scope: .condition))
        }
        #expect(try line(.satisfied, after: .unsatisfied) == "staff is present  Ada Lovelace, −61 dBm")
        #expect(
            try line(.unsatisfied, after: .satisfied)
                == "staff is absent  last sighting 07:45:57, Ada Lovelace, −61 dBm")
        #expect(try line(.unknown, after: .satisfied) == "staff is unknown  its adapters do not scan")
        #expect(try line(.unknown, after: .unmonitored) == "staff is monitored now")
        let silent = Self.event(
            .unsatisfied, after: .unknown, scope: .condition, .beacon(uuid: Self.uuid), nil, seen: nil)
        #expect(try self.line(silent) == "staff is absent")
        let limited = Self.event(
            .unmonitored, scope: .condition, .beacon(uuid: Self.uuid), nil, seen: nil, .conditionLimitExceeded)
        #expect(try self.line(limited) == "staff is not monitored  condition_limit is reached")
    }

    @Test func `a condition for one beacon has the name of the beacon, or its own`() throws {
        func event(
            _ beacon: BeaconIdentity, after previous: BeaconMonitor.Event.State?, scope: Scope = .condition
        ) -> Action {
            let only = Condition.beacon(uuid: Self.uuid, major: beacon.major, minor: beacon.minor)
            return Self.event(.satisfied, after: previous, scope: scope, only, beacon)
        }
        #expect(try line(event(Self.ada, after: .unsatisfied)) == "Ada Lovelace arrived (staff)  −61 dBm")
        #expect(try line(event(Self.other, after: .unsatisfied)) == "staff arrived  −61 dBm")
        // The condition was unknown until then, so whether the beacon was absent is unknown too.
        #expect(try line(event(Self.ada, after: nil)) == "Ada Lovelace is present (staff)  −61 dBm")
        // With per_beacon, the event of the beacon repeats that of the condition.
        var text = EventText(names, isUTC: true)
        let lines = [Scope.condition, .beacon, .beacon].map {
            text.lines(of: event(Self.ada, after: .unsatisfied, scope: $0))
        }
        #expect(lines[0] != nil && lines[1] == nil && lines[2] == nil)
        // This is so also if the words differ, and without a name.
        let first = [Scope.condition, .beacon].map { text.lines(of: event(Self.other, after: nil, scope: $0)) }
        #expect(first == ["07:46:27  staff is present  −61 dBm\n", nil])
        guard case .event(var later) = event(Self.ada, after: .unsatisfied, scope: .beacon) else { return }
        later.time = later.time + .seconds(1)
        let laterLine = text.lines(of: .event(later))
        #expect(laterLine == "07:46:28  Ada Lovelace arrived (staff)  −61 dBm\n")
    }

    @Test func `a signal strength can be positive or missing`() throws {
        #expect(try line(Self.event(.satisfied, rssi: 3)) == "Ada Lovelace arrived (staff)  3 dBm")
        #expect(try line(Self.event(.satisfied, rssi: 0)) == "Ada Lovelace arrived (staff)  0 dBm")
        #expect(try line(Self.event(.satisfied, rssi: -127)) == "Ada Lovelace arrived (staff)  −127 dBm")
        #expect(try line(Self.event(.satisfied, rssi: nil)) == "Ada Lovelace arrived (staff)")
    }

    @Test func `a last sighting on another day has its date`() throws {
        let midnight = Instant(nanoseconds: 1_795_219_200_000_000_000)
        func exit(seen: Instant) throws -> String {
            try line(Self.event(.unsatisfied, after: .satisfied, seen: seen, rssi: nil))
        }
        #expect(try exit(seen: midnight) == "Ada Lovelace left (staff)  last sighting 00:00:00")
        #expect(
            try exit(seen: midnight - .nanoseconds(1000))
                == "Ada Lovelace left (staff)  last sighting 2026-11-20 23:59:59")
    }

    @Test func `a circle is entered and left; after an unknown state the gateway is inside or outside`() throws {
        let circle = Condition.circle(
            try BeaconMonitor.CircularGeographicCondition(
                center: Coordinate(latitude: 48.2, longitude: 16.4), radius: 100))
        func line(_ state: BeaconMonitor.Event.State, after previous: BeaconMonitor.Event.State?) throws -> String {
            let flags: Diagnostics = state == .unmonitored ? .conditionUnsupported : []
            return try self.line(Self.event(state, after: previous, scope: .condition, circle, nil, flags))
        }
        #expect(try line(.satisfied, after: .unsatisfied) == "staff: entered")
        #expect(try line(.unsatisfied, after: .satisfied) == "staff: left")
        #expect(try line(.satisfied, after: .unknown) == "staff: inside")
        #expect(try line(.unsatisfied, after: .unknown) == "staff: outside")
        #expect(try line(.unknown, after: .satisfied) == "staff: unknown  no position")
        #expect(try line(.unknown, after: .unmonitored) == "staff: monitored now")
        #expect(try line(.satisfied, after: nil) == "staff: inside")
        #expect(try line(.unsatisfied, after: nil) == "staff: outside")
        #expect(try line(.unmonitored, after: nil) == "staff: not monitored  there is no location source")
    }

    @Test(arguments: Visit.Reason.allCases)
    func `a visit has a line only if it ends without an event`(reason: Visit.Reason) throws {
        let visit = Visit(
            monitor: "site", identifier: "staff", scope: .beacon, time: Self.time, clockOffset: .zero,
            condition: .beacon(uuid: Self.uuid), refinement: Self.other, arrival: Self.time, departure: Self.time,
            sightings: 1, strength: nil, reason: reason)
        let words: String? =
            switch reason {
            case .exitTimeout, .left: nil
            case .removed: "the condition was removed, or no longer includes it"
            case .replaced: "the condition was replaced"
            case .displaced: "a named beacon took its place"
            }
        var text = EventText(names, isUTC: true)
        let lines = text.lines(of: .visit(visit))
        #expect((lines == nil) == (words == nil))
        if let words { #expect(try line(.visit(visit)) == "100/7: visit ended (staff)  \(words)") }
    }

    @Test func `an adapter has a line with the reason, without characters to which a terminal reacts`() throws {
        func line(_ state: AdapterChange.State, _ reason: String?, _ name: String = "hci0") throws -> String {
            try self.line(
                .adapter(
                    AdapterChange(
                        adapter: name, state: state, since: Self.time - .seconds(10), reason: reason, time: Self.time,
                        clockOffset: .zero)))
        }
        #expect(try line(.listening, "first record") == "hci0 scans  first record")
        #expect(try line(.off, nil) == "hci0 does not scan")
        #expect(try line(.deaf, "no report for 10 s") == "hci0 counts as not scanning  no report for 10 s")
        #expect(try line(.gone, "removed", "a\u{1B}[2J\nb") == "a_[2J_b was removed  removed")
    }

    @Test func `the date is written before the first line, at each new day, and when it is requested again`() {
        var text = EventText(names, isUTC: true)
        func lines(after seconds: Int) -> String? {
            guard case .event(var event) = Self.event(.satisfied, rssi: nil) else { return nil }
            event.time = Self.time + .seconds(seconds)
            return text.lines(of: .event(event))
        }
        #expect(lines(after: 0) == "2026-11-21 (UTC)\n07:46:27  Ada Lovelace arrived (staff)\n")
        #expect(lines(after: 58_412) == "23:59:59  Ada Lovelace arrived (staff)\n")
        #expect(lines(after: 58_413) == "2026-11-22 (UTC)\n00:00:00  Ada Lovelace arrived (staff)\n")
        text.repeatDate()
        #expect(lines(after: 58_414) == "2026-11-22 (UTC)\n00:00:01  Ada Lovelace arrived (staff)\n")
        var renamed = BeaconNames()
        _ = renamed.add(NamedBeacon(Self.ada, name: "Ada King"))
        text.use(renamed)
        #expect(lines(after: 58_415) == "00:00:02  Ada King arrived (staff)\n")
    }
}
