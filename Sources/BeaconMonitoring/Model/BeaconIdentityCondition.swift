public import BluetoothLE

extension BeaconMonitor {
    /// A condition on a beacon's identity: every beacon with the UUID, or with the major, or with the minor too.
    ///
    /// Source: Apple, `CLBeaconIdentityCondition`. A minor needs a major, so there are three ways to make one and no fourth.
    public struct BeaconIdentityCondition: Sendable, Hashable {
        /// The UUID that a beacon must have.
        public let uuid: ProximityUUID
        /// The major that it must have; any where absent.
        public let major: UInt16?
        /// The minor that it must have; any where absent.
        public let minor: UInt16?

        /// Every beacon with `uuid`.
        public init(uuid: ProximityUUID) {
            self.uuid = uuid
            major = nil
            minor = nil
        }

        /// Every beacon with `uuid` and `major`.
        public init(uuid: ProximityUUID, major: UInt16) {
            self.uuid = uuid
            self.major = major
            minor = nil
        }

        /// The one beacon with `uuid`, `major` and `minor`.
        public init(uuid: ProximityUUID, major: UInt16, minor: UInt16) {
            self.uuid = uuid
            self.major = major
            self.minor = minor
        }

        /// Whether `beacon` has what the condition asks for.
        public func matches(_ beacon: BeaconIdentity) -> Bool {
            uuid == beacon.uuid && (major == nil || major == beacon.major) && (minor == nil || minor == beacon.minor)
        }
    }
}

extension BeaconIdentity {
    /// The three conditions that the beacon matches, as keys of tables of conditions: by UUID, by UUID and major, and the one
    /// that only this beacon matches.
    package var matchingConditions: [BeaconMonitor.BeaconIdentityCondition] {
        [.init(uuid: uuid), .init(uuid: uuid, major: major), .init(uuid: uuid, major: major, minor: minor)]
    }
}
