/// What tells one iBeacon from another: UUID, major and minor, and nothing else (rule B5).
///
/// The advertiser's address has no part in it: it may rotate.
public struct BeaconIdentity: Sendable, Hashable, Comparable {
    /// The deployment's UUID.
    public let uuid: ProximityUUID
    /// The group within the deployment.
    public let major: UInt16
    /// The beacon within the group.
    public let minor: UInt16

    /// Makes an identity of its three parts.
    @inlinable public init(uuid: ProximityUUID, major: UInt16, minor: UInt16) {
        self.uuid = uuid
        self.major = major
        self.minor = minor
    }

    /// By UUID, then major, then minor.
    @inlinable public static func < (left: BeaconIdentity, right: BeaconIdentity) -> Bool {
        guard left.uuid == right.uuid else { return left.uuid < right.uuid }
        return left.major != right.major ? left.major < right.major : left.minor < right.minor
    }
}
