public import BluetoothLE

extension BeaconMonitor {
    /// A condition on the identity of beacons: all beacons with a UUID, with a UUID and major, or with all three
    /// numbers.
    ///
    /// Source: Apple, `CLBeaconIdentityCondition`. A minor requires a major, so there are exactly three initializers.
    public struct BeaconIdentityCondition: Sendable, Hashable {
        /// The UUID that a beacon must have.
        public let uuid: ProximityUUID
        /// The major that it must have; `nil` matches every major.
        public let major: UInt16?
        /// The minor that it must have; `nil` matches every minor.
        public let minor: UInt16?

        /// Creates the condition that matches all beacons with `uuid`.
        public init(uuid: ProximityUUID) {
            self.uuid = uuid
            major = nil
            minor = nil
        }

        /// Creates the condition that matches all beacons with `uuid` and `major`.
        public init(uuid: ProximityUUID, major: UInt16) {
            self.uuid = uuid
            self.major = major
            minor = nil
        }

        /// Creates the condition that matches the beacon with `uuid`, `major` and `minor`.
        public init(uuid: ProximityUUID, major: UInt16, minor: UInt16) {
            self.uuid = uuid
            self.major = major
            self.minor = minor
        }

        /// Creates the condition that matches exactly `beacon`, for example the refinement of an event.
        ///
        ///     if let badge = event.refinement {
        ///         for await ranging in monitor.ranging(for: BeaconMonitor.BeaconIdentityCondition(badge)) {
        ///             print(ranging.beacons)
        ///         }
        ///     }
        public init(_ beacon: BeaconIdentity) {
            self.init(uuid: beacon.uuid, major: beacon.major, minor: beacon.minor)
        }

        /// Returns whether `beacon` has the numbers of the condition.
        public func matches(_ beacon: BeaconIdentity) -> Bool {
            uuid == beacon.uuid && (major == nil || major == beacon.major) && (minor == nil || minor == beacon.minor)
        }
    }
}

extension BeaconIdentity {
    /// The three conditions that match the beacon, as keys of tables: by UUID, by UUID and major, and by all three
    /// numbers.
    package var matchingConditions: [BeaconMonitor.BeaconIdentityCondition] {
        [.init(uuid: uuid), .init(uuid: uuid, major: major), .init(uuid: uuid, major: major, minor: minor)]
    }
}
