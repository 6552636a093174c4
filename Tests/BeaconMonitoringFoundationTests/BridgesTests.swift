import BeaconMonitoring
import BeaconMonitoringFoundation
import BluetoothLE
import Foundation
import Testing

@Suite struct BridgesTests {
    private let text = "F7826DA6-4FA2-4E98-8024-BC5B71E0893E"

    @Test func `a UUID keeps its bytes when it is converted to a ProximityUUID and back`() throws {
        let uuid = try #require(UUID(uuidString: text))
        let proximity = ProximityUUID(uuid)
        #expect(proximity == ProximityUUID(text))
        #expect(proximity.description == text)
        #expect(UUID(proximity) == uuid)
    }

    @Test func `a condition with a UUID of Foundation equals one with a ProximityUUID`() throws {
        let uuid = try #require(UUID(uuidString: text))
        let own = try #require(ProximityUUID(text))
        #expect(Condition.beacon(uuid: uuid) == .beacon(uuid: own))
        #expect(Condition.beacon(uuid: uuid, major: 1) == .beacon(uuid: own, major: 1))
        #expect(Condition.beacon(uuid: uuid, major: 1, minor: 2) == .beacon(uuid: own, major: 1, minor: 2))
        let condition = BeaconMonitor.BeaconIdentityCondition(uuid: uuid, major: 1, minor: 2)
        #expect(condition.minor == 2)
        #expect(BeaconMonitor.BeaconIdentityCondition(uuid: uuid, major: 1).minor == nil)
        #expect(BeaconMonitor.BeaconIdentityCondition(uuid: uuid).major == nil)
    }

    @Test(
        arguments: [
            MonitorError.nameTaken("lobby"), MonitorError.sourceFailed("no adapter"),
            ScanningError(.denied, "this user may not scan"), LocationError(description: "ride.gpx can't be read"),
        ] as [any Error])
    func `localizedDescription of an error is its text for operators`(error: any Error) {
        #expect(error.localizedDescription == "\(error)")
        #expect((error as? any LocalizedError)?.errorDescription == "\(error)")
    }

    @Test(arguments: [0, 1_795_333_587_123_456, -1, 253_402_300_799_999_999] as [Int64])
    func `a date is the same, within 32 µs, after conversion to a Date and back`(_ microseconds: Int64) {
        let date = Date(WallDate(microseconds: microseconds))
        #expect(abs(WallDate(date).microseconds - microseconds) <= 32)
        #expect(abs(date.timeIntervalSince1970 - Double(microseconds) / 1_000_000) < 0.000_032)
    }

    @Test func `a date that does not fit in 64-bit microseconds becomes the nearest bound`() {
        #expect(WallDate(Date(timeIntervalSince1970: .infinity)).microseconds == .max)
        #expect(WallDate(Date(timeIntervalSince1970: -1e30)).microseconds == .min)
    }
}
