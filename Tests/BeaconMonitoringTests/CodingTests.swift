import BaseTypes
import BluetoothLE
import EventLog
import Foundation
import JSON
import Testing

@testable import BeaconMonitoring

/// Events, visits and records are encoded with the keys of a gateway's lines.
@Suite struct CodingTests {
    private let time = Instant(nanoseconds: 1_234_567_890_123_456_789)

    private func event(_ condition: Condition = .anyA, adapter: AdapterID = AdapterID(index: 0)) -> BeaconMonitor.Event
    {
        var address = DeviceAddress(0xC098_E500_0007, kind: .random)
        if case .circle = condition { address = DeviceAddress(1, kind: .public) }
        return BeaconMonitor.Event(
            monitor: "site", identifier: "lobby", scope: .beacon, state: .satisfied, time: time,
            clockOffset: ClockOffset(nanoseconds: 77), condition: condition, refinement: .a(7),
            previous: BeaconMonitor.Event.Previous(
                state: .unknown, date: WallDate(microseconds: 1_795_333_587_123_456)),
            sighting: Sighting(
                time: time - .nanoseconds(1), adapter: adapter, beacon: .a(7), measuredPower: -59,
                rssi: RSSI(dBm: -60), address: address),
            lastSeen: time - .nanoseconds(1), diagnostics: [.scannerUnavailable, .clockUnsynchronized])
    }

    private func visit() -> Visit {
        Visit(
            monitor: "site", identifier: "lobby", scope: .condition, time: time, clockOffset: .zero, condition: .anyA,
            refinement: nil, arrival: time - .seconds(10), departure: time - .nanoseconds(3), sightings: 3,
            strength: Visit.Strength(minimum: -70, sum: -200, count: 3, maximum: -60), reason: .exitTimeout)
    }

    private func again<Value: Codable>(_ value: Value) throws -> Value {
        try JSONDecoder().decode(Value.self, from: JSONEncoder().encode(value))
    }

    @Test func `a decoded value is equal to the encoded one, to the nanosecond`() throws {
        let circle = try Condition.circle(latitude: 48.2, longitude: 16.37, radius: 200)
        for condition in [.anyA, .beacon(uuid: BeaconIdentity.a(1).uuid, major: 7), .a(3), circle] {
            #expect(try again(event(condition)) == event(condition))
        }
        #expect(try again(visit()) == visit())
        let record = BeaconMonitor.Record(condition: .anyA, lastEvent: event())
        #expect(try again(record) == record)
        let kept = StoredEvent(number: 7, event: event(), crossing: .entry)
        #expect(try again(kept) == kept)
        #expect(try again(VisitUpdate(arrival: event())) == VisitUpdate(arrival: event()))
        #expect(try again(VisitUpdate(ended: visit())) == VisitUpdate(ended: visit()))
    }

    @Test func `an unknown measured power has no key, and a value outside -128...127 is refused`() throws {
        var unknown = event()
        unknown.sighting?.measuredPower = nil
        #expect(try again(unknown) == unknown)
        let text = String(decoding: try JSONEncoder().encode(unknown), as: UTF8.self)
        #expect(text.contains(#""rssi""#) && !text.contains("measuredPower"))
        let known = String(decoding: try JSONEncoder().encode(event()), as: UTF8.self)
        for value in ["128", "-129", #""-59""#, "-59.5"] {
            let damaged = known.replacing(#""measuredPower":-59"#, with: #""measuredPower":\#(value)"#)
            #expect(damaged != known)
            #expect(throws: DecodingError.self) {
                try JSONDecoder().decode(BeaconMonitor.Event.self, from: Data(damaged.utf8))
            }
        }
    }

    @Test func `a decoded adapter does not belong to any monitor`() throws {
        #expect(try again(event(adapter: AdapterID(index: 3))).sighting?.adapter == AdapterID(index: 0))
    }

    @Test func `the keys are those of a line, and lines of a gateway can be decoded`() throws {
        var options = LineEncoder.Options(gateway: try Identifier("porch"))
        options.envelope = false
        var encoder = LineEncoder(options)
        encoder.name(AdapterID(index: 1), "hci0")
        func line(_ action: Action) throws -> Data {
            var buffer = LineBuffer(capacity: 4096)
            encoder.encode(action, into: &buffer)
            return buffer.withBytes { Data($0) }
        }
        let event = event(adapter: AdapterID(index: 1))
        let ofLine = try #require(JSONSerialization.jsonObject(with: line(.event(event))) as? [String: Any])
        let own = try #require(JSONSerialization.jsonObject(with: JSONEncoder().encode(event)) as? [String: Any])
        #expect(Set(own.keys).subtracting(["exact"]).isSubset(of: Set(ofLine.keys)))
        for key in ["monitor", "identifier", "scope", "state", "date", "lastSeen"] {
            #expect(own[key] as? String == ofLine[key] as? String, "\(key)")
        }
        let read = try JSONDecoder().decode(BeaconMonitor.Event.self, from: line(.event(event)))
        #expect(read.date == event.date)
        #expect(read.time.nanoseconds / 1000 == event.time.nanoseconds / 1000)
        #expect(read.previous == event.previous)
        #expect(read.refinement == event.refinement)
        #expect(read.diagnostics == event.diagnostics)
        #expect(read.sighting?.rssi == RSSI(dBm: -60))
        let visit = try JSONDecoder().decode(Visit.self, from: line(.visit(visit())))
        #expect(visit.reason == .exitTimeout)
        #expect(visit.strength == self.visit().strength)
    }

    @Test(arguments: [
        #"{"minor":3,"uuid":"F7826DA6-4FA2-4E98-8024-BC5B71E0893E"}"#, #"{"uuid":"F7826DA6"}"#,
        #"{"center":[91,0],"radius":1}"#, #"{"center":[1],"radius":1}"#, #"{"center":[1,2],"radius":-1}"#, "{}",
    ])
    func `decoding an invalid condition throws an error and does not trap`(_ text: String) {
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(Condition.self, from: Data(text.utf8)) }
    }

    @Test func `numbers of any size are decoded without a trap`() throws {
        let data = try JSONEncoder().encode(event())
        var object = try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
        object["exact"] = nil
        object["monotonic"] = Int64.max
        object["lastSeen"] = "9999-12-31T23:59:59Z"
        let read = try JSONDecoder().decode(
            BeaconMonitor.Event.self, from: JSONSerialization.data(withJSONObject: object))
        #expect(read.identifier == "lobby")
    }

    // MARK: Dates and flags

    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000000Z"), (1_795_333_587_123_456, "2026-11-22T07:46:27.123456Z"),
        (-1, "1969-12-31T23:59:59.999999Z"), (951_782_400_000_000, "2000-02-29T00:00:00.000000Z"),
    ])
    func `a date is written in the form of RFC 3339, and read back`(_ microseconds: Int64, _ text: String) {
        #expect(WallDate(microseconds: microseconds).description == text)
        #expect(WallDate(text) == WallDate(microseconds: microseconds))
    }

    @Test func `a date can have any number of decimals, and an invalid date is refused`() {
        #expect(WallDate("1970-01-01T00:00:01Z")?.microseconds == 1_000_000)
        #expect(WallDate("1972-02-29T00:00:00Z")?.microseconds == 68_169_600_000_000)
        // Second 60 is a leap second. It must be the last second of a month.
        #expect(WallDate("2016-12-31T23:59:60Z")?.microseconds == 1_483_228_800_000_000)
        for text in ["2016-12-30T23:59:60Z", "2016-12-31T22:59:60Z", "2026-11-21T07:46:60Z"] {
            #expect(WallDate(text) == nil)
        }
        for day in ["1970-02-29", "2026-09-31", "2100-02-29", "2026-01-00", "2026-01-32", "2026-13-01", "2026-00-01"] {
            #expect(WallDate("\(day)T00:00:00Z") == nil)
        }
        #expect(WallDate("1970-01-01T00:00:01.5Z")?.microseconds == 1_500_000)
        #expect(WallDate("1970-01-01T00:00:01.1234567Z")?.microseconds == 1_123_456)
        for text in [
            "", "1970-01-01T00:00:01", "1970-13-01T00:00:01Z", "1970-01-01T00:00:01.Z", "1970-01-01T00:00:01+1Z",
        ] {
            #expect(WallDate(text) == nil, "\(text)")
        }
    }

    @Test func `flags have names in text and as properties`() {
        let flags: Diagnostics = [.accuracyLimited, .scannerUnavailable]
        #expect("\(flags)" == "[scannerUnavailable, accuracyLimited]")
        #expect("\(Diagnostics())" == "[]")
        #expect("\(Diagnostics(rawValue: 1 << 20 | 1))" == "[authorizationDenied, 0x100000]")
        #expect(flags.scannerUnavailable)
        #expect(!flags.authorizationDenied)
    }

    @Test func `the diagnostics of a session have a property for each flag, as in Core Location`() async throws {
        let registry = ServiceRegistry(requiresExplicitSessions: true)
        let session = ServiceSession(in: registry)
        registry.report([.authorizationDenied])
        for await diagnostic in session.diagnostics {
            #expect(diagnostic.authorizationDenied)
            #expect(!diagnostic.insufficientlyInUse)
            break
        }
    }

    @Test func `conditions can be added as their own type or in a short form`() async throws {
        let site = try await Site("bare")
        let uuid = BeaconIdentity.a(1).uuid
        try await site.monitor.add(.beacon(uuid: uuid), identifier: "near")
        try await site.monitor.add(BeaconMonitor.BeaconIdentityCondition(uuid: uuid, major: 1), identifier: "bare")
        let circle = try BeaconMonitor.CircularGeographicCondition(latitude: 1, longitude: 2, radius: 3)
        try await site.monitor.add(circle, identifier: "place")
        #expect(await site.monitor.record(for: "near")?.condition == .anyA)
        #expect(await site.monitor.record(for: "bare")?.condition == .beacon(uuid: uuid, major: 1))
        #expect(try await site.monitor.record(for: "place")?.condition == .circle(latitude: 1, longitude: 2, radius: 3))
    }
}
