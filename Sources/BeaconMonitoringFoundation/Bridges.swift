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
        let octets = uuid.uuid
        let high = [octets.0, octets.1, octets.2, octets.3, octets.4, octets.5, octets.6, octets.7]
        let low = [octets.8, octets.9, octets.10, octets.11, octets.12, octets.13, octets.14, octets.15]
        self.init(
            high: high.reduce(0) { $0 << 8 | UInt64($1) }, low: low.reduce(0) { $0 << 8 | UInt64($1) })
    }
}

extension UUID {
    /// Creates a UUID with the same 128 bits.
    public init(_ uuid: ProximityUUID) {
        func octet(_ half: UInt64, _ place: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: half >> (56 - 8 * place)) }
        let (high, low) = (uuid.high, uuid.low)
        self.init(
            uuid: (
                octet(high, 0), octet(high, 1), octet(high, 2), octet(high, 3), octet(high, 4), octet(high, 5),
                octet(high, 6), octet(high, 7), octet(low, 0), octet(low, 1), octet(low, 2), octet(low, 3),
                octet(low, 4), octet(low, 5), octet(low, 6), octet(low, 7)
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
