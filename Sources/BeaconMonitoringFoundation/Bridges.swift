public import BeaconMonitoring
public import BluetoothLE

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension ProximityUUID {
    /// Creates a proximity UUID with the same 128 bits.
    public init(_ uuid: UUID) {
        let bytes = uuid.uuid
        let high = [bytes.0, bytes.1, bytes.2, bytes.3, bytes.4, bytes.5, bytes.6, bytes.7]
        let low = [bytes.8, bytes.9, bytes.10, bytes.11, bytes.12, bytes.13, bytes.14, bytes.15]
        self.init(
            high: high.reduce(0) { $0 << 8 | UInt64($1) }, low: low.reduce(0) { $0 << 8 | UInt64($1) })
    }
}

extension UUID {
    /// Creates a UUID with the same 128 bits.
    public init(_ uuid: ProximityUUID) {
        func byte(_ half: UInt64, _ place: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: half >> (56 - 8 * place)) }
        let (high, low) = (uuid.high, uuid.low)
        self.init(
            uuid: (
                byte(high, 0), byte(high, 1), byte(high, 2), byte(high, 3), byte(high, 4), byte(high, 5),
                byte(high, 6), byte(high, 7), byte(low, 0), byte(low, 1), byte(low, 2), byte(low, 3),
                byte(low, 4), byte(low, 5), byte(low, 6), byte(low, 7)
            ))
    }
}

extension Date {
    /// Creates the same moment. `Date` stores seconds as a `Double`: for dates of today, it distinguishes microseconds
    /// but does not represent them exactly.
    public init(_ date: WallDate) {
        self.init(timeIntervalSince1970: Double(date.microseconds) / 1_000_000)
    }
}

extension WallDate {
    /// Creates the same moment, rounded to the nearest microsecond. A date outside the range of ``microseconds`` is
    /// moved to the nearest bound.
    public init(_ date: Date) {
        let microseconds = (date.timeIntervalSince1970 * 1_000_000).rounded()
        self.init(microseconds: Int64(exactly: microseconds) ?? (microseconds > 0 ? .max : .min))
    }
}

extension MonitorError: LocalizedError {
    /// The text for operators, so that `localizedDescription` of an error of a monitor is that text.
    ///
    ///     do { try await monitor.run() } catch { print(error.localizedDescription) }
    public var errorDescription: String? { description }
}

extension ScanningError: LocalizedError {
    /// The text for operators, as for `MonitorError`.
    ///
    ///     do { try await monitor.run() } catch let error as ScanningError { print(error.localizedDescription) }
    public var errorDescription: String? { description }
}

extension LocationError: LocalizedError {
    /// The text for operators, as for `MonitorError`.
    ///
    ///     do { try await monitor.run() } catch let error as LocationError { print(error.localizedDescription) }
    public var errorDescription: String? { description }
}

extension Condition {
    /// Returns the condition that matches all beacons with `uuid`.
    public static func beacon(uuid: UUID) -> Condition { .beacon(uuid: ProximityUUID(uuid)) }

    /// Returns the condition that matches all beacons with `uuid` and `major`.
    public static func beacon(uuid: UUID, major: UInt16) -> Condition {
        .beacon(uuid: ProximityUUID(uuid), major: major)
    }

    /// Returns the condition that matches the beacon with `uuid`, `major` and `minor`.
    public static func beacon(uuid: UUID, major: UInt16, minor: UInt16) -> Condition {
        .beacon(uuid: ProximityUUID(uuid), major: major, minor: minor)
    }
}

extension BeaconMonitor.BeaconIdentityCondition {
    /// Creates the condition that matches all beacons with `uuid`.
    public init(uuid: UUID) { self.init(uuid: ProximityUUID(uuid)) }

    /// Creates the condition that matches all beacons with `uuid` and `major`.
    public init(uuid: UUID, major: UInt16) { self.init(uuid: ProximityUUID(uuid), major: major) }

    /// Creates the condition that matches the beacon with `uuid`, `major` and `minor`.
    public init(uuid: UUID, major: UInt16, minor: UInt16) {
        self.init(uuid: ProximityUUID(uuid), major: major, minor: minor)
    }
}
